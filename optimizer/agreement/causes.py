"""Likely causes of differences between two lists, each tried: what would be equal then?"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from data.bars import Bars
from data.checks import Flags, Floats, Ints
from data.errors import TableError
from data.timeframe import DAY_NS, HOUR_NS, MINUTE_NS
from data.zones import CLOCKS, LocalZone
from optimizer.agreement.matching import (
    AFTER,
    LAST_BITS,
    Ours,
    PlacedTrades,
    TradeList,
    count_apart,
    find_utc,
    list_entries,
    match,
    place_trades,
)
from optimizer.formatting import format_count, minute

EARLIEST_H, LATEST_H = -12, 14
"""Clocks of the world, hours before UTC and after."""

STEP_NS = 15 * MINUTE_NS

MOST_CLOCKS = 4
"""Clocks whose trades are compared in full: those with most entries in common."""

STEPS = (100, 50, 25, 20, 10, 5, 2, 1)
"""Last digits that a tick may have."""

DAYS = (1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90)
"""First days of a list that are left out."""

MOST_LEFT_OUT, MOST_REMAINING = 0.25, 0.2
"""First days explain differences if they hold so much of the list at most, and so few remain."""

LEAST_GAIN = 0.02
"""Share of the differences that a cause explains at least."""


@dataclass(frozen=True, eq=False)
class Case:
    """A list and the trades here, as they are compared."""

    listed: TradeList
    bars: Bars
    theirs: PlacedTrades
    ours: Ours
    unit: float  # prices are equal to half of it
    has_market_entry: bool  # whether entries are orders at the market
    span: slice  # bars that the strategy trades on
    # Trades of the strategy on other bars.
    run: Callable[[slice], Ours]
    # Changes of the trades here that were causes, in their order.
    changes: tuple[Callable[[Ours], Ours], ...] = ()

    def match(self) -> tuple[Flags, Flags]:
        """Trades of both sides that have an equal one."""
        return match(self.theirs, self.ours, self.unit)

    def change(self, change: Callable[[Ours], Ours]) -> "Case":
        """The same with changed trades here."""
        return replace(self, ours=change(self.ours), changes=(*self.changes, change))

    def cut(self, start: int, end: int) -> "Case":
        """The same with the strategy run on fewer bars."""
        span = slice(max(start, self.span.start), min(end, self.span.stop))
        ours = self.run(span)
        for change in self.changes:
            ours = change(ours)
        return replace(self, span=span, ours=ours)

    def format_bar(self, bar: int) -> str:
        """Time at which a bar opens."""
        return minute(int(self.bars.timestamp[bar]))


class Trial(NamedTuple):
    """A cause that is tried."""

    name: str
    sentence: str
    remedy: str
    case: Case  # as it would be


@dataclass(frozen=True)
class Cause:
    """A likely cause of differences."""

    name: str
    sentence: str
    remedy: str  # empty where there is none
    equal: int  # trades of the list that would be equal, with the causes before it
    of: int  # trades of the list that are compared then


def find_causes(case: Case) -> tuple[tuple[Cause, ...], Case]:
    """Causes in the order in which they explain most, each on top of those before it.

    And the case without them.
    """
    causes: list[Cause] = []
    for stage in STAGES:
        waiting = dict(stage)
        while waiting and (apart := count_apart(case.match())):
            trials = [trial for list_trials in waiting.values() for trial in list_trials(case)]
            counts = [count_apart(trial.case.match()) for trial in trials]
            best = min(range(len(trials)), key=counts.__getitem__, default=None)
            if best is None or apart - counts[best] < max(1, LEAST_GAIN * apart):
                break
            name, sentence, remedy, changed = trials[best]
            is_equal, _ = changed.match()
            if not is_equal.any():
                break
            case = changed
            causes.append(Cause(name, sentence, remedy, int(is_equal.sum()), len(is_equal)))
            del waiting[name]
    return tuple(causes), case


def _try_clocks(case: Case) -> Iterator[Trial]:
    """The list's clock is another one."""
    shifts = sorted(
        range(EARLIEST_H * HOUR_NS, LATEST_H * HOUR_NS + 1, STEP_NS), key=lambda s: s % HOUR_NS
    )
    fixed = [_name_clock(shift_ns) for shift_ns in shifts if shift_ns]
    unzoned, ours = replace(case.listed, is_zoned=False), {*list_entries(case.ours)}
    placed, common = {}, {}
    for name in fixed if case.listed.is_zoned else (*fixed, *CLOCKS):
        zone = LocalZone(name, "earlier")
        try:
            placed[name] = place_trades(unzoned, case.bars, zone)
        except TableError:
            continue
        opens = np.isin(find_utc(unzoned, unzoned.entry_ns, zone), case.bars.timestamp)
        common[name] = len(ours.intersection(list_entries(placed[name]))), int(opens.sum())
    # Of clocks with equally many entries in common that at which entries are at opens of bars.
    ranked = sorted(placed, key=common.__getitem__, reverse=True)
    for name in ranked[:MOST_CLOCKS]:
        sentence = f"The list's clock is that of {name}"
        remedy = f"--list-tz {name}"
        if case.listed.is_zoned:
            sentence, remedy = f"Times of the list are those of {name} in place of UTC", ""
        if name == _name_clock(case.bars.timeframe_ns):
            sentence += ", or its bars are stamped at their close"
        yield Trial("clock", sentence, remedy, replace(case, theirs=placed[name]))


