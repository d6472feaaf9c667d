"""Signals of strategies with orders, each by itself, and sums of an account's trades.

An account with limits needs each signal's result, whatever came before it; so a lane walks one
signal, and all lanes of a warp go through the bars of consecutive signals.
"""

from typing import Any, NamedTuple

import torch
from numba import float64, int64

from engine.accounts.cpu.joint import MAX_LEVERAGE
from engine.accounts.cpu.limiting import COARSE, SKIPPED, count_trade
from engine.accounts.cpu.money import (
    EQUITY,
    REJECTED,
    Purse,
    SizedTrade,
    TradeLegs,
    begin,
    begin_money,
    count_shares,
    end_money,
    find_leverage,
    fold_sized,
)
from engine.accounts.stake import SHARE_OF_R
from engine.positions.cpu.batch import ORDER_NUMBERS, WHOLE
from engine.positions.cpu.exits import MARGIN, SIGNAL, STOP, TIME, Extremes
from engine.positions.cpu.order_exits import OrderLists
from engine.positions.cpu.order_walk import is_at_stop
from engine.positions.cpu.orders import (
    FIGURES,
    LEVERAGE,
    MARKS,
    REST,
    ROOM,
    STAKE,
    OrderBook,
    OrderInputs,
    OrderRules,
    Pair,
)
from engine.positions.cuda import both_sides
from engine.positions.cuda.order_walk import (
    ALL_LANES,
    N_OUT,
    cuda,
    fix_purse,
    fix_rules,
    walk_bars,
)
from engine.runtime.cpu.simd8 import load_value

REJECTED_SIGNAL, COARSE_EXIT = both_sides.REJECTED.value, both_sides.COARSE_EXIT.value

COARSE_UNIT = 8
"""Unit of a note, for each touched bar without finer ones."""


class AloneSignals(NamedTuple):
    """Signals of pairs, individual after individual, each with its own result."""

    size: torch.Tensor  # [1] int32, how many individuals there are
    windows: torch.Tensor  # [w, 3] int32, place among those of all series, start and end
    counts: torch.Tensor  # [pairs] int32
    marks: torch.Tensor  # [pairs, capacity] int32 as `mark_kernel` lists them
    # The others are written; [pairs, capacity] by default.
    leaves: torch.Tensor  # int32 as of `leave_kernel`, of reasons a stop, a signal or another
    notes: torch.Tensor  # int32, COARSE_UNIT for each bar, and COARSE_EXIT
    leverages: torch.Tensor
    whole: torch.Tensor  # [pairs * capacity, 6 + L] int32, as `OrderLists`
    numbers: torch.Tensor  # [pairs * capacity, 7 + L]


class TakenSignals(NamedTuple):
    """Signals of pairs that accounts take."""

    size: torch.Tensor  # [1] int32, how many individuals there are
    trades: torch.Tensor  # [pairs] int32, how many are taken
    places: torch.Tensor  # [pairs, capacity] int32, which ones
    rejected: torch.Tensor  # [pairs] int32
    coarse: torch.Tensor  # [pairs] int32
    whole: torch.Tensor  # as of `AloneSignals`
    numbers: torch.Tensor  # likewise
    out: torch.Tensor  # [pairs, A] with skipped signals and leverage; receives all
    # [pairs, capacity] of each trade, receive its exit bar, R, and 0 in place of a long's.
    ends: torch.Tensor
    r: torch.Tensor
    short_r: torch.Tensor


