"""Individuals that are shown: figures by window, the result, and proof of no look ahead."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from data.bars import Bars, Window
from engine.accounts.account import UNSIZED, Account
from engine.accounts.caveats import find_best_trade, find_gone
from engine.accounts.ledger import REASONS, Bars64, Ledger
from engine.accounts.metrics import METRICS, OVERFLOW, UNDEFINED, MetricTable
from engine.accounts.stake import Stake
from engine.accounts.strategy_stakes import build_stake
from engine.certificate import Certificate, data_hash
from engine.reference import Reference, list_terms
from engine.runtime.compiling.forms import CompiledForm
from optimizer.formatting import minute
from optimizer.goals.constraints import MEAN, POOLED, over_windows
from optimizer.run.markets import Markets
from optimizer.run.problem import EngineProblem, Evaluator, measure
from optimizer.run.task import Task, describe_data
from optimizer.search.evolution import front_hash
from optimizer.search.generation import Floats, Generation, Population
from optimizer.store import RunStore
from optimizer.store.caveats import BestTradeRecord, Caveats
from optimizer.store.result import FIGURES, DeviceUsed, Figure, Figures, Member, RunResult, Timing
from optimizer.store.rows import count_rejected
from strategy.lookahead_check import prove_individuals
from strategy.model import Strategy

BY_WINDOW = ("trades", "win_rate", "mean_r", "sum_r", "total_return", "max_drawdown")
"""Metrics that a result holds of each window, beside the objectives."""


def describe_individuals(
    task: Task, engine: Evaluator, genomes: Floats, objectives: Floats | None = None
) -> tuple[Member, ...]:
    """Individuals for people and JSON.

    `engine` is the task's full one, `genomes` [N, G], `objectives` [N, O] minimised, as the
    search found them. Figures are over the windows to search on, beside them over those held
    out, and with several windows some metrics of each, in the order of `Markets.all_windows`.
    """
    if not len(genomes):
        return ()
    markets, goals = task.markets, task.goals
    table, _ = measure(engine, genomes, markets.spans(markets.all_windows), pools=False)

    def over(windows: Sequence[Window]) -> MetricTable:
        return measure(engine.on(windows), genomes, markets.spans(windows))[0]

    searched = over(markets.windows)
    held_out_indices = markets.places("held_out")
    held_out = over(markets.held_out) if held_out_indices else None
    reached = np.empty((len(genomes), 0))
    if held_out is not None:
        unseen = EngineProblem(goals, markets.spans(markets.held_out), engine.on(markets.held_out))
        reached = unseen.measure_objectives(genomes)
    ledgers = engine.ledgers(genomes)
    account = build_account(task, markets.places("search"))
    unseen_account = build_account(task, held_out_indices) if held_out_indices else None
    shown = dict.fromkeys([*(g.metric for g in goals.objectives if not g.is_formula), *BY_WINDOW])
    names = shown if len(markets.all_windows) > 1 else ()
    members = []
    for i, (genome, taken) in enumerate(zip(genomes, ledgers, strict=True)):
        figures = with_account(compute_figures(searched, i, goals.over), account, taken, genome)
        reached_here = {} if objectives is None else goals.name_objectives(objectives[i])
        kept = None
        if held_out is not None:
            values = [None if np.isnan(value) else value for value in reached[i].tolist()]
            by_name = dict(zip(goals.names, values, strict=False))
            kept = replace(compute_figures(held_out, i, goals.over), objectives=by_name)
            if unseen_account is not None:
                kept = with_account(kept, unseen_account, taken, genome)
        members.append(
            Member(
                **vars(replace(figures, objectives=reached_here)),
                genes=task.spec.layout.show(genome),
                held_out=kept,
                by_window={name: _list_window_figures(table, i, name) for name in names},
            )
        )
    return tuple(members)


@dataclass(frozen=True)
class WindowsAccount:
    """The account of some windows of a task."""

    account: Account
    indices: tuple[int, ...]  # of these windows among all
    task: Task

    @cached_property
    def reference(self) -> Reference:
        """Reader of the rows that trades pay and leave by."""
        spec, series = self.task.spec, self.account.series
        return Reference(spec, series, [], self.task.costs, form=CompiledForm())

    def adapt(self, genome: Floats) -> Account:
        """The account of an individual [G]: its genes size the trades, and pay."""
        spec, costs, account = self.task.spec, self.task.costs, self.account
        stakes: tuple[Stake, ...] = ()
        if spec.account is not None:
            stake = build_stake(spec, costs, spec.layout.decode(genome))
            stakes = (stake,) * len(account.windows)
        return account.with_terms(list_terms(self.reference, genome, account.windows), stakes)


def build_account(task: Task, indices: Sequence[int]) -> WindowsAccount:
    """The account of some windows of a task, by their indices among all."""
    markets = task.markets
    windows = tuple(markets.all_windows[index] for index in indices)
    names = tuple(markets.symbols[index] for index in indices)
    account = Account(markets.series, windows, names, task.costs)
    return WindowsAccount(account, tuple(indices), task)


def build_picks_account(
    task: Task, series: Sequence[Bars], traded: Sequence[tuple[Window, Floats]]
) -> Account:
    """One account of windows of some series, each traded by a genome [G] of its own.

    Where trades are sized from cash, by the genes that entered them; the account begins with the
    cash of the first.
    """
    spec, costs = task.spec, task.costs
    windows = tuple(window for window, _ in traded)
    names = tuple(task.markets.names[window.series] for window in windows)
    if spec.account is None:
        return Account(tuple(series), windows, names, costs)
    stakes = tuple(build_stake(spec, costs, spec.layout.decode(genome)) for _, genome in traded)
    reference = Reference(spec, series, [], costs, form=CompiledForm())
    terms = [list_terms(reference, genome, [window])[0] for window, genome in traded]
    return Account(tuple(series), windows, names, costs, terms=tuple(terms), stakes=stakes)


def with_account(
    figures: Figures, account: WindowsAccount, ledgers: Sequence[Ledger], genome: Floats
) -> Figures:
    """Figures beside those of an account; `ledgers` of all windows [W] are of a genome [G]."""
    adapted, own = account.adapt(genome), [ledgers[index] for index in account.indices]
    values, why = adapted.measure(own)
    metrics, undefined = {**figures.metrics, **values}, {**figures.undefined, **why}
    known = metrics | undefined
    return replace(
        figures,
        metrics={name: metrics.get(name) for name in (*FIGURES, UNSIZED) if name in known},
        undefined={name: undefined[name] for name in FIGURES if name in undefined},
        **vars(find_caveats(adapted, own, values)),
    )


def find_caveats(
    account: Account, ledgers: Sequence[Ledger], values: Mapping[str, float]
) -> Caveats:
    """Facts beside the return of an account; `values` are its measures of ledgers [W]."""
    # Only an account that fell by all it had can have been gone.
    is_lost = values.get("max_drawdown_marked", 0.0) >= 1.0
    gone_ns = find_gone(account, ledgers) if is_lost else None
    gone = "" if gone_ns is None else minute(gone_ns)
    return Caveats(gone=gone, best_trade=_record_best_trade(account, ledgers))


def _record_best_trade(account: Account, ledgers: Sequence[Ledger]) -> BestTradeRecord | None:
    """The trade that makes more than half of an account's return, for people and JSON."""
    best = find_best_trade(account, ledgers)
    if best is None:
        return None
    ledger, window = ledgers[best.window], account.windows[best.window]
    times = account.series[window.series].timestamp
    wick = best.wick
    return BestTradeRecord(
        total_return=best.total_return,
        symbol=account.markets[best.window],
        entered=minute(int(times[ledger.entry_bar[best.trade]])),
        left=minute(int(times[ledger.exit_bar[best.trade]])),
        r=float(ledger.r[best.trade]),
        bar="" if wick is None else minute(int(times[wick.bar])),
        side="" if wick is None else "high" if wick.is_high else "low",
        price=None if wick is None else wick.price,
        beside=None if wick is None else wick.beside,
    )


