"""Trades as an account sizes them from cash, and positions that it holds together."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accounts.ledger import Ledger
from engine.accounts.reference import LOT_SLACK, Sized, add_trade, size_trades
from engine.accounts.stake import EQUITY_SHARE, NOTIONAL, RISK, SHARE_OF_R, VOLATILITY, Stake

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_HELD = 2**20
"""Pairs of trades, one of which is open when the other is taken, that are looked at together."""


class StakedTrades(NamedTuple):
    """Trades [K] that one account sizes by one rule."""

    trades: Sized
    stake: Stake  # all of it but its cash
    weight: float  # what the account takes of each


class Grown(NamedTuple):
    """An account after each of its trades [K]."""

    worth: Floats  # [K]
    units: Floats  # [K], of which the account takes the weight
    leverage: Floats  # [K], worth of what it takes over its cash before
    unsized: float  # how many trades had no size


def measure_gross(strand: Ints, entry_ns: Ints, over_ns: Ints, leverage: Floats) -> Floats:
    """Leverage of each trade [K] and of all that other markets have open at its entry.

    As the law adds it, from 0 in the order in which positions were taken, its own last.

    Args:
        strand: Number of each trade's market.
        entry_ns: When its entry bar opens.
        over_ns: From when on it is known to be over.
        leverage: Its own.
    """
    if (strand == strand[:1]).all():
        return leverage
    order = np.lexsort((strand, entry_ns))
    begun = entry_ns[order]
    # Each is open for those taken after it, up to when it is over or its market is taken again.
    ends = np.searchsorted(begun, over_ns[order])
    turns = np.arange(len(order))
    by_strand = np.argsort(strand[order], kind="stable")
    followed = strand[order][by_strand[1:]] == strand[order][by_strand[:-1]]
    before, after = by_strand[:-1][followed], by_strand[1:][followed]
    ends[before] = np.minimum(ends[before], after)
    met = np.maximum(ends - turns - 1, 0)
    gross: Floats = np.zeros(len(order))
    step = max(1, MOST_HELD // (int(met.max(initial=0)) + 1))
    for begin in range(0, len(order), step):
        lasting = met[begin : begin + step]
        held = np.repeat(turns[begin : begin + step], lasting)
        nth = np.arange(len(held)) - np.repeat(lasting.cumsum() - lasting, lasting)
        # One addition after another, those that were taken first first.
        np.add.at(gross, held + 1 + nth, leverage[order][held])
    worth = np.empty(len(order))
    worth[order] = gross
    return worth + leverage


def join_marks(parts: Iterable[tuple[Ints, Ints, Sized]]) -> tuple[Ints, Ints, Sized]:
    """Times of closes, times of ends, and trades of several windows, one behind the other."""
    closes, ends, trades = zip(*parts, strict=True)
    joined = Sized(*(np.concatenate(column) for column in zip(*trades, strict=True)))
    return np.concatenate(closes), np.concatenate(ends), joined


def choose_trades(trades: Sized, chosen: Ints) -> Sized:
    """Some of several trades, by their places [N]."""
    columns: Any = [column[chosen] if len(column) else column for column in trades]
    return Sized(*columns)


def join_trades(ledgers: Sequence[Ledger], order: Ints) -> Sized:
    """Trades of several ledgers in an order [K], as an account sizes them."""
    columns: Any = {
        name: np.concatenate([getattr(ledger, name) for ledger in ledgers])[order]
        for name in ledgers[0].columns()
    }
    return size_trades(Ledger(**columns))


def grow_account(parts: Sequence[StakedTrades], order: Ints, cash: float) -> Grown:
    """One account of several parts, which begins with `cash`.

    `order` [K] has the place of each trade among those of all parts, one part behind the other.
    """
    counts = [len(part.trades.r) for part in parts]
    owner = np.repeat(np.arange(len(parts)), counts)[order]
    trade_number = np.concatenate([np.arange(count) for count in (*counts, 0)])[order]
    after, worth, unsized = np.empty(len(order)), cash, 0.0
    for k, (number, trade) in enumerate(zip(owner.tolist(), trade_number.tolist(), strict=True)):
        trades, stake, weight = parts[number]
        worth, has_none = add_trade(trades, stake, worth, trade, weight)
        after[k] = worth
        unsized += has_none
    before = np.concatenate([[cash], after])[: len(after)]
    units, leverage = np.empty(len(order)), np.empty(len(order))
    for number, (trades, stake, weight) in enumerate(parts):
        is_own = owner == number
        some, held = choose_trades(trades, trade_number[is_own]), before[is_own]
        units[is_own] = find_units(some, stake, held)
        worths = weight * units[is_own] * stake.worth * some.entry
        leverage[is_own] = worths / np.where(held > 0.0, held, 1.0)
    return Grown(after, units, leverage, unsized)


def find_units(trades: Sized, stake: Stake, cash: Floats) -> Floats:
    """Units of trades [N], given the cash before each; none without cash."""
    form, number, entry = stake.form, stake.number, trades.entry
    units = np.full(len(entry), number)
    if form in (SHARE_OF_R, RISK):
        units = number * cash / (trades.risk * stake.worth)
    elif form == NOTIONAL:
        units = number / (entry * stake.worth)
    elif form == EQUITY_SHARE:
        units = number * cash / (entry * stake.worth)
    elif form == VOLATILITY:
        has_size = trades.scale > 0.0
        moves = np.where(has_size, trades.scale, 1.0)
        units = np.where(has_size, number * cash / (moves * stake.worth), 0.0)
    if np.isfinite(stake.leverage):
        units = np.minimum(units, stake.leverage * cash / (entry * stake.worth))
    if stake.lot_over > 0.0:
        lots = np.floor(units * stake.lot_under / stake.lot_over + LOT_SLACK)
        units = lots * stake.lot_over / stake.lot_under
    return np.where((cash > 0.0) & (units > 0.0), units, 0.0)


def add_gains(trades: Sized, stake: Stake, equity: Floats, weight: float = 1.0) -> Floats:
    """Equity, from 1, with a trade [N] closed beside what it was before [N].

    The account takes `weight` of it.
    """
    if stake.form == SHARE_OF_R:
        return equity * np.maximum(1.0 + stake.number * (weight * trades.r), 0.0)
    cash = equity * stake.cash
    units = find_units(trades, stake, cash)
    money = units * stake.worth
    gain = money * (trades.r * trades.risk)
    if stake.fee_min > 0.0:
        side_number = np.where(trades.side > 0, 0, 1)

        def find_short(share: Floats, price: Floats) -> Floats:
            fee = share * (money * (stake.fee * price) + units * stake.fee_unit)
            return np.where(share > 0.0, np.maximum(0.0, stake.fee_min - fee), 0.0)

        short = find_short(np.ones(len(cash)), trades.entry)
        for leg in range(stake.shares.shape[1]):
            price = trades.leave
            if leg < trades.leg_prices.shape[1]:
                out = ~np.isnan(trades.leg_prices[:, leg])
                price = np.where(out, trades.leg_prices[:, leg], price)
            short = short + find_short(stake.shares[side_number, leg], price)
        gain = gain - (short + find_short(stake.rests[side_number], trades.leave))
    return np.where(units > 0.0, np.maximum(cash + weight * gain, 0.0), cash) / stake.cash
