"""Orders and positions of both sides on a GPU: a lane a pair, all lanes of a warp at one bar.

The law of a bar is `engine.positions.cpu.order_walk.step_bar`, compiled for the device with the
constants of a form. A lane steps at bars of interest to it; bars without work for any lane of a
warp are passed by, a block at a time where its extremes reach no level.
With few pairs a warp has few lanes, so that few wait for another's step.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import float64, int64

from engine.accounts.cpu.money import Purse, begin
from engine.accounts.ledger import ACCUMULATORS
from engine.positions.cpu.exits import BLOCK, HIGH, LOW, Extremes, Levels
from engine.positions.cpu.order_exits import FLAT, OrderLists
from engine.positions.cpu.order_walk import (
    begin_walk,
    end_walk,
    find_gains,
    follow_bar,
    step_bar,
    watch_bars,
)
from engine.positions.cpu.orders import (
    FIGURES,
    MARKS,
    ROOM,
    OrderBook,
    OrderInputs,
    OrderRules,
    Pair,
    find_trail,
)
from engine.positions.cuda.order_forms import OrderForm, list_given
from engine.positions.exit_spec import NONE
from engine.runtime.compiling.device_loops import retarget
from engine.runtime.cpu.bitset import NEVER
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats
from engine.runtime.cuda.loop_primitives import list_primitives

N_OUT = len(ACCUMULATORS)

ALL_LANES = 0xFFFFFFFF

LANES = 32
"""Lanes of a warp."""

PAIRS = 1024
"""Number of warps that keep a large GPU busy: with fewer pairs a warp has one."""

cuda: Any = None
"""The compiler's own words, replaced by those of a device."""


class LanePopulation(NamedTuple):
    """Orders of P individuals on one series, as `OrderedPopulation`, which says what each is."""

    words: torch.Tensor  # [C, N] uint64
    rows: torch.Tensor  # [slots, T]
    slots: torch.Tensor  # [P, R] int32, where rows of each lie
    genomes: torch.Tensor  # [P, G]
    sessions: torch.Tensor  # [Q, T] int32
    day_ends: torch.Tensor  # [T] int32
    entries: torch.Tensor  # [P, 2] int32
    exits: torch.Tensor  # [P, 2] int32
    cancels: torch.Tensor  # [P, 2] int32
    numbers: torch.Tensor  # [2 P, N]
    further: torch.Tensor  # [2 P, 5]
    shares: torch.Tensor  # [2 P, L]
    break_even: torch.Tensor  # [P]
    max_hold: torch.Tensor  # [P] int32
    delay: torch.Tensor  # [P] int32
    warm_up: torch.Tensor  # [P] int32
    session_of: torch.Tensor  # [P] int32
    worse: torch.Tensor  # [n, T]
    worse_of: torch.Tensor  # [2 P] int32
    paid: torch.Tensor  # [n, T]
    borrow_of: torch.Tensor  # [2 P] int32
    funding_of: torch.Tensor  # [P] int32
    terms: torch.Tensor  # [P, 4], [P, 12] with bounds of exits
    finer: torch.Tensor  # [4, K]
    finer_of: torch.Tensor  # [2, T] int32


class LaneResults(NamedTuple):
    """Results of a walk, and their pairs, which lie window after window."""

    size: torch.Tensor  # [1] int32, how many individuals there are
    windows: torch.Tensor  # [W, 3] int32, place among those of all series, start and end
    out: torch.Tensor  # [A, W, P] receives accumulators
    whole: torch.Tensor  # [pairs * capacity, 6 + L] int32, as `OrderLists`
    numbers: torch.Tensor  # [pairs * capacity, 7 + L]


def build_loop(loop: Any, form: OrderForm, make: Callable[[Any], Any]) -> Any:
    """A loop over walks of a form, not compiled; `make` compiles its callees."""
    return retarget_loop(loop, list_given(form, list_primitives(make), make), make)


def retarget_loop(loop: Any, given: Mapping[str, Any], make: Callable[[Any], Any]) -> Any:
    """The same, with substitutes for the functions of CPU cores."""
    given = {**given, "walk_bars": retarget(walk_bars, given, make)}
    name = loop.__name__
    return retarget(loop, given, lambda each: each if each.__name__ == name else make(each))


