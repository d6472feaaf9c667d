"""A recorded run as tables: its front, its generations, the trades of its members."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from data.checks import Ints
from data.errors import DataError
from data.plain import methods_take_plain
from engine.batch import Engine
from engine.errors import EngineError
from optimizer.errors import ConfigError, OptimizerError, StoreError
from optimizer.evidence.expectation import ExpectedRecord
from optimizer.evidence.judgement import (
    Judgement,
    build_unfinished_verdict,
    derive_verdict,
    expect_member,
    expect_members,
    find_pick,
    read_opened_result,
)
from optimizer.evidence.pick import PickRecord
from optimizer.evidence.returns import list_days
from optimizer.evidence.verdict import Verdict
from optimizer.formatting import EXPECTED, HELD_OUT, evenly
from optimizer.report.account import Curve, Drawdown, equity_curve, worst_drawdowns
from optimizer.report.pick import by_weight, knee, parse_weights, require_place
from optimizer.report.trades import Trades, build_trades_frame, collect_trades, summarize_sides
from optimizer.run.backtest import list_details
from optimizer.run.individuals import describe_individuals
from optimizer.run.points import measure_run_importance
from optimizer.run.purposes import SHOW, restore_task
from optimizer.run.settings import Specs, build_data_flags
from optimizer.run.task import Task
from optimizer.search.generation import Floats, Population, final_front
from optimizer.store import GenerationSummary, RunStore
from optimizer.store.result import FIGURES, Figures, Member, RunHeader, RunResult, sort_best_first
from optimizer.store.rows import front_population
from strategy.errors import GeneError, StrategyError, unknown
from strategy.gene import find_gene_name

if TYPE_CHECKING:
    import pandas as pd


LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Quantiles of a gene in a population that a fan shows."""

MOST_GENERATIONS = 200
"""More than this are not read: an even choice of them looks the same."""


@dataclass(frozen=True, eq=False)
class History:
    """History of a run's generations."""

    generations: npt.NDArray[np.int64]
    # [N, O] best objective found by then, minimised; NaN without a feasible individual.
    best: Floats
    median: Floats  # [N, O] of the feasible individuals, minimised; NaN without one
    quantiles: Floats  # [N, G, 7] of the genes at `LEVELS`
    # [H] int64, generations with a hypervolume, whether kept or not.
    volume_generations: npt.NDArray[np.int64]
    volume: Floats  # [H] hypervolume of the best found so far, as a share of the last one's
    left_out: int  # generations that were recorded but are not shown
    only_fronts: bool  # whether of some of them only the front was kept


def read_history(path: Path) -> History:
    """The history of at most `MOST_GENERATIONS` of a run, the first and the last included."""
    with RunStore.open(path) as store:
        summaries = list(store.generations())
        kept = [
            summary
            for summary in summaries
            if summary.kept == "whole" or (summary.kept == "front" and summary.front)
        ]
        chosen = [kept[number] for number in evenly(len(kept), MOST_GENERATIONS)]
        populations = [_load_population(store, summary) for summary in chosen]
        header = RunHeader.read(store.header)
    for population, _ in populations:
        header.check_genes(population.genomes)
    progress = [measure_progress(*known) for known in populations]
    shown = [summaries[number] for number in evenly(len(summaries), MOST_GENERATIONS)]
    volume = np.array([summary.hypervolume for summary in shown])
    return History(
        generations=np.array([summary.number for summary in chosen], np.int64),
        best=_stack_rows([best for best, _ in progress]),
        median=_stack_rows([median for _, median in progress]),
        quantiles=_stack_rows(
            [np.quantile(population.genomes, LEVELS, axis=0).T for population, _ in populations]
        ),
        volume_generations=np.array([summary.number for summary in shown], np.int64),
        volume=volume / volume[-1] if len(volume) and volume[-1] > 0 else volume,
        left_out=len(summaries) - len(chosen),
        only_fronts=any(summary.kept == "front" for summary in chosen),
    )


