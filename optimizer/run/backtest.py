"""Backtest of one candidate: its figures in each window, and its ledger as a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.accounts.ledger import ACCUMULATORS, Ledger, Trade
from engine.accounts.metrics import compute_metrics
from engine.batch import Engine
from engine.certificate import data_hash
from engine.reference import Reference, list_terms
from engine.reference_intrabar import Intrabar, measure_intrabar, read_bars
from optimizer.run.individuals import build_account, compute_figures, with_account
from optimizer.run.task import Task, describe_data, ledger_rows
from optimizer.run.trade_details import list_details
from optimizer.search.generation import Floats
from optimizer.store.result import (
    DataDescription,
    Figures,
    Member,
    WindowDescription,
    choose_noun,
)

Accounts = Callable[[Sequence[int]], Floats]
"""From places of windows to their accumulators [A] as one account."""


@dataclass(frozen=True, kw_only=True)
class WindowFigures(WindowDescription, Figures):
    """Figures of an individual in one window, with its accumulators by name."""

    accumulators: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Backtest(Member):
    """Backtest of one individual: a member of no front, and more of each of its windows, [W]."""

    strategy: str
    data: DataDescription
    data_hash: str
    windows: tuple[WindowFigures, ...]
    intrabar: Intrabar
    contradictions: int  # bars at which both sides signal, so that neither does; as searched on
    engine: str
    over_windows: str


def _count_contradictions(task: Task, genome: Floats) -> int:
    """Bars searched on at which both sides signal; a strategy of one side has none."""
    if not (task.spec.long and task.spec.short):
        return 0
    return task.build_reference(task.markets.windows).contradictions(genome)


def build_ledger_table(
    task: Task, genome: Floats, ledgers: Sequence[Ledger]
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Column names and rows of an individual's [G] trades, with the times at which bars open.

    `ledgers` are in the order of `Markets.all_windows`. Symbol and sample come first where
    there are several windows, and the window itself where one symbol has several. Legs, payments
    and sizes stand before the times where the strategy has such.
    """
    markets = task.markets
    described = markets.describe()
    whose: tuple[str, ...] = ("symbol", "sample") if len(described) > 1 else ()
    if choose_noun(described) == "window":
        whose = ("symbol", "label", "sample")
    rows: list[tuple[object, ...]] = []
    details = [of_window.columns for of_window in list_details(task, genome, ledgers)]
    for window, description, ledger, columns in zip(
        markets.all_windows, described, ledgers, details, strict=True
    ):
        owner = tuple(getattr(description, name) for name in whose)
        stamps = markets.series[window.series].timestamp
        rows += [
            (
                *owner,
                *row,
                *(_read_cell(column[k]) for column in columns.values()),
                _format_time(stamps[ledger.entry_bar[k]]),
                _format_time(stamps[ledger.exit_bar[k]]),
            )
            for k, row in enumerate(ledger_rows(ledger))
        ]
    return (*whose, *Trade._fields, *details[0], "entry_time", "exit_time"), rows


def _format_time(stamp: int) -> str:
    """ISO time of nanoseconds since 1970, as other programs read it."""
    return f"{np.datetime64(int(stamp), 'ns').astype('datetime64[s]')}Z"


def _read_cell(value: np.generic) -> object:
    """A number as plain Python, a time as text; None where there is none, as of a leg."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _format_time(int(value.astype(np.int64)))
    number_of_bar: object = value.item()
    return None if isinstance(number_of_bar, int) and number_of_bar < 0 else number_of_bar


def run_engine(
    task: Task, genome: Floats, engine: str, batch: Engine
) -> tuple[tuple[Ledger, ...], Floats, Accounts]:
    """The ledgers [W] and the accumulators [W, A] of one candidate, in all windows.

    And what gives those of some of the windows as one account. `batch` is the task's own engine
    on a CPU.
    """
    markets = task.markets
    every = markets.all_windows
    if engine == "reference":
        reference = Reference(task.spec, markets.series, every, task.costs)
        ledgers = tuple(reference.trades(genome))
        folded = np.array([reference.fold(ledger, genome) for ledger in ledgers])
        return ledgers, folded, lambda indices: reference.account(ledgers, indices, genome)
    batch = batch if engine == "cpu" else task.full_engine(device=engine)

    def account(indices: Sequence[int]) -> Floats:
        some = batch.on([every[index] for index in indices])
        _, accumulators = some.evaluate_account(genome[None])
        return np.ravel(accumulators)

    return tuple(batch.trades(genome)), batch.evaluate(genome[None])[0], account


def describe_backtest(
    task: Task,
    genome: Floats,
    ledgers: Sequence[Ledger],
    accumulators: Floats,
    account: Accounts,
    engine: str,
) -> Backtest:
    """Backtest of an individual in all windows, and in each."""
    markets = task.markets

    def figures(indices: Sequence[int]) -> Figures:
        spans = markets.spans([markets.all_windows[index] for index in indices])
        table = compute_metrics(accumulators[None, indices], spans, account=account(indices)[None])
        over = compute_figures(table, 0, task.goals.over)
        return with_account(over, build_account(task, indices), ledgers, genome)

    held_out = markets.places("held_out")
    return Backtest(
        **vars(figures(markets.places("search"))),
        strategy=task.spec.name,
        genes=task.spec.layout.show(genome),
        data=describe_data(task),
        data_hash=data_hash(markets.series),
        held_out=figures(held_out) if held_out else None,
        windows=tuple(
            WindowFigures(
                **vars(window),
                **vars(figures([w])),
                accumulators=dict(zip(ACCUMULATORS, accumulators[w].tolist(), strict=True)),
            )
            for w, window in enumerate(markets.describe())
        ),
        intrabar=_measure_intrabar(task, genome, ledgers),
        contradictions=_count_contradictions(task, genome),
        engine=engine,
        over_windows=task.goals.over,
    )


def _measure_intrabar(task: Task, genome: Floats, ledgers: Sequence[Ledger]) -> Intrabar:
    """Share of results that hangs on the order within a bar, over the windows to search on."""
    windows, reference = task.markets.windows, task.build_reference([])
    searched = [ledgers[place] for place in task.markets.places("search")]
    terms = list_terms(reference, genome, windows)
    return measure_intrabar(searched, read_bars(reference, genome, windows, searched, terms))
