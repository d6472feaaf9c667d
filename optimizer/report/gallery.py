"""Registry of the charts of a run, which page, Python and live pages share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from data.plain import methods_take_plain
from data.timeframe import UNITS_NS
from engine.accounts.account import Account
from optimizer.errors import ConfigError
from optimizer.report.account import (
    build_hold_curve,
    find_hold_scale,
    match_hold,
    monthly_returns,
    rolling_sharpe,
)
from optimizer.report.charts import account as account_charts
from optimizer.report.charts import front as front_charts
from optimizer.report.charts import judged, price, progress, results
from optimizer.report.charts.chart import Chart, Trace
from optimizer.report.grids import (
    MOST_MEASURED,
    Candidates,
    choose_genes,
    find_candidates,
    is_lattice,
)
from optimizer.report.pick import require_place
from optimizer.report.schedule import (
    build_schedule_account,
    collect_step_genes,
    find_schedule,
    parse_ns,
    require_schedule,
    stitched_curve,
)
from optimizer.report.strategy_rows import find_rows
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
    measure_excursions,
)
from optimizer.run.points import wants_more
from optimizer.search.generation import Floats
from optimizer.store.result import choose_noun
from strategy.errors import unknown

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GROUPS = ("hour", "weekday", "symbol", "reason", "side")
"""Keys that trades can be grouped by."""


@methods_take_plain(ConfigError)
class Charts:
    """Charts of one run by what they show; ``run.plot`` has each as a figure of plotly.

    >>> from optimizer import load_run
    >>> figure = load_run(example).plot.front()
    >>> figure.layout.title.text
    'strength against max drawdown'

    Args:
        run: Of which they are.
        trades: Trades of members, where they are known already.
    """

    def __init__(self, run: Tables, trades: Mapping[int, Trades] | None = None) -> None:
        self._run, self._known = run, trades or {}

    def front(self, x: str | None = None, y: str | None = None, colour: str | None = None) -> Chart:
        """Members of the front by two numbers, any columns of ``run.front``.

        The last and the first objective unless others are named.
        """
        columns = collect_front_columns(self._run)
        first, *others = self._run.objectives
        x = x or (others[-1] if others else "trades")
        y = y or first
        free = [name for name in self._run.objectives if name not in (x, y)]
        colour = colour or (free[0] if free else None)
        for column in filter(None, (x, y, colour)):
            if column not in columns:
                raise ConfigError(unknown("column", column, list(columns)))
        return front_charts.front_2d(columns, x, y, colour)

    def front_3d(self) -> Chart:
        """Members of the front by their first three objectives."""
        run = self._run
        if len(run.objectives) < 3:
            raise ConfigError(f"run '{run.id}' has {len(run.objectives)} objectives, 3 are needed")
        return front_charts.front_3d(collect_front_columns(run), run.objectives[:3])

    def parallel(self) -> Chart:
        """Members of the front as lines through all their genes and objectives."""
        run = self._run
        return front_charts.parallel(
            collect_front_columns(run),
            (*run.genes, *run.objectives),
            run.objectives[0],
            run.header.options,
        )

    def convergence(self, what: str = "hypervolume") -> Chart:
        """Hypervolume of the front, or the best of one objective, over the generations."""
        run, history = self._run, self._run.history
        if what == "hypervolume" and (history.volume > 0).any():
            return progress.hypervolume(history.volume_generations, history.volume)
        names = ["hypervolume", *run.objectives]
        if what not in names:
            raise ConfigError(unknown("measure", what, names))
        # Without a volume the first objective is shown.
        place = max(names.index(what) - 1, 0)
        best, median = run.header.natural(history.best), run.header.natural(history.median)
        return progress.best_objective(
            history.generations, run.objectives[place], best[:, place], median[:, place]
        )

    def gene(self, gene: str) -> Chart:
        """How a gene spread over the population, generation by generation."""
        run, g = self._run, self._run.number_of_gene(gene)
        return progress.gene_fan(
            gene,
            run.history.generations,
            run.history.quantiles[:, g],
            run.bounds[g],
            run.genomes[:, g],
            run.header.options.get(gene, ()),
        )

    def heatmap(
        self, x: str | None = None, y: str | None = None, metric: str | None = None
    ) -> Chart:
        """A metric over two genes, of each cell the best; ``run.grid`` has its numbers.

        Without genes the two that explain most of the metric, which is the first objective unless
        another is named.

        Raises:
            ConfigError: When there is no such gene or metric, or fewer than two genes vary.
        """
        run = self._run
        metric = metric or run.objectives[0]
        candidates = find_candidates(run, metric)
        if x is None or y is None:
            genes = choose_genes(candidates, run.bounds, run.header.is_category)
            if genes is None:
                raise ConfigError(f"run '{run.id}' has no two genes that vary")
        else:
            genes = run.number_of_gene(x), run.number_of_gene(y)
        return draw_heat_map(run, candidates, genes, metric)

    def answer(self) -> Chart:
        """Equity of the pick, shaded where it was tested in folds and held out.

        Of a run with a schedule that of all its steps, which its verdict is about.
        """
        run = self._run
        if find_schedule(run) is not None:
            stitched = build_schedule_account(run)
            hold = account_charts.HeldBars(*match_hold(stitched.holding, stitched.curve))
            return account_charts.draw_schedule_equity(stitched.curve, hold, stitched.dates_ns)
        curve = run.equity_curve(self._trades(0 if run.pick is None else run.pick.member))
        hold = account_charts.HeldBars(*match_hold(build_holding(run), curve))
        return account_charts.answer(curve, hold, _list_parts(run))

    def folds(self) -> Chart:
        """Equity of one account that trades the pick of each fold in its test.

        Raises:
            ConfigError: When the run was not searched again in folds, or none of them traded.
        """
        run = self._run
        curve = stitched_curve(run)
        if curve is None:
            raise ConfigError(f"run '{run.id}': no fold traded on bars that are here")
        tested = [part.start_ns for part in _list_parts(run) if part.name == account_charts.FOLDED]
        return account_charts.draw_fold_equity(curve, tested)

    def schedule(self) -> Chart:
        """Equity of the account of all steps of a schedule, a line where each begins.

        Raises:
            ConfigError: When the run was not searched again through time.
        """
        require_schedule(self._run)
        return self.answer()

    def step_genes(self) -> Chart:
        """Genes of the picks of all steps of a schedule, as shares of their bounds."""
        genes = collect_step_genes(self._run)
        return progress.draw_step_genes(genes.dates_ns, genes.names, genes.shares)

    def equity(self, *members: int) -> Chart:
        """Equity and drawdown of members against holding, at the volatility of the first."""
        run = self._run
        holding = build_holding(run)
        scale = find_hold_scale(holding, run.equity_curve(self._trades((*members, 0)[0])))
        frame = draw_equity_frame(run, holding, [], 1.0 if isnan(scale) else scale)
        lines = [self.member_equity(member) for member in members or (0,)]
        return replace(frame, data=[*frame.data, *(trace for line in lines for trace in line.data)])

    def member_equity(self, member: int) -> Chart:
        """Equity and drawdown of a member alone."""
        run = self._run
        curve = run.equity_curve(self._trades(member))
        return account_charts.equity(curve, run.name_member(member))

    def monthly(self, member: int) -> Chart:
        """Returns of a member by month, year by year, beside holding."""
        run, curve = self._run, self._run.equity_curve(self._trades(member))
        bar_times = run.days * UNITS_NS["d"]
        years, table = monthly_returns(curve, bar_times)
        _, held = monthly_returns(build_hold_curve(build_holding(run), 1.0), bar_times)
        return account_charts.monthly(years, table, run.name_member(member), held[:, 12])

    def rolling_sharpe(self, member: int) -> Chart:
        """Sharpe ratio a day of a member over the 90 days up to each."""
        run = self._run
        ratios = rolling_sharpe(self._trades(member), run.days)
        return account_charts.sharpe_over_time(run.days, ratios, run.name_member(member))

    def price(self, member: int, series: int = 0) -> Chart:
        """Prices of a series with rows of the strategy, entries and exits of a member."""
        run = self._run
        frame = draw_market(run, require_place("the run", "series", series, len(run.series)))
        lines = draw_price_rows(run, member, series)
        marks = price.entries_and_exits(self._trades(member), series)
        return replace(frame, alt=marks.alt, data=[*frame.data, *lines, *marks.data])

    def trade(self, member: int, number: int) -> Chart:
        """One trade of a member bar by bar, with rows of the strategy.

        `number` is its row in ``run.trades(member)``.
        """
        trades = self._trades(member)
        series = int(trades.series[require_place("the member", "trade", number, len(trades))])
        rows = find_rows(self._run, member, series)
        return price.trade(self._run.series[series], trades, number, rows)

    def excursions(self, member: int) -> Chart:
        """How far each trade of a member went for it and against it (MFE and MAE), and its R."""
        trades = self._trades(member)
        best, worst = measure_excursions(trades, self._run.series)
        return results.excursions(trades.r, best, worst)

    def distribution(self, member: int) -> Chart:
        """How the results of a member's trades are spread."""
        return results.distribution(self._trades(member))

    def by(self, member: int, group: str) -> Chart:
        """Results of a member by hour, weekday, symbol, side, or exits by reason."""
        trades = self._trades(member)
        if group == "hour":
            return results.draw_group_results(trades, by_hour, "results by hour, UTC")
        if group == "weekday":
            return results.draw_group_results(trades, by_weekday, "results by weekday")
        if group == "symbol":
            return _group_by_label(self._run, trades)
        if group == "side":
            return results.draw_group_results(trades, by_side, "results by side")
        if group == "reason":
            return results.draw_group_results(trades, by_reason, "exits by reason", show="trades")
        raise ConfigError(unknown("group", group, list(GROUPS)))

    def costs(self, member: int) -> Chart:
        """Costs of a member's trading in-sample, and at which of them nothing would be left."""
        trades, costs = self._trades(member), self._run.task.costs
        chosen = ~trades.is_held_out
        is_charged = bool(PAYMENTS.keys() & trades.details.keys())
        return results.cost_line(
            compute_cost_facts(trades, chosen, costs),
            costs,
            has_trades=bool(chosen.any()),
            is_uncharged=not is_charged and bool((trades.side[chosen] < 0).any()),
        )

    def null(self) -> Chart:
        """Strengths of null searches, and of the pick; of null schedules where there are some."""
        judgement = self._run.judgement
        made = None if judgement is None else judgement.schedule
        if made is not None and made.null is not None:
            return judged.null_strengths(made.null, made.strength, "schedules")
        if judgement is None or judgement.null is None:
            raise ConfigError(
                f"run '{self._run.id}' was not held against null searches: judge it first"
            )
        pick = judgement.pick
        return judged.null_strengths(judgement.null, None if pick is None else pick.strength)

    def power(self) -> Chart:
        """Shares of markets with a planted edge that the search finds."""
        judgement = self._run.judgement
        if judgement is None or judgement.power is None:
            raise ConfigError(
                f"power of run '{self._run.id}' was not measured yet: measure it first"
            )
        return judged.edges_found(judgement.power)

    def at_costs(self) -> Chart:
        """Strength of the pick at multiples of the costs that were charged."""
        judgement = self._run.judgement
        if judgement is None or judgement.robust is None:
            raise ConfigError(f"run '{self._run.id}' was not judged yet: judge it first")
        return judged.strength_at_costs(judgement.robust)

    def _trades(self, member: int) -> Trades:
        known = self._known.get(member)
        return self._run.trade_columns(member) if known is None else known


