"""Moving averages: exponential, weighted, fitted and adaptive.

`values` are [T] of any unit, NaN where not known; a length is at least 2 bars but where another
least is said.
"""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.windows import sma


def ema(values: Floats, span: int) -> Floats:
    """Exponential moving average: y[t] = y[t-1] + alpha * (x[t] - y[t-1]).

    It begins at the first known value. A value that is not known leaves the average as it was, and
    the average is not known there. This form keeps a constant series exactly constant.

    Args:
        values: [T], any unit; NaN where not known.
        span: Bars, at least 1; alpha = 2 / (span + 1).

    Returns:
        [T], unit of `values`; NaN for the first `span` - 1 bars from the first known value on.

    Source: house rule; equals pandas ``ewm(span=span, adjust=False).mean()`` up to rounding.

    >>> ema(np.array([1.0, 2.0, 3.0, np.nan, 3.25]), 3)
    array([ nan,  nan, 2.25,  nan, 2.75])
    """
    alpha = 2.0 / (span + 1.0)
    averages = np.full(len(values), math.nan)
    first = len(values)
    average = math.nan
    for t in range(len(values)):
        if math.isnan(values[t]):
            continue
        if first == len(values):
            first = t
            average = values[t]
        else:
            average = average + alpha * (values[t] - average)
        if t >= first + span - 1:
            averages[t] = average
    return averages


def rma(values: Floats, bars: int) -> Floats:
    """Wilder's average: y[t] = y[t-1] + (1 / bars) * (x[t] - y[t-1]).

    It begins as the plain mean of the first window that is known as a whole. A value that is not
    known leaves the average as it was, and the average is not known there.

    Returns:
        [T], unit of `values`; NaN before the first mean.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).

    >>> rma(np.array([1.0, 3.0, 5.0, np.nan, 4.5]), 2)
    array([nan, 2. , 3.5, nan, 4. ])
    """
    return from_mean(values, bars, 1.0 / bars)


def ema_mean(values: Floats, bars: int) -> Floats:
    """Exponential moving average that begins as a plain mean; `ema` begins as the first value.

    It begins as the plain mean of the first window that is known as a whole, and then moves by
    2 / (bars + 1) of the distance. A value that is not known leaves the average as it was, and
    the average is not known there.

    Returns:
        [T], unit of `values`; NaN before the first mean.

    Source: the usual form of charts, TA-Lib's among them.

    >>> ema_mean(np.array([1.0, 3.0, 5.0, 3.5]), 3)
    array([ nan,  nan, 3.  , 3.25])
    """
    return from_mean(values, bars, 2.0 / (bars + 1))


def from_mean(values: Floats, bars: int, weight: float) -> Floats:
    """y[t] = y[t-1] + weight * (x[t] - y[t-1]) from the first mean of `bars` values on, [T]."""
    means = sma(values, bars)
    averages = np.full(len(values), math.nan)
    average = math.nan
    is_seeded = False
    for t in range(len(values)):
        if is_seeded and not math.isnan(values[t]):
            average = average + weight * (values[t] - average)
            averages[t] = average
        elif not is_seeded and not math.isnan(means[t]):
            average = means[t]
            averages[t] = average
            is_seeded = True
    return averages


def dema(values: Floats, bars: int) -> Floats:
    """2 * y - z: y is `ema_mean` of the values, z is `ema_mean` of y.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2; both averages move by 2 / (bars + 1).

    Returns:
        [T], unit of `values`; NaN where either average is not known.

    Source: Patrick G. Mulloy, Smoothing Data with Faster Moving Averages, Stocks & Commodities
    12 (1994); both averages begin with a mean of their own, as in TA-Lib.

    >>> dema(np.array([1.0, 3.0, 5.0, 7.0]), 2)
    array([nan, nan,  5.,  7.])
    """
    averages = ema_mean(values, bars)
    seconds = ema_mean(averages, bars)
    doubled = np.empty(len(values))
    for t in range(len(values)):
        doubled[t] = 2.0 * averages[t] - seconds[t]
    return doubled


