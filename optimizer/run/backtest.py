"""Backtest of one candidate: figures in each window, its ledger, and details of its trades."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.accounts.ledger import ACCUMULATORS, Ledger, Trade
from engine.accounts.metrics import compute_metrics
from engine.accounts.reference import count_partials
from engine.accounts.results import split_accounts
from engine.accounts.valuation import TradeTerms, plain_terms, reprice_trades
from engine.batch import Engine
from engine.certificate import data_hash
from engine.reference import Reference, find_targets, list_terms
from engine.reference_intrabar import Intrabar, measure_intrabar, read_bars
from engine.runtime.compiling.forms import CompiledForm
from optimizer.formatting import format_count
from optimizer.run.individuals import build_account, compute_figures, with_account
from optimizer.run.task import Task, describe_data, ledger_rows
from optimizer.search.generation import Floats
from optimizer.store.result import (
    DataDescription,
    Figures,
    Member,
    WindowDescription,
    choose_noun,
)
from strategy.forms import Ladder, split_sides
from strategy.model import Strategy

Ints = npt.NDArray[np.int64]

Column = npt.NDArray[Any]
"""[K] numbers; int64 of a bar, -1 where there is none; datetime64[ns] of a time."""

Accounts = Callable[[Sequence[int]], Floats]
"""From places of windows to their accumulators [A] as one account."""


class OrderCounts(NamedTuple):
    """Outcomes of resting orders and of several targets."""

    placed: int
    expired: int
    filled: int
    partials: int  # targets reached, without the last of a trade


class AccountSteps(NamedTuple):
    """Steps by which trades [K] change an account that sizes them from cash."""

    equity: Floats  # after each, from 1
    changed_ns: Ints  # when it comes, nanoseconds UTC
    turn: Ints  # which of all it is


@dataclass(frozen=True, eq=False)
class Details:
    """Columns of a strategy with orders, ladders or money beside those of every trade.

    And what its trades paid, in units of risk, all legs together.
    """

    columns: Mapping[str, Column]  # [K] each, in the order in which files have them
    gross_r: Floats  # [K] R before all costs
    turnover_r: Floats  # [K] worth of all units bought and sold, over the first risk
    fee_r: Floats  # [K] R that fees a unit took
    steps: AccountSteps | None = None  # where an account sizes trades from cash


def plain_details(ledger: Ledger) -> Details:
    """Details of trades that have none of these, and leave in one piece."""
    return _build_details({}, ledger, plain_terms(np.empty(0)))


def list_details(task: Task, genome: Floats, ledgers: Sequence[Ledger]) -> list[Details]:
    """Details of an individual's [G] trades, of each window of `Markets.all_windows` [W]."""
    spec, markets = task.spec, task.markets
    reference = Reference(spec, markets.series, [], task.costs, form=CompiledForm())
    sizes = _list_sizes(task, genome, ledgers)
    all_terms = list_terms(reference, genome, markets.all_windows)
    is_limited = any(len(ledger.gross.T) for ledger in ledgers)
    details = []
    for number, (window, ledger) in enumerate(zip(markets.all_windows, ledgers, strict=True)):
        terms, (sized, steps) = all_terms[number], sizes[number]
        legs: dict[str, Column] = {}
        if spec.targets is not None:
            targets = find_targets(reference, genome, window.series, ledger)
            legs = _list_legs(spec, ledger, markets.series[window.series], targets, terms)
        columns = {**legs, **_list_payments(spec, ledger, terms), **sized}
        if is_limited:
            columns = {"gross": _find_column(ledger.gross, 0), **columns}
        details.append(replace(_build_details(columns, ledger, terms), steps=steps))
    return details


def _build_details(columns: Mapping[str, Column], ledger: Ledger, terms: TradeTerms) -> Details:
    unpaid = terms._replace(unit_fee=0.0, funding=None, borrow=(None, None))
    gross_r = reprice_trades(ledger, 0.0, unpaid)
    turnover_r = gross_r - reprice_trades(ledger, 1.0, unpaid)
    fee_r = gross_r - reprice_trades(ledger, 0.0, unpaid._replace(unit_fee=terms.unit_fee))
    return Details(columns, gross_r, turnover_r, fee_r)


