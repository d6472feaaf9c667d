"""The adaptive trend from the sides of its averages: equities, votes, the row.

Four families are four lanes, so that two vectors hold all six; the equities of a length stand side
by side and wait together. Same numbers as `strategy.indicators.adaptive_trend`, bit for bit.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled_part, compiled_unlocked
from engine.cpu.lanes import LANES, above, load, signs, splat, store, whole_part
from engine.cpu.types import Floats, Ints
from engine.rows.trend import FAMILIES, FLOOR, LENGTHS, MILLION, TAYLOR

WIDTH = 2 * LANES
"""Families, and two that never take a side."""

TILE = 256
"""Bars that are worked on at once, so that they stay in the nearest memory."""

Packed = npt.NDArray[Any]
"""Sides, two bits each or a byte each, and votes."""

SIDES = LENGTHS * WIDTH
FAMILY_EQUITIES = 2 * LENGTHS * WIDTH
STEPS, VOTES = FAMILY_EQUITIES + WIDTH, FAMILY_EQUITIES + 2 * WIDTH
MEMORY = FAMILY_EQUITIES + 3 * WIDTH
"""Where a row's memory holds what behind the equities of its averages, and its length."""

LEVEL = (1 << 2 * LENGTHS) // 3
"""A word of no sides."""


def fresh_memory(weights: Ints, decay: int) -> Floats:
    """What a row begins with: [MEMORY] float64."""
    memory = np.zeros(MEMORY)
    memory[:SIDES] = 1.0
    memory[FAMILY_EQUITIES:STEPS] = FLOOR
    memory[FAMILY_EQUITIES : FAMILY_EQUITIES + FAMILIES] = np.maximum(weights / 10.0, FLOOR)
    memory[STEPS:VOTES] = 1.0 - decay / 10000.0
    return memory


@compiled_unlocked
def weigh(
    close: Floats,
    codes: Packed,
    places: Ints,
    settings: Ints,
    is_script: bool,
    begin: int,
    memory: Floats,
    row: Floats,
    votes: Packed,
) -> None:
    """Fill a row from bar `begin` on.

    Args:
        close: [T], price.
        codes: [A, T - begin] uint8: the side of each average plus 1.
        places: [6, 9] which of them are the lengths of each family.
        settings: Growth, decay, cutout, and the hundredths above and below which a family votes.
        is_script: Whether a family without a vote repeats its last step.
        begin: First bar.
        memory: [MEMORY]; that of the bar before, and afterwards that of the last bar.
        row: [T - begin], the result.
        votes: [6, T - begin] int8, the votes of the families in hundredths.
    """
    growth, decay, cutout, most, least = settings
    flat = 1.0 - decay / 10000.0
    words = np.full((TILE, WIDTH), LEVEL, np.uint32)
    packed = np.empty(TILE, np.uint32)
    up, down = np.empty(TILE), np.empty(TILE)
    x, g = np.empty(TILE), np.empty(TILE)
    nums, dens = np.empty(TILE * WIDTH), np.empty(TILE * WIDTH)
    for t in range(begin, min(cutout, len(close))):
        row[t - begin] = np.nan
        votes[:, t - begin] = 0
    for first in range(max(begin, cutout), len(close), TILE):
        count = min(TILE, len(close) - first)
        for family in range(FAMILIES):
            _pack(codes, places[family], first - begin, count, packed)
            for i in range(count):
                words[i, family] = packed[i]
        _steps(close, growth, flat, cutout, first, count, x, g, up, down)
        is_first, here = first == cutout, first - begin
        _earn(words.reshape(-1), up, down, flat, is_first, count, memory, nums, dens)
        _vote(
            nums, dens, up, down, flat, most, least, is_script, is_first, count, memory,
            row[here:], votes[:, here:],
        )  # fmt: skip


@compiled_part
def _pack(codes: Packed, places: Ints, first: int, count: int, packed: Packed) -> None:
    """The sides of a family's nine averages at some bars, two bits each."""
    packed[:] = 0
    for j in range(LENGTHS):
        sides = codes[places[j], first : first + count]
        for i in range(count):
            packed[i] |= np.uint32(sides[i]) << np.uint32(2 * j)


