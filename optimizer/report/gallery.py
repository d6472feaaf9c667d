"""Every chart of a run, by what it shows."""

from dataclasses import replace

import numpy as np

from data.timeframe import UNITS_NS
from engine.accounts.account import Account
from optimizer.errors import ConfigError
from optimizer.report.account import (
    build_hold_curve,
    match_hold,
    monthly_returns,
    rolling_sharpe,
)
from optimizer.report.charts import account as account_charts
from optimizer.report.charts import front as front_charts
from optimizer.report.charts import judged, price, progress, results
from optimizer.report.charts.chart import Chart
from optimizer.report.grids import (
    MOST_MEASURED,
    Candidates,
    choose_genes,
    find_candidates,
    is_lattice,
)
from optimizer.report.schedule import (
    build_schedule_account,
    collect_step_genes,
    find_schedule,
    parse_ns,
    stitched_curve,
)
from optimizer.report.tables import Tables
from optimizer.report.trades import (
    PAYMENTS,
    Bools,
    Groups,
    Trades,
    by_hour,
    by_label,
    by_reason,
    by_side,
    by_weekday,
    compute_cost_facts,
)
from optimizer.run.points import wants_more
from optimizer.search.generation import Floats
from optimizer.store.result import choose_noun
from strategy.errors import unknown

GROUPS = ("hour", "weekday", "symbol", "reason", "side")
"""Keys that trades can be grouped by."""


def collect_front_columns(run: Tables) -> dict[str, Floats]:
    """Every number of the front's members by name, each [F]; of an option its number."""
    frame, genes = run.front, dict(zip(run.genes, run.genomes.T, strict=True))
    return {
        str(name): genes[name] if name in genes else frame[name].to_numpy(np.float64)
        for name in frame.columns
    }


def front(run: Tables, x: str | None, y: str | None, colour: str | None) -> Chart:
    """Members by two numbers; the last and the first objective unless others are named."""
    columns = collect_front_columns(run)
    first, *others = run.objectives
    x = x or (others[-1] if others else "trades")
    y = y or first
    free = [name for name in run.objectives if name not in (x, y)]
    colour = colour or (free[0] if free else None)
    for column in filter(None, (x, y, colour)):
        if column not in columns:
            raise ConfigError(unknown("column", column, list(columns)))
    return front_charts.front_2d(columns, x, y, colour)


def front_3d(run: Tables) -> Chart:
    """Members by their first three objectives."""
    if len(run.objectives) < 3:
        raise ConfigError(f"run '{run.id}' has {len(run.objectives)} objectives, 3 are needed")
    return front_charts.front_3d(collect_front_columns(run), run.objectives[:3])


def parallel(run: Tables) -> Chart:
    """Members as lines through all genes and objectives."""
    return front_charts.parallel(
        collect_front_columns(run),
        (*run.genes, *run.objectives),
        run.objectives[0],
        run.header.options,
    )


def convergence(run: Tables) -> list[Chart]:
    """Hypervolume, then the best of each objective, over the generations."""
    history = run.history
    charts = []
    if (history.volume > 0).any():
        charts.append(progress.hypervolume(history.volume_generations, history.volume))
    best, median = run.header.natural(history.best), run.header.natural(history.median)
    for o, objective in enumerate(run.objectives):
        charts.append(
            progress.best_objective(history.generations, objective, best[:, o], median[:, o])
        )
    return charts


def genes(run: Tables) -> list[Chart]:
    """How each gene spread over the population, generation by generation."""
    history = run.history
    return [
        progress.gene_fan(
            gene,
            history.generations,
            history.quantiles[:, g],
            run.bounds[g],
            run.genomes[:, g],
            run.header.options.get(gene, ()),
        )
        for g, gene in enumerate(run.genes)
    ]


def heat_map(run: Tables, candidates: Candidates, pair: tuple[int, int], metric: str) -> Chart:
    """A metric over two genes, by their places, of all candidates in a cell the best."""
    cells = candidates.grid(pair, maximise=wants_more(metric))
    names = run.genes[pair[0]], run.genes[pair[1]]
    pick = None if run.pick is None or not run.members else run.genomes[run.pick.member][[*pair]]
    return progress.heat_map(cells, names, metric, pick, run.header.options)


