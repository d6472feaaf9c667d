"""Columns that orders, ladders and money add to trades: legs, payments and sizes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.accounts.ledger import Ledger
from engine.accounts.marks import StakedTrades, grow_account
from engine.accounts.reference import (
    count_partials,
    merge_ledgers,
    order_exits,
    size_trades,
)
from engine.accounts.results import split_accounts
from engine.accounts.stake import build_stake, list_shares
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.formatting import format_count
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from strategy.exits import split_sides
from strategy.model import Strategy
from strategy.orders import Ladder
from strategy.rows import resolve_value

Column = npt.NDArray[Any]
"""[K] numbers; int64 of a bar, -1 where there is none; datetime64[ns] of a time."""


class OrderCounts(NamedTuple):
    """Outcomes of resting orders and of several targets."""

    placed: int
    expired: int
    filled: int
    partials: int  # targets reached, without those that ended a trade


@dataclass(frozen=True, eq=False)
class Details:
    """Columns of a strategy with orders, ladders or money beside those of every trade."""

    columns: Mapping[str, Column]  # [K] each, in the order in which files have them
    exits: Floats  # [K] mean price at which a unit left, over all legs
    unit_fee: float  # fee of a side for one unit, in price
    # [K] of the account after each trade, from 1, where it sizes them from cash.
    equity: Floats | None = None


def list_details(task: Task, genome: Floats, ledgers: Sequence[Ledger]) -> list[Details]:
    """Details of an individual's [G] trades, of each window of `Markets.all_windows` [W]."""
    spec, markets, genes = task.spec, task.markets, task.spec.layout.decode(genome)
    multiplier = 1.0 if spec.market is None else resolve_value(spec.market.multiplier, {})
    sizes = _list_sizes(task, genes, ledgers)
    paying, is_limited = _Payments(task, genes), any(len(ledger.gross.T) for ledger in ledgers)
    details = []
    for number, (window, ledger) in enumerate(zip(markets.all_windows, ledgers, strict=True)):
        legs = _list_legs(spec, genes, ledger, markets.series[window.series])
        equity = sizes[number].pop("equity", None)
        columns = {**legs, **paying.charge(window.series, ledger), **sizes[number]}
        if is_limited:
            columns = {"gross": _find_column(ledger.gross, 0), **columns}
        details.append(
            Details(
                columns, _average_exits(ledger, columns), task.costs.fee_unit / multiplier, equity
            )
        )
    return details


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
    spec: Strategy, genes: Mapping[str, float], ledger: Ledger, bars: Bars
) -> dict[str, Column]:
    """Bar, time, price and share of each target of several."""
    if spec.targets is None:
        return {}
    shares, _ = list_shares(spec, genes)
    sides = split_sides(spec.targets)
    counts = np.array([len(side.legs) if isinstance(side, Ladder) else 0 for side in sides])
    place = np.where(ledger.side > 0, 0, 1)
    columns: dict[str, Column] = {}
    for leg in range(max(counts)):
        bar = _find_column(ledger.leg_bar, leg)
        # A place of -1 is read and thrown away.
        time = np.where(bar >= 0, bars.timestamp[bar], np.iinfo(np.int64).min)
        name = f"leg{leg + 1}"
        columns[f"{name}_bar"] = bar
        columns[f"{name}_time"] = time.astype("datetime64[ns]")
        columns[f"{name}_price"] = _find_column(ledger.leg_price, leg)
        columns[f"{name}_share"] = np.where(counts[place] > leg, shares[place, leg], np.nan)
    return columns


def _find_column(table: Column, number: int) -> Column:
    """A column [K] of a table [K, N]; one without rows may have none."""
    return table[:, number] if number < table.shape[1] else np.empty(len(table), table.dtype)


def list_legs(columns: Mapping[str, Column]) -> list[str]:
    """Names that columns of legs begin with, in the order of targets."""
    return [name.removesuffix("_bar") for name in columns if name.endswith("_bar")]


