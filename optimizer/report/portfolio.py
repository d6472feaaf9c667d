"""A portfolio as one page that a browser opens without a network."""

from collections.abc import Iterator, Mapping

from optimizer.formatting import GRADE_WORDS, MEANINGS, metric, number
from optimizer.portfolios.portfolio import PortfolioResult
from optimizer.report.account import Curve, describe_drawdowns, monthly_returns, worst_drawdowns
from optimizer.report.charts import account
from optimizer.report.charts.chart import Chart
from optimizer.report.page import render_charts
from optimizer.store.caveats import describe_account, name_limits

TILES = (
    "total_return", "cagr", "max_drawdown", "max_drawdown_marked", "sharpe_daily", "trades",
    "max_leverage", "skipped",
)  # fmt: skip
"""Metrics of the account that stand first."""

ALONE = ("total_return", "cagr", "max_drawdown", "max_drawdown_marked", "sharpe_daily")
"""Metrics that stand beside those of each component alone."""

ACCOUNT = "the account"


def build_portfolio_page(result: PortfolioResult) -> str:
    """The page of a portfolio: its account, its components alone, and how alike they are."""
    return render_charts("portfolio", _build_charts(result), _render_static(result))


def _build_charts(result: PortfolioResult) -> Mapping[str, Chart]:
    curves = [Curve(line.time_ns, line.value) for line in result.lines]
    whose = [f"{component.name} alone" for component in result.components]
    assert result.month_times is not None, "a portfolio that was built has bars"
    charts = {"equity": account.draw_accounts(list(zip([ACCOUNT, *whose], curves, strict=True)))}
    if len(result.month_times):
        months = monthly_returns(curves[0], result.month_times)
        charts["month"] = account.monthly(*months, ACCOUNT)
    return charts


def _render_static(result: PortfolioResult) -> Mapping[str, object]:
    """Static part of the page, before any script runs."""
    line, bar_times = result.lines[0], result.bar_times
    assert bar_times is not None, "a portfolio that was built has bars"
    names = [component.name for component in result.components]
    limits = name_limits(result.max_positions, result.max_leverage)
    drawdowns = worst_drawdowns(Curve(line.time_ns, line.value), bar_times)
    return {
        "title": "Portfolio of " + ", ".join(names),
        "grade": result.by_grade[0].grade,
        "word": GRADE_WORDS[result.by_grade[0].grade].capitalize(),
        "verdict": result.verdict,
        "sentences": [
            *result.outlooks,
            *describe_account(result, len(names), "component", limits),
        ],
        "notes": result.notes,
        "tiles": list(_list_tiles(result)),
        "rules": list(_list_rules(result)),
        "alone_columns": [name.replace("_", " ") for name in ALONE],
        "rows": list(_list_rows(result)),
        "names": names,
        "matrix": _build_matrix(result),
        "drawdowns": describe_drawdowns(drawdowns),
    }


def _list_tiles(result: PortfolioResult) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of the account's known metrics."""
    for name in TILES:
        value = result.metrics.get(name)
        if value is not None:
            yield name.replace("_", " "), metric(name, value), MEANINGS.get(name, "")
        elif name in result.undefined:
            why = result.undefined[name].replace("_", " ")
            yield name.replace("_", " "), "undefined", why


def _list_rules(result: PortfolioResult) -> Iterator[tuple[str, str]]:
    yield "one R", f"{result.risk_fraction:.4g} of the account"
    if result.cash is not None:
        yield "cash", number(result.cash)
    yield "max positions", _show_limit(result.max_positions)
    yield "max leverage", _show_limit(result.max_leverage)
    if result.rank is not None:
        yield "rank", result.rank


def _show_limit(limit: float | None) -> str:
    return "no limit" if limit is None else number(limit)


def _list_rows(result: PortfolioResult) -> Iterator[tuple[str, ...]]:
    """Cells of the account, then of each component, the worst first: within it, and alone."""
    whole = (metric(name, result.metrics.get(name)) for name in ALONE)
    skipped = number(result.metrics.get("skipped"))
    yield ACCOUNT, "", "", "", "", number(result.metrics.get("trades")), skipped, *whole
    for component in result.by_grade:
        alone = (metric(name, component.alone.get(name)) for name in ALONE)
        yield (
            component.name,
            f"{GRADE_WORDS[component.grade].capitalize()}. {component.verdict}",
            component.strategy.replace("_", " "),
            ", ".join(component.symbols),
            number(component.weight),
            number(component.trades),
            number(component.skipped),
            *alone,
        )


def _build_matrix(result: PortfolioResult) -> list[list[str]]:
    """Correlation of each pair of components, with its days."""
    count = len(result.components)
    cells = [["1" if row == column else "" for column in range(count)] for row in range(count)]
    for pair in result.correlations:
        value = "undefined" if pair.value is None else f"{pair.value:.2f}".replace("-0.00", "0.00")
        text = f"{value} ({number(pair.days)} days)"
        cells[pair.first][pair.second] = cells[pair.second][pair.first] = text
    return cells
