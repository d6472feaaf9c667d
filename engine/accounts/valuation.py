"""Valuation of trades: at other costs or exits, closed at any bar, open parts, held together.

One formula, the law's, in its order of operations. All values of trades come from it: an account
at closes, robustness, the order within a bar, tables, open positions.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from data.checks import Floats, Ints
from engine.accounts.ledger import Ledger
from engine.accounts.reference import Sized, StakedTrades, size_trades
from engine.accounts.stake import SHARE_OF_R, Stake

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
