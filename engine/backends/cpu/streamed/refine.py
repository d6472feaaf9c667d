"""Refinement: of the bars that a screen left, those at which the comparisons hold, exactly."""

import math

import numpy as np

from engine.backends.compiled import compiled, compiled_inline
from engine.backends.cpu.exact import LEVEL, SMA, ZSCORE, score_at, value_at
from engine.backends.cpu.streamed.averages import Averages
from engine.backends.cpu.streamed.bounds import (
    LARGEST_THRESHOLD,
    ROUNDING,
    Bounds,
    mean_error,
    score_bounds,
    steps_of,
)
from engine.backends.cpu.streamed.lowering import (
    GENE,
    KIND,
    LEFT,
    LENGTH,
    RIGHT,
    SIGN,
    SOURCE,
    Course,
)
from engine.backends.cpu.streamed.sums import ANCHOR, FIT, REACH, SIZE, Sums
from engine.backends.cpu.types import Floats, Ints, Slots


@compiled
def refine(
    columns: Floats,
    runs: Slots,
    sums: Sums,
    base: int,
    course: Course,
    genome: Floats,
    screened: int,
    count: int,
    bars: Slots,
    tally: Ints,
) -> int:
    """Keep the bars at which all early comparisons hold.

    Args:
        columns: [S, T] the sources.
        runs: [S, T] how many equal values end at each bar.
        sums: Of a stretch that holds the bars and what their windows reach back to.
        base: First bar of the stretch.
        course: The strategy.
        genome: [G].
        screened: The comparison of which hardly any bar is left that fails, asked last; or -1.
        count: Bars to look at.
        bars: [count] these, ascending; receives those that are kept.
        tally: [1] is raised by the number of comparisons that the law's formulas had to decide.

    Returns:
        How many are kept.
    """
    comparisons = course.early.shape[0]
    for turn in range(comparisons):
        test = course.early[(screened + 1 + turn) % comparisons]
        kind = course.rows[test[LEFT], KIND]
        source = course.rows[test[LEFT], SOURCE]
        threshold = genome[test[GENE]]
        if test[GENE] >= 0 and kind == LEVEL:
            count = _keep_levels(columns[source], float(test[SIGN]), threshold, count, bars)
            continue
        if (
            test[GENE] >= 0
            and kind == ZSCORE
            and sums.scale[source, FIT] == 1.0
            and abs(threshold) < LARGEST_THRESHOLD
        ):
            window = int(genome[course.rows[test[LEFT], LENGTH]])
            count = _keep_scores(columns, runs, sums, base, source, window, float(test[SIGN]),
                                 threshold, count, bars, tally)  # fmt: skip
            continue
        kept = 0
        for i in range(count):
            t = bars[i]
            bars[kept] = t
            kept += holds(columns, runs, sums, base, course, test, genome, t, tally)
        count = kept
    return count


@compiled_inline
def _keep_levels(values: Floats, sign: float, threshold: float, count: int, bars: Slots) -> int:
    kept = 0
    for i in range(count):
        t = bars[i]
        bars[kept] = t
        kept += sign * values[t] > sign * threshold
    return kept


@compiled
def _keep_scores(
    columns: Floats,
    runs: Slots,
    sums: Sums,
    base: int,
    source: int,
    window: int,
    sign: float,
    threshold: float,
    count: int,
    bars: Slots,
    tally: Ints,
) -> int:
    n = sums.near.shape[1]
    size, reach = sums.scale[source, SIZE], sums.scale[source, REACH]
    bounds = score_bounds(window, sign * threshold, n, size, reach, ROUNDING, steps_of(n))
    kept, n_open = 0, 0
    for i in range(count):
        t = bars[i]
        may_hold, is_sure = _judged(columns, sums, base, source, window, sign, bounds, t)
        bars[kept] = t
        kept += may_hold
        n_open += may_hold & (not is_sure)
    # Hardly ever; in one loop with the others, the law's formula would slow all of them down.
    if n_open:
        count, kept = kept, 0
        for i in range(count):
            t = bars[i]
            _, is_kept = _judged(columns, sums, base, source, window, sign, bounds, t)
            if not is_kept:
                tally[0] += 1
                score = score_at(columns[source], runs[source], window, t)
                is_kept = sign * score > sign * threshold
            bars[kept] = t
            kept += is_kept
    return kept


@compiled_inline
def _judged(
    columns: Floats,
    sums: Sums,
    base: int,
    source: int,
    window: int,
    sign: float,
    bounds: Bounds,
    bar: int,
) -> tuple[bool, bool]:
    """Whether a score may exceed its threshold, and whether it surely does; without a branch."""
    shift, may_factor, may_addend, sure_factor, sure_addend = bounds
    end = np.uint64(bar + 1 - base)
    begin = np.uint64(bar + 1 - base - window)
    sum1 = sums.sum1[source, end] - sums.sum1[source, begin]
    sum2 = sums.sum2[source, end] - sums.sum2[source, begin]
    value = columns[source, np.uint64(bar)] - sums.scale[source, ANCHOR]
    far = sign * (window * value - sum1)
    spread = window * sum2 - sum1 * sum1
    lower, upper = far - shift, far + shift
    is_above = lower * abs(lower) > sure_factor * (spread + sure_addend)
    is_sure = is_above & (spread > abs(may_addend))
    may_hold = upper * abs(upper) > may_factor * (spread + may_addend)
    return may_hold | is_sure, is_sure