class Plots:
    """Charts of a run as figures of plotly, by the names of `Charts`."""

    def __init__(self, run: Tables) -> None:
        self._charts = Charts(run)

    def __getattr__(self, name: str) -> "Callable[..., Figure]":
        if name.startswith("_"):
            raise AttributeError(name)
        chart = getattr(self._charts, name)

        @wraps(chart)
        def draw(*values: object, **named: object) -> "Figure":
            drawn: Chart = chart(*values, **named)
            return drawn.figure()

        return draw

    def __dir__(self) -> list[str]:
        return [name for name in vars(Charts) if not name.startswith("_")]


def collect_front_columns(run: Tables) -> dict[str, Floats]:
    """Every number of the front's members by name, each [F]; of an option its number."""
    frame, genes = run.front, dict(zip(run.genes, run.genomes.T, strict=True))
    return {
        str(name): genes[name] if name in genes else frame[name].to_numpy(np.float64)
        for name in frame.columns
    }


def draw_price_rows(run: Tables, member: int, series: int) -> Sequence[Trace]:
    """Lines of those rows of a member's strategy that are prices, on a whole series."""
    window = run.task.markets.ranges[series]
    rows = [row for row in find_rows(run, member, series) if row.is_price]
    bars = slice(window.start, window.end)
    return price.draw_rows(rows, run.series[series].timestamp, bars)


