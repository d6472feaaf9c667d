"""Positions that orders open, of a whole population: each individual in every window of one series.

As `engine.positions.cpu.batch`, for strategies that have resting orders, ladders or money.
"""

import numpy as np

from engine.accounts.cpu.folding import TRADES, begin
from engine.accounts.cpu.money import Purse
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, REASONS, Ledger
from engine.accounts.stake import SHARE_OF_R
from engine.conditions.cpu.codes import (
    AskedWords,
    decide_turn,
    make_turn_room,
    point_to_words,
)
from engine.positions.cpu.batch import COARSE_COLUMNS
from engine.positions.cpu.both_sides import note_coarse, note_rejected
from engine.positions.cpu.listing import Work, with_room
from engine.positions.cpu.order_exits import OrderLists
from engine.positions.cpu.order_walk import take_orders
from engine.positions.cpu.orders import (
    FIGURES,
    MARKS,
    ROOM,
    OrderBook,
    OrderInputs,
    OrderRules,
    Pair,
)
from engine.runtime.compiling.loops import compiled_unlocked
from engine.runtime.cpu.bitset import is_set, next_alone
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.types import Floats, Ints, Listed

REJECTED, COARSE = ACCUMULATOR_INDEX["rejected"], ACCUMULATOR_INDEX["coarse"]
SIGNAL = REASONS.index("signal")
WHOLE, NUMBERS = 6, 7
"""Whole numbers and figures of a trade that `take_orders` writes, before its targets."""


def begin_orders(inputs: OrderInputs, asked: AskedWords, windows: Ints) -> tuple[Work, Floats]:
    """Begin as `begin_population` does."""
    out = np.full((len(inputs.asks.delay), len(windows), len(ACCUMULATORS)), np.nan)
    shared, rules = np.zeros(1, np.int64), inputs.rules
    legs = rules.legs

    def work(thread: int, firsts: Ints, thread_of: Ints) -> tuple[Ints, Floats]:
        width = WHOLE + legs + COARSE_COLUMNS * rules.lists_all
        room = np.empty((0, width), np.int64), np.empty((0, NUMBERS + legs))
        mine = inputs.asks._replace(words=inputs.asks.words[thread])
        return fold_each_order(inputs._replace(asks=mine), asked, windows, shared, out, thread,
                               firsts, thread_of, *room)  # fmt: skip

    return work, out


def collect_orders(listed: Listed, legs: int, *, has_scale: bool) -> tuple[Ledger, Ints]:
    """Collect as `collect_trades` does, of trades with so many targets.

    `has_scale`: sizes are measured by a row.
    """
    whole, numbers = listed.in_order()
    signal_bar, entry_bar, exit_bar, reason, side, held = np.ascontiguousarray(whole[:, :WHOLE].T)
    behind = WHOLE + legs
    entry, stop, target, leave, r, last_stop, _ = np.ascontiguousarray(numbers[:, :NUMBERS].T)
    trades = Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, held, whole[:, WHOLE:behind], numbers[:, NUMBERS:],
        numbers[:, NUMBERS - 1 : NUMBERS if has_scale else NUMBERS - 1],
    )  # fmt: skip
    return trades, whole[:, behind:]


@compiled_unlocked
def fold_each_order(
    inputs: OrderInputs,
    asked: AskedWords,
    windows: Ints,
    shared: Ints,
    out: Floats,
    thread: int,
    firsts: Ints,
    thread_of: Ints,
    whole: Ints,
    numbers: Floats,
) -> tuple[Ints, Floats]:
    """Take individuals one after another, while other threads take others.

    Where each signal is taken it is the only one of a walk, and a row is listed for it.

    Arguments and result as in `engine.positions.cpu.batch.fold_each`; `whole` [n, 6 + L] and
    `numbers` [n, 7 + L] as `take_orders` writes them, and `whole` two more where each signal is
    taken, as `note_coarse` does.
    """
    prices, population, rules, purse = inputs
    keeps = firsts.shape[0] > 0
    # No literal: its callees would be compiled once more for it.
    used: int = np.int64(0)  # type: ignore[assignment]
    # No formula needs more places than it has steps.
    stack = np.empty(len(population.steps) + 1)
    book = OrderBook(np.zeros(MARKS, np.int64), np.zeros(FIGURES), np.zeros(ROOM), stack)
    # The same with numbers that a compiler knows: it leaves ruled-out parts out of a loop.
    plain_rules = OrderRules(
        rules.per_side, rules.min_risk, rules.unit_fee, rules.tick_over, rules.tick_under,
        rules.even_leg, rules.even_form, rules.names_stops, False, rules.legs, rules.targets,
        rules.slippages, rules.lists_all, True,
    )  # fmt: skip
    share = Purse(SHARE_OF_R, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, purse.risk_fraction)
    plain = OrderInputs(prices, population, plain_rules, share)
    room, begun = make_turn_room(asked, population.words), take(shared, 0) * asked.turn
    while begun < asked.order.size:
        ended = min(begun + asked.turn, asked.order.size)
        decide_turn(asked, begun, ended, room, population.words)
        for place in range(begun, ended):
            p = asked.order[place]
            point_to_words(population.entries, p, room.rows, place - begun)
            point_to_words(population.exits, p, room.rows, place - begun)
            point_to_words(population.cancels, p, room.rows, place - begun)
            for w in range(windows.shape[0]):
                first = max(windows[w, 0], population.warm_up[p])
                begin(out[p, w])
                if keeps:
                    firsts[p, w] = used
                    more = windows[w, 1] - windows[w, 0]
                    whole = with_room(whole, used, more)
                    numbers = with_room(numbers, used, more)
                end = windows[w, 1]
                last = end - 1 - population.delay[p]
                longs, shorts = population.entries[p, 0], population.entries[p, 1]
                bar, until, over, count = first, last, end, 0
                row, coarse, is_last = used, 0.0, False
                # Each signal alone, or all of them.
                if rules.lists_all:
                    bar = next_alone(population.words, longs, shorts, first, last)
                while bar < last:
                    if rules.lists_all:
                        begin(out[p, w])
                        until = bar + 1
                    pair, lists = (
                        Pair(p, bar, until, over),
                        OrderLists(whole, numbers, row, len(whole)),
                    )
                    # Each call of it is compiled for itself.
                    if rules.is_plain:
                        take_orders(plain, pair, out[p, w], lists, book)
                    else:
                        take_orders(inputs, pair, out[p, w], lists, book)
                    if not rules.lists_all:
                        break
                    if row > used:
                        is_last = coarse > out[p, w, COARSE]
                    else:
                        coarse, is_last = out[p, w, COARSE], False
                        if out[p, w, REJECTED] > 0.0:
                            side = 1 if longs >= 0 and is_set(population.words, longs, bar) else -1
                            note_rejected(bar, bar + 1 + population.delay[p], side, whole, used)
                        elif coarse > 0.0 and whole[used, 3] == SIGNAL:
                            # The same until the bar that it leaves at the open.
                            over, row = whole[used, 2], used + 1
                            continue
                    note_coarse(coarse, is_last, whole, used)
                    used, count = used + 1, count + 1
                    over, row = end, used
                    bar = next_alone(population.words, longs, shorts, bar + 1, last)
                if rules.lists_all:
                    out[p, w, TRADES] = count
                elif keeps:
                    used += int(out[p, w, TRADES])
            if keeps:
                thread_of[p] = thread
        begun = take(shared, 0) * asked.turn
    return whole[:used], numbers[:used]