def walk_alone(
    prices: Extremes,
    asks: Any,
    rules: OrderRules,
    purse: Purse,
    n_windows: int,
    blocks: int,
    lanes: int,
    results: Any,
) -> None:
    """List the signals of one series; grid (individuals times its windows times `blocks`).

    Args:
        prices: The series.
        asks: All individuals, as `LanePopulation`.
        rules: Rules that they share.
        purse: How trades are sized.
        n_windows: Windows of all series.
        blocks: Warps that share a pair's signals.
        lanes: Of a warp.
        results: As `AloneSignals`.
    """
    lane, i_pair, windows = cuda.threadIdx.x, cuda.blockIdx.x // blocks, results.windows
    p, w = i_pair // windows.shape[0], i_pair % windows.shape[0]
    if p >= results.size[0]:
        return
    out = cuda.local.array(N_OUT, float64)
    book = OrderBook(
        cuda.local.array(MARKS, int64), cuda.local.array(FIGURES, float64),
        cuda.local.array(ROOM, float64), cuda.local.array(1, float64),
    )  # fmt: skip
    sized = fix_purse(purse)
    share = sized.risk_fraction
    if sized.form != SHARE_OF_R:
        share = load_value(asks.terms, p, STAKE)
    inputs = OrderInputs(prices, asks, fix_rules(rules), sized)
    whole, numbers, capacity = results.whole, results.numbers, results.marks.shape[1]
    i_list, end = int64(p) * n_windows + windows[w, 0], int64(windows[w, 2])
    count = min(int64(results.counts[i_list]), capacity)
    for first in range(cuda.blockIdx.x % blocks * lanes, count, blocks * lanes):
        place = first + lane
        is_there = place < count
        start = int64(results.marks[i_list, first]) >> 1
        mark = int64(results.marks[i_list, place if is_there else first])
        bar, k = mark >> 1, i_list * capacity + place
        walks, over, coarse, is_taken, is_last = is_there, end, 0.0, False, False
        for turn in range(2):
            if cuda.ballot_sync(ALL_LANES, walks) == 0:
                break
            lists = OrderLists(whole, numbers, k, 1 if is_there and turn == 0 else 0)
            pair = Pair(p, bar, bar + 1, over)
            walk_bars(inputs, pair, walks, start, end, out, lists, book)
            if turn == 1:
                is_last = walks and coarse > out[COARSE]
            elif is_there:
                is_taken, coarse = out[REJECTED] == 0.0, out[COARSE]
                # Left at an open it is walked until the bar before, which says what that one adds.
                walks = is_taken and coarse > 0.0 and whole[k, 3] == SIGNAL
                over = int64(whole[k, 2]) if is_taken else end
        if is_there:
            leave, leverage = int64(REJECTED_SIGNAL), 0.0
            if is_taken:
                reason = whole[k, 3]
                kind = STOP if is_at_stop(reason) else SIGNAL if reason == SIGNAL else TIME
                leave = over * 8 + kind
                risk = numbers[k, 0] - numbers[k, 1]
                leverage = find_leverage(
                    sized.form, share, numbers[k, 0], -risk if mark & 1 else risk, numbers[k, 6]
                )
            results.leaves[i_list, place] = leave
            results.leverages[i_list, place] = leverage
            note = int(coarse) * COARSE_UNIT
            results.notes[i_list, place] = note + COARSE_EXIT if is_last else note


def fold_taken(
    asks: Any,
    rules: OrderRules,
    purse: Purse,
    n_windows: int,
    width: int,
    lists_ends: bool,
    results: Any,
) -> None:
    """Fold the trades of pairs that accounts take; grid (warps of `width` pairs).

    Args:
        asks: All individuals, as `LanePopulation`.
        rules: Rules that they share.
        purse: How trades are sized.
        n_windows: Windows of all series.
        width: Lanes of a warp that have a pair.
        lists_ends: Whether trades are listed too.
        results: As `TakenSignals`.
    """
    pair = int64(cuda.blockIdx.x) * width + cuda.threadIdx.x
    p = pair // n_windows
    if cuda.threadIdx.x >= width or p >= results.size[0]:
        return
    out = cuda.local.array(N_OUT, float64)
    begin(out)
    sized, most = fix_purse(purse), fix_rules(rules).legs
    begin_money(sized, out)
    out[REJECTED], out[COARSE] = results.rejected[pair], results.coarse[pair]
    out[SKIPPED], out[MAX_LEVERAGE] = results.out[pair, SKIPPED], results.out[pair, MAX_LEVERAGE]
    number, leverage = load_value(asks.terms, p, STAKE), load_value(asks.terms, p, LEVERAGE)
    for place in range(results.trades[pair]):
        k = pair * results.places.shape[1] + results.places[pair, place]
        whole, numbers = results.whole[k], results.numbers[k]
        exit_bar, reason, side = whole[2], whole[3], 0 if whole[4] > 0 else 1
        row, risk, r = 2 * p + side, numbers[0] - numbers[1], numbers[4]
        legs = TradeLegs(
            asks.shares, row, load_value(asks.further, row, REST),
            count_shares(asks.shares, row, most), whole, WHOLE, numbers,
            ORDER_NUMBERS,
        )  # fmt: skip
        trade = SizedTrade(
            numbers[0], -risk if side else risk, numbers[6], numbers[3], r, reason == MARGIN
        )
        count_trade(reason, side, whole[5], exit_bar, r, legs, out)
        fold_sized(sized, number, leverage, out[EQUITY], trade, legs, out)
        if lists_ends:
            results.ends[pair, place], results.r[pair, place] = exit_bar, r
            results.short_r[pair, place] = r if side else 0.0
    end_money(sized, out)
    for a in range(N_OUT):
        results.out[pair, a] = out[a]