def draw_heat_map(run: Tables, candidates: Candidates, pair: tuple[int, int], metric: str) -> Chart:
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
    return None if pair is None else draw_heat_map(run, candidates, pair, metric)


def list_convergence(run: Tables) -> list[str]:
    """Names of what there is of the search over its generations."""
    has_volume = bool((run.history.volume > 0).any())
    return [*(["hypervolume"] if has_volume else []), *run.objectives]


def held_out_ns(run: Tables, series: int) -> int | None:
    """When the bars of a series begin that were held out; None without any."""
    starts = [window.start for window in run.task.markets.held_out if window.series == series]
    return int(run.series[series].timestamp[min(starts)]) if starts else None


def build_holding(run: Tables) -> Account:
    """An account of all bars of a run, to be bought and held."""
    markets, costs = run.task.markets, run.task.costs
    names = tuple(markets.names[window.series] for window in markets.ranges)
    return Account(tuple(markets.series), tuple(markets.ranges), names, costs)


def draw_equity_frame(
    run: Tables, holding: Account, others: list[Trades], scale: float = 1.0
) -> Chart:
    """Buying and holding with a share of the account, and the equity of members beside it."""
    hold = build_hold_curve(holding, scale)
    curves = [run.equity_curve(trades) for trades in others]
    starts = {held_out_ns(run, series) for series in range(len(run.series))}
    # One line is enough only where all series are held out from the same time on.
    ends = float(holding.hold_days[-1])
    start_ns = starts.pop() if len(starts) == 1 else None
    return account_charts.equity_frame(hold, ends, curves, start_ns)


def draw_market(run: Tables, series: int) -> Chart:
    """Prices of a series."""
    chart = price.market(run.series[series], run.task.markets.ranges[series])
    border = account_charts.border(held_out_ns(run, series))
    return replace(chart, layout={**chart.layout, **border})


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
