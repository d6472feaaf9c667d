"""Positions that an account holds together, and their gains, closed or open."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.accounts.ledger import Ledger
from engine.accounts.reference import Sized, StakedTrades, size_trades
from engine.accounts.stake import SHARE_OF_R, Stake

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PLAIN = ("r", "side", "entry", "risk", "leave", "is_margin")
"""Columns of trades that all have."""

MOST_HELD = 2**20
"""Pairs of trades, one open when the other is taken, that are looked at together."""


Marks = tuple[Ints, Ints, Floats, Sized]
"""Closes at which there is a position [N], when it ends, its units, and it closed at each."""


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
        # One addition after another, in the order of taking.
        np.add.at(gross, held + 1 + nth, leverage[order][held])
    worth = np.empty(len(order))
    worth[order] = gross
    return worth + leverage


def join_marks(parts: Iterable[Marks]) -> Marks:
    """Marks of several windows, one behind the other."""
    closes, ends, units, trades = zip(*parts, strict=True)
    joined = Sized(*(np.concatenate(column) for column in zip(*trades, strict=True)))
    return np.concatenate(closes), np.concatenate(ends), np.concatenate(units), joined


def choose_trades(trades: Sized, chosen: Ints) -> Sized:
    """Some of several trades, by their places [N]."""
    columns: Any = [column[chosen] if len(column) else column for column in trades]
    return Sized(*columns)


def stake_ledgers(
    ledgers: Sequence[Ledger], stakes: Sequence[Stake], weights: Floats
) -> StakedTrades:
    """Trades of ledgers [W], one behind the other, each sized by the rule of its ledger."""
    parts, counts = list(map(size_trades, ledgers)), list(map(len, ledgers))
    legs = max(part.leg_prices.shape[1] for part in parts)
    columns: Any = {name: np.concatenate([getattr(part, name) for part in parts]) for name in PLAIN}
    # What some rules do not read is unknown.
    columns["leg_prices"] = np.full((sum(counts), legs), np.nan)
    columns["scale"] = np.full(sum(counts), np.nan)
    for part, end in zip(parts, np.cumsum(counts).tolist(), strict=True):
        own = slice(end - len(part.r), end)
        columns["leg_prices"][own, : part.leg_prices.shape[1]] = part.leg_prices
        columns["scale"][own][: len(part.scale)] = part.scale
    owner = np.repeat(np.arange(len(ledgers)), counts)
    return StakedTrades(Sized(**columns), tuple(stakes), weights, owner)


def add_gains(trades: Sized, units: Floats, stake: Stake, equity: Floats, weight: float) -> Floats:
    """Equity, from 1, with a trade [N] of so many units closed, beside equity before [N].

    The account takes `weight` of it.
    """
    if stake.form == SHARE_OF_R:
        return equity * np.maximum(1.0 + stake.number * (weight * trades.r), 0.0)
    cash = equity * stake.cash
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
    return np.where(units > 0.0, cash + weight * gain, cash) / stake.cash