@compiled
def holds(
    columns: Floats,
    runs: Slots,
    sums: Sums,
    base: int,
    course: Course,
    test: Ints,
    genome: Floats,
    bar: int,
    tally: Ints,
) -> bool:
    """Whether a comparison without an EMA holds at a bar.

    Args:
        columns: As in `refine`, and so are those not named here.
        runs: The same.
        sums: The same.
        base: The same.
        course: The same.
        test: [5] a line of the course's `early`.
        genome: [G].
        bar: At least the warm-up.
        tally: [1].
    """
    low, high = row_bounds(columns, sums, base, course, test[LEFT], genome, bar)
    if test[GENE] >= 0:
        other_low = other_high = genome[test[GENE]]
    else:
        other_low, other_high = row_bounds(columns, sums, base, course, test[RIGHT], genome, bar)
    if test[SIGN] < 0:
        low, high, other_low, other_high = other_low, other_high, low, high
    if low > other_high:
        return True
    if high <= other_low:
        return False
    tally[0] += 1
    left = row_value(columns, runs, course, test[LEFT], genome, bar)
    right = genome[test[GENE]]
    if test[GENE] < 0:
        right = row_value(columns, runs, course, test[RIGHT], genome, bar)
    return bool(left > right) if test[SIGN] > 0 else bool(left < right)


@compiled
def row_value(
    columns: Floats, runs: Slots, course: Course, row: int, genome: Floats, bar: int
) -> float:
    """A row's value at a bar, by the law; of any kind but an EMA."""
    length = course.rows[row, LENGTH]
    window = int(genome[length]) if length >= 0 else 1
    source = course.rows[row, SOURCE]
    return value_at(columns[source], runs[source], course.rows[row, KIND], window, bar)


@compiled
def row_bounds(
    columns: Floats, sums: Sums, base: int, course: Course, row: int, genome: Floats, bar: int
) -> tuple[float, float]:
    """Bounds of a row's value at a bar; of any kind but an EMA."""
    kind, source = course.rows[row, KIND], course.rows[row, SOURCE]
    if kind == LEVEL:
        return columns[source, bar], columns[source, bar]
    if sums.scale[source, FIT] != 1.0:
        return -np.inf, np.inf
    window = int(genome[course.rows[row, LENGTH]])
    n = sums.near.shape[1]
    size, reach = sums.scale[source, SIZE], sums.scale[source, REACH]
    end = bar + 1 - base
    anchor = sums.scale[source, ANCHOR]
    sum1 = sums.sum1[source, end] - sums.sum1[source, end - window]
    if kind == SMA:
        mean = anchor + sum1 / window
        error = mean_error(window, n, size, reach)
        return mean - error, mean + error
    sum2 = sums.sum2[source, end] - sums.sum2[source, end - window]
    far = window * (columns[source, bar] - anchor) - sum1
    return _score_range(far, window * sum2 - sum1 * sum1, window, n, size, reach)


@compiled_inline
def _score_range(
    far: float, spread: float, window: int, n: int, size: float, reach: float
) -> tuple[float, float]:
    shift, _, addend, _, _ = score_bounds(window, 0.0, n, size, reach, ROUNDING, steps_of(n))
    slack = abs(addend)
    kappa = 2.0 * (window + 4.0) * math.sqrt(window + 1.0) * ROUNDING
    rho = 4.0 * (window + 8.0) ** 2 * ROUNDING
    wide, narrow = math.sqrt(spread + slack), math.sqrt(max(spread - slack, 0.0))
    upper, lower = far + shift, far - shift
    high = upper / (narrow if upper > 0.0 else wide)
    low = lower / (wide if lower > 0.0 else narrow)
    if not spread > slack:
        return -np.inf, np.inf
    return low - kappa - 8.0 * rho * abs(low), high + kappa + 8.0 * rho * abs(high)


@compiled
def late_holds(
    columns: Floats,
    runs: Slots,
    sums: Sums,
    base: int,
    course: Course,
    test: Ints,
    genome: Floats,
    bar: int,
    averages: Averages,
    i: int,
    k: int,
    tally: Ints,
) -> bool:
    """Whether a comparison with an EMA holds at a bar.

    Args:
        columns: As in `refine`, and so are those not named here.
        runs: The same.
        sums: The same.
        base: The same.
        course: The same.
        test: [5] a line of the course's `late`.
        genome: [G].
        bar: At least the warm-up.
        averages: The EMAs.
        i: Number of the individual among them.
        k: Bar of the tile, from 1.
        tally: [1].
    """
    is_left = averages.place_of[i, test[LEFT]] >= 0
    row, other = test[LEFT], test[RIGHT]
    if is_left:
        row, other = other, row
    average = averages.tile[averages.place_of[i, other] + k * averages.stride_of[other]]
    # The side that is an EMA is exact, and the other one is a gene or any row.
    is_average = row >= 0 and averages.place_of[i, row] >= 0
    if row < 0:
        low = high = genome[test[GENE]]
    elif is_average:
        low = high = averages.tile[averages.place_of[i, row] + k * averages.stride_of[row]]
    else:
        low, high = row_bounds(columns, sums, base, course, row, genome, bar)
    is_above = (test[SIGN] > 0) != is_left
    if low > average:
        return bool(is_above)
    if high < average:
        return not is_above
    if row < 0 or is_average or course.rows[row, KIND] == LEVEL:
        return False
    tally[0] += 1
    value = row_value(columns, runs, course, row, genome, bar)
    return bool(value > average) if is_above else bool(value < average)