def choose_width(pairs: int) -> int:
    """Lanes of a warp that have a pair.

    >>> [choose_width(pairs) for pairs in (1, 512, 4_096, 32_768, 100_000)]
    [1, 1, 4, 32, 32]
    """
    return min(LANES, max(1, pairs // PAIRS))


def fix_rules(rules: OrderRules) -> OrderRules:
    """Rules with the constants of a strategy's form."""
    return rules


def fix_purse(purse: Purse) -> Purse:
    """A purse with the form of its stake."""
    return purse


def walk_lanes(
    prices: Extremes,
    asks: Any,
    rules: OrderRules,
    purse: Purse,
    capacity: int,
    width: int,
    results: Any,
) -> None:
    """Walk every pair through its window; grid (warps of `width` individuals, windows).

    Args:
        prices: The series.
        asks: All individuals, as `LanePopulation`.
        rules: What they share.
        purse: How trades are sized.
        capacity: Trades that lists have room for; 0 where sums alone are wanted.
        width: Lanes of a warp that have a pair.
        results: As `LaneResults`.
    """
    lane, w = cuda.threadIdx.x, cuda.blockIdx.y
    p = cuda.blockIdx.x * width + lane
    is_there = lane < width and p < results.size[0]
    p = p if is_there else 0
    out = cuda.local.array(N_OUT, float64)
    book = OrderBook(
        cuda.local.array(MARKS, int64), cuda.local.array(FIGURES, float64),
        cuda.local.array(ROOM, float64), cuda.local.array(1, float64),
    )  # fmt: skip
    start, end = int64(results.windows[w, 1]), int64(results.windows[w, 2])
    pair = Pair(p, max(start, int64(asks.warm_up[p])), end - 1 - asks.delay[p], end)
    place = (int64(w) * results.out.shape[2] + p) * capacity
    lists = OrderLists(results.whole, results.numbers, place, capacity)
    inputs = OrderInputs(prices, asks, fix_rules(rules), fix_purse(purse))
    walk_bars(inputs, pair, is_there, start, end, out, lists, book)
    if is_there:
        for a in range(N_OUT):
            results.out[a, w, p] = out[a]


def walk_bars(
    inputs: OrderInputs,
    pair: Pair,
    is_there: bool,
    start: int,
    end: int,
    out: Floats,
    lists: OrderLists,
    book: OrderBook,
) -> None:
    """Fold a lane's trades, while all lanes of its warp go through bars [start, end).

    Arguments as of `engine.positions.cpu.order_walk.take_orders`; `is_there`: whether the lane has
    a pair.
    """
    prices, asks, p = inputs.prices, inputs.asks, pair.p
    begin(out)
    walk = begin_walk(inputs, pair, out, book)
    levels, sign = Levels(-np.inf, np.inf, 0, 0.0, np.nan), 1.0
    # It steps at its first bar, whatever happens there; NEVER: nothing comes any more.
    until = pair.first
    if not is_there:
        until = NEVER
    follows, gains, j = False, (np.nan, np.nan), start
    while j < end and cuda.ballot_sync(ALL_LANES, until < NEVER) != 0:
        hit = False
        while j < end:
            if j % BLOCK == 0 and j + BLOCK <= end:
                low = load_value(prices.blocks, LOW, j // BLOCK)
                high = load_value(prices.blocks, HIGH, j // BLOCK)
                best = high if sign > 0.0 else -low
                may_hit = until < j + BLOCK or low <= levels.lower or high >= levels.upper
                may_hit = may_hit or follows or best - sign * levels.entry >= levels.gain
                if cuda.ballot_sync(ALL_LANES, may_hit) == 0:
                    j += BLOCK
                    continue
            low, high = load_value(prices.bars, LOW, j), load_value(prices.bars, HIGH, j)
            hit = j >= until or low <= levels.lower or high >= levels.upper
            best = high if sign > 0.0 else -low
            if not follows:
                hit = hit or best - sign * levels.entry >= levels.gain
            elif not hit:
                walk, levels = follow_bar(
                    inputs, p, walk, levels, gains, high if walk.at.side == 0 else low, j,
                    book.stack,
                )  # fmt: skip
            j += 1
            if cuda.ballot_sync(ALL_LANES, hit) != 0:
                break
        if hit:
            walk = step_bar(inputs, pair, j - 1, walk, out, lists, book)
            until, levels = watch_bars(inputs, pair, walk, j - 1, book)
            sign = 1.0 - 2.0 * levels.side
            follows = False
            if walk.at.side != FLAT:
                follows = find_trail(inputs, walk.at.side) != NONE
            if follows:
                gains = find_gains(asks, p, walk.at)
            if until == pair.end and not (levels.lower > -np.inf or levels.upper < np.inf):
                until = NEVER
    end_walk(inputs, walk, out)