def compute_figures(table: MetricTable, individual: int, over: str) -> Figures:
    """Metrics of an individual over all windows of a table [P, W, M]: as one, or else their means.

    An undefined metric is None; so is the mean of one that is undefined in a window, with the
    reason of the first such window.
    """
    taken = table.pooled if over == POOLED else table
    values, reasons = taken.values[individual].T, taken.reasons[individual].T  # [M, W]
    first = np.argmax(reasons > 0, axis=1)
    why = reasons[np.arange(len(METRICS)), first]
    means = over_windows(values, MEAN, more_is_better=True)
    # A sum beyond float64 has no mean.
    why = np.where((why == 0) & np.isnan(means), OVERFLOW, why).tolist()
    return Figures(
        metrics={
            name: None if reason else mean
            for name, mean, reason in zip(METRICS, means.tolist(), why, strict=True)
        },
        undefined={
            name: UNDEFINED[reason] for name, reason in zip(METRICS, why, strict=True) if reason
        },
    )


def _list_window_figures(table: MetricTable, individual: int, name: str) -> tuple[Figure, ...]:
    pairs = zip(table.column(name)[individual].tolist(), table.why(name)[individual], strict=True)
    return tuple(None if reason else value for value, reason in pairs)


@dataclass(frozen=True, eq=False)
class Ended:
    """End of a search."""

    last: Generation  # its last generation
    front: Population  # polished, its members by their numbers
    polished: int  # individuals that were tried to polish it
    stopped_by: str  # reason of its end, as in `RunResult`


