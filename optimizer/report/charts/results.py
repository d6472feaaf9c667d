"""Charts of an individual's trades: R, groups, costs."""

from collections.abc import Callable

import numpy as np

from data.checks import Flags
from optimizer.errors import ConfigError
from optimizer.formatting import evenly, format_count, number
from optimizer.report.charts import chart as draw
from optimizer.report.charts.chart import Chart, RunCharts, Trace
from optimizer.report.tables import Tables
from optimizer.report.trades import (
    PAYMENTS,
    Groups,
    Trades,
    by_hour,
    by_label,
    by_reason,
    by_side,
    by_weekday,
    compute_cost_facts,
    measure_excursions,
)
from optimizer.search.generation import Floats
from optimizer.store.result import choose_noun
from strategy.errors import unknown

Grouping = Callable[[Trades, Flags], Groups]

BIN_R = 0.25
"""Width of a bar of the distribution of R."""

OUTERMOST_R = 15.0
"""Results further out than this are put into the outermost bars."""

MOST_GROUPS = 30
"""Most groups that a chart of bars shows apart."""

GROUPS: dict[str, tuple[Grouping, str, str]] = {
    "hour": (by_hour, "results by hour, UTC", "sum_r"),
    "weekday": (by_weekday, "results by weekday", "sum_r"),
    "reason": (by_reason, "exits by reason", "trades"),
    "side": (by_side, "results by side", "sum_r"),
}
"""Keys that trades are grouped by beside their symbol, with title and measure."""


class ResultCharts(RunCharts):
    """Charts of the results of a member's trades."""

    def excursions(self, member: int) -> Chart:
        """How far each trade of a member went for it and against it (MFE and MAE), and its R."""
        trades = self._trades(member)
        return excursions(trades.r, *measure_excursions(trades, self._run.series))

    def distribution(self, member: int) -> Chart:
        """How the results of a member's trades are spread."""
        trades = self._trades(member)
        edges = np.arange(-OUTERMOST_R, OUTERMOST_R + BIN_R, BIN_R)
        middle = edges[:-1] + BIN_R / 2
        r = np.clip(trades.r, -OUTERMOST_R, OUTERMOST_R - 1e-9)
        everything, _ = np.histogram(r, bins=edges)
        used = np.flatnonzero(everything)
        kept = slice(used[0], used[-1] + 1) if len(used) else slice(0, 0)
        signs = [draw.GREEN if value > 0 else draw.RED for value in middle[kept].tolist()]
        data = [
            draw.bar(
                middle[kept],
                np.histogram(r[chosen], bins=edges)[0][kept],
                name=label,
                marker={"color": colour or signs},
                hovertemplate=f"%{{x:.3f}} R: %{{y}} trades<extra>{label}</extra>",
            )
            for label, chosen, colour in _split_by_sample(trades)
        ]
        title, alt = "distribution of results", _spread_words(trades)
        bars = {"bargap": 0.05, "barmode": "stack"}
        return draw.plane(title, alt, data, "result in R", "trades", **bars)

    def by(self, member: int, group: str) -> Chart:
        """Results of a member by hour, weekday, symbol, side, or exits by reason."""
        trades = self._trades(member)
        if group == "symbol":
            return _draw_labels(self._run, trades)
        if group not in GROUPS:
            raise ConfigError(unknown("group", group, list(GROUPS)))
        return _draw_groups(trades, *GROUPS[group])

    def costs(self, member: int) -> Chart:
        """Costs of a member's trading in-sample, and the cost that leaves nothing."""
        trades, costs = self._trades(member), self._run.task.costs
        chosen = ~trades.is_held_out
        facts, has_trades = compute_cost_facts(trades, chosen, costs), bool(chosen.any())
        paid, before = costs.per_side * 10_000, facts.gross_r - facts.held_r
        furthest = max(2 * paid, 10.0, 1.3 * facts.break_even_bp if has_trades else 0.0)
        x = np.linspace(0.0, furthest, 41)
        per_bp = facts.cost_r / paid if paid else 0.0
        if not paid and has_trades and facts.break_even_bp:
            per_bp = before / facts.break_even_bp
        traded, mark = (
            (np.array([paid]), np.array([facts.net_r])),
            {"color": draw.ORANGE, "size": 11},
        )
        data = [
            draw.line(x, before - per_bp * x, draw.BLUE, "sum of R"),
            draw.scatter("markers", *traded, marker=mark, name="as traded"),
        ]
        alt = "no trade, no cost"
        if has_trades:
            held = f"{number(facts.held_r)} R of fees a unit, funding and borrowing, "
            alt = (
                f"{number(facts.gross_r)} R before costs, {number(facts.cost_r)} R of costs, "
                f"{held * bool(facts.held_r)}{number(facts.net_r)} R left; nothing would be left "
                f"at {number(facts.break_even_bp)} basis points a side, {number(paid)} were paid"
            )
        is_charged = PAYMENTS.keys() & trades.details.keys()
        if not is_charged and (trades.side[chosen] < 0).any():
            alt += "; borrowing and funding of shorts are not charged"
        across = "fee and slippage a side, basis points"
        up = draw.axis("sum of R", zeroline=True, zerolinewidth=2)
        return draw.plane("costs", alt, data, across, up)