def _name_clock(shift_ns: int) -> str:
    """Clock so far from UTC, as ``--tz`` takes it.

    >>> _name_clock(-int(5.5 * 3600) * 10**9)
    'UTC-5h30m'
    """
    hours, rest = divmod(abs(shift_ns), HOUR_NS)
    minutes = f"{rest // MINUTE_NS:02}m" if rest else ""
    return f"UTC{'-' if shift_ns < 0 else '+'}{hours}h{minutes}"


def _try_sides(case: Case) -> Iterator[Trial]:
    """Longs there are shorts here."""
    changed = case.change(lambda ours: replace(ours, side=-ours.side))
    yield Trial("side", "Longs there are shorts here", "", changed)


def _try_start(case: Case) -> Iterator[Trial]:
    """The strategy begins with the list."""
    known = case.theirs.entry_bar[case.theirs.entry_bar >= 0]
    start = int(known.min(initial=len(case.bars))) - 1
    if case.span.start < start < case.span.stop - 1:
        begin = case.format_bar(start)
        sentence = f"The list begins with a signal at {begin} UTC, and the strategy here earlier"
        remedy = f"--from {begin.replace(' ', 'T')}"
        yield Trial("begin", sentence, remedy, case.cut(start, case.span.stop))


def _try_end(case: Case) -> Iterator[Trial]:
    """The list ends before the bars."""
    theirs, ours = case.theirs, case.ours
    last = int(max(theirs.entry_bar.max(), theirs.exit_bar.max()))
    is_later = ours.entry_bar > last
    if not theirs.is_open.any():
        is_later |= ours.exit_bar > last
    if last >= 0 and is_later.any():
        count = format_count(int(is_later.sum()), "trade")
        end = case.format_bar(min(last + 1, len(case.bars) - 1))
        yield Trial(
            "end",
            f"The list ends before {end} UTC, and {count} here later",
            f"--to {end.replace(' ', 'T')}",
            case.cut(case.span.start, last + 1),
        )


def _try_bars(case: Case) -> Iterator[Trial]:
    """Trades of the list lie where there are no bars: before, after or between them."""
    theirs = case.theirs
    outside = (theirs.entry_bar < 0) | ((theirs.exit_bar < 0) & ~theirs.is_open)
    if outside.any() and not outside.all():
        if AFTER in theirs.exit_bar[outside]:
            # The trade that is open here at the end of the bars ends there behind them.
            case = case.change(lambda ours: ours.keep(~ours.is_open))
        count = format_count(int(outside.sum()), "trade")
        yield Trial(
            "bars",
            f"Bars of {count} of the list are missing; there are some from {case.format_bar(0)} "
            f"to {case.format_bar(-1)} UTC",
            "--data with all bars of the list",
            replace(case, theirs=theirs.keep(~outside)),
        )


def _try_last(case: Case) -> Iterator[Trial]:
    """Trades that are open at the list's end leave there in another way."""
    theirs = case.theirs
    at_last = (theirs.exit_bar == theirs.exit_bar.max()) & ~theirs.is_open
    opened = replace(theirs, is_open=theirs.is_open | at_last)
    sentence = "The trade that is open at the end leaves there at another price or bar"
    yield Trial("last", sentence, "", replace(case, theirs=opened))