def wma(values: Floats, window: int) -> Floats:
    """Weighted mean in which the oldest of `window` values counts once, the newest `window` times.

    Returns:
        [T], unit of `values`; NaN before `window` bars and where a value of them is not known.

    Source: house rule for the order of the sums, see `anchored_sums`.

    >>> wma(np.array([1.0, 4.0, 7.0]), 2)
    array([nan,  3.,  6.])
    """
    anchors, _, weighted = anchored_sums(values, window)
    weights = window * (window + 1) // 2
    averages = np.empty(len(values))
    for t in range(len(values)):
        averages[t] = anchors[t] + weighted[t] / weights
    return averages


def lsma(values: Floats, window: int) -> Floats:
    """End of the least-squares line through the newest `window` values.

    Returns:
        [T], unit of `values`; NaN before `window` bars and where a value of them is not known.

    Source: linear regression; its end is three weighted means less two plain ones.

    >>> lsma(np.array([1.0, 4.0, 7.0, 7.0]), 3)
    array([nan, nan, 7. , 7.5])
    """
    anchors, totals, weighted = anchored_sums(values, window)
    weights = window * (window + 1) // 2
    ends = np.empty(len(values))
    for t in range(len(values)):
        line = 3.0 * (weighted[t] / weights) - 2.0 * (totals[t] / window)
        ends[t] = anchors[t] + line
    return ends


def anchored_sums(values: Floats, window: int) -> tuple[Floats, Floats, Floats]:
    """Anchor of each window, and the plain and the weighted sum of differences from it, [T] each.

    The blocks are those of `rolling_mean_variance`. In the weighted sum the oldest value counts
    once, the newest `window` times. NaN before `window` bars and where a value is not known.
    """
    anchors = np.full(len(values), math.nan)
    totals = np.full(len(values), math.nan)
    weighted = np.full(len(values), math.nan)
    # Sums over the last n bars before a block, by n; over none they are 0.
    left = np.zeros(min(window, len(values)))
    weighted_left = np.zeros(len(left))
    for start in range(0, len(values), window):
        # The anchor of a block is its first value.
        anchor = values[start]
        # The left part of a window is summed backwards, from the bar before the block.
        for n in range(1, min(window, start + 1)):
            left[n] = left[n - 1] + (values[start - n] - anchor)
            weighted_left[n] = weighted_left[n - 1] + left[n]
        # The right part is summed forwards, from the first bar of the block.
        right = 0.0
        weighted_right = 0.0
        for t in range(start, min(start + window, len(values))):
            d = values[t] - anchor
            right = right + d
            weighted_right = weighted_right + (t - start + 1) * d
            if t < window - 1:
                continue
            # Each value of the right part counts once more for every value of the left one.
            n = window - 1 - (t - start)
            anchors[t] = anchor
            totals[t] = left[n] + right
            weighted[t] = (weighted_left[n] + n * right) + weighted_right
    return anchors, totals, weighted


def hma(values: Floats, bars: int) -> Floats:
    """wma(2 * wma(values, bars // 2) - wma(values, bars), whole part of the root of bars).

    Returns:
        [T], unit of `values`; NaN before bars + the root's whole part - 1 values are known.

    Source: Alan Hull, the Hull Moving Average (2005).

    >>> hma(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 4)
    array([nan, nan, nan, nan,  5.])
    """
    half = wma(values, bars // 2)
    whole = wma(values, bars)
    raw = np.full(len(values), math.nan)
    for t in range(len(values)):
        raw[t] = 2.0 * half[t] - whole[t]
    return wma(raw, whole_root(bars))


def whole_root(number: int) -> int:
    """Whole part of the square root of a whole number above 0."""
    root = 1
    while (root + 1) * (root + 1) <= number:
        root += 1
    return root


QUICKEST = 0.602
"""Share of the factor that a straight path adds: 2 / 3 less 2 / 31, in three digits."""

SLOWEST = 0.064
"""The factor of a path that leads nowhere: 2 / 31, in three digits."""


def kama(values: Floats, bars: int) -> Floats:
    """The average stays at the first value for `bars` bars, then K += c * c * (x - K).

    c grows with the path's efficiency: the way from the first to the last of `bars` steps, as a
    share of all these steps. A value that is not known leaves the average as it was, and the
    average is not known there.

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
