"""Positions as if closed at the close of a bar, and trades as an account sizes them from cash."""

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


class ClosingTerms(NamedTuple):
    """Terms of a window's trades, beside fees and slippage in basis points."""

    shares: Floats  # [2, L] of each target, of longs and shorts
    rests: Floats  # [2] share that no target takes
    unit_fee: float  # fee of a side for one unit, in price
    closes: tuple[Floats, Floats]  # [T] prices at which longs and shorts leave at each close
    funding: Floats | None  # [T] paid by a long up to the open of each bar, in price
    borrow: tuple[Floats | None, Floats | None]  # the same by longs, and by shorts


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


def close_trades(
    ledger: Ledger,
    trade: Ints,
    bar: Ints,
    closes: Floats,
    per_side: float,
    terms: ClosingTerms | None,
) -> Sized:
    """Trades [N] of a ledger as if each were closed at the close of a bar [N].

    Args:
        ledger: Of one window.
        trade: Places in the ledger.
        bar: Bars of the series, from the entry's on.
        closes: [T] of the series.
        per_side: Costs of a side, fraction of the price.
        terms: None where a trade pays nothing else, and has one target at most.
    """
    side, entry = ledger.side[trade].astype(np.float64), ledger.entry[trade]
    risk, place = side * (entry - ledger.stop[trade]), np.where(side > 0.0, 0, 1)
    leave, leg_prices = closes[bar], np.empty((len(trade), 0))
    if terms is None:
        r = (side * (leave - entry) - per_side * (entry + leave)) / risk
    else:
        leave = np.where(place == 0, terms.closes[0][bar], terms.closes[1][bar])
        begin = ledger.entry_bar[trade]

        def value(x: Ints, price: Floats) -> Floats:
            net = side * (price - entry) - per_side * (entry + price)
            if terms.unit_fee > 0.0:
                net = net - (terms.unit_fee + terms.unit_fee)
            if terms.funding is not None:
                net = net - side * (terms.funding[x] - terms.funding[begin])
            for number, paid in enumerate(terms.borrow):
                if paid is not None:
                    net = np.where(place == number, net - (paid[x] - paid[begin]), net)
            return net / risk

        r = last = value(bar, leave)
        reached = ledger.leg_bar[trade]
        is_out = (reached >= 0) & (reached <= bar[:, None])
        leg_prices = np.where(is_out, ledger.leg_price[trade], np.nan)
        if reached.shape[1]:
            r = np.zeros(len(trade))
            for leg, out in enumerate(is_out.T):
                gained = value(np.where(out, reached[:, leg], bar), ledger.leg_price[trade, leg])
                r = r + terms.shares[place, leg] * np.where(out, gained, last)
            r = np.where(terms.rests[place] > 0.0, r + terms.rests[place] * last, r)
    scale = ledger.scale[trade, 0] if ledger.scale.shape[1] else np.empty(0)
    return Sized(r, ledger.side[trade], entry, risk, leave, leg_prices, scale)


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