def _try_closes(case: Case) -> Iterator[Trial]:
    """Orders at the market fill at the close that decides."""
    yield Trial(
        "close",
        "Orders at the market fill there at the close that decides, here at the next open",
        "turn off process_orders_on_close there",
        case.change(partial(_move_fills, case, -1, case.bars.close)),
    )


def _try_delay(case: Case) -> Iterator[Trial]:
    """Entries, or all orders at the market, fill a bar later."""
    move = partial(_move_fills, case, 1, case.bars.open)
    entries = case.change(partial(move, has_exits=False))
    yield Trial("delay", "Entries fill there a bar later", "delay=1 in the strategy", entries)
    sentence = "Orders at the market fill there a bar later than here, exits too"
    yield Trial("delay", sentence, "", case.change(move))


def _move_fills(
    case: Case, step: int, prices: Floats, ours: Ours, *, has_exits: bool = True
) -> Ours:
    """Trades here with orders at the market filled so many bars later, at a price of that bar."""
    last = len(case.bars) - 1
    moved_entry, moved_exit = (
        np.clip(bar + step, 0, last) for bar in (ours.entry_bar, ours.exit_bar)
    )
    if case.has_market_entry:
        ours = replace(ours, entry_bar=moved_entry, entry=prices[moved_entry])
    if not has_exits:
        return ours
    return replace(
        ours,
        exit_bar=np.where(ours.is_market_exit, moved_exit, ours.exit_bar),
        exit=np.where(ours.is_market_exit, prices[moved_exit], ours.exit),
    )


def _try_tick(case: Case) -> Iterator[Trial]:
    """Prices are a tick apart."""
    tick = _find_tick(case)
    if tick:
        yield Trial(
            "tick",
            f"Prices are rounded to ticks: they differ by {_write_price(tick)} at most",
            f"{_write_market(tick)} in the strategy",
            replace(case, unit=2 * tick),
        )


def _write_price(price: float) -> str:
    """A price without an exponent.

    >>> _write_price(1e-05), _write_price(0.25)
    ('0.00001', '0.25')
    """
    return f"{price:.10f}".rstrip("0").rstrip(".")


def _write_market(tick: float) -> str:
    return f'market=market(tick="{_write_price(tick)}")'


def _find_tick(case: Case) -> float:
    """Step of all prices of a list; 0 where they have none."""
    unit, prices = case.listed.unit, [case.theirs.entry, case.theirs.exit]
    if not unit:
        return 0.0
    known = np.concatenate(prices)
    whole = np.round(known[~np.isnan(known)] / unit)
    return next(step for step in STEPS if not (whole % step).any()) * unit


def _try_slippage(case: Case) -> Iterator[Trial]:
    """Each fill is worse by as much, of money or of the price."""
    there, here = _pair_by_bars(case)
    if not len(there):
        return
    theirs, ours = case.theirs, case.ours
    side, prices = ours.side[here], ours.entry[here]
    worse = side * (theirs.entry[there] - prices)
    tick = _find_tick(case)
    step = tick or case.unit or 1e-9
    money = round(float(np.median(worse)) / step) * step
    share = float(np.median(worse / prices))
    # Ticks above the last digit round prices, too.
    unit = max(case.unit, 2 * tick) if tick > case.listed.unit else case.unit
    if money > 0 and tick:
        yield Trial(
            "slippage",
            f"Each fill there is worse by {_write_price(money)}",
            f"slippage=ticks({money / tick:g}), {_write_market(tick)} in the strategy",
            replace(case.change(partial(_worsen_fills, money, 0.0)), unit=unit),
        )
    if share > 0:
        sentence = f"Each fill there is worse by {share * 1e4:.3g} basis points, as of costs"
        remedy = "costs here are in R, not in prices: leave them out of prices there"
        yield Trial("slippage", sentence, remedy, case.change(partial(_worsen_fills, 0.0, share)))


def _worsen_fills(money: float, share: float, ours: Ours) -> Ours:
    entry = ours.entry + ours.side * (money + share * ours.entry)
    return replace(ours, entry=entry, exit=ours.exit - ours.side * (money + share * ours.exit))