def count_orders(spec: Strategy, ledgers: Sequence[Ledger]) -> OrderCounts:
    """Resting orders and partial exits of some ledgers."""
    resting = [side is not None for side in split_sides(spec.entry)]
    entered = (np.where(ledger.side > 0, *resting).sum() for ledger in ledgers)
    return OrderCounts(
        sum(ledger.orders for ledger in ledgers),
        sum(ledger.expired for ledger in ledgers),
        int(sum(entered)),
        sum(count_partials(ledger) for ledger in ledgers),
    )


def describe_orders(spec: Strategy, ledgers: Sequence[Ledger]) -> Iterator[str]:
    """Resting orders and partial exits in sentences; none of a strategy that has neither."""
    counts = count_orders(spec, ledgers)
    if spec.entry is not None:
        rejected = counts.placed - counts.expired - counts.filled
        also = f", {rejected:,} rejected" if rejected else ""
        yield (
            f"{format_count(counts.placed, 'resting order')}: {counts.filled:,} filled, "
            f"{counts.expired:,} expired, replaced or cancelled{also}"
        )
    if spec.targets is not None:
        yield f"{format_count(counts.partials, 'partial exit')} at targets, before the last exit"


def _list_legs(
    spec: Strategy, ledger: Ledger, bars: Bars, targets: Floats, terms: TradeTerms
) -> dict[str, Column]:
    """Bar, time, price, share and target of each leg; `targets` [K, L], reached or not."""
    sides = split_sides(spec.targets)
    counts = np.array([len(side.legs) if isinstance(side, Ladder) else 0 for side in sides])
    place = np.where(ledger.side > 0, 0, 1)
    columns: dict[str, Column] = {}
    for leg in range(max(counts)):
        bar = _find_column(ledger.leg_bar, leg)
        # A place of -1 is read and thrown away.
        time = np.where(bar >= 0, bars.timestamp[bar], np.iinfo(np.int64).min)
        name, has_leg = f"leg{leg + 1}", counts[place] > leg
        columns[f"{name}_bar"] = bar
        columns[f"{name}_time"] = time.astype("datetime64[ns]")
        columns[f"{name}_price"] = _find_column(ledger.leg_price, leg)
        columns[f"{name}_share"] = np.where(has_leg, terms.shares[place, leg], np.nan)
        columns[f"{name}_target"] = np.where(has_leg, targets[:, leg], np.nan)
    return columns


def _find_column(table: Column, number: int) -> Column:
    """A column [K] of a table [K, N]; one without rows may have none."""
    return table[:, number] if number < table.shape[1] else np.empty(len(table), table.dtype)


def list_legs(columns: Mapping[str, Column]) -> list[str]:
    """Names that columns of legs begin with, in the order of targets."""
    return [name.removesuffix("_bar") for name in columns if name.endswith("_bar")]


def _list_payments(spec: Strategy, ledger: Ledger, terms: TradeTerms) -> dict[str, Column]:
    """Costs of being held in units of risk, of each kind; below 0 where a trade received."""
    unpaid = terms._replace(funding=None, borrow=(None, None))
    free, columns = reprice_trades(ledger, 0.0, unpaid), {}
    if spec.funding is not None:
        with_funding = unpaid._replace(funding=terms.funding)
        columns["funding_r"] = free - reprice_trades(ledger, 0.0, with_funding)
    if spec.borrow is not None:
        with_borrow = unpaid._replace(borrow=terms.borrow)
        columns["borrow_r"] = free - reprice_trades(ledger, 0.0, with_borrow)
    return columns


def _list_sizes(
    task: Task, genome: Floats, ledgers: Sequence[Ledger]
) -> list[tuple[dict[str, Column], AccountSteps | None]]:
    """Units and leverage of each window's trades, and steps; none where no account sizes them.

    The account is that of all windows searched on, and another one of those held out.
    """
    sizes: list[tuple[dict[str, Column], AccountSteps | None]] = [({}, None)] * len(ledgers)
    if task.spec.account is None:
        return sizes
    for numbers in split_accounts(task.markets.all_windows):
        some = [ledgers[number] for number in numbers]
        folded = build_account(task, numbers).adapt(genome).fold(some)
        ends = np.cumsum([len(ledger) for ledger in some])[:-1]
        columns = (
            np.split(folded.by_place(column), ends)
            for column in (
                folded.units, folded.leverage, folded.equity, folded.changed_ns,
                np.arange(len(folded.r)),
            )
        )  # fmt: skip
        for w, units, leverage, *steps in zip(numbers, *columns, strict=True):
            sizes[w] = {"size": units, "leverage": leverage}, AccountSteps(*steps)
    return sizes


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