@compiled_part
def _steps(
    close: Floats,
    growth: int,
    flat: float,
    cutout: int,
    first: int,
    count: int,
    x: Floats,
    g: Floats,
    up: Floats,
    down: Floats,
) -> None:
    """What a long and a short multiply an equity by at some bars."""
    for i in range(count):
        product = growth * (first + i - cutout)
        x[i] = product / MILLION if product < MILLION else 1.0
    g[:] = TAYLOR[18]
    for k in range(17, -1, -1):
        for i in range(count):
            g[i] = g[i] * x[i] + TAYLOR[k]
    for i in range(count):
        t = first + i
        # Nothing is earned at the first bar of all.
        before = close[max(t - 1, 0)]
        r = (close[t] - before) / before * g[i]
        up[i] = flat * (1.0 + r)
        down[i] = flat * (1.0 - r)


@compiled_part
def _earn(
    words: Packed,
    up: Floats,
    down: Floats,
    flat: float,
    is_first: bool,
    count: int,
    memory: Floats,
    nums: Floats,
    dens: Floats,
) -> None:
    """Equities of all averages over some bars; nums and dens [count * WIDTH] get their sums.

    Three lengths at a time, whose equities stay in registers.
    """
    nothing, still, floor = splat(0.0), splat(flat), splat(FLOOR)
    nums[:] = 0.0
    dens[:] = 0.0
    for lane in range(0, WIDTH, LANES):
        for j in range(0, LENGTHS, 3):
            a = j * WIDTH + lane
            b, c = a + WIDTH, a + 2 * WIDTH
            x, y, z = load(memory, a), load(memory, b), load(memory, c)
            # What was earned, the side of the bar before has earned.
            p, q, r = load(memory, SIDES + a), load(memory, SIDES + b), load(memory, SIDES + c)
            for i in range(count):
                if not (is_first and i == 0):
                    rise, fall = splat(up[i]), splat(down[i])
                    x = x * above(p, nothing, rise, above(nothing, p, fall, still))
                    y = y * above(q, nothing, rise, above(nothing, q, fall, still))
                    z = z * above(r, nothing, rise, above(nothing, r, fall, still))
                    x = above(x, floor, x, floor)
                    y = above(y, floor, y, floor)
                    z = above(z, floor, z, floor)
                here = i * WIDTH + lane
                p, q = signs(words, here, 2 * j), signs(words, here, 2 * j + 2)
                r = signs(words, here, 2 * j + 4)
                store(nums, here, load(nums, here) + p * x + q * y + r * z)
                store(dens, here, load(dens, here) + x + y + z)
            store(memory, a, x)
            store(memory, b, y)
            store(memory, c, z)
            store(memory, SIDES + a, p)
            store(memory, SIDES + b, q)
            store(memory, SIDES + c, r)


@compiled_part
def _vote(
    nums: Floats,
    dens: Floats,
    up: Floats,
    down: Floats,
    flat: float,
    most: int,
    least: int,
    is_script: bool,
    is_first: bool,
    count: int,
    memory: Floats,
    row: Floats,
    votes: Packed,
) -> None:
    """Votes of the families from the sums of their averages, their equities, and the row."""
    nothing, still, floor = splat(0.0), splat(flat), splat(FLOOR)
    highest, lowest = splat(float(most)), splat(float(least))
    half, hundred, infinity = splat(0.5), splat(100.0), splat(np.inf)
    terms, equities = np.empty(WIDTH), np.empty(WIDTH)
    for i in range(count):
        for lane in range(0, WIDTH, LANES):
            den = load(dens, i * WIDTH + lane)
            share = load(nums, i * WIDTH + lane) / den * hundred
            vote = whole_part(above(nothing, share, share - half, share + half))
            vote = above(infinity, den, vote, nothing)
            equity = load(memory, FAMILY_EQUITIES + lane)
            if not (is_first and i == 0):
                rise, fall = splat(up[i]), splat(down[i])
                held = load(memory, VOTES + lane)
                other = load(memory, STEPS + lane) if is_script else still
                step = above(held, nothing, rise, above(nothing, held, fall, other))
                store(memory, STEPS + lane, step)
                equity = equity * step
                equity = above(equity, floor, equity, floor)
                store(memory, FAMILY_EQUITIES + lane, equity)
            store(memory, VOTES + lane, vote)
            against = above(lowest, vote, nothing - equity, nothing)
            store(terms, lane, above(vote, highest, equity, against))
            store(equities, lane, equity)
        num, den_ = 0.0, 0.0
        for k in range(FAMILIES):
            num = num + terms[k]
            den_ = den_ + equities[k]
            votes[k, i] = np.int8(memory[VOTES + k])
        row[i] = num / den_ + 0.0 if den_ < np.inf else 0.0
