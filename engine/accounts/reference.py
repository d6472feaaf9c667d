"""Results of trades folded into sums, in their order, as the law has it.

It shares no code with the batch engine.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from data.checks import Flags, Floats, Ints
from engine.accounts.ledger import (
    ACCUMULATORS,
    AT_STOP,
    COUNTED_REASONS,
    COUNTS,
    MARGIN,
    REASONS,
    Ledger,
)
from engine.accounts.stake import (
    EQUITY_SHARE,
    NOTIONAL,
    RISK,
    SHARE_OF_R,
    VOLATILITY,
    Stake,
)
from strategy.rows import LoopRunner

REVERSE = REASONS.index("reverse")

LOT_SLACK = 1e-9
"""Fraction of a lot by which a size may miss it and still have it."""

Sides = npt.NDArray[np.int8]


class Sums(NamedTuple):
    """Sums over the results of trades; names as in `ACCUMULATORS`."""

    wins: float
    sum_r: float
    sum_r2: float
    gain_r: float
    loss_r: float
    loss_r2: float
    peak_r: float
    max_drawdown_r: float
    equity: float
    peak_equity: float
    max_drawdown: float
    shorts: float
    wins_short: float
    sum_r_short: float
    unsized: float = 0.0


def compute_accumulators(ledger: Ledger, sums: Sums, max_leverage: float = 0.0) -> Floats:
    """Accumulators [A] of a ledger, from these sums of its results."""
    # An exit at a stop that moved has a name of its own, and is counted with the others there.
    exits = np.bincount(ledger.reason, minlength=len(REASONS)).tolist()
    at_stop = sum(exits[reason] for reason in AT_STOP)
    exits = [at_stop if name == "stop" else exits[k] for k, name in enumerate(COUNTED_REASONS)]
    total = {
        **sums._asdict(),
        **{f"exits_{name}": count for name, count in zip(COUNTED_REASONS, exits, strict=True)},
        "trades": len(ledger),
        "rejected": ledger.rejected,
        "bars_in_market": int(ledger.held.sum()),
        "orders": ledger.orders,
        "expired": ledger.expired,
        "coarse": ledger.coarse,
        "partials": count_partials(ledger),
        "skipped": ledger.skipped,
        "max_leverage": max_leverage,
    }
    return np.array([total[name] for name in ACCUMULATORS], np.float64)


def count_partials(ledger: Ledger) -> int:
    """Targets of several that were reached, but for those with which a trade ended."""
    if ledger.leg_bar.shape[1] == 0:
        return 0
    reached = ledger.leg_bar >= 0
    ends = reached & (ledger.leg_bar == ledger.exit_bar[:, None])
    ends &= (ledger.reason == REASONS.index("target"))[:, None]
    return int(reached.sum() - ends.any(axis=1).sum())


class Turns(NamedTuple):
    """Order in which trades [K] change the cash of one account, with the knowledge at each fill."""

    order: Ints  # places among the trades of all windows, those of one behind those of another
    known: Ints  # how many, in this order, are over when the order of each is filled
    strand: Ints  # number of its symbol


def take_turns(count: int) -> Turns:
    """Turns of so many trades, each filled when all before it are over."""
    return Turns(np.arange(count), np.arange(count), np.zeros(count, np.int64))


def order_trades(strand: Ints, filled_ns: Ints, exit_ns: Ints, over_ns: Ints) -> Turns:
    """Turns of trades [K], those of a strand in the order of time.

    Args:
        strand: Number of each one's symbol.
        filled_ns: When its entry bar opens; nothing of that bar is known at a fill within it.
        exit_ns: When its exit bar opens.
        over_ns: When it is over, and changes the cash.
    """
    order = np.lexsort((strand, exit_ns, over_ns))
    known = np.searchsorted(over_ns[order], filled_ns[order], side="right")
    # A trade that leaves at the open at which it is filled does not know of itself.
    return Turns(order, np.minimum(known, np.arange(len(order))), strand[order])


def find_end_times(ledger: Ledger, bars: Bars, stake: Stake) -> Ints:
    """When each trade of a ledger is over: its exit bar is; or opens, after an exit at its open.

    An order that rests may have been touched later in the bar, and ends a reversed position then.
    """
    is_at_open = ledger.held == ledger.exit_bar - ledger.entry_bar
    is_known = stake.at_market[np.where(ledger.side > 0, 1, 0)]
    is_at_open &= (ledger.reason != REVERSE) | is_known
    leaves = ledger.exit_bar
    return np.where(is_at_open, bars.timestamp[leaves], bars.over_ns[leaves])


def merge_ledgers(
    ledgers: Sequence[Ledger], windows: Sequence[Window], series: Sequence[Bars], stake: Stake
) -> tuple[Ledger, Turns]:
    """Ledgers of several windows [W] as that of one account, and the turns of its trades.

    Where one R is a share of equity, a trade changes it when its exit bar opens.
    """
    places = sorted(range(len(windows)), key=lambda w: (windows[w].series, windows[w].start))
    times = []
    for w in places:
        ledger, number = ledgers[w], windows[w].series
        opened = series[number].timestamp
        filled_ns, exit_ns = opened[ledger.entry_bar], opened[ledger.exit_bar]
        is_plain = stake.form == SHARE_OF_R
        over_ns = exit_ns if is_plain else find_end_times(ledger, series[number], stake)
        times.append((np.full(len(ledger), number), filled_ns, exit_ns, over_ns))
    turns = order_trades(*(np.concatenate(column) for column in zip(*times, strict=True)))
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(ledgers[w], name) for w in places])[turns.order]
        for name in ledgers[0].columns()
    }
    counts = {name: sum(getattr(ledger, name) for ledger in ledgers) for name in COUNTS}
    return Ledger(**columns, **counts), turns


class Sized(NamedTuple):
    """Trades [K] as an account sizes them."""

    r: Floats
    side: Sides
    entry: Floats
    risk: Floats  # in price
    leave: Floats  # price of the rest at the exit
    leg_prices: Floats  # [K, L] of targets; NaN where they were not reached
    scale: Floats  # [K] what `VOLATILITY` reads; [0] else
    is_margin: Flags  # [K] whether the account was lost with it


def size_trades(ledger: Ledger) -> Sized:
    """The trades of a ledger as an account sizes them."""
    risk = ledger.side * (ledger.entry - ledger.stop)
    scale = ledger.scale[:, 0] if ledger.scale.shape[1] else np.empty(0)
    return Sized(
        ledger.r, ledger.side, ledger.entry, risk, ledger.exit, ledger.leg_price,
        np.ascontiguousarray(scale), ledger.reason == MARGIN,
    )  # fmt: skip


class StakedTrades(NamedTuple):
    """Trades [K] of one account, each sized by the rule of its owner [N]."""

    trades: Sized
    stakes: tuple[Stake, ...]  # [N] all of them but the cash, which is that of the first
    weights: Floats  # [N] the account's share of each trade
    owner: Ints  # [K]


class Grown(NamedTuple):
    """An account, and its trades [K] as it sized them."""

    worth: Floats  # [K] of the account after each
    cash: Floats  # [K] at the fill of each
    size: Floats  # [K] units, times its weight the account's own
    unsized: float  # how many had no size


def stake_trades(trades: Sized, stake: Stake) -> StakedTrades:
    """Trades that one rule sizes."""
    return StakedTrades(trades, (stake,), np.ones(1), np.zeros(len(trades.r), np.int64))


def grow_cash(staked: StakedTrades, turns: Turns) -> Grown:
    """An account with cash that trades change in their turns; each is sized once, at its fill."""
    count, unsized = len(staked.owner), 0.0
    worths, sizes, cashes = np.empty(count + 1), np.empty(count), np.empty(count)
    worths[0] = staked.stakes[0].cash
    for k in range(count):
        cash = worths[turns.known[k]]
        # Where a fill ends a position of the same symbol, that one's result is known.
        for earlier in range(turns.known[k], k):
            if turns.strand[earlier] == turns.strand[k]:
                cash = add_trade(staked, cash, sizes[earlier], earlier)
        stake = staked.stakes[staked.owner[k]]
        sizes[k], cashes[k] = 0.0, cash
        if stake.form != SHARE_OF_R:
            sizes[k] = find_size(staked.trades, stake, cash, k)
            unsized += 0.0 if sizes[k] > 0.0 else 1.0
        worths[k + 1] = add_trade(staked, worths[k], sizes[k], k)
    return Grown(worths[1:], cashes, sizes, unsized)


def add_trade(staked: StakedTrades, cash: float, size: float, k: int) -> float:
    """Cash after a trade of so many units, given that before it is over."""
    trades, after = staked.trades, cash
    stake, weight = staked.stakes[staked.owner[k]], staked.weights[staked.owner[k]]
    if stake.form == SHARE_OF_R:
        after = cash * (1.0 + stake.number * (weight * trades.r[k]))
    elif size > 0.0 and trades.is_margin[k]:
        after = cash - weight * cash
    elif size > 0.0:
        after = cash + weight * find_gain(trades, stake, size, k)
    # Ruin: unless it is then above 0 it is 0, and stays 0, whatever units are worth later.
    if not (cash > 0.0 and after > 0.0):
        after = 0.0
    return after


def find_size(trades: Sized, stake: Stake, cash: float, k: int) -> float:
    """Units of a trade, given the cash at its fill."""
    form, number, entry = stake.form, stake.number, trades.entry[k]
    size: float = number
    if form == RISK:
        size = number * cash / (trades.risk[k] * stake.worth)
    elif form == NOTIONAL:
        size = number / (entry * stake.worth)
    elif form == EQUITY_SHARE:
        size = number * cash / (entry * stake.worth)
    elif form == VOLATILITY:
        move = trades.scale[k]
        size = number * cash / (move * stake.worth) if move > 0.0 else 0.0
    if stake.leverage < np.inf:
        size = min(size, stake.leverage * cash / (entry * stake.worth))
    if stake.lot_over > 0.0:
        lots = np.floor(size * stake.lot_under / stake.lot_over + LOT_SLACK)
        size = lots * stake.lot_over / stake.lot_under
    return size


def find_leverage(trades: Sized, stake: Stake, k: int, weight: float = 1.0) -> float:
    """Worth of a position over the account at its entry, as limits see it."""
    leverage: float = 0.0
    if stake.form == SHARE_OF_R or stake.form == RISK:
        leverage = stake.number * weight * trades.entry[k] / trades.risk[k]
    elif stake.form == EQUITY_SHARE:
        leverage = stake.number * weight
    # Without a size there is no leverage.
    elif stake.form == VOLATILITY and trades.scale[k] > 0.0:
        leverage = stake.number * weight * trades.entry[k] / trades.scale[k]
    return float(leverage)


def find_max_leverage(ledger: Ledger, stake: Stake) -> float:
    """The greatest leverage of a limited account at an entry; 0 of one without limits."""
    trades, most = size_trades(ledger), 0.0
    for k in range(len(ledger.gross) if ledger.gross.shape[1] else 0):
        most = max(most, float(ledger.gross[k, 0]) + find_leverage(trades, stake, k))
    return most


def find_gain(trades: Sized, stake: Stake, size: float, k: int) -> float:
    """Gain of a trade of so many units, money: its result, less what least fees add."""
    money = size * stake.worth
    gain: float = money * (trades.r[k] * trades.risk[k])
    if stake.fee_min > 0.0:
        side = 0 if trades.side[k] > 0 else 1
        short = max(0.0, stake.fee_min - charge(stake, money, size, trades.entry[k]))
        for leg in range(stake.shares.shape[1]):
            share = stake.shares[side, leg]
            if share > 0.0:
                price = trades.leave[k]
                if leg < trades.leg_prices.shape[1] and not np.isnan(trades.leg_prices[k, leg]):
                    price = trades.leg_prices[k, leg]
                fee = share * charge(stake, money, size, price)
                short = short + max(0.0, stake.fee_min - fee)
        if stake.rests[side] > 0.0:
            fee = stake.rests[side] * charge(stake, money, size, trades.leave[k])
            short = short + max(0.0, stake.fee_min - fee)
        gain = gain - short
    return gain


def charge(stake: Stake, money: float, size: float, price: float) -> float:
    """Fee of a fill of so many units at a price."""
    return money * (stake.fee * price) + size * stake.fee_unit


def fold_ledger(form: LoopRunner, ledger: Ledger, turns: Turns, stake: Stake) -> Floats:
    """Accumulators [A] of a ledger with trades in the order of their turns."""
    sums = form(fold_results)(size_trades(ledger), stake, turns)
    return compute_accumulators(ledger, sums, find_max_leverage(ledger, stake))


def fold_results(trades: Sized, stake: Stake, turns: Turns) -> Sums:
    """Fold results in units of risk, and the account's growth by them, in the order of trades."""
    grown = grow_cash(stake_trades(trades, stake), turns)
    return fold_worths(trades.r, trades.side, grown.worth, stake.cash, grown.unsized)