def excursions(r: Floats, best: Floats, worst: Floats) -> Chart:
    """How far each trade [K] went for it and against it, by its result, all in R."""
    at = evenly(len(r), draw.MOST_POINTS)
    reaches = (("for it (MFE)", best, draw.GREEN), ("against it (MAE)", worst, draw.RED))
    data = [
        draw.scatter(
            "markers",
            r[at],
            reach[at],
            name=label,
            customdata=np.array(at),
            marker={"color": colour, "size": 6, "opacity": 0.7},
            hovertemplate=f"trade %{{customdata}}: {label} %{{y:.3f}} R<extra></extra>",
        )
        for label, reach, colour in reaches
    ]
    alt = format_count(len(r), "trade")
    if len(r):
        gave = number(float((best - r).mean()))
        alt += f"; on average {number(float(best.mean()))} R for it, {number(float(worst.mean()))}"
        alt += f" R against it, {gave} R of the best were not kept"
    return draw.plane("how far trades went", alt, data, "result in R", "R while it was open")


def _split_by_sample(trades: Trades) -> list[tuple[str, Flags, str]]:
    """In-sample and held-out trades apart, where there are both.

    For each part its name, which trades are in it, and its colour: empty for a single part,
    which has the colours of its values.
    """
    if not trades.has_held_out:
        return [("", np.ones(len(trades), np.bool_), "")]
    return [
        ("in-sample", ~trades.is_held_out, draw.BLUE),
        ("held out", trades.is_held_out, draw.ORANGE),
    ]


def _draw_labels(run: Tables, trades: Trades) -> Chart:
    """Results of symbols or windows, best in-sample first; of many only the best and the worst."""
    labels = run.task.markets.labels
    whole = by_label(trades, ~trades.is_held_out, labels)
    kept = _find_extremes(whole)

    def group(trades: Trades, chosen: Flags) -> Groups:
        groups = by_label(trades, chosen, labels)
        names = tuple(groups.labels[index] for index in kept)
        return Groups(names, groups.trades[kept], groups.sum_r[kept])

    title = f"results by {choose_noun(run.task.markets.describe())}"
    if len(kept) < len(whole.labels):
        title += f", the best and the worst of {len(whole.labels):,}"
    return _draw_groups(trades, group, title)


def _draw_groups(trades: Trades, group: Grouping, title: str, show: str = "sum_r") -> Chart:
    """Results of groups of trades; `group` puts those of a part into the same groups.

    `show` is ``"sum_r"`` or ``"trades"``.
    """
    data: list[Trace] = []
    sentences: list[str] = []
    for label, chosen, colour in _split_by_sample(trades):
        groups = group(trades, chosen)
        values = groups.sum_r if show == "sum_r" else groups.trades.astype(np.float64)
        signs = [draw.GREEN if value > 0 else draw.RED for value in values.tolist()]
        data.append(
            draw.bar(
                [draw.name(group_label) for group_label in groups.labels],
                values,
                name=label,
                customdata=groups.trades,
                marker={"color": colour or (signs if show == "sum_r" else draw.BLUE)},
                hovertemplate=f"%{{x}}: %{{y:.4g}}, %{{customdata}} trades<extra>{label}</extra>",
            )
        )
        sentences.append(f"{label}: " * bool(label) + _group_words(groups, show))
    across, up = {"type": "category", "automargin": True}, "sum of R" if show == "sum_r" else show
    return draw.plane(title, "; ".join(sentences), data, across, up)


def _find_extremes(groups: Groups) -> list[int]:
    """Places of the best and the worst groups, best first; all when they are few.

    A group without a trade is neither.
    """
    order = np.argsort(-groups.sum_r, kind="stable")
    if len(order) > MOST_GROUPS:
        order = order[groups.trades[order] > 0]
    if len(order) > MOST_GROUPS:
        half = MOST_GROUPS // 2
        order = np.concatenate([order[:half], order[-half:]])
    return [int(index) for index in order]


def _spread_words(trades: Trades) -> str:
    if not len(trades):
        return "no trade"
    low, mid, high = np.percentile(trades.r, [10, 50, 90]).tolist()
    sentence = (
        f"{format_count(len(trades), 'trade')}; one in ten gives less than {number(low)} R, half "
        f"less than {number(mid)} R, one in ten more than {number(high)} R"
    )
    out = int((np.abs(trades.r) > OUTERMOST_R).sum())
    return sentence + (
        f"; {format_count(out, 'trade')} beyond {OUTERMOST_R:g} R in the last bars" if out else ""
    )


def _group_words(groups: Groups, show: str) -> str:
    traded = np.flatnonzero(groups.trades)
    if not len(traded):
        return "no trade"
    if show == "trades":
        return ", ".join(
            f"{groups.labels[i]} {number(int(groups.trades[i]))}" for i in traded.tolist()
        )
    best = int(traded[groups.sum_r[traded].argmax()])
    worst = int(traded[groups.sum_r[traded].argmin()])
    texts = (
        f"{groups.labels[i]} with {number(float(groups.sum_r[i]))} R in "
        f"{format_count(int(groups.trades[i]), 'trade')}"
        for i in (best, worst)
    )
    return "best " + ", worst ".join(texts)
