"""Does any trade use a bar that comes after it? Cuts, wrong bars, and what must stay equal.

A window is cut before a bar, and members are evaluated again on bars that end with that one, which
is another: far up, far down, or far both ways from its true open. What was known before the cut
must be equal in every bit: rows, trades, and which signals of the last good bar are taken. Where
the open is true the trade that is entered at it has the same price, stop, target and size as well.
Source: house rule.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from data.bars import Bars, Window
from data.checks import PRICES, Flags, Floats, Ints
from data.payments import Payments
from data.timeframe import DAY_NS
from data.windows import groups
from data.zones import to_local
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS, Ledger
from optimizer.evidence.philox import draw_words, scale_to_index
from optimizer.evidence.statistic import AGAINST, Around, Statistic, Weighed
from optimizer.store.payload import OPTIONAL

Way = Literal["up", "down", "open"]
"""How bars behind a cut are wrong; the last one keeps their opens."""

WAYS: tuple[Way, ...] = ("up", "down", "open")

FAR = 2.0
"""Times the greatest price so far, or its least, that a wrong bar lies beyond."""

MOST_EXTRA = 1e300

EVEN_CUTS, CLOCK_CUTS = 16, 8
"""Cuts at which every member is evaluated: even ones; and at most so many of each kind of bar at
which clocks change."""

MOST_MEMBERS, DRAWN_TRADES = 12, 10
"""Members, evenly chosen, that are cut at trades of their own: the first, the last and drawn ones,
after the signal and at the exit."""

FULL_WINDOWS, FEWEST_EVEN_CUTS = 4, 4
"""Windows that are all cut so often; more of them share as many cuts. What is judged is a strategy,
whose rows read every symbol alike."""

CUT_S, CUT_MEMBER_S, CUT_BAR_S, CUT_MEMBER_BAR_S = 1.6e-3, 3e-5, 2e-7, 4e-9
"""Of a cut: in itself, for each member and bar of the window, and for each pair of these, on a core
of a Xeon."""

ORDERS, SIGNAL_EXITS = (ACCUMULATOR_INDEX[name] for name in ("orders", "exits_signal"))
ANSWERS = [ACCUMULATOR_INDEX[name] for name in ("trades", "rejected", "skipped")]

AT_ENTRY = ("signal_bar", "side", "entry", "stop", "target", "scale", "gross")
"""Columns of a ledger that are known when a trade is entered at an open."""


@dataclass(frozen=True)
class CausalRecord(Statistic):
    """Whether any trade of any member uses a later bar."""

    cuts: int
    members: int
    trades: int
    mismatches: int
    first: Annotated[str, OPTIONAL] = ""
    is_shared: Annotated[bool, OPTIONAL] = False  # by many windows

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Count of differences, and the first of them."""
        sentence = f"No trade of any member uses a later bar: {self.cuts} cuts, 0 differences."
        if self.mismatches:
            later = f"{self.mismatches} differences, the first before {self.first}"
            sentence = f"Trades use later bars: {later}."
        yield Weighed("look-ahead", sentence, AGAINST if self.mismatches else "")


def choose_cuts(
    bars: Bars, window: Window, zones: Iterable[str] = (), n_even: int = EVEN_CUTS
) -> tuple[int, ...]:
    """Bars before which a window is cut for every member, ascending, behind its first.

    Even ones, and those at which clocks change: bars that open before the last one has lasted its
    time, that follow a gap, and the first by a zone's other time.
    """
    cuts = {end for _, end in groups(window.start + 1, window.end, n_even)} - {len(bars)}
    times = bars.timestamp[window.start : window.end]
    steps = np.diff(times)
    kinds = [steps < bars.timeframe_ns, steps > bars.timeframe_ns]
    kinds += [np.diff(to_local(times, zone)) != steps for zone in {bars.zone, *zones} - {"UTC"}]
    for kind in kinds:
        changes = np.flatnonzero(kind) + window.start + 1
        cuts |= set(choose_evenly(changes, CLOCK_CUTS).tolist())
    return tuple(sorted(cut for cut in cuts if cut > window.start))