def _load_population(store: RunStore, summary: GenerationSummary) -> tuple[Population, Floats]:
    """Population of a generation as far as it was kept, and objectives of the best until then."""
    if summary.kept == "front":
        front = store.front(summary.number)
        return front, front.objectives
    generation = store.generation(summary.number)
    population, archive = generation.population, generation.archive
    best = archive if len(archive) else front_population(population)
    return population, best.objectives


def measure_progress(population: Population, found: Floats) -> tuple[Floats, Floats]:
    """Best of objectives found so far [N, O], and median of the feasible population, [O] each.

    NaN without an individual; infinite where no number holds the sum of the middle two.
    """
    feasible = population.objectives[population.violations == 0]
    nothing = np.full(population.objectives.shape[1], np.nan)
    with np.errstate(over="ignore"):
        median = np.median(feasible, axis=0) if len(feasible) else nothing
    return found.min(axis=0) if len(found) else nothing, np.asarray(median, np.float64)


def _stack_rows(rows: list[Floats]) -> Floats:
    return np.stack(rows) if rows else np.empty((0, 0))


@methods_take_plain(ConfigError)
class Tables:
    """A recorded run.

    A *member* is a row of the front: 0 is the best in the first objective, as in the table that
    `evolve` prints. Bars are loaded and trades found at first use.

    Args:
        path: Directory of the run.
        data: Where the bars are now, if they have moved since; None for where they were.

    Attributes:
        judgement: All evidence on it; None where it was never judged.

    Raises:
        StoreError: When there is no such run, it is damaged, or it has no generation yet.
    """

    is_search = True
    """True if a search led to the front."""
    losses: tuple[str, ...] = ()  # of what was recorded, a line each, as `runs verify` has them

    def __init__(self, path: Path, data: Specs | None = None) -> None:
        self.path = path
        self._flags = build_data_flags(data)
        with RunStore.open(path) as store:
            self.header = RunHeader.read(store.header)
            self.result, self.judgement = read_opened_result(store)
            self.status: str = store.status
            self.summaries: tuple[GenerationSummary, ...] = tuple(store.generations())
            last, self.losses = store.last_generation(), store.warnings
        if last is None:
            raise StoreError(f"run '{path.name}' has recorded no generation yet")
        self._last = last

    def __repr__(self) -> str:
        known = f"Run({self.id!r}, {self.status}, front of {len(self.members)})"
        return f"{self.verdict.sentence}\n{known}"

    def require_result(self) -> RunResult:
        """Result of a finished run."""
        assert self.result is not None, "the run is finished"
        return self.result

    def require_judgement(self) -> Judgement:
        """Newest judgement of a run that was judged."""
        assert self.judgement is not None, "the run was judged"
        return self.judgement

    @cached_property
    def verdict(self) -> Verdict:
        """Grade, sentence and reasons; of a run that was never judged, how to judge it.

        >>> from optimizer import load_run
        >>> load_run(example).verdict.grade
        'not_judged'
        """
        if self.result is None:
            return build_unfinished_verdict(self.path, is_simulated=self.header.is_simulated)
        return derive_verdict(self.result, self.judgement)

    @property
    def pick(self) -> PickRecord | None:
        """The one answer: the member of greatest strength, or who was judged; None without a front.

        >>> from optimizer import load_run
        >>> load_run(example).pick.member
        0
        """
        return None if self.result is None else find_pick(self.result, self.judgement)

    @property
    def expected(self) -> ExpectedRecord | None:
        """Mean R that the pick is expected to earn on other bars; None if unknown.

        >>> from optimizer import load_run
        >>> load_run(example).expected is None
        True
        """
        return None if self.pick is None else self.expect(self.pick.member)

    def expect(self, member: int) -> ExpectedRecord | None:
        """Mean R that a member is expected to earn on other bars; None if unknown."""
        if self.result is None:
            return None
        number = require_place(f"run '{self.id}'", "member", member, len(self.members))
        return expect_member(self.result, self.judgement, number)

    @property
    def id(self) -> str:
        """Name of the run."""
        return self.path.name

    @property
    def title(self) -> str:
        """Title of its page."""
        return f"Run {self.id}"

    def name_member(self, member: int) -> str:
        """Name of a member in charts."""
        return f"member {member}"

    @cached_property
    def genes(self) -> tuple[str, ...]:
        """Names of the genes, [G]."""
        return self.header.gene_names

    @cached_property
    def bounds(self) -> Floats:
        """Bounds of the genes, [G, 2]: low and high."""
        pairs = [(gene.low, gene.high) for gene in self.header.genes]
        return np.array(pairs, np.float64).reshape(-1, 2)

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """Names of the objectives, [O]."""
        return self.header.objectives

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """Members of the front as recorded, best in the first objective first."""
        if self.result is not None:
            return self.result.front
        front = final_front(self._last)
        members = describe_individuals(self.task, self.engine, front.genomes, front.objectives)
        return sort_best_first(members, self.objectives)

    @cached_property
    def genomes(self) -> Floats:
        """Genomes of the members, [F, G]."""
        return self.header.list_genomes(self.members)

    @cached_property
    def front(self) -> "pd.DataFrame":
        """The front, a row a member: its genes, its objectives, then its other metrics.

        Objectives have their natural sign; an undefined metric is NaN. Where bars were held out,
        ``held_out_`` stands before the same numbers on those. With several windows a metric is the
        mean over them. Of a judged run ``expected_r`` is behind them, as of `expect`.

        >>> from optimizer import load_run
        >>> run = load_run(example)
        >>> list(run.front.columns[:3]), run.front.index.name
        (['ema_fast', 'ema_slow', 'z_window'], 'member')
        """
        import pandas as pd

        rows = []
        for member in self.members:
            kept = {} if member.held_out is None else _flatten_figures(member.held_out)
            held_out = {f"{HELD_OUT}{name}": value for name, value in kept.items()}
            rows.append({**member.genes, **_flatten_figures(member), **held_out})
        others = [name for name in FIGURES if name not in self.objectives]
        columns = list(rows[0]) if rows else [*self.genes, *self.objectives, *others]
        frame = pd.DataFrame(rows, columns=columns)
        frame.index.name = "member"
        if self.result is not None and (
            known := expect_members(self.result, self.judgement, range(len(rows)))
        ):
            columns.append(EXPECTED)
            frame[EXPECTED] = pd.Series(known)
        return frame.astype({name: np.float64 for name in columns if name not in self.genes})

    @cached_property
    def generations(self) -> "pd.DataFrame":
        """One row a generation: individuals, members of the front, evaluated, seconds, rejected.

        >>> from optimizer import load_run
        >>> load_run(example).generations["evaluated"].tolist()
        [16, 16, 16, 16]
        """
        import pandas as pd

        shown = ("individuals", "front", "evaluated", "seconds", "repaired")
        names = sorted({name for summary in self.summaries for name in summary.rejected})
        rows = [
            {name: getattr(summary, name) for name in shown}
            | {f"rejected_{name}": summary.rejected.get(name, 0) for name in names}
            for summary in self.summaries
        ]
        index = pd.Index([summary.number for summary in self.summaries], name="generation")
        return pd.DataFrame(rows, index=index)

    @cached_property
    def task(self) -> Task:
        """Settings of the run, with its bars; `DataError` or `StoreError` where those are gone."""
        with RunStore.open(self.path) as store:
            return restore_task(store, SHOW, self._flags)

    @cached_property
    def bars_problem(self) -> str:
        """Why the bars of the run cannot be had, empty when they can."""
        try:
            self.engine  # noqa: B018 - loading is what is tried
        except (DataError, StrategyError, EngineError, OptimizerError) as error:
            return str(error)
        return ""

    @property
    def has_held_out(self) -> bool:
        """True if members were also tried on bars that the search has not seen."""
        return any(member.held_out is not None for member in self.members)

    @cached_property
    def engine(self) -> Engine:
        """A batch engine for all windows, those searched on first, then those held out."""
        return self.task.full_engine(device="cpu")

    @cached_property
    def history(self) -> History:
        """How the search went, as far as it was kept."""
        return read_history(self.path)

    @property
    def series(self) -> Sequence[Bars]:
        """Bars that the windows refer to, [S]."""
        return self.task.markets.series

    @property
    def windows(self) -> Sequence[Window]:
        """Windows in which members traded, [W]: those searched on, then those held out."""
        return self.task.markets.all_windows

    def trade_columns(self, member: int) -> Trades:
        """Trades of a member as plain columns; `trades` gives them as a frame."""
        (columns,) = self.trades_of([member])
        return columns

    def trades_of(self, members: Sequence[int]) -> Iterator[Trades]:
        """Trades of several members; bars are read but once."""
        genomes = self.genomes[[self.check_member(member) for member in members]]
        for genome, ledgers in zip(genomes, self.engine.ledgers(genomes), strict=True):
            details = list_details(self.task, genome, ledgers)
            yield collect_trades(ledgers, self.windows, self.series, self.task.costs, details)

    def trades(self, member: int) -> "pd.DataFrame":
        """All trades of a member, a row each, in the order of windows and time.

        Symbol, sample (``in`` or ``held out``), entry_time and exit_time (when those bars
        open, UTC), bars_held, reason, the prices entry, stop, target, exit, the net result
        r and cost_r in units of risk, the numbers of its bars, side (1 for a long, -1 for a short)
        and last_stop, the stop in force at the exit; mfe_r and mae_r, how far the price went for
        the trade and against it; legs, payments and sizes where there are such. `DataError` or
        `StoreError` where the bars are gone, or are not those of the run.

        >>> from optimizer import load_run
        >>> run = load_run(example)
        >>> bool(len(run.trades(0)) == run.front["trades"][0])
        True
        """
        trades, symbols = self.trade_columns(member), self.task.markets.symbols
        return build_trades_frame(trades, symbols, self.windows, self.series)

    def sides(self, member: int) -> "pd.DataFrame":
        """Figures of a member's in-sample trades: columns all, long and short.

        Results, best, worst, and how far trades went for them (mean_mfe_r) and against them
        (mean_mae_r) are in R; NaN without a trade.

        >>> from optimizer import load_run
        >>> load_run(example).sides(0).columns.tolist()
        ['all', 'long', 'short']
        """
        import pandas as pd

        trades = self.trade_columns(member)
        return pd.DataFrame(summarize_sides(trades, self.series, ~trades.is_held_out))

    def program(self, member: int, platform: str = "backtesting.py") -> str:
        """A member as a program of another platform, with the differences at its head.

        A platform is named as ``runs export --as`` does. `ConfigError` where it cannot trade as the
        member does.
        """
        from optimizer.export.programs import build_program

        genome = self.genomes[self.check_member(member)]
        return build_program(self.task, genome, f"Member {member} of run {self.id}.", platform)

    def equity(self, member: int) -> "pd.Series":
        """Equity of a member after each of its trades, from 1, by time."""
        import pandas as pd

        curve = self.equity_curve(self.trade_columns(member))
        index = pd.to_datetime(curve.time_ns, unit="ns", utc=True).rename("time")
        return pd.Series(curve.value, index=index, name=f"member {member}")

    def equity_curve(self, trades: Trades) -> Curve:
        """Equity after each of some trades; see `account.equity_curve`."""
        markets, fraction = self.task.markets, self.task.costs.risk_fraction
        start = min(self.series[w.series].timestamp[w.start] for w in self.windows)
        return equity_curve(trades, markets.symbols, fraction, int(start))

    def drawdowns(self, member: int) -> "pd.DataFrame":
        """The deepest falls of a member's equity, a row each, the deepest first.

        Depth is a share of the peak; `recovered` is NaT where equity has not been there again;
        `bars` are those from the peak to the recovery, or else to the last bar, of several symbols
        the times at which one has a bar.
        """
        import pandas as pd

        falls = self.worst_drawdowns(self.trade_columns(member))
        names = ("from", "to", "recovered")
        stamps = {name: [getattr(fall, f"{name}_ns") for fall in falls] for name in names}
        times = {name: pd.to_datetime(ns, unit="ns", utc=True) for name, ns in stamps.items()}
        depths, bars = [fall.depth for fall in falls], [fall.bars for fall in falls]
        return pd.DataFrame({"depth": depths, **times, "bars": bars})

    def worst_drawdowns(self, trades: Trades) -> list[Drawdown]:
        """The deepest falls of equity after each of some trades."""
        return worst_drawdowns(self.equity_curve(trades), self.bar_times)

    @cached_property
    def bar_times(self) -> Ints:
        """When bars in some window open, nanoseconds UTC, each time once."""
        markets = self.task.markets
        times = (markets.series[w.series].timestamp[w.start : w.end] for w in markets.ranges)
        return np.unique(np.concatenate(list(times)))

    @cached_property
    def days(self) -> Ints:
        """The dates on which some window has a bar, [D] days since 1970 UTC."""
        return list_days(self.series, self.windows)

    def population(self, generation: int) -> "pd.DataFrame":
        """All individuals of a generation: their genes, objectives, and whether they are feasible.

        `StoreError` where that generation was not recorded, or only its front was kept.
        """
        import pandas as pd

        with RunStore.open(self.path) as store:
            population = store.generation(generation).population
        self.header.check_genes(population.genomes)
        frame = pd.DataFrame(self.header.show_genomes(population.genomes))
        natural = self.header.natural(population.objectives)
        for column, name in enumerate(self.objectives):
            frame[name] = natural[:, column]
        frame["is_feasible"] = population.violations == 0
        return frame

    @cached_property
    def minimised(self) -> Floats:
        """Objectives of the members, [F, O], each in the sign in which less is better."""
        return self.header.natural(self.front[list(self.objectives)].to_numpy(np.float64))

    def knee(self) -> int:
        """The member that lies closest to the best of all objectives at once."""
        self.check_member(0)
        return knee(self.minimised)

    def by_weight(self, **weights: float) -> int:
        """The member with the best weighted sum of objectives, each scaled to the front's range.

        >>> from optimizer import load_run
        >>> load_run(example).by_weight(strength=1)
        0
        """
        self.check_member(0)
        return by_weight(self.minimised, parse_weights(self.objectives, weights))

    def importance(self, objective: str | None = None) -> "pd.DataFrame":
        """How much of an objective's variance over the recorded trials each gene explains.

        It describes where this search went, and nothing of the market. A row a gene, of the first
        objective if None is named: its share alone, its share beyond the others, and what chance
        reaches of either, see `optimizer.run.points`. `ConfigError` where trials are too few.
        """
        import pandas as pd

        name = self.objectives[0] if objective is None else objective
        if name not in self.objectives:
            raise ConfigError(unknown("objective", name, list(self.objectives)))
        with RunStore.open(self.path) as store:
            importance = measure_run_importance(store)[name]
        shares = {"alone": importance.alone, "beyond": importance.beyond}
        noise = zip(("alone_noise", "beyond_noise"), importance.noise, strict=True)
        return pd.DataFrame({**shares, **dict(noise)}, index=pd.Index(self.genes, name="gene"))

    def number_of_gene(self, gene: str) -> int:
        """Place of a gene among those of the run, refused with the nearest one when unknown."""
        try:
            return self.genes.index(find_gene_name(gene, self.genes))
        except GeneError as error:
            raise ConfigError(str(error)) from None

    def check_member(self, member: int) -> int:
        """The number of a member, refused when there is none such."""
        return require_place(f"run '{self.id}'", "member", member, len(self.members))


def _flatten_figures(figures: Figures) -> dict[str, float]:
    """Objectives, then metrics that are not among them; NaN where undefined."""
    values = {**figures.objectives, **figures.metrics, **figures.objectives}
    return {name: nan if value is None else value for name, value in values.items()}
