"""The bounds of streamed scores and means, against exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.cpu.streamed.bounds import (
    ROUNDING,
    ROUNDING_32,
    mean_error,
    score_bounds,
    steps_of,
)
from engine.backends.cpu.streamed.screens import STEPS_32
from engine.backends.cpu.streamed.sums import ANCHOR, FIT, REACH, SIZE, empty_sums, sum_up
from strategy.indicators import zscore
from strategy.indicators.rolling import rolling_mean_variance


@st.composite
def stretches(draw):
    """Values [T] of any size and kind, a window, and a bar at which it is full."""
    rng = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32))))
    length = draw(st.integers(4, 150))
    level = draw(st.sampled_from([0.0, 1.0, 1e6, 1e12]))
    values = level + rng.normal(0.0, 1.0, length) * draw(st.sampled_from([1e-9, 1.0, 1e5]))
    values = np.where(rng.random(length) < draw(st.sampled_from([0, 0.05])), level * 1e3, values)
    values = np.where(rng.random(length) < draw(st.sampled_from([0, 0.5])), values[0], values)
    window = draw(st.integers(2, length - 1))
    return values, window, draw(st.integers(window - 1, length - 1))


def summed(values):
    """Sums of one stretch; the second one is anchored near its mean, as most are."""
    sums = empty_sums(1, len(values))
    for _ in range(2):
        sum_up(values[None], 0, 0, len(values), sums)
    return sums


def exactly(values, window, bar, anchor):
    """Far and spread of the window that ends at a bar, as fractions."""
    ys = [Fraction(float(x)) - Fraction(float(anchor)) for x in values[bar + 1 - window : bar + 1]]
    sum1, sum2 = sum(ys), sum(y * y for y in ys)
    return window * ys[-1] - sum1, window * sum2 - sum1 * sum1


@given(world=stretches())
def test_running_sums_are_within_half_of_shift_and_slack(world):
    """What floats make of far and spread lies within half the shift and half the slack."""
    values, window, bar = world
    sums = summed(values)
    scale = sums.scale[0]
    if scale[FIT] != 1.0:
        return
    far, spread = exactly(values, window, bar, scale[ANCHOR])
    n, end = len(values), bar + 1
    shift, _, addend, _, _ = score_bounds(window, 1.0, n, scale[SIZE], 0.0, ROUNDING, steps_of(n))
    sum1 = sums.sum1[0, end] - sums.sum1[0, end - window]
    sum2 = sums.sum2[0, end] - sums.sum2[0, end - window]
    actual = window * (values[bar] - scale[ANCHOR]) - sum1
    assert abs(Fraction(float(actual)) - far) <= Fraction(shift) / 2
    assert abs(Fraction(float(window * sum2 - sum1 * sum1)) - spread) <= Fraction(-addend) / 2

    unit = Fraction(float(scale[SIZE]))
    shift, _, addend, _, _ = score_bounds(window, 1.0, n, 1.0, 0.0, ROUNDING_32, STEPS_32)
    near1 = sums.near1[0, end] - sums.near1[0, end - window]
    near2 = sums.near2[0, end] - sums.near2[0, end - window]
    wide = np.float32(window)
    actual = wide * sums.near[0, bar] - near1
    assert abs(Fraction(float(actual)) * unit - far) <= Fraction(shift) * unit / 2
    actual = wide * near2 - near1 * near1
    assert abs(Fraction(float(actual)) * unit**2 - spread) <= Fraction(-addend) * unit**2 / 2


@given(world=stretches(), offset=st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, 1e-4, 0.1]))
@pytest.mark.parametrize("side", [-1, 1])
def test_what_bounds_decide_the_law_decides_alike(world, side, offset):
    """A score is never dropped where the law has it above the threshold, nor kept where not."""
    values, window, bar = world
    scale = summed(values).scale[0]
    if scale[FIT] != 1.0:
        return
    score = zscore(values.tolist(), window)[bar]
    threshold = (0.5 if math.isnan(score) else score) + side * offset
    far, spread = exactly(values, window, bar, scale[ANCHOR])
    for unit, steps in ((ROUNDING, steps_of(len(values))), (ROUNDING_32, STEPS_32)):
        shift, may, may_addend, sure, sure_addend = map(
            Fraction,
            score_bounds(window, threshold, len(values), scale[SIZE], scale[REACH], unit, steps),
        )
        # The worst that sums within their bounds can be: half the shift and slack are theirs.
        upper, lower = far + shift / 2, far - shift / 2
        may_hold = upper * abs(upper) > may * (spread + may_addend / 2)
        surely_holds = spread - abs(may_addend) / 2 > abs(may_addend) and (
            lower * abs(lower) > sure * (spread + sure_addend / 2)
        )
        if score > threshold:
            assert may_hold
        else:
            assert not surely_holds


@given(world=stretches())
def test_means_are_within_their_error(world):
    """The law's mean and the one from running sums are no further apart than `mean_error`."""
    values, window, bar = world
    sums = summed(values)
    scale = sums.scale[0]
    if scale[FIT] != 1.0:
        return
    expected = rolling_mean_variance(values.tolist(), window)[0][bar]
    sum1 = sums.sum1[0, bar + 1] - sums.sum1[0, bar + 1 - window]
    error = mean_error(window, len(values), scale[SIZE], scale[REACH])
    assert abs(scale[ANCHOR] + sum1 / window - expected) <= error


def test_bounds_are_narrow_enough_to_decide():
    """On ordinary values less than one threshold in ten million is left to the law."""
    rng = np.random.Generator(np.random.PCG64(7))
    values = rng.lognormal(0.0, 1.0, 9536)
    scale = summed(values).scale[0]
    far, spread = (float(x) for x in exactly(values, 672, 9000, scale[ANCHOR]))
    shift, may, may_addend, sure, sure_addend = score_bounds(
        672, 2.0, len(values), scale[SIZE], scale[REACH], ROUNDING, steps_of(len(values))
    )
    assert shift / math.sqrt(spread) < 1e-7
    assert (sure * (spread + sure_addend)) / (may * (spread + may_addend)) - 1.0 < 1e-7
    assert far != 0.0
