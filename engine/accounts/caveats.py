"""Caveats of an account's return: it stood at nothing meanwhile, or it hangs on one trade."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.inspection import Wick, find_wick
from engine.accounts.account import Account, Folded
from engine.accounts.ledger import Ledger

MOST_BY_ONE, ROUNDING = 0.5, 1e-9
"""A return hangs on one trade that makes more than this share of it, beyond rounding."""


@dataclass(frozen=True)
class BestTrade:
    """The trade that makes more than half of a return."""

    window: int
    trade: int  # its number in the window's ledger
    total_return: float  # without it
    wick: Wick | None  # at which it was entered or left


def find_gone(account: Account, ledgers: Sequence[Ledger]) -> int | None:
    """Close at which an account stood at nothing before a trade had ended, nanoseconds UTC.

    None if it never did, if one R is a share of equity, and without marks.
    """
    if not (account.stakes and account.is_marked):
        return None
    folded = account.fold_by_close(ledgers)
    times, value = account.mark(ledgers, folded)
    count = np.searchsorted(folded.closed_ns, times, side="right")
    is_gone = ~(value > 0.0) & (np.append(1.0, folded.equity)[count] > 0.0)
    return int(times[is_gone.argmax()]) if is_gone.any() else None


def find_best_trade(account: Account, ledgers: Sequence[Ledger]) -> BestTrade | None:
    """The trade that makes more than half of a return; None without such a trade.

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
    # The others alone make a little more or less than the rest after this.
    least = 1.5 * MOST_BY_ONE * total
    return {k for k in best if min(total - gained[k], after[-1] / grown[k] - 1.0) < least}


def _find_wick_of_trade(account: Account, ledger: Ledger, number: int, trade: int) -> Wick | None:
    """The first bar of a trade's fills with a high or low that stands alone."""
    window = account.windows[number]
    fills = (ledger.entry_bar[trade], *ledger.leg_bar[trade], ledger.exit_bar[trade])
    bars, inside = account.series[window.series], (window.start, window.end)
    wicks = (find_wick(bars, *inside, bar) for bar in dict.fromkeys(map(int, fills)) if bar >= 0)
    return next((wick for wick in wicks if wick is not None), None)
