"""Caveats of an account's return: it stood at nothing meanwhile, or it hangs on one trade."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.bars import Bars, Window
from data.checks import Floats
from data.timeframe import UNITS_NS
from engine.accounts.account import Account
from engine.accounts.account_trades import Folded
from engine.accounts.ledger import Ledger

WEEK_NS = 7 * UNITS_NS["d"]

FARTHER = 5.0
"""So many times farther from its neighbours than any other of its week a price stands alone."""

MOST_BY_ONE, ROUNDING = 0.5, 1e-9
"""A return of which one trade makes more than this share, beyond rounding, hangs on it."""


@dataclass(frozen=True)
class Wick:
    """A high or a low that stands alone."""

    bar: int
    is_high: bool
    price: float
    beside: float  # the nearer price of its neighbours


@dataclass(frozen=True)
class BestTrade:
    """The trade that makes more than half of a return."""

    window: int
    trade: int  # its number in the window's ledger
    total_return: float  # without it
    wick: Wick | None  # at which it was entered or left


def find_gone(account: Account, ledgers: Sequence[Ledger]) -> int | None:
    """Close at which an account stood at nothing before a trade had ended, nanoseconds UTC.

    None where it never did, where one R is a share of equity, and where it is not marked.
    """
    if not (account.stakes and account.is_marked):
        return None
    folded = account.fold_by_close(ledgers)
    times, value = account.mark(ledgers, folded)
    count = np.searchsorted(folded.closed_ns, times, side="right")
    is_gone = ~(value > 0.0) & (np.append(1.0, folded.equity)[count] > 0.0)
    return int(times[is_gone.argmax()]) if is_gone.any() else None


def find_best_trade(account: Account, ledgers: Sequence[Ledger]) -> BestTrade | None:
    """The trade without which a return is less than half of what it is; None where none is so.

    It is left out, and all others are folded again; a wick is looked for at the bars of its fills.
    """
    folded = account.fold(ledgers)
    total = float(folded.equity[-1]) - 1.0 if len(folded.equity) else 0.0
    ends, found = np.cumsum([len(ledger) for ledger in ledgers]), None
    for k in _list_best(folded, total):
        window = int(np.searchsorted(ends, folded.place[k], side="right"))
        trade = int(folded.place[k]) - int(ends[window]) + len(ledgers[window])
        is_kept = np.arange(len(ledgers[window])) != trade
        others = [
            ledger.keep(is_kept) if number == window else ledger
            for number, ledger in enumerate(ledgers)
        ]
        equity = account.fold(others).equity
        left = float(equity[-1]) - 1.0 if len(equity) else 0.0
        if left < total * (MOST_BY_ONE - ROUNDING) and (found is None or left < found.total_return):
            wick = _find_wick_of_trade(account, ledgers[window], window, trade)
            found = BestTrade(window, trade, left, wick)
    return found


def _list_best(folded: Folded, total: float) -> set[int]:
    """Trades that gained most, in money and as a share of the account; none where they make little.

    Where sizes hang on the account the share decides, else the money.
    """
    if not 0.0 < total < np.inf:
        return set()
    after = folded.equity
    before = np.append(1.0, after)[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.nan_to_num(after / before)
    gained = after - before
    best = {int(grown.argmax()), int(gained.argmax())}
    # The others alone make a little more or less than what is left by this.
    least = 1.5 * MOST_BY_ONE * total
    return {k for k in best if min(total - gained[k], after[-1] / grown[k] - 1.0) < least}


def _find_wick_of_trade(account: Account, ledger: Ledger, number: int, trade: int) -> Wick | None:
    """The first bar of a trade's fills whose high or low stands alone."""
    window = account.windows[number]
    fills = (ledger.entry_bar[trade], *ledger.leg_bar[trade], ledger.exit_bar[trade])
    bars = account.series[window.series]
    wicks = (find_wick(bars, window, bar) for bar in dict.fromkeys(map(int, fills)) if bar >= 0)
    return next((wick for wick in wicks if wick is not None), None)


def find_wick(bars: Bars, window: Window, bar: int) -> Wick | None:
    """The high or low of a bar, if it lies so much farther out than all others of its week.

    How far out is the distance from the nearer of its neighbours' highs, or lows. Its week are
    the bars of a window that open up to half a week before or after it.
    """
    times = bars.timestamp[window.start : window.end]
    opened = times[bar - window.start]
    begin = window.start + int(np.searchsorted(times, opened - WEEK_NS // 2))
    end = window.start + int(np.searchsorted(times, opened + WEEK_NS // 2, side="right"))
    sides = [_measure_reach(bars.high[begin:end]), _measure_reach(-bars.low[begin:end])]
    others = np.delete(np.maximum(*(reach for reach, _ in sides)), bar - begin)
    if not len(others):
        return None
    limit = FARTHER * max(float(others.max()), 0.0)
    for prices, (reach, beside) in zip((bars.high, bars.low), sides, strict=True):
        if reach[bar - begin] > limit:
            nearer = abs(float(beside[bar - begin]))
            return Wick(bar, prices is bars.high, float(prices[bar]), nearer)
    return None


def _measure_reach(prices: Floats) -> tuple[Floats, Floats]:
    """How far each price [N] lies above both neighbours, and the nearer of these."""
    edge = np.array([-np.inf])
    beside = np.maximum(np.append(edge, prices[:-1]), np.append(prices[1:], edge))
    return np.where(np.isfinite(beside), prices - beside, 0.0), beside