def fold_worths(results: Floats, sides: Sides, worths: Floats, cash: float, unsized: float) -> Sums:
    """The same, given the worth after each trade [K] of an account that began with `cash`."""
    shorts = wins_short = sum_r_short = 0.0
    wins = sum_r = sum_r2 = gain_r = loss_r = loss_r2 = 0.0
    # The peak of the sum of R starts at 0; the account's at its start.
    peak_r = max_drawdown_r = max_drawdown = 0.0
    worth = peak = cash
    for k in range(len(results)):
        r = results[k]
        sum_r += r
        sum_r2 += r * r
        # A result of exactly 0 is a loss of 0.
        if r > 0.0:
            wins += 1.0
            gain_r += r
        else:
            loss_r += -r
            loss_r2 += r * r
        # Shorts once more, by themselves.
        if sides[k] < 0:
            shorts += 1.0
            sum_r_short += r
            if r > 0.0:
                wins_short += 1.0
        if sum_r > peak_r:
            peak_r = sum_r
        if peak_r - sum_r > max_drawdown_r:
            max_drawdown_r = peak_r - sum_r
        worth = worths[k]
        if worth > peak:
            peak = worth
        drawdown = (peak - worth) / peak
        if drawdown > max_drawdown:
            max_drawdown = drawdown
    return Sums(
        wins, sum_r, sum_r2, gain_r, loss_r, loss_r2, peak_r, max_drawdown_r, worth / cash,
        peak / cash, max_drawdown, shorts, wins_short, sum_r_short, unsized,
    )  # fmt: skip
