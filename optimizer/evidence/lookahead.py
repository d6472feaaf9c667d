"""Does any trade use a bar that comes after it? Cuts, poisoned bars, and what must stay equal.

All members are evaluated before each cut on three series: as it is, ended at the
cut, and poisoned from the cut on. Source: house rule.

A trade is entered on the bar after its signal, so that an indicator that reads one bar ahead reads
nothing that a trade before the cut had not seen. The signal of the last bar before the cut decides:
whether it is taken must not depend on the bar of its entry.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from data.bars import Bars, Window
from data.checks import PRICES, Flags, Floats
from data.payments import Payments
from data.windows import groups
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS, Ledger
from optimizer.evidence.statistic import AGAINST, Around, Statistic, Weighed
from optimizer.store.payload import OPTIONAL

TRADES, REJECTED, ORDERS = (ACCUMULATOR_INDEX[name] for name in ("trades", "rejected", "orders"))

EVEN_CUTS = 32
MOST_MEMBERS = 64

FULL_WINDOWS, FEWEST_EVEN_CUTS = 4, 8
"""Windows that are all cut so often; more of them share as many cuts. What is judged is a strategy,
whose rows read every symbol alike."""

CUTS_OF_A_MEMBER, BARS_OF_A_CUT = 1.5, 12
"""Of up to three cuts of a member others are at the same bar: with few members half of them, and
with many there is one in so many bars at most."""

CUT_S, CUT_MEMBER_S, CUT_BAR_S, CUT_MEMBER_BAR_S = 1.6e-3, 3e-5, 2e-7, 4e-9
"""Of a cut: in itself, for each member and bar of the window, and for each pair of these. Within a
half of what 2 to 129 members of fronts on 20,000 and 100,000 bars took, on a core of a Xeon."""


@dataclass(frozen=True)
class CausalRecord(Statistic):
    """Whether any trade of any member uses a later bar."""

    cuts: int
    members: int
    trades: int
    mismatches: int
    first: Annotated[str, OPTIONAL] = ""
    is_shared: Annotated[bool, OPTIONAL] = False  # by many windows; not known to older versions

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Count of differences, and the first of them."""
        sentence = f"No trade of any member uses a later bar: {self.cuts} cuts, 0 differences."
        if self.mismatches:
            later = f"{self.mismatches} differences, the first before {self.first}"
            sentence = f"Trades use later bars: {later}."
        yield Weighed("look-ahead", sentence, AGAINST if self.mismatches else "")


def choose_cuts(
    window: Window, ledgers: Sequence[Ledger], n_even: int = EVEN_CUTS
) -> tuple[int, ...]:
    """Bars at which a window is cut, ascending, each once.

    Args:
        window: [start, end).
        ledgers: Of each member [F] in it. Of up to 64, evenly chosen, the middle trade is cut
            after its signal, its entry and its exit.
        n_even: Cuts that lie evenly, at most.

    Returns:
        Numbers above `start` and up to `end`: what is judged lies before.
    """
    bars = {end for _, end in groups(window.start + 1, window.end, n_even)}
    chosen = min(len(ledgers), MOST_MEMBERS)
    for ledger in (ledgers[i * len(ledgers) // chosen] for i in range(chosen)):
        if len(ledger):
            trade = ledger.trade(len(ledger) // 2)
            bars |= {trade.signal_bar + 1, trade.entry_bar + 1, trade.exit_bar + 1}
    return tuple(sorted(cut for cut in bars if window.start < cut <= window.end))


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
    member_cuts = CUTS_OF_A_MEMBER * min(members, MOST_MEMBERS) / turns
    each_s, bar_s = CUT_S + members * CUT_MEMBER_S, CUT_BAR_S + members * CUT_MEMBER_BAR_S
    seconds = 0.0
    for bars in lengths:
        at_most = bars / BARS_OF_A_CUT
        n_cuts = min(n_even, bars) + member_cuts * at_most / (member_cuts + at_most)
        seconds += n_cuts * (each_s + bars * bar_s)
    return seconds


def poison_bars(bars: Bars, cut: int) -> Bars:
    """Bars that are equal before a cut, and from it on prices doubled and halved in turn.

    Volume is there multiplied by 1,000, plus 1. Extra columns are halved and of the other sign
    there, or 1 where they were 0 or unknown: no value is left as it was. So are rates of payments.
    """
    factors = np.ones(len(bars))
    factors[cut::2], factors[cut + 1 :: 2] = 2.0, 0.5
    is_after = np.arange(len(bars)) >= cut
    prices = {name: getattr(bars, name) * factors for name in PRICES}
    volume = np.where(is_after, bars.volume * 1000 + 1, bars.volume)
    extra = {
        name: np.where(
            is_after, np.where(np.isnan(column) | (column == 0), 1.0, -column / 2), column
        )
        for name, column in bars.extra.items()
    }
    payments = {name: _poison_payments(paid, bars, cut) for name, paid in bars.payments.items()}
    finer = bars.finer
    if finer is not None:
        bar_of = np.searchsorted(bars.timestamp, finer.timestamp, side="right") - 1
        finer = replace(finer, prices=finer.prices * factors[np.maximum(bar_of, 0)])
    return replace(bars, **prices, volume=volume, extra=extra, finer=finer, payments=payments)


def _poison_payments(paid: Payments, bars: Bars, cut: int) -> Payments:
    is_after = paid.find_bars(bars.timestamp) >= cut
    poisoned = np.where(paid.rates == 0, 1.0, -paid.rates / 2)
    return replace(paid, rates=np.where(is_after, poisoned, paid.rates))


def compare_bits(left: Floats, right: Floats) -> Flags:
    """Whether individuals [P] have equal bits in all their accumulators [P, W, A]."""
    shape = (len(left), -1)
    bits = [
        np.ascontiguousarray(accumulators).view(np.int64).reshape(shape)
        for accumulators in (left, right)
    ]
    same: Flags = (bits[0] == bits[1]).all(axis=1)
    return same


def count_signals_taken(accumulators: Floats, *, rests: bool) -> Floats:
    """Signals that found the account flat, traded or rejected, [...] of accumulators [..., A].

    Up to the bar before a cut they are the same whatever the bars from the cut on are: whether the
    last one is rejected hangs on the price of its entry, but not whether it was there. This holds
    for windows that end one bar after the cut and entries that are not delayed. Where entries rest,
    the bar after the cut may fill an order or not, and the orders placed are counted.
    """
    counted = [ORDERS] if rests else [TRADES, REJECTED]
    taken: Floats = accumulators[..., counted].sum(axis=-1)
    return taken


def is_beginning(cut_short: Ledger, whole: Ledger) -> bool:
    """Whether a ledger up to a cut, but for the trade that the cut ended, begins the whole one."""
    count = len(cut_short)
    if count and cut_short.reason[-1] == REASONS.index("end"):
        count -= 1
    of_whole = whole.columns()
    return count <= len(whole) and all(
        column[:count].tobytes() == of_whole[name][:count].tobytes()
        for name, column in cut_short.columns().items()
    )
