"""`run.plot`: every chart of the report as a figure of plotly."""

from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from data.plain import methods_take_plain
from optimizer.errors import ConfigError
from optimizer.report import gallery
from optimizer.report.account import find_hold_scale
from optimizer.report.charts import price, results
from optimizer.report.grids import choose_genes, find_candidates
from optimizer.report.pick import require_place
from optimizer.report.schedule import require_schedule
from optimizer.report.tables import Tables
from strategy.errors import unknown

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@methods_take_plain(ConfigError)
class Plots:
    """Figures of one run.

    >>> from optimizer import load_run
    >>> figure = load_run(example).plot.front()
    >>> figure.layout.title.text
    'strength against max drawdown'
    """

    def __init__(self, run: Tables) -> None:
        self._run = run

    def front(
        self, x: str | None = None, y: str | None = None, colour: str | None = None
    ) -> "Figure":
        """Members of the front by two numbers, any columns of `run.front`."""
        return gallery.front(self._run, x, y, colour).figure()

    def front_3d(self) -> "Figure":
        """Members of the front by their first three objectives."""
        return gallery.front_3d(self._run).figure()

    def parallel(self) -> "Figure":
        """Members of the front as lines through all their genes and objectives."""
        return gallery.parallel(self._run).figure()

    def convergence(self, what: str = "hypervolume") -> "Figure":
        """Hypervolume of the front, or the best of one objective, over the generations."""
        names = ["hypervolume", *self._run.objectives]
        if what not in names:
            raise ConfigError(unknown("measure", what, names))
        charts = gallery.convergence(self._run)
        return charts[names.index(what) - len(names) if what in names[1:] else 0].figure()

    def gene(self, gene: str) -> "Figure":
        """How a gene spread over the population, generation by generation."""
        return gallery.genes(self._run)[self._run.number_of_gene(gene)].figure()

    def heatmap(
        self, x: str | None = None, y: str | None = None, metric: str | None = None
    ) -> "Figure":
        """A metric over two genes, of each cell the best; `run.grid` has its numbers.

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
        return gallery.heat_map(run, candidates, genes, metric).figure()

    def answer(self) -> "Figure":
        """Equity of the pick, shaded where it was tested in folds and held out.

        Of a run with a schedule that of all its steps, which its verdict is about.
        """
        return gallery.answer(self._run).figure()

    def folds(self) -> "Figure":
        """Equity of one account that trades the pick of each fold in its test.

        Raises:
            ConfigError: When the run was not searched again in folds, or none of them traded.
        """
        chart = gallery.draw_fold_equity(self._run)
        if chart is None:
            raise ConfigError(f"run '{self._run.id}': no fold traded on bars that are here")
        return chart.figure()

    def schedule(self) -> "Figure":
        """Equity of the account of all steps of a schedule, a line where each begins.

        Raises:
            ConfigError: When the run was not searched again through time.
        """
        require_schedule(self._run)
        return self.answer()

    def step_genes(self) -> "Figure":
        """Genes of the picks of all steps of a schedule, as shares of their bounds."""
        return gallery.draw_step_genes(self._run).figure()

    def equity(self, *members: int) -> "Figure":
        """Equity and drawdown of members against holding, at the volatility of the first."""
        run = self._run
        holding = gallery.build_holding(run)
        first = run.equity_curve(run.trade_columns(members[0] if members else 0))
        scale = find_hold_scale(holding, first)
        frame = gallery.equity_frame(run, holding, [], 1.0 if isnan(scale) else scale)
        traces = list(frame.data)
        for member in members or (0,):
            traces += gallery.equity(run, member, run.trade_columns(member)).data
        return replace(frame, data=traces).figure()

    def monthly(self, member: int) -> "Figure":
        """Returns of a member by month, year by year."""
        run = self._run
        return gallery.monthly(run, member, run.trade_columns(member)).figure()

    def rolling_sharpe(self, member: int) -> "Figure":
        """Sharpe ratio a day of a member over the 90 days up to each."""
        run = self._run
        return gallery.sharpe_over_time(run, member, run.trade_columns(member)).figure()

    def price(self, member: int, series: int = 0) -> "Figure":
        """Prices of a series with the entries and exits of a member."""
        run = self._run
        frame = gallery.market(run, require_place("the run", "series", series, len(run.series)))
        marks = price.entries_and_exits(run.trade_columns(member), series)
        return replace(frame, alt=marks.alt, data=[*frame.data, *marks.data]).figure()

    def trade(self, member: int, number: int) -> "Figure":
        """One trade of a member bar by bar; `number` is its row in `run.trades(member)`."""
        run = self._run
        trades = run.trade_columns(member)
        bars = run.series[
            int(trades.series[require_place("the member", "trade", number, len(trades))])
        ]
        return price.trade(bars, trades, number).figure()

    def distribution(self, member: int) -> "Figure":
        """How the results of a member's trades are spread."""
        return results.distribution(self._run.trade_columns(member)).figure()

    def by(self, member: int, group: str) -> "Figure":
        """Results of a member by hour, weekday, symbol, side, or exits by reason."""
        return gallery.draw_group_results(
            self._run, self._run.trade_columns(member), group
        ).figure()

    def costs(self, member: int) -> "Figure":
        """Costs of a member's trading, and at which of them nothing would be left."""
        return gallery.costs(self._run, self._run.trade_columns(member)).figure()

    def null(self) -> "Figure":
        """Strengths of null searches, and of the pick."""
        return gallery.null(self._run).figure()

    def power(self) -> "Figure":
        """Shares of markets with a planted edge that the search finds."""
        return gallery.power(self._run).figure()

    def at_costs(self) -> "Figure":
        """Strength of the pick at multiples of what was charged."""
        return gallery.at_costs(self._run).figure()