def _average_exits(ledger: Ledger, columns: Mapping[str, Column]) -> Floats:
    """Mean price at which a unit left."""
    total = ledger.exit
    for leg in list_legs(columns):
        apart = columns[f"{leg}_share"] * (columns[f"{leg}_price"] - ledger.exit)
        total = total + np.where(columns[f"{leg}_bar"] >= 0, apart, 0.0)
    return total


class _Payments:
    """Payments of trades for being held, in units of risk."""

    def __init__(self, task: Task, genes: Mapping[str, float]) -> None:
        self._spec, self._genes, self._task = task.spec, genes, task
        self._paid: dict[tuple[str, int, int], Floats] = {}

    def charge(self, series: int, ledger: Ledger) -> dict[str, Column]:
        """Costs that each trade paid, below 0 where it received; none where nothing is charged."""
        columns: dict[str, Column] = {}
        if self._spec.funding is not None:
            paid = ledger.side * self._sum_legs("funding", 0, series, ledger)
            columns["funding_r"] = paid / _risks(ledger)
        if self._spec.borrow is not None:
            by_side = [self._sum_legs("borrow", side, series, ledger) for side in range(2)]
            columns["borrow_r"] = np.where(ledger.side > 0, *by_side) / _risks(ledger)
        return columns

    def _sum_legs(self, name: str, place: int, series: int, ledger: Ledger) -> Floats:
        """Costs of a unit from entry to exit [K], in price, of each leg to its own bar."""
        charge = split_sides(getattr(self._spec, name))[place]
        if charge is None:
            return np.zeros(len(ledger))
        paid = self._read(name, place, series)
        total = paid[ledger.exit_bar] - paid[ledger.entry_bar]
        shares, _ = list_shares(self._spec, self._genes)
        side = np.where(ledger.side > 0, 0, 1)
        for leg in range(ledger.leg_bar.shape[1]):
            bar = ledger.leg_bar[:, leg]
            early = shares[side, leg] * (paid[ledger.exit_bar] - paid[bar])
            total = total - np.where(bar >= 0, early, 0.0)
        return total

    def _read(self, name: str, place: int, series: int) -> Floats:
        """Costs paid up to the open of each bar, [T] price."""
        key = (name, place, series)
        if key not in self._paid:
            charge = split_sides(getattr(self._spec, name))[place]
            paid = self._reference.sum_payments(charge, self._genes, series)
            assert paid is not None
            self._paid[key] = paid
        return self._paid[key]

    @property
    def _reference(self) -> Reference:
        markets, form = self._task.markets, CompiledForm()
        return Reference(self._spec, markets.series, [], self._task.costs, form=form)


def _risks(ledger: Ledger) -> Floats:
    risks: Floats = ledger.side * (ledger.entry - ledger.stop)
    return risks


def _list_sizes(
    task: Task, genes: Mapping[str, float], ledgers: Sequence[Ledger]
) -> list[dict[str, Column]]:
    """Units, leverage and equity after each window's trades; none where no account sizes them.

    The account is that of all windows searched on, and another one of those held out.
    """
    if task.spec.account is None:
        return [{} for _ in ledgers]
    markets, stake = task.markets, build_stake(task.spec, task.costs, genes)
    sizes: list[dict[str, Column]] = [{} for _ in ledgers]
    for numbers in split_accounts(markets.all_windows):
        some = [ledgers[number] for number in numbers]
        windows = [markets.all_windows[number] for number in numbers]
        order, exit_order = order_exits(some, windows, markets.series)
        trades = size_trades(merge_ledgers(some, windows, markets.series))
        parts, in_order = [StakedTrades(trades, stake, 1.0)], np.arange(len(trades.r))
        worth, units, leverage, _ = grow_account(parts, in_order, stake.cash)
        ends = np.cumsum([len(some[w]) for w in order])[:-1]
        grown = {"size": units, "leverage": leverage, "equity": worth / stake.cash}
        for name, values in grown.items():
            unsorted = np.empty_like(values)
            unsorted[exit_order] = values
            for w, part in zip(order, np.split(unsorted, ends), strict=True):
                sizes[numbers[w]][name] = part
    return sizes
