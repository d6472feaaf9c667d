"""Kaufman's adaptive moving average: quick on a straight price, slow on a wandering one."""

import math

import numpy as np

from strategy.genes import Floats

QUICKEST = 0.602
"""Share of the factor that a straight path adds: 2 / 3 less 2 / 31, in three digits."""

SLOWEST = 0.064
"""The factor of a path that leads nowhere: 2 / 31, in three digits."""


def kama(values: Floats, bars: int) -> Floats:
    """The average stays at the first value for `bars` bars, then K += c * c * (x - K).

    c grows with the path's efficiency: the way from the first to the last of `bars` steps, as a
    share of all these steps. A value that is not known leaves the average as it was, and the
    average is not known there.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2.

    Returns:
        [T], unit of `values`; NaN before the first known value.

    Source: Perry J. Kaufman, Smarter Trading (1995), with fastest and slowest of 2 and 30 bars.

    >>> kama(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([1.        , 1.        , 1.887112  , 2.82429615])
    """
    moves = path_sums(values, bars)
    averages = np.full(len(values), math.nan)
    first = len(values)
    average = math.nan
    for t in range(len(values)):
        if math.isnan(values[t]):
            continue
        if first == len(values):
            first = t
            average = values[t]
        if t >= first + bars:
            average = average + smoothing(values, moves, bars, t) * (values[t] - average)
        averages[t] = average
    return averages


def smoothing(values: Floats, moves: Floats, bars: int, t: int) -> float:
    """The factor of bar t, given the sums of steps [T]."""
    efficiency = 0.0
    # An incomplete path counts as one that leads nowhere.
    if t >= bars and moves[t] > 0.0 and not math.isnan(values[t - bars]):
        efficiency = abs(values[t] - values[t - bars]) / moves[t]
    factor = efficiency * QUICKEST + SLOWEST
    return factor * factor


def path_sums(values: Floats, bars: int) -> Floats:
    """Sum of the newest `bars` steps from value to value, [T]; the first step is 0.

    The blocks are those of `rolling_mean_variance`; steps are not negative and need no anchor. NaN
    before `bars` steps and around an unknown one.
    """
    steps = np.zeros(len(values))
    for t in range(1, len(values)):
        steps[t] = abs(values[t] - values[t - 1])
    sums = np.full(len(values), math.nan)
    left = np.zeros(min(bars, len(values)))
    for start in range(0, len(values), bars):
        for n in range(1, min(bars, start + 1)):
            left[n] = steps[start - 1] if n == 1 else left[n - 1] + steps[start - n]
        right = 0.0
        for t in range(start, min(start + bars, len(values))):
            right = steps[t] if t == start else right + steps[t]
            if t >= bars - 1:
                sums[t] = left[bars - 1 - (t - start)] + right
    return sums
