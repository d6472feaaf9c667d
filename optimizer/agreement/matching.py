"""Trades of another program and of a ledger in bars, and equal ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from data.checks import NO_TIME, Flags, Floats, Ints
from data.zones import LocalZone, localise
from engine.accounts.ledger import REASONS, Ledger

MOST_DECIMALS, LAST_BITS = 10, 1e-12
"""Decimals that are counted; numbers that are so near relatively are equal."""


@dataclass(frozen=True, eq=False)
class TradeColumns:
    """Trades [K] of a list or of a ledger."""

    number: npt.NDArray[np.str_]  # [K] as the list or the ledger counts them
    side: Ints  # [K] 1 for a long and -1 for a short
    entry: Floats  # [K] price
    exit: Floats  # [K] price; NaN where the list has none
    is_open: Flags  # [K] not ended, as far as a list says so: compared by its entry alone

    def __len__(self) -> int:
        return len(self.side)

    def keep(self, is_kept: Flags | Ints) -> Self:
        """Some of them, by flags [K] or by their places."""
        columns: Any = {
            field.name: value[is_kept]
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        return replace(self, **columns)


@dataclass(frozen=True, eq=False)
class TradeList(TradeColumns):
    """Trades of another program [K], in the order of their entries."""

    entry_ns: Ints  # [K] UTC where `is_zoned`, else on the list's clock
    exit_ns: Ints  # [K]; `NO_TIME` where the list has none
    is_zoned: bool  # whether its times name their zone
    read_as: Mapping[str, str]  # meaning to the name of the column
    program: str = "TradingView"
    # Whether each part of a position that leaves on its own is a trade of its own.
    has_parts: bool = True

    @property
    def unit(self) -> float:
        """Last digit of its prices, such as 0.01; 0 where they have more than ten decimals."""
        prices = np.concatenate([self.entry, self.exit[~np.isnan(self.exit)]])
        for decimals in range(MOST_DECIMALS + 1):
            if (np.abs(np.round(prices, decimals) - prices) <= LAST_BITS * np.abs(prices)).all():
                return float(f"1e-{decimals}")
        return 0.0


BEFORE, AFTER, NO_BAR = -1, -2, -3
"""In place of a bar: a time before the first, after the last, or between two."""

TARGET, END = REASONS.index("target"), REASONS.index("end")

AT_AN_OPEN = tuple(REASONS.index(name) for name in ("signal", "reverse"))
"""Reasons of exits that are orders at the market."""


@dataclass(frozen=True, eq=False)
class PlacedTrades(TradeColumns):
    """Trades [K] in numbers of bars and in prices."""

    entry_bar: Ints  # [K]
    exit_bar: Ints  # [K]


@dataclass(frozen=True, eq=False)
class Ours(PlacedTrades):
    """Trades of a ledger, with the order that each end came by."""

    is_market_exit: Flags  # [K] left at the open of a bar because a condition asked for it


def place_trades(listed: TradeList, bars: Bars, zone: LocalZone | None) -> PlacedTrades:
    """Trades of a list in bars; `zone` is that of times that name none, UTC if None.

    A time that its clock never shows, or shows twice, is refused.
    """
    return PlacedTrades(
        listed.number,
        listed.side,
        listed.entry,
        listed.exit,
        listed.is_open,
        find_bars(find_utc(listed, listed.entry_ns, zone), bars),
        find_bars(find_utc(listed, listed.exit_ns, zone), bars),
    )


def find_utc(listed: TradeList, time_ns: Ints, zone: LocalZone | None) -> Ints:
    """Times [K] of a list in UTC."""
    if zone is None or listed.is_zoned:
        return time_ns
    return localise(time_ns, zone, "times of the list", is_series=False)[0]


def find_bars(time_ns: Ints, bars: Bars) -> Ints:
    """Bars [K] in which times lie; `BEFORE`, `AFTER` or `NO_BAR` where there is none."""
    number = np.searchsorted(bars.timestamp, time_ns, side="right") - 1
    is_within = time_ns < bars.timestamp[number] + bars.timeframe_ns
    beyond = np.where(number == len(bars) - 1, AFTER, NO_BAR)
    is_before = (number < 0) | (time_ns == NO_TIME)
    return np.where(is_before, BEFORE, np.where(is_within, number, beyond))


def list_ours(ledger: Ledger, *, has_parts: bool) -> Ours:
    """Trades of a ledger.

    With `has_parts` each part of a position is a trade; parts that leave together are one.
    """
    columns: Any = (ledger.exit_bar, ledger.exit, ledger.reason)
    places = np.arange(len(ledger))
    if has_parts and ledger.leg_bar.shape[1]:
        reached = ledger.leg_bar >= 0
        legs, of_legs = np.nonzero(reached)
        ended = reached & (ledger.leg_bar == ledger.exit_bar[:, None])
        has_rest = ~(ended.any(axis=1) & (ledger.reason == TARGET))
        places = np.concatenate([legs, np.flatnonzero(has_rest)])
        of_parts = (
            ledger.leg_bar[legs, of_legs],
            ledger.leg_price[legs, of_legs],
            np.full(len(legs), TARGET),
        )
        columns = [
            np.concatenate([part, whole[has_rest]])
            for part, whole in zip(of_parts, columns, strict=True)
        ]
    exit_bar, exit_price, reason = columns
    order = np.lexsort((exit_bar, places))
    ours = Ours(
        places.astype(np.str_),
        ledger.side[places].astype(np.int64),
        ledger.entry[places],
        exit_price,
        reason == END,
        ledger.entry_bar[places],
        exit_bar,
        np.isin(reason, AT_AN_OPEN),
    )
    return ours.keep(order)


def find_first_parts(theirs: PlacedTrades) -> Flags:
    """The first of parts [K] of a position that leave together, which are one trade here."""
    columns = (theirs.side, theirs.entry_bar, theirs.exit_bar, theirs.entry, theirs.exit)
    _, first = np.unique(np.column_stack(columns), axis=0, return_index=True)
    return np.isin(np.arange(len(theirs)), first)


def match(theirs: PlacedTrades, ours: PlacedTrades, unit: float) -> tuple[Flags, Flags]:
    """Trades [K] of a list, and of a ledger [L], that have an equal one in the other.

    Equal are side, both bars, and both prices to half a unit: to as many digits as the list has.
    A trade still open there is equal by its entry to one that ends no earlier. A trade open here,
    absent from the list, has an equal where the list has no open trade: it has closed ones alone.
    """
    in_theirs, in_ours = np.zeros(len(theirs), bool), np.zeros(len(ours), bool)
    waiting: dict[tuple[int, int], list[int]] = {}
    for place, key in enumerate(list_entries(ours)):
        waiting.setdefault(key, []).append(place)
    entries, exits = ours.entry.tolist(), ours.exit.tolist()
    ends = ours.exit_bar.tolist()
    # Those that have ended first: an open one must not take the equal of another.
    order = np.argsort(theirs.is_open, kind="stable").tolist()
    keys, is_open = list_entries(theirs), theirs.is_open.tolist()
    listed = [column.tolist() for column in (theirs.entry, theirs.exit, theirs.exit_bar)]
    for row in order:
        entry, leave, end = (column[row] for column in listed)
        for place in waiting.get(keys[row], ()):
            if in_ours[place] or not _is_near(entry, entries[place], unit):
                continue
            if is_open[row]:
                is_equal = end < 0 or ends[place] >= end
            else:
                is_equal = ends[place] == end and _is_near(leave, exits[place], unit)
            if is_equal:
                in_theirs[row] = in_ours[place] = True
                break
    if any(is_open):
        return in_theirs, in_ours
    begun = {*keys}
    is_alone = np.array([key not in begun for key in list_entries(ours)], bool)
    return in_theirs, in_ours | (ours.is_open & is_alone)


def list_entries(trades: PlacedTrades) -> list[tuple[int, int]]:
    """Side and bar of each entry [K]."""
    return list(zip(trades.side.tolist(), trades.entry_bar.tolist(), strict=True))


def _is_near(listed: float, price: float, unit: float) -> bool:
    return abs(listed - price) <= unit / 2 * (1 + LAST_BITS) + LAST_BITS * abs(price)


def count_apart(flags: Sequence[Flags]) -> int:
    """Trades without an equal one, of both sides together."""
    return sum(int((~is_equal).sum()) for is_equal in flags)