def describe_result(
    task: Task,
    engine: Evaluator,
    store: RunStore,
    ended: Ended,
    certificate: Certificate,
    timing: Timing,
) -> RunResult:
    """Result of a search that is over, to be recorded, and compared when the record is verified.

    Members stand in the order of the front; `engine` has the windows to search on.
    """
    last, front = ended.last, ended.front
    result = RunResult(
        run=store.run_id,
        path=str(store.path),
        strategy=task.spec.name,
        search=task.config.search,
        data=describe_data(task),
        generation=last.number,
        individuals=len(last.population),
        population=task.config.population,
        infeasible=count_rejected(store.generations()),
        objectives=task.goals.names,
        formulas=task.goals.formulas,
        over_windows=task.goals.over,
        front=describe_individuals(task.closed, engine, front.genomes, front.objectives),
        nearest=None if len(front) else _nearest(task, engine, last.population),
        risk_fraction=task.costs.risk_fraction if task.spec.account is None else None,
        front_hash=front_hash(front.genomes, front.objectives),
        data_hash=data_hash(task.markets.series),
        certificate=certificate,
        device=DeviceUsed(engine.device, engine.threads, engine.device_reason),
        hypervolume=last.hypervolume,
        stopped_by=ended.stopped_by,
        evaluated=sum(summary.evaluated for summary in store.generations()) + ended.polished,
        polished=ended.polished,
        options={g.name: g.options for g in task.spec.layout.genes if g.options},
        bounds={g.name: (float(g.low), float(g.high)) for g in task.spec.layout.genes},
        timing=timing,
    )
    return result.add_answer()


def _nearest(task: Task, engine: Evaluator, population: Population) -> Member:
    """The candidate of a population that is nearest to being feasible."""
    nearest = int(population.violations.argmin())
    (member,) = describe_individuals(task.closed, engine, population.genomes[[nearest]])
    return member


def prove_front(task: Task, genomes: Floats) -> None:
    """Prove it for a front [F, G] on the bars that were searched; see `prove_shown`."""
    # Without anything to prove no ledger is made.
    if task.spec.own:
        ledgers = task.engine(device="cpu").ledgers(genomes)
        prove_shown(task.spec, task.closed.markets, genomes, ledgers)


def prove_one(task: Task, genome: Floats) -> None:
    """Prove it for one individual [G] on all bars of a task, before anything is computed."""
    prove_individuals(task.spec, task.markets.series, [task.spec.layout.decode(genome)])


def prove_shown(
    spec: Strategy, markets: Markets, genomes: Floats, ledgers: Iterable[Sequence[Ledger]]
) -> None:
    """Prove it for individuals [N, G], also at the bars at which their trades signal, in or out.

    All series of the markets are read; ledgers [N] of [W] are of all their windows. Without an
    indicator of a person's own there is nothing to prove. IndicatorError names function,
    parameters, and the first bar that differs.
    """
    if not spec.own:
        return
    by_window = [[_signals(ledger) for ledger in member] for member in ledgers]
    windows_of = [
        [index for index, window in enumerate(markets.all_windows) if window.series == number]
        for number in range(len(markets.series))
    ]
    signals = [
        [np.concatenate([bars[index] for index in indices]) for bars in by_window]
        for indices in windows_of
    ]
    individuals = [spec.layout.decode(genome) for genome in genomes]
    prove_individuals(spec, markets.series, individuals, signals)


def _signals(ledger: Ledger) -> Bars64:
    """Bars with a signal at their close, to enter or to leave at the next open."""
    by_signal = ledger.reason == REASONS.index("signal")
    return np.concatenate([ledger.signal_bar, ledger.exit_bar[by_signal] - 1])