def main_heat_map(run: Tables) -> Chart | None:
    """The first objective over the two genes that matter most; None where it cannot be had."""
    if is_lattice(run) and run.bars_problem:
        return None
    metric = run.objectives[0]
    candidates = find_candidates(run, metric, MOST_MEASURED)
    pair = choose_genes(candidates, run.bounds, run.header.is_category)
    return None if pair is None else heat_map(run, candidates, pair, metric)


def held_out_ns(run: Tables, series: int) -> int | None:
    """When the bars of a series begin that were held out; None without any."""
    starts = [window.start for window in run.task.markets.held_out if window.series == series]
    return int(run.series[series].timestamp[min(starts)]) if starts else None


def build_holding(run: Tables) -> Account:
    """An account of all bars of a run, to be bought and held."""
    markets, costs = run.task.markets, run.task.costs
    names = tuple(markets.names[window.series] for window in markets.ranges)
    return Account(tuple(markets.series), tuple(markets.ranges), names, costs)


def equity_frame(run: Tables, holding: Account, others: list[Trades], scale: float = 1.0) -> Chart:
    """Buying and holding with a share of the account, and the equity of members beside it."""
    hold = build_hold_curve(holding, scale)
    curves = [run.equity_curve(trades) for trades in others]
    starts = {held_out_ns(run, series) for series in range(len(run.series))}
    # One line is enough only where all series are held out from the same time on.
    ends = float(holding.hold_days[-1])
    start_ns = starts.pop() if len(starts) == 1 else None
    return account_charts.equity_frame(hold, ends, curves, start_ns)


def equity(run: Tables, member: int, trades: Trades) -> Chart:
    """Equity and drawdown of a member."""
    return account_charts.equity(run.equity_curve(trades), run.name_member(member))


def answer(run: Tables, trades: Trades | None = None) -> Chart:
    """Equity that the verdict is about: of all steps of a schedule, or else of the pick.

    That of the pick goes over the bars that it was searched, tested and held out on; `trades` are
    its, where they are known.
    """
    if find_schedule(run) is not None:
        return _draw_schedule_equity(run)
    if trades is None:
        trades = run.trade_columns(0 if run.pick is None else run.pick.member)
    curve = run.equity_curve(trades)
    hold = account_charts.HeldBars(*match_hold(build_holding(run), curve))
    return account_charts.answer(curve, hold, _list_parts(run))


def draw_fold_equity(run: Tables) -> Chart | None:
    """Equity of the picks of folds, each in its test; None where none of them traded."""
    curve = stitched_curve(run)
    if curve is None:
        return None
    tested = [part.start_ns for part in _list_parts(run) if part.name == account_charts.FOLDED]
    return account_charts.draw_fold_equity(curve, tested)


def _list_parts(run: Tables) -> list[account_charts.BarsPart]:
    """Parts of the bars that an equity curve is shaded by."""
    folds = None if run.judgement is None else run.judgement.folds
    tests = [] if folds is None else [row.test for row in folds.rows if row.test]
    parts = [
        account_charts.BarsPart(
            account_charts.FOLDED,
            min(parse_ns(bars.first) for bars in test),
            max(parse_ns(bars.last) for bars in test),
        )
        for test in tests
    ]
    series = run.series
    for window in run.task.markets.held_out:
        times = series[window.series].timestamp[window.start : window.end]
        parts.append(account_charts.BarsPart(account_charts.HELD, int(times[0]), int(times[-1])))
    return parts


def monthly(run: Tables, member: int, trades: Trades) -> Chart:
    """Returns of a member by month."""
    years, table = monthly_returns(run.equity_curve(trades), run.days * UNITS_NS["d"])
    return account_charts.monthly(years, table, run.name_member(member))


def sharpe_over_time(run: Tables, member: int, trades: Trades) -> Chart:
    """Sharpe ratio of a member over the days up to each."""
    ratios = rolling_sharpe(trades, run.days)
    return account_charts.sharpe_over_time(run.days, ratios, run.name_member(member))