def _try_scale(case: Case) -> Iterator[Trial]:
    """All prices are so many times ours."""
    there, here = _pair_by_bars(case)
    if len(there) < 2:
        return
    ratio = float(np.median(case.theirs.entry[there] / case.ours.entry[here]))
    if abs(ratio - 1) <= LAST_BITS:
        return
    sentence = f"Prices there are {ratio:.6g} times those here, as of adjusted bars"
    scaled = case.change(
        lambda ours: replace(ours, entry=ours.entry * ratio, exit=ours.exit * ratio)
    )
    yield Trial("scale", sentence, "--data with the list's own bars", scaled)


def _pair_by_bars(case: Case) -> tuple[Ints, Ints]:
    """Places of trades with equal sides and bars, there and here."""
    places: dict[tuple[int, int, int], list[int]] = {}
    ours, theirs = case.ours, case.theirs
    for place, key in enumerate(_list_keys(ours)):
        places.setdefault(key, []).append(place)
    pairs = [
        (row, places[key].pop()) for row, key in enumerate(_list_keys(theirs)) if places.get(key)
    ]
    there, here = np.array(pairs, np.int64).reshape(-1, 2).T
    return there, here


def _list_keys(trades: PlacedTrades) -> Iterator[tuple[int, int, int]]:
    columns = (trades.side, trades.entry_bar, trades.exit_bar)
    return zip(*(column.tolist() for column in columns), strict=True)


def _try_first_days(case: Case) -> Iterator[Trial]:
    """First days are left out, as of indicators that are warm there."""
    is_equal, is_equal_here = case.match()
    theirs, ours = case.theirs, case.ours
    apart = count_apart((is_equal, is_equal_here))
    known = theirs.entry_bar[theirs.entry_bar >= 0]
    if not len(known):
        return
    begin_ns = int(case.bars.timestamp[known.min()])
    for days in DAYS:
        first = int(np.searchsorted(case.bars.timestamp, begin_ns + days * DAY_NS))
        # Trades at no bar are not of the first days.
        there = (theirs.entry_bar >= first) | (theirs.entry_bar < 0)
        here = ours.entry_bar >= first
        remaining = int((~is_equal[there]).sum() + (~is_equal_here[here]).sum())
        if (~there).mean() > MOST_LEFT_OUT or first >= len(case.bars):
            return
        if remaining <= MOST_REMAINING * apart:
            span = "day" if days == 1 else f"{days} days"
            sentence = f"Differences lie in the list's first {span}, as of indicators in warm-up"
            remedy = "more bars before the list's first trade"
            kept = replace(case, theirs=theirs.keep(there), ours=ours.keep(here))
            yield Trial("warm-up", sentence, remedy, kept)
            return


def _try_other_bars(case: Case) -> Iterator[Trial]:
    """Prices are left out."""
    outside, count = count_outside(case)
    sentence = "Sides and bars alone, without prices"
    remedy = ""
    if outside:
        sentence = (
            f"{outside:,} of {format_count(count, 'price')} of the list lie outside their bar, so "
            "its bars are others; without prices"
        )
        remedy = "--data with the list's own bars"
    yield Trial("prices", sentence, remedy, replace(case, unit=np.inf))


def count_outside(case: Case) -> tuple[int, int]:
    """Prices of a list outside the bar in which they were filled, and all within the bars."""
    outside = count = 0
    theirs, bars = case.theirs, case.bars
    for bar, price in ((theirs.entry_bar, theirs.entry), (theirs.exit_bar, theirs.exit)):
        is_known = (bar >= 0) & ~np.isnan(price)
        at, prices = bar[is_known], price[is_known]
        low, high = bars.low[at] - case.unit, bars.high[at] + case.unit
        outside += int(((prices < low) | (prices > high)).sum())
        count += len(at)
    return outside, count


Try = Callable[[Case], Iterator[Trial]]

STAGES: tuple[Mapping[str, Try], ...] = (
    MappingProxyType(
        {
            # First: where bars open at closes, fills there look like a clock a bar earlier.
            "close": _try_closes,
            "clock": _try_clocks,
            "begin": _try_start,
            "end": _try_end,
            "bars": _try_bars,
            "delay": _try_delay,
            "tick": _try_tick,
            "slippage": _try_slippage,
            "scale": _try_scale,
            "side": _try_sides,
            "last": _try_last,
        }
    ),
    MappingProxyType({"warm-up": _try_first_days}),
    MappingProxyType({"prices": _try_other_bars}),
)
"""Causes by name: those of a stage are tried where those before it leave differences."""

TRIED = tuple(name for stage in STAGES for name in stage)
"""Names of all causes."""
