"""Sides of many averages of one series: four lengths of a family are four lanes.

Same numbers as the definitions in `strategy.indicators`, bit for bit.
"""

import numpy as np

from engine.indicators.trend_spec import (
    BAND,
    DEMA,
    EMA,
    HMA,
    KAMA,
    KAMA_FROM_ZERO,
    LSMA,
    QUICKEST,
    SLOWEST,
    SMA,
    WMA,
)
from engine.runtime.compiling.loops import compiled_part, compiled_unlocked
from engine.runtime.cpu.simd4 import (
    LANES,
    Lanes,
    Starts,
    above,
    four,
    gather,
    load,
    scatter,
    scatter_signs,
    splat,
    store,
)
from engine.runtime.cpu.types import Codes, Floats, Ints


@compiled_unlocked
def fill_sides(close: Floats, forms: Ints, lengths: Ints, codes: Codes) -> None:
    """Fill the sides of averages; windows of one length are summed once.

    Args:
        close: [T], price.
        forms: [F] families of `engine.indicators.trend_spec`.
        lengths: [F, 4 * G], bars; at least 2; four go on together.
        codes: [F, 4 * G, T] uint8, the result: -1, 0 or 1, plus 1.
    """
    # Bar t stands at t + shift: room before the first bar and behind the last one, so that all
    # blocks are whole.
    bars, shift = len(close), lengths.max()
    prices = np.zeros(bars + 2 * shift)
    prices[shift : shift + bars] = close
    row_of_length, count = _number_windows(forms, lengths)
    # Weighted means, ends of lines, and four rows of results made one after the other.
    averages = np.zeros((2 * count + LANES, len(prices)))
    kind = LSMA if (forms == LSMA).any() else WMA
    for n in range(len(row_of_length)):
        if row_of_length[n] >= 0:
            weighted, line = averages[row_of_length[n]], averages[count + row_of_length[n]]
            _window(prices, shift, n, kind, 0, bars, weighted, line)
    of_lanes, rows = averages[2 * count :], averages.reshape(-1)
    known, chosen = np.zeros(LANES, np.int64), np.empty(LANES, np.int64)
    for number in range(len(forms)):
        form = forms[number]
        for group in range(lengths.shape[1] // LANES):
            four_of = slice(group * LANES, (group + 1) * LANES)
            some = lengths[number, four_of]
            for lane in range(LANES):
                n = some[lane]
                chosen[lane] = 2 * count + lane
                known[lane] = n - 1
                if form in (WMA, LSMA):
                    chosen[lane] = row_of_length[n] + (count if form == LSMA else 0)
                elif lane and n == some[lane - 1]:
                    of_lanes[lane] = of_lanes[lane - 1]
                    known[lane] = known[lane - 1]
                elif form == HMA:
                    half, whole = averages[row_of_length[n // 2]], averages[row_of_length[n]]
                    known[lane] = _hull(half, whole, shift, n, bars, of_lanes[lane])
                elif form in (KAMA, KAMA_FROM_ZERO):
                    known[lane] = 0
                    _path_sums(prices, shift, n, bars, of_lanes[lane])
                elif form == SMA:
                    _window(prices, shift, n, SMA, 0, bars, of_lanes[lane], of_lanes[lane])
                elif n - 1 < bars:
                    _window(prices, shift, n, SMA, n - 1, n, of_lanes[lane], of_lanes[lane])
            starts = _starts(chosen, len(prices), shift)
            if form in (EMA, DEMA):
                _chains(close, some, form == DEMA, rows, starts)
            if form in (KAMA, KAMA_FROM_ZERO):
                _adapt(close, prices, shift, some, form == KAMA, rows, starts)
            _take_sides(close, rows, starts, known, codes[number, four_of].reshape(-1))


@compiled_part
def _number_windows(forms: Ints, lengths: Ints) -> tuple[Ints, int]:
    """For each length the row of its weighted windows or -1, and how many there are."""
    row_of_length = np.full(lengths.max() + 1, -1)
    for number in range(len(forms)):
        if forms[number] in (WMA, LSMA, HMA):
            for n in lengths[number]:
                row_of_length[n] = 0
                if forms[number] == HMA:
                    row_of_length[n // 2] = 0
    count = 0
    for n in range(len(row_of_length)):
        if row_of_length[n] == 0:
            row_of_length[n] = count
            count += 1
    return row_of_length, count


@compiled_part
def _whole_root(n: int) -> int:
    """The whole part of a square root."""
    root = 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root


@compiled_part
def _hull(half: Floats, whole: Floats, shift: int, n: int, end: int, out: Floats) -> int:
    """Hull's average, and the first bar at which it is known."""
    root = _whole_root(n)
    raw = np.zeros(len(out))
    for i in range(shift, shift + end):
        raw[i] = 2.0 * half[i] - whole[i]
    _window(raw, shift, root, WMA, 0, end, out, out)
    return n - 2 + root


@compiled_part
def _window(
    values: Floats,
    shift: int,
    n: int,
    form: int,
    begin: int,
    end: int,
    out: Floats,
    line: Floats,
) -> None:
    """Windows that end at bars `begin` to `end` - 1: means, or weighted means and ends of lines.

    Values and results of bar t stand at t + shift; four blocks are four lanes. Lines are for LSMA
    alone. Before the first whole window, and outside of these bars, results are anything.
    """
    count, weights = splat(float(n)), splat(float(n * (n + 1) // 2))
    three, two = splat(3.0), splat(2.0)
    left, left2 = np.zeros(n * LANES), np.zeros(n * LANES)
    for block in range(begin // n * n, end, n * LANES):
        starts = _blocks(block, n, end, shift)
        anchor = gather(values, starts, 0)
        total = total2 = splat(0.0)
        for i in range(1, n):
            total = total + (gather(values, starts, -i) - anchor)
            total2 = total2 + total
            store(left, i * LANES, total)
            store(left2, i * LANES, total2)
        total = total2 = splat(0.0)
        for i in range(n):
            d = gather(values, starts, i) - anchor
            total = total + d
            total2 = total2 + splat(i + 1.0) * d
            k = n - 1 - i
            plain = load(left, k * LANES) + total
            weighted = (load(left2, k * LANES) + splat(float(k)) * total) + total2
            if form == SMA:
                scatter(out, starts, i, anchor + plain / count)
            else:
                share = weighted / weights
                scatter(out, starts, i, anchor + share)
                if form == LSMA:
                    end_of = anchor + (three * share - two * (plain / count))
                    scatter(line, starts, i, end_of)


@compiled_part
def _blocks(block: int, n: int, end: int, shift: int) -> Starts:
    """Where four blocks begin; behind the last one it stands again."""
    last = (end - 1) // n * n + shift
    here = block + shift
    return here, min(here + n, last), min(here + 2 * n, last), min(here + 3 * n, last)


@compiled_part
def _path_sums(prices: Floats, shift: int, n: int, end: int, out: Floats) -> None:
    """Sum of the newest n steps from price to price; as `_window`."""
    steps = np.zeros(len(prices))
    for i in range(shift + 1, shift + end):
        steps[i] = abs(prices[i] - prices[i - 1])
    left = np.zeros(n * LANES)
    for block in range(0, end, n * LANES):
        starts = _blocks(block, n, end, shift)
        total = splat(0.0)
        for i in range(1, n):
            total = total + gather(steps, starts, -i)
            store(left, i * LANES, total)
        total = splat(0.0)
        for i in range(n):
            total = total + gather(steps, starts, i)
            scatter(out, starts, i, load(left, (n - 1 - i) * LANES) + total)


@compiled_part
def _chains(
    close: Floats,
    lengths: Ints,
    is_double: bool,
    rows: Floats,
    starts: Starts,
) -> None:
    """Exponential averages that begin as the mean that stands in their row at their length."""
    alphas, seeds = np.zeros(LANES), np.zeros(LANES)
    for lane in range(LANES):
        n = lengths[lane]
        alphas[lane] = 2.0 / (n + 1)
        seeds[lane] = rows[starts[lane] + n - 1] if n <= len(close) else 0.0
    alpha, seed, two = load(alphas, 0), load(seeds, 0), splat(2.0)
    last = _numbers(lengths)
    y = z = splat(0.0)
    for t in range(len(close)):
        price, here = splat(close[t]), splat(t + 1.0)
        y = above(here, last, y + alpha * (price - y), seed)
        z = above(here, last, z + alpha * (y - z), y)
        scatter(rows, starts, t, two * y - z if is_double else y)


@compiled_part
def _numbers(lengths: Ints) -> Lanes:
    """Four whole numbers as lanes."""
    numbers = np.empty(LANES)
    for lane in range(LANES):
        numbers[lane] = lengths[lane]
    return load(numbers, 0)


@compiled_part
def _starts(rows: Ints, room: int, shift: int) -> Starts:
    """Where the first bar of each lane's row stands."""
    starts = np.empty(LANES, np.int64)
    for lane in range(LANES):
        starts[lane] = rows[lane] * room + shift
    return four(starts, 0)  # type: ignore[no-any-return]


@compiled_part
def _adapt(
    close: Floats,
    prices: Floats,
    shift: int,
    lengths: Ints,
    is_held: bool,
    rows: Floats,
    starts: Starts,
) -> None:
    """Kaufman's averages in place of the sums of steps that stand in the rows.

    `is_held` keeps each at the first price until its window is whole; else it moves from 0.
    """
    behind = np.empty(LANES, np.int64)
    for lane in range(LANES):
        behind[lane] = shift - lengths[lane]
    ago, last = four(behind, 0), _numbers(lengths)
    nothing, quickest, slowest = splat(0.0), splat(QUICKEST), splat(SLOWEST)
    k = splat(close[0] if is_held and len(close) else 0.0)
    for t in range(len(close)):
        price, here = splat(close[t]), splat(float(t))
        path = above(last, here, nothing, gather(rows, starts, t))
        way = price - gather(prices, ago, t)
        way = above(nothing, way, nothing - way, way)
        efficiency = above(path, nothing, way / path, nothing)
        factor = efficiency * quickest + slowest
        moved = k + factor * factor * (price - k)
        k = above(last, here, k, moved) if is_held else moved
        scatter(rows, starts, t, k)


@compiled_part
def _take_sides(close: Floats, rows: Floats, starts: Starts, known: Ints, codes: Codes) -> None:
    """The side of each of four averages at each bar."""
    code_starts, first = _starts(np.arange(LANES), len(close), 0), _numbers(known)
    nothing, up, down, half = splat(0.0), splat(1.0), splat(-1.0), splat(0.5)
    before = taken = splat(0.0)
    for t in range(len(close)):
        price, here = splat(close[t]), splat(float(t))
        d = price - gather(rows, starts, t)
        band = price * splat(BAND)
        side = above(d, band, up, above(nothing - band, d, down, nothing))
        # A side is taken on a change to a side that is not level, once the bar before is known.
        change = (side - before) * (side - before)
        new = above(here, first, above(change, half, side, nothing), nothing)
        taken = above(new * new, half, new, taken)
        before = side
        scatter_signs(codes, code_starts, t, taken)
