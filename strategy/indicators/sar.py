"""Parabolic SAR: a stop that follows the price ever faster, and turns the side when it is met."""

import math

import numpy as np

from strategy.genes import Floats


def sar(
    high: Floats,
    low: Floats,
    close: Floats,
    start_percent: int,
    step_percent: int,
    most_percent: int,
) -> Floats:
    """Parabolic SAR (stop and reverse): below a rising market, above a falling one.

    Each bar the stop moves by a share of its distance from the extreme since the last turn. The
    share begins at `start_percent` and grows by `step_percent` with each new extreme, to
    `most_percent`. The stop never lies within the two bars before. A bar that reaches it turns the
    side: the stop is then the extreme so far.

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price; the first two say the first side.
        start_percent: At least 1.
        step_percent: At least 0.
        most_percent: At least 1.

    Returns:
        [T], price; NaN at bar 0.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978); the first side as
    on charts.

    >>> high, low = np.array([2.0, 3.0, 4.0, 4.0]), np.array([1.0, 2.0, 3.0, 1.0])
    >>> sar(high, low, high, 10, 10, 20)
    array([nan,  1.,  1.,  4.])
    """
    stops = np.full(len(close), math.nan)
    if len(close) < 2:
        return stops
    is_rising = close[1] > close[0]
    stop = low[0] if is_rising else high[0]
    extreme = high[1] if is_rising else low[1]
    speed = start_percent
    for t in range(1, len(close)):
        stop = stop + (speed / 100.0) * (extreme - stop)
        is_met = stop > low[t] if is_rising else stop < high[t]
        if is_met:
            stop = max(high[t], extreme) if is_rising else min(low[t], extreme)
            is_rising = not is_rising
            extreme = high[t] if is_rising else low[t]
            speed = start_percent
        elif t > 1 and (high[t] > extreme if is_rising else low[t] < extreme):
            extreme = high[t] if is_rising else low[t]
            speed = min(speed + step_percent, most_percent)
        first = max(t - 2, 0)
        stop = min(stop, low[first:t].min()) if is_rising else max(stop, high[first:t].max())
        stops[t] = stop
    return stops
