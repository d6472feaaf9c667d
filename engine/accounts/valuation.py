"""Valuation of trades: their R at other costs, closed at any bar, or at other exits; open parts.

One formula, the law's, in its order of operations. All values of trades come from it: an account
at closes, robustness, the order within a bar, tables, open positions.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accounts.ledger import Ledger
from engine.accounts.marks import choose_trades
from engine.accounts.reference import Sized, size_trades

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class TradeTerms(NamedTuple):
    """Terms of the trades of one individual in one series, beside fees and slippage in points."""

    shares: Floats  # [2, L] of each target, of longs and shorts; 0 where a side has fewer
    rests: Floats  # [2] share that no target takes
    unit_fee: float  # fee of a side for one unit, in price
    closes: tuple[Floats, Floats]  # [T] prices at which longs and shorts leave at each close
    funding: Floats | None  # [T] paid by a long up to the open of each bar, in price
    borrow: tuple[Floats | None, Floats | None]  # the same by longs, and by shorts


class TradeExits(NamedTuple):
    """Bars and prices at which trades [N] leave."""

    bar: Ints  # [N] of what targets left
    price: Floats  # [N]
    leg_bar: Ints  # [N, L] of each target of several; -1 if never reached
    leg_price: Floats  # [N, L]


class OpenParts(NamedTuple):
    """Parts of trades [N] at the close of a bar [N] that each is held at."""

    target: Floats  # [N, L] price of each target; infinite if out of reach
    share: Floats  # [N, L] of the position that leaves there; 0 where the side has fewer targets
    reached: Ints  # [N, L] bar in which it left; -1 if open
    rest: Floats  # [N] share that no target takes: it leaves by the stop or another exit
    left: Floats  # [N] share that is still held
    r: Floats  # [N] R of the whole trade, were all that is left closed at that close


def plain_terms(closes: Floats) -> TradeTerms:
    """Terms of trades that pay nothing else, leave at prices of bars, and have one target or none.

    `closes` [T] are those of the series.
    """
    takes_all = np.ones((2, 1)), np.zeros(2)
    return TradeTerms(*takes_all, 0.0, (closes, closes), None, (None, None))


def list_exits(ledger: Ledger) -> TradeExits:
    """Exits of all trades [K] of a ledger, as they were."""
    return TradeExits(ledger.exit_bar, ledger.exit, ledger.leg_bar, ledger.leg_price)


def close_exits(ledger: Ledger, trade: Ints, bar: Ints, terms: TradeTerms) -> TradeExits:
    """Exits of trades, as if each were closed at the close of a bar.

    Args:
        ledger: Of one window.
        trade: [N] places in it.
        bar: [N] of the series, from the entry's on.
        terms: Of its trades.
    """
    longs, shorts = terms.closes
    leave = np.where(ledger.side[trade] > 0, longs[bar], shorts[bar])
    reached = ledger.leg_bar[trade]
    is_out = (reached >= 0) & (reached <= bar[:, None])
    leg_price = np.where(is_out, ledger.leg_price[trade], np.nan)
    return TradeExits(bar, leave, np.where(is_out, reached, -1), leg_price)


def compute_r(
    ledger: Ledger, trade: Ints, exits: TradeExits, per_side: float, terms: TradeTerms
) -> Floats:
    """R of trades [N] that leave as `exits` [N] has it, in every bit as the engine computes it.

    Args:
        ledger: Of one window.
        trade: [N] places in it, whose entries and risks are taken.
        exits: Of these trades.
        per_side: Costs of a side, fraction of the price.
        terms: Of the trades.
    """
    side, entry, begin = ledger.side[trade], ledger.entry[trade], ledger.entry_bar[trade]
    risk, place = side * (entry - ledger.stop[trade]), np.where(side > 0, 0, 1)

    def find_net_r(x: Ints, leave: Floats) -> Floats:
        net = side * (leave - entry) - per_side * (entry + leave)
        if terms.unit_fee > 0.0:
            net = net - (terms.unit_fee + terms.unit_fee)
        if terms.funding is not None:
            net = net - side * (terms.funding[x] - terms.funding[begin])
        for number, paid in enumerate(terms.borrow):
            if paid is not None:
                net = np.where(place == number, net - (paid[x] - paid[begin]), net)
        return net / risk

    last = find_net_r(exits.bar, exits.price)
    if not exits.leg_bar.shape[1]:
        return last
    r = np.zeros(len(trade))
    for leg, x in enumerate(exits.leg_bar.T):
        is_out = x >= 0
        leave = np.where(is_out, exits.leg_price[:, leg], exits.price)
        gained = find_net_r(np.where(is_out, x, exits.bar), leave)
        r = r + terms.shares[place, leg] * gained
    r = np.where(terms.rests[place] > 0.0, r + terms.rests[place] * last, r)
    # One target that takes all is the exit.
    return np.where(is_taken_whole(terms)[place], last, r)


def is_taken_whole(terms: TradeTerms) -> npt.NDArray[np.bool_]:
    """True if a side, longs and shorts [2], leaves in one piece."""
    counts = np.count_nonzero(terms.shares, axis=1)
    whole: npt.NDArray[np.bool_] = (counts <= 1) & ~(terms.rests > 0.0)
    return whole


def reprice_trades(ledger: Ledger, per_side: float, terms: TradeTerms) -> Floats:
    """R of all trades [K] of a ledger at other costs of a side, fraction of the price.

    All else that they pay stays: fees a unit, funding, borrowing, slippage of the strategy. No
    trade depends on costs, so that these are the trades of a backtest which charges them.
    """
    return compute_r(ledger, np.arange(len(ledger)), list_exits(ledger), per_side, terms)


def close_trades(
    ledger: Ledger, trade: Ints, bar: Ints, per_side: float, terms: TradeTerms
) -> Sized:
    """Trades [N] of a ledger, as an account sizes them, each closed at the close of a bar [N]."""
    exits = close_exits(ledger, trade, bar, terms)
    return choose_trades(size_trades(ledger), trade)._replace(
        r=compute_r(ledger, trade, exits, per_side, terms),
        leave=exits.price,
        leg_prices=exits.leg_price,
        is_margin=np.zeros(len(trade), np.bool_),
    )


def find_open_parts(
    ledger: Ledger, trade: Ints, bar: Ints, targets: Floats, per_side: float, terms: TradeTerms
) -> OpenParts:
    """Open and closed parts of trades at the close of a bar, and their value there.

    Args:
        ledger: Of one window.
        trade: [N] places in it.
        bar: [N] of the series, from the entry's to the last at whose close the trade is open.
        targets: [K, L] of all trades of the ledger, as `engine.reference.find_targets` has.
        per_side: Costs of a side, fraction of the price.
        terms: Of the trades.

    Returns:
        A trade with one target has a share of 1 there, also where it has no target, whose price is
        then infinite.
    """
    exits = close_exits(ledger, trade, bar, terms)
    place = np.where(ledger.side[trade] > 0, 0, 1)
    share, rest = terms.shares[place], terms.rests[place]
    reached = exits.leg_bar if exits.leg_bar.shape[1] else np.full(share.shape, -1)
    left = rest.copy()
    for leg, x in enumerate(reached.T):
        left = left + np.where(x < 0, share[:, leg], 0.0)
    r = compute_r(ledger, trade, exits, per_side, terms)
    return OpenParts(targets[trade], share, reached, rest, left, r)