def choose_evenly(values: Ints, most: int) -> Ints:
    """At most so many of some values, evenly chosen, the first of them always."""
    count = min(len(values), most)
    return values[[i * len(values) // count for i in range(count)]]


def choose_trade_cuts(
    bars: Bars, window: Window, ledger: Ledger, seed: int, member: int
) -> tuple[int, ...]:
    """Bars before which a window is cut for one member: after signals, and at exits.

    The first of its trades, the last and drawn ones, which seed and member decide. At a bar that is
    left by condition or by the clock it is unknown itself; any other one is known.
    """
    if not len(ledger):
        return ()
    drawn = scale_to_index(draw_words(seed, member, "look_ahead", DRAWN_TRADES), len(ledger))
    some = np.unique(np.append(drawn, [0, len(ledger) - 1]))
    is_known = ledger.reason[some] != REASONS.index("signal")
    cuts = np.append(ledger.signal_bar[some] + 1, ledger.exit_bar[some] + is_known)
    last = min(window.end, len(bars) - 1)
    return tuple(np.unique(cuts[(cuts > window.start) & (cuts <= last)]).tolist())


def share_cuts(n_windows: int) -> tuple[int, int]:
    """How many windows take turns at the members, and how many even cuts each of them has."""
    turns = max(1, -(-n_windows // FULL_WINDOWS))
    return turns, max(FEWEST_EVEN_CUTS, EVEN_CUTS // turns)


def estimate_causality_seconds(lengths: Iterable[int], members: int) -> float:
    """Seconds that all cuts of windows take for so many members, about, on any cores.

    Args:
        lengths: Bars of each window.
        members: Of the front.
    """
    lengths = list(lengths)
    turns, n_even = share_cuts(len(lengths))
    alone = 2 * (DRAWN_TRADES + 2) * min(members, MOST_MEMBERS) / turns
    seconds = 0.0
    for bars in lengths:
        n_cuts = min(n_even + CLOCK_CUTS, bars)
        seconds += n_cuts * (CUT_S + members * CUT_MEMBER_S)
        seconds += n_cuts * bars * (CUT_BAR_S + members * CUT_MEMBER_BAR_S)
        seconds += min(alone, bars) * (CUT_S + bars * CUT_BAR_S)
    return seconds


def poison_bars(bars: Bars, cut: int, way: Way, length: int = 1) -> Bars:
    """Bars [0, cut) as they are, and so many wrong ones behind, as far as there are any.

    Prices lie beyond all before, and so do volume and extra columns, where these were unknown too.
    Where opens stay, bars reach far up and far down from them. Bars that lie down open a day late,
    but where that would leave the last good one open for longer. Finer ones are those of bars up.
    """
    end = min(cut + length, len(bars))
    if end <= cut:
        return bars
    known, behind, is_up = slice(0, end), slice(cut, end), way != "down"
    highest = FAR * float(bars.high[known].max())
    lowest = float(bars.low[known].min()) / FAR
    factor = np.ones(end)
    factor[behind] = highest / bars.low[behind] if is_up else lowest / bars.high[behind]
    columns = {name: getattr(bars, name)[known] * factor for name in PRICES}
    finer = bars.finer
    columns["timestamp"] = times = bars.timestamp[known].copy()
    if way == "open":
        columns["open"] = bars.open[known]
        columns["low"] = np.append(bars.low[:cut], np.full(end - cut, lowest))
    elif way == "down" and times[cut] >= times[cut - 1] + bars.timeframe_ns:
        times[behind] += DAY_NS
    if finer is not None:
        finer = finer.between(0, int(bars.over_ns[end - 1 if way == "up" else cut - 1]))
        bar_of = np.searchsorted(times, finer.timestamp, side="right") - 1
        finer = replace(finer, prices=finer.prices * factor[np.maximum(bar_of, 0)])
    columns["volume"] = _poison_column(bars.volume[:end], cut, is_up=is_up)
    extra = {
        name: _poison_column(column[:end], cut, is_up=is_up) for name, column in bars.extra.items()
    }
    if not is_up:
        columns["volume"][behind] = bars.volume[:end].min() / FAR
    payments = {name: _poison_payments(paid, times, cut) for name, paid in bars.payments.items()}
    return bars.cut(0, end, **columns, extra=extra, finer=finer, payments=payments)


def _poison_column(column: Floats, cut: int, *, is_up: bool) -> Floats:
    far = min(FAR * float(np.nanmax(np.abs(column), initial=0.0)) + 1.0, MOST_EXTRA)
    return np.append(column[:cut], np.full(len(column) - cut, far if is_up else -far))


def _poison_payments(paid: Payments, times: Ints, cut: int) -> Payments:
    is_behind = paid.find_bars(times) >= cut
    return replace(paid, rates=np.where(is_behind, 1.0 - 2.0 * paid.rates, paid.rates))


def compare_bits(left: Floats, right: Floats) -> Flags:
    """Whether individuals [P] have equal bits in all their accumulators [P, W, A]."""
    shape = (len(left), -1)
    bits = [
        np.ascontiguousarray(accumulators).view(np.int64).reshape(shape)
        for accumulators in (left, right)
    ]
    same: Flags = (bits[0] == bits[1]).all(axis=1)
    return same


def count_answers(accumulators: Floats, way: Way, *, rests: bool) -> Floats:
    """What is known of signals when the bar behind a cut opens, [..., 1 to 4] of [..., A].

    How many exits by condition there were; how many signals found the account flat; and where the
    open is true, whether they were traded, rejected or skipped. Where entries rest, the bar behind
    the cut may fill an order or not, and the orders placed are counted.
    """
    answers = accumulators[..., [ORDERS] if rests else ANSWERS]
    if way != "open":
        answers = answers.sum(axis=-1, keepdims=True)
    return np.concatenate([accumulators[..., [SIGNAL_EXITS]], answers], axis=-1)


def is_beginning(seen: Ledger, whole: Ledger, cut: int, entered: int) -> bool:
    """Whether trades on bars that are wrong behind a cut are the first of the whole ledger.

    Args:
        seen: Of bars whose opens are true.
        whole: Of all bars.
        cut: Bar before which trades that have ended are equal in every bit.
        entered: Bar before which those that were entered are equal as far as an entry is known.
    """
    counts = [int((ledger.entry_bar < entered).sum()) for ledger in (seen, whole)]
    columns, of_whole = (
        {name: column[: counts[0]] for name, column in ledger.columns().items()}
        for ledger in (seen, whole)
    )
    is_closed = [ledger.exit_bar[: counts[0]] < cut for ledger in (seen, whole)]
    if counts[0] != counts[1] or not np.array_equal(is_closed[0], is_closed[1]):
        return False
    return all(
        column[is_closed[0]].tobytes() == of_whole[name][is_closed[0]].tobytes()
        and (name not in AT_ENTRY or column.tobytes() == of_whole[name].tobytes())
        for name, column in columns.items()
    )
