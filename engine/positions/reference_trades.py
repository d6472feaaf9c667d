"""Trades by the letter of the law: what is noted of each, and what it comes to in units of risk."""

from typing import NamedTuple

import numpy as np

from engine.accounts.ledger import Ledger
from engine.positions.reference_exits import (
    NOT_REACHED,
    REVERSE,
    TARGET,
    Exit,
    HeldPosition,
)
from engine.positions.reference_orders import (
    LEG_BARS,
    LEG_LEVELS,
    Book,
    SignalSpan,
    slip_price,
)
from engine.positions.reference_world import (
    BORROW_PART,
    ENTRIES,
    FIRST_LEG,
    FUNDING_PART,
    NOWHERE,
    NUMBER,
    REST,
    ROW,
    Floats,
    Ints,
    World,
    count_targets,
    find_sign,
    read_row,
)
from engine.positions.reference_world import (
    SHARE as SHARES,
)


class ListedTrades(NamedTuple):
    """Trades in the order of time; there is room for more."""

    listed: Ints  # [1] how many
    whole: Ints  # [6, S] signal bar, entry bar, exit bar, reason, side and bars held
    numbers: Floats  # [6, S] entry, stop, target, exit, r and last stop
    leg_bars: Ints  # [S, L] bar in which each target was reached, or -1
    leg_prices: Floats  # [S, L] its price, or NaN


def build_ledger(trades: ListedTrades, counts: Ints, scales: Floats | None = None) -> Ledger:
    """The ledger of what `take_signals` found; `scales` [T] is what sizes are measured by."""
    some = slice(int(trades.listed[0]))
    signal_bar, entry_bar, exit_bar, reason, sign, held = trades.whole[:, some].copy()
    entry, stop, target, leave, r, last_stop = trades.numbers[:, some].copy()
    rejected, orders, used, coarse = counts.tolist()
    return Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        sign.astype(np.int8), last_stop, held, trades.leg_bars[some], trades.leg_prices[some],
        np.empty((len(r), 0)) if scales is None else scales[signal_bar][:, None],
        rejected=rejected, orders=orders, expired=orders - used, coarse=coarse,
    )  # fmt: skip


def begin_trades(world: World, span: SignalSpan, legs: int = 0) -> ListedTrades:
    """Room for as many trades as there may be; `legs`: targets of a ladder."""
    # Each trade has a signal of its own.
    room = int(np.count_nonzero(world.marks[ENTRIES : ENTRIES + 2, span.first : span.last]))
    return make_room(room, legs)


def make_room(room: int, legs: int) -> ListedTrades:
    """Room for some trades, of so many targets each."""
    return ListedTrades(
        np.zeros(1, np.int64), np.empty((6, room), np.int64), np.empty((6, room)),
        np.full((room, legs), NOT_REACHED), np.full((room, legs), np.nan),
    )  # fmt: skip


def list_trade(
    world: World, book: Book, trades: ListedTrades, at: HeldPosition, leave: Exit, j: int
) -> None:
    """Note a trade that ends in a bar."""
    side, sign, k, price = at.side, find_sign(at.side), trades.listed[0], leave.price
    # Targets, and entries of the other side, are prices of their own; all others may slip.
    if leave.reason != TARGET and leave.reason != REVERSE:
        price = slip_price(world, side, price, j, sign < 0)
    whole, numbers = trades.whole, trades.numbers
    whole[0, k], whole[1, k], whole[2, k] = at.signal_bar, at.entry_bar, j
    whole[3, k], whole[4, k] = leave.reason, int(sign)
    # The exit bar counts where the position lasts beyond its open, or its own part of it.
    whole[5, k] = j - at.entry_bar + (0 if leave.is_at_open else 1)
    numbers[0, k], numbers[1, k], numbers[3, k] = at.entry, at.first_stop, price
    numbers[2, k] = find_farthest_target(world, book, side)
    numbers[4, k], numbers[5, k] = compute_net_r(world, book, at, j, price), at.stop
    if trades.leg_bars.shape[1] > 0:
        for leg in range(count_targets(world, side)):
            trades.leg_bars[k, leg] = book.orders[side, LEG_BARS + leg]
            if book.orders[side, LEG_BARS + leg] != NOT_REACHED:
                trades.leg_prices[k, leg] = book.levels[side, LEG_LEVELS + leg]
    trades.listed[0] += 1


def find_farthest_target(world: World, book: Book, side: int) -> float:
    """The target that lies farthest; infinite where there is none."""
    count, sign = count_targets(world, side), find_sign(side)
    farthest = -np.inf if count > 0 else np.inf
    for leg in range(count):
        farthest = max(farthest, sign * book.levels[side, LEG_LEVELS + leg])
    return sign * farthest


def compute_net_r(world: World, book: Book, at: HeldPosition, bar: int, leave: float) -> float:
    """R of a trade, net: of each target that was reached and of what was left."""
    side, rest = at.side, world.parts[at.side, NUMBER, REST]
    count = count_targets(world, side)
    # One target that takes all is the exit.
    if count == 0 or (count == 1 and rest == 0.0):
        return compute_net(world, at, bar, leave) / at.risk
    r = 0.0
    for leg in range(count):
        x, price = bar, leave
        if book.orders[side, LEG_BARS + leg] != NOT_REACHED:
            x, price = int(book.orders[side, LEG_BARS + leg]), book.levels[side, LEG_LEVELS + leg]
        r = r + world.parts[side, SHARES, FIRST_LEG + leg] * (
            compute_net(world, at, x, price) / at.risk
        )
    if rest > 0.0:
        r = r + rest * (compute_net(world, at, bar, leave) / at.risk)
    return r


def compute_net(world: World, at: HeldPosition, x: int, leave: float) -> float:
    """Gain of one unit that leaves in bar x: both sides pay on traded notional."""
    side, limits, e = at.side, world.limits, at.entry_bar
    gross = find_sign(side) * (leave - at.entry)
    net = gross - limits.per_side * (at.entry + leave)
    if limits.unit_fee > 0.0:
        net = net - (limits.unit_fee + limits.unit_fee)
    if world.parts[side, ROW, FUNDING_PART] != NOWHERE:
        paid = read_row(world, side, FUNDING_PART, x) - read_row(world, side, FUNDING_PART, e)
        net = net - find_sign(side) * paid
    if world.parts[side, ROW, BORROW_PART] != NOWHERE:
        paid = read_row(world, side, BORROW_PART, x) - read_row(world, side, BORROW_PART, e)
        net = net - paid
    return net
