"""Undecided trades: a bar does not tell what came first in it, and the law takes the worse.

Two kinds of trades end at a stop that another path of the same bar would not have met:

- Their last bar touches the stop and a target that was still open. Otherwise the targets that it
  touches come first, each takes its share at its price, and the rest leaves at the stop.
- A stop order filled them within their last bar; its low (a short's high) at the stop may be
  older than the fill, because the bar closes on the stop's other side. Otherwise the stop was not
  met in that bar after the fill: the targets that it reaches take their shares, and the trade goes
  on by the law, to its own exit. The trades that follow are left as they are.

Where finer bars make up a bar, the one in which the trade ends is looked at in its place. House
rule; most backtesters settle this silently, in either direction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from data.bars import Window
from data.checks import Flags, Floats
from engine.accounts.curves import add_up
from engine.accounts.ledger import AT_STOP, Ledger
from engine.accounts.valuation import TradeTerms, compute_r, is_taken_whole, list_exits
from engine.positions.exit_spec import STOP_ORDER
from engine.positions.reference import build_ledger, find_signal_range, make_room, take_signals
from engine.positions.reference_orders import (
    FORM,
    HIGH,
    LOW,
    NO_ORDER,
    ORDER_PART,
    STANDING,
    UNTOUCHED,
    WITHIN,
    BarPart,
    SignalSpan,
    World,
    begin_book,
    count_finer,
    read_bar,
    read_finer_bar,
    touch_level,
    touch_order,
)
from engine.reference import Reference, find_targets

COARSE_SHARE = 0.05
"""Above this share of undecided trades, bars are too coarse for the bracket."""


class BarReadings(NamedTuple):
    """Both readings of the trades [K] of one window."""

    r: Floats  # [K] of the better one; that of the ledger where nothing is undecided
    at_target: Flags  # [K] stopped in a bar that also touches an open target
    at_fill: Flags  # [K] stopped in the bar of the fill by a price that may be older

    @property
    def is_undecided(self) -> Flags:
        """Truths [K]: the order within the last bar is unknown."""
        return self.at_target | self.at_fill


@dataclass(frozen=True)
class Intrabar:
    """How much hangs on the order within a bar."""

    trades: int
    undecided: int  # trades of either kind
    sum_r: float  # sum of r as the law has it, the worse reading
    sum_r_target_first: float  # the same with the better reading of every undecided trade
    at_target: int  # stopped in a bar that also touched an open target
    at_fill: int  # stopped in the bar of their fill, at a price that may be older than it
    undecided_r: float  # sum of r of the undecided trades, as the law has it

    @property
    def share(self) -> float:
        """Share of undecided trades; 0 without trades."""
        return self.undecided / self.trades if self.trades else 0.0

    @property
    def is_too_coarse(self) -> bool:
        """True if so much is undecided that finer bars are needed."""
        return self.share > COARSE_SHARE


def measure_intrabar(ledgers: Sequence[Ledger], readings: Sequence[BarReadings]) -> Intrabar:
    """Undecided trades of some windows [W], and both sums of R."""
    r, better = (np.concatenate([each.r for each in some]) for some in (ledgers, readings))
    is_undecided = np.concatenate([each.is_undecided for each in readings])
    return Intrabar(
        trades=len(r),
        undecided=int(is_undecided.sum()),
        sum_r=add_up(r),
        sum_r_target_first=add_up(better),
        at_target=sum(int(each.at_target.sum()) for each in readings),
        at_fill=sum(int(each.at_fill.sum()) for each in readings),
        undecided_r=add_up(r[is_undecided]),
    )


def read_bars(
    reference: Reference,
    genome: Floats,
    windows: Sequence[Window],
    ledgers: Sequence[Ledger],
    terms: Sequence[TradeTerms],
) -> list[BarReadings]:
    """Both readings of an individual's [G] trades in windows [W], made by the reference's costs."""
    each = zip(windows, ledgers, terms, strict=True)
    return [_read_window(reference, genome, *of_window) for of_window in each]


def _read_window(
    reference: Reference, genome: Floats, window: Window, ledger: Ledger, terms: TradeTerms
) -> BarReadings:
    world = reference.find_world(reference.decode(genome), window.series)
    per_side = reference.costs.per_side
    targets = find_targets(reference, genome, window.series, ledger)
    is_stopped = np.isin(ledger.reason, AT_STOP)
    prices, last = world.prices, ledger.exit_bar
    reach = np.where(ledger.side > 0, prices[HIGH, last], prices[LOW, last])
    side, fill_parts = np.where(ledger.side > 0, 0, 1), np.full(len(ledger), NO_ORDER)
    by_stop_order = world.parts[side, FORM, ORDER_PART] == STOP_ORDER
    is_young = is_stopped & by_stop_order & (ledger.entry_bar == last)
    is_near = is_stopped & _find_touched(ledger, targets, reach).any(axis=1)
    for k in np.flatnonzero(is_young | is_near).tolist():
        number, part, is_within = _find_last_part(world, ledger, k)
        reach[k] = part.high if ledger.side[k] > 0 else part.low
        # An open beyond the stop that has cost the account ends the trade before all else.
        is_gap = ledger.side[k] * part.open <= ledger.side[k] * ledger.last_stop[k]
        is_stopped[k] &= is_within or not is_gap
        is_newer = ledger.side[k] * part.close <= ledger.side[k] * ledger.last_stop[k]
        if is_young[k] and is_within and not is_newer:
            fill_parts[k] = number
    touched: Flags = _find_touched(ledger, targets, reach) & is_stopped[:, None]
    r = np.maximum(ledger.r, _take_targets(ledger, targets, touched, per_side, terms))
    at_fill: Flags = fill_parts != NO_ORDER
    later = _LaterBars(reference, genome, window, world)
    for k in np.flatnonzero(at_fill).tolist():
        r[k] = max(r[k], later.find_r(ledger, k, int(fill_parts[k])))
    at_target: Flags = np.logical_or.reduce(touched, axis=1)
    return BarReadings(r, at_target, at_fill)


def _find_touched(ledger: Ledger, targets: Floats, reach: Floats) -> Flags:
    """Truths [K, L]: prices that reach so far [K] touch each target that was still open."""
    sign = ledger.side[:, None]
    touched: Flags = sign * reach[:, None] >= sign * targets
    return touched & (ledger.leg_bar < 0) if ledger.leg_bar.shape[1] else touched


def _take_targets(
    ledger: Ledger, targets: Floats, touched: Flags, per_side: float, terms: TradeTerms
) -> Floats:
    """R of trades [K] had each touched target [K, L] come before the stop of its bar."""
    exits, last = list_exits(ledger), ledger.exit_bar[:, None]
    is_whole = is_taken_whole(terms)[np.where(ledger.side > 0, 0, 1)]
    price = np.where(is_whole & touched[:, 0], targets[:, 0], exits.price)
    if exits.leg_bar.shape[1]:
        leg_price = np.where(touched, targets, exits.leg_price)
        exits = exits._replace(leg_bar=np.where(touched, last, exits.leg_bar), leg_price=leg_price)
    exits = exits._replace(price=price)
    return compute_r(ledger, np.arange(len(ledger)), exits, per_side, terms)


def _list_parts(world: World, j: int) -> Iterator[BarPart]:
    """The finer bars of a bar, or the bar itself."""
    count = count_finer(world, j)
    if not count:
        yield read_bar(world, j)
    for part in range(count):
        yield read_finer_bar(world, j, part)


def _find_last_part(world: World, ledger: Ledger, k: int) -> tuple[int, BarPart, bool]:
    """Number and prices of the part of its last bar in which a stopped trade ends.

    And True if it fills the trade within it.
    """
    trade, is_held = ledger.trade(k), ledger.entry_bar[k] < ledger.exit_bar[k]
    side = 0 if trade.side > 0 else 1
    level = 0.0 if is_held else touch_level(world, side, trade.signal_bar)
    for number, part in enumerate(_list_parts(world, trade.exit_bar)):
        how = UNTOUCHED if is_held else touch_order(world, side, level, part)
        is_held = is_held or how != UNTOUCHED
        worst = part.low if trade.side > 0 else part.high
        if is_held and trade.side * worst <= trade.side * trade.last_stop:
            return number, part, how == WITHIN
    raise AssertionError("a trade that was stopped in a bar met its stop there")


class _LaterBars:
    """Trades that were stopped in the bar of their fill, as if they were not, by the reference."""

    def __init__(self, reference: Reference, genome: Floats, window: Window, world: World) -> None:
        self._run, self._legs = reference.form(take_signals), reference.n_legs
        stop = find_signal_range(window.start, window.end, 0, world.limits).stop
        self._stop, self._end = stop, window.end
        self._prices, self._finer = world.prices.copy(), world.finer.copy()
        frozen = self._finer.view()
        frozen.flags.writeable = False
        self._world = world._replace(prices=self._prices, finer=frozen)

    def find_r(self, ledger: Ledger, k: int, part: int) -> float:
        """R of a trade with a stop that its own part of the fill's bar does not meet."""
        trade, world = ledger.trade(k), self._world
        side, row = (0, LOW) if trade.side > 0 else (1, HIGH)
        e, is_whole = trade.entry_bar, count_finer(world, trade.entry_bar) == 0
        prices, at = (self._prices, e) if is_whole else (self._finer, world.spans[0, e] + part)
        book = begin_book(world, (e, e))
        book.orders[side, STANDING] = trade.signal_bar
        # A trade of the other side may end it, and end itself in the same bar.
        trades, before = make_room(2, self._legs), prices[row, at]
        prices[row, at] = np.nextafter(trade.last_stop, trade.side * np.inf)
        self._run(world, SignalSpan(e, self._stop, self._end), book, trades, 1)
        prices[row, at] = before
        return float(build_ledger(trades, book.counts).r[0])