def market(run: Tables, series: int) -> Chart:
    """Prices of a series."""
    chart = price.market(run.series[series], run.task.markets.ranges[series])
    border = account_charts.border(held_out_ns(run, series))
    return replace(chart, layout={**chart.layout, **border})


def draw_group_results(run: Tables, trades: Trades, by: str) -> Chart:
    """Results of trades by something that they share, one of `GROUPS`."""
    if by == "hour":
        return results.draw_group_results(trades, by_hour, "results by hour, UTC")
    if by == "weekday":
        return results.draw_group_results(trades, by_weekday, "results by weekday")
    if by == "symbol":
        return _group_by_label(run, trades)
    if by == "side":
        return results.draw_group_results(trades, by_side, "results by side")
    if by == "reason":
        return results.draw_group_results(trades, by_reason, "exits by reason", show="trades")
    raise ConfigError(unknown("group", by, list(GROUPS)))


def costs(run: Tables, trades: Trades) -> Chart:
    """Costs of in-sample trading, and how dear it could be."""
    chosen = ~trades.is_held_out
    facts = compute_cost_facts(trades, chosen, run.task.costs)
    is_charged = bool(PAYMENTS.keys() & trades.details.keys())
    return results.cost_line(
        facts,
        run.task.costs,
        has_trades=bool(chosen.any()),
        is_uncharged=not is_charged and bool((trades.side[chosen] < 0).any()),
    )


def _draw_schedule_equity(run: Tables) -> Chart:
    """Equity of the account of all steps of a schedule, beside holding the same bars."""
    stitched = build_schedule_account(run)
    hold = account_charts.HeldBars(*match_hold(stitched.holding, stitched.curve))
    return account_charts.draw_schedule_equity(stitched.curve, hold, stitched.dates_ns)


def draw_step_genes(run: Tables) -> Chart:
    """Genes of the picks of all steps of a schedule."""
    genes = collect_step_genes(run)
    return progress.draw_step_genes(genes.dates_ns, genes.names, genes.shares)


def has_null(run: Tables) -> bool:
    """Whether a run, or its schedule, was held against null markets."""
    judgement = run.judgement
    if judgement is None:
        return False
    made = judgement.schedule
    return judgement.null is not None or (made is not None and made.null is not None)


def null(run: Tables) -> Chart:
    """Strengths of null searches, and of the pick; where there are some, of null schedules."""
    judgement = run.judgement
    made = None if judgement is None else judgement.schedule
    if made is not None and made.null is not None:
        return judged.null_strengths(made.null, made.strength, "schedules")
    if judgement is None or judgement.null is None:
        raise ConfigError(f"run '{run.id}' was not held against null searches: judge it first")
    return judged.null_strengths(
        judgement.null, None if judgement.pick is None else judgement.pick.strength
    )


def power(run: Tables) -> Chart:
    """Planted edges that the search finds."""
    if run.judgement is None or run.judgement.power is None:
        raise ConfigError(f"power of run '{run.id}' was not measured yet: measure it first")
    return judged.edges_found(run.judgement.power)


def at_costs(run: Tables) -> Chart:
    """Strength of the pick at other costs."""
    if run.judgement is None or run.judgement.robust is None:
        raise ConfigError(f"run '{run.id}' was not judged yet: judge it first")
    return judged.strength_at_costs(run.judgement.robust)


def _group_by_label(run: Tables, trades: Trades) -> Chart:
    """Results of symbols or windows, best in-sample first; of many only the best and the worst."""
    whole = by_label(trades, ~trades.is_held_out, run.task.markets.labels)
    kept = results.extremes(whole)

    def group(trades: Trades, chosen: Bools) -> Groups:
        groups = by_label(trades, chosen, run.task.markets.labels)
        labels = tuple(groups.labels[index] for index in kept)
        return Groups(labels, groups.trades[kept], groups.sum_r[kept])

    title = f"results by {choose_noun(run.task.markets.describe())}"
    if len(kept) < len(whole.labels):
        title += f", the best and the worst of {len(whole.labels):,}"
    return results.draw_group_results(trades, group, title)
