"""Direction of a market: directional movement, stops that follow, swings."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.averages import rma
from strategy.indicators.windows import highest


def plus_di(high: Floats, low: Floats, ranges: Floats, bars: int) -> Floats:
    """Upward movement as a share of the true range, each in Wilder's average, in percent.

    Args:
        high: [T], price.
        low: [T], price.
        ranges: [T], true range, price.
        bars: At least 2.

    Returns:
        [T], percent; NaN for the first `bars` bars and where there was no range.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978), as is `adx`.

    >>> high, low = np.array([2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0])
    >>> plus_di(high, low, np.array([1.0, 2.0, 2.0]), 2)
    array([nan, nan, 50.])
    """
    moves = np.full(len(high), math.nan)
    for t in range(1, len(high)):
        up = high[t] - high[t - 1]
        down = low[t - 1] - low[t]
        moves[t] = up if up > down and up > 0.0 else 0.0
    return _share(moves, ranges, bars)


def minus_di(high: Floats, low: Floats, ranges: Floats, bars: int) -> Floats:
    """Downward movement; all else as `plus_di`.

    >>> high, low = np.array([4.0, 3.0, 2.0]), np.array([3.0, 2.0, 1.0])
    >>> minus_di(high, low, np.array([1.0, 2.0, 2.0]), 2)
    array([nan, nan, 50.])
    """
    moves = np.full(len(high), math.nan)
    for t in range(1, len(high)):
        up = high[t] - high[t - 1]
        down = low[t - 1] - low[t]
        moves[t] = down if down > up and down > 0.0 else 0.0
    return _share(moves, ranges, bars)


def adx(high: Floats, low: Floats, ranges: Floats, bars: int) -> Floats:
    """Average directional index: Wilder's average of how far the two movements lie apart.

    Args:
        high: [T], price.
        low: [T], price.
        ranges: [T], true range, price.
        bars: At least 2.

    Returns:
        [T], 0 to 100; NaN for the first 2 * `bars` - 1 bars and where nothing moved.

    >>> high, low = np.array([2.0, 3.0, 4.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> adx(high, low, np.array([1.0, 2.0, 2.0, 2.0]), 2)
    array([ nan,  nan,  nan, 100.])
    """
    plus = plus_di(high, low, ranges, bars)
    minus = minus_di(high, low, ranges, bars)
    apart = np.full(len(high), math.nan)
    for t in range(len(high)):
        if plus[t] + minus[t] > 0.0:
            apart[t] = 100.0 * (abs(plus[t] - minus[t]) / (plus[t] + minus[t]))
    return rma(apart, bars)


def _share(moves: Floats, ranges: Floats, bars: int) -> Floats:
    """Moves [T] as a share of the true range; the first bar has no close before it."""
    later = ranges.copy()
    later[:1] = math.nan
    movement = rma(moves, bars)
    whole = rma(later, bars)
    shares = np.full(len(moves), math.nan)
    for t in range(len(moves)):
        if whole[t] > 0.0:
            shares[t] = 100.0 * (movement[t] / whole[t])
    return shares


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


def supertrend(
    middle: Floats, close: Floats, ranges: Floats, bars: int, factor_tenths: int
) -> Floats:
    """Supertrend: the band below a rising market, above a falling one.

    Each bar offers a band of `factor_tenths` / 10 average true ranges on both sides of its middle.
    The lower one never falls and the upper one never rises until a close has gone through it. The
    trend begins as falling; it turns up at a close above the upper band and down at a close below
    the lower one.

    Source: Olivier Seban; as charts compute it, with Wilder's average of the true range.

    Args:
        middle: [T], price, (high + low) / 2.
        close: [T], price.
        ranges: [T], true range, price.
        bars: At least 2, of Wilder's average.
        factor_tenths: Tenths of an average true range: 30 for a factor of 3.

    Returns:
        [T], price; NaN before the average is known.

    >>> close = np.array([10.0, 11.0, 15.0, 9.0])
    >>> supertrend(close, close, np.array([1.0, 1.0, 4.0, 6.0]), 2, 10)
    array([  nan, 12.  , 12.5 , 13.25])
    """
    line, _ = _follow_trend(middle, close, ranges, bars, factor_tenths)
    return line


def supertrend_side(
    middle: Floats, close: Floats, ranges: Floats, bars: int, factor_tenths: int
) -> Floats:
    """Side of the supertrend: 1 for a rise, -1 for a fall; all else as `supertrend`.

    >>> close = np.array([10.0, 11.0, 15.0, 9.0])
    >>> supertrend_side(close, close, np.array([1.0, 1.0, 4.0, 6.0]), 2, 10)
    array([nan, -1.,  1., -1.])
    """
    _, side = _follow_trend(middle, close, ranges, bars, factor_tenths)
    return side


def _follow_trend(
    middle: Floats, close: Floats, ranges: Floats, bars: int, factor_tenths: int
) -> tuple[Floats, Floats]:
    """Line and side of a supertrend, [T] each."""
    average = rma(ranges, bars)
    line = np.full(len(close), math.nan)
    side = np.full(len(close), math.nan)
    lower = upper = math.nan
    is_rising = False
    for t in range(len(close)):
        if math.isnan(average[t]):
            continue
        reach = (factor_tenths / 10.0) * average[t]
        # Bands that the close has not gone through so far stay where they were, or come nearer.
        before_lower, before_upper = lower, upper
        lower = middle[t] - reach
        if before_lower > lower and not close[t - 1] < before_lower:
            lower = before_lower
        upper = middle[t] + reach
        if before_upper < upper and not close[t - 1] > before_upper:
            upper = before_upper
        is_rising = not close[t] < lower if is_rising else close[t] > upper
        if math.isnan(before_upper):
            is_rising = False
        line[t] = lower if is_rising else upper
        side[t] = 1.0 if is_rising else -1.0
    return line, side


def swing_high(high: Floats, lookback: int, lookahead: int) -> Floats:
    """The largest confirmed high of the last `lookback` bars.

    A bar j is confirmed when no high of j - lookahead .. j + lookahead exceeds its own. The value
    at t is the largest confirmed high with all neighbours in t - lookback .. t - 1; without one,
    the largest high of t - lookback .. t - lookahead - 1. Nothing after t - 1 is read.

    Args:
        high: [T], price.
        lookback: Bars, above `lookahead`.
        lookahead: Bars on each side that confirm, at least 1.

    Returns:
        [T], price; NaN for the first `lookback` + `lookahead` bars.

    Source: house rule, after the swing of the system that this project grew from.

    >>> swing_high(np.array([1.0, 5.0, 2.0, 3.0, 4.0, 9.0]), 4, 1)
    array([nan, nan, nan, nan, nan,  5.])
    """
    around = highest(high, 2 * lookahead + 1)
    # A confirmed high is known so many bars late, and stands at that bar.
    known = np.full(len(high), -math.inf)
    for t in range(2 * lookahead, len(high)):
        if high[t - lookahead] == around[t]:
            known[t] = high[t - lookahead]
    # Where so few bars hold no neighbours, none is confirmed.
    bars = lookback - 2 * lookahead
    confirmed = highest(known, max(bars, 1))
    plain = highest(high, lookback - lookahead)
    swings = np.full(len(high), math.nan)
    for t in range(lookback + lookahead, len(high)):
        if bars > 0 and confirmed[t - 1] > -math.inf:
            swings[t] = confirmed[t - 1]
        else:
            swings[t] = plain[t - lookahead - 1]
    return swings


def swing_low(low: Floats, lookback: int, lookahead: int) -> Floats:
    """The smallest confirmed low of the last `lookback` bars; all else as `swing_high`.

    >>> swing_low(np.array([5.0, 1.0, 4.0, 3.0, 2.0, 9.0]), 4, 1)
    array([nan, nan, nan, nan, nan,  1.])
    """
    return -swing_high(-low, lookback, lookahead)
