"""How far running sums can be from the law's numbers, and what they therefore decide.

**What is compared.** Over the w values of a window with mean m and standard deviation s, let x be
the newest, y = x_i - a for some anchor a, S1 and S2 the sums of y and of its square,
``far = w * y - S1 = w * (x - m)`` and ``spread = w * S2 - S1 * S1 = (w * s) ** 2``, all exact.
Then ``z = far / sqrt(spread)``, and since ``q(v) = v * abs(v)`` rises with v,

    z > threshold   is   q(far) > q(threshold) * spread

which takes neither a division nor a root.

**The law's own error.** u is 2**-53. The law anchors at a value of the window itself, which lies
at most sqrt(w) * s from the mean. With that, the usual bounds of sums of n terms (n * u of the sum
of their sizes, Higham, Accuracy and Stability of Numerical Algorithms, 4.2) give

    variance:  relative error at most  rho = 4 * (w + 8)**2 * u
    mean:      error at most           (w + 3) * sqrt(w + 1) * u * s  +  u * abs(mean)

so that the law's score differs from z by at most ``rho * abs(z) + kappa + 2 * u * reach / s`` with
``kappa = 2 * (w + 4) * sqrt(w + 1) * u`` and reach the largest size of a value.

**The error of running sums.** They run over the n values of a stretch, size**2 being the sum of
their squared distances from the anchor. By Cauchy and Schwarz no sum of distances exceeds
sqrt(n) * size, and that of a window not sqrt(w) * size. Each running sum is right to ``steps * U``
of these bounds: 3 * (n + 8) steps with U = u for float64, and 5 with U = 2**-24 for float64 sums
rounded to float32 in units of `size`. A difference of two has therefore at most

    e1 = steps * U * sqrt(n) * size     in S1
    e2 = steps * U * size**2            in S2

and rounding of the few operations after it adds at most 4 * U * (w + sqrt(n)) * size to far, and
2 * (sqrt(w) * size * e1) + e1**2 + w * e2 + 4 * U * w * size**2 bounds the error of spread.

**What follows.** `shift` is twice the error of far plus three times the law's share of it, `slack`
twice that of spread; the rest of both pays for rounding of the tests themselves and for rho times
far. The score surely does not exceed the threshold unless

    q(far + shift) > q(threshold - kappa) * (1 -+ 8 * rho) * (spread -+ slack)

and it surely does where, in addition to spread > slack,

    q(far - shift) > q(threshold + kappa) * (1 +- 8 * rho) * (spread +- slack)

with the upper signs for thresholds above 0. Between the two nothing is known.
`tests/properties/test_streamed_bounds.py` tries the bound on rational numbers.
"""

import math

from engine.backends.compiled import compiled

ROUNDING = 2.0**-53
ROUNDING_32 = 2.0**-24

LONGEST_WINDOW = 2**16
"""Longest length that is streamed, in bars; the bounds hold while rho is far below 1."""

LARGEST_THRESHOLD = 1e9
"""Thresholds beyond are decided exactly: their squares would leave float32."""


Bounds = tuple[float, float, float, float, float]


@compiled
def score_bounds(
    window: int,
    threshold: float,
    n: int,
    size: float,
    reach: float,
    unit: float,
    steps: float,
) -> Bounds:
    """Constants of both tests.

    Args:
        window: w, in bars.
        threshold: Of the score.
        n: Values of the stretch.
        size: Root of the sum of their squared distances from the anchor, or more.
        reach: Largest size of a value, in the unit of `size`.
        unit: U.
        steps: Of each running sum.

    Returns:
        The shift of far; the factor and the addend of spread in the test of what may exceed the
        threshold; the same for what surely does.
    """
    rho = max(4.0 * (window + 8.0) ** 2 * ROUNDING, 64.0 * unit)
    kappa = 2.0 * (window + 4.0) * math.sqrt(window + 1.0) * ROUNDING
    e1 = steps * unit * math.sqrt(n) * size
    e2 = steps * unit * size * size
    shift = 2.0 * e1 + 8.0 * unit * (window + math.sqrt(n)) * size + 6.0 * ROUNDING * reach * window
    slack = 2.0 * (
        window * e2
        + 2.0 * math.sqrt(window) * size * e1
        + e1 * e1
        + 4.0 * unit * window * size * size
    )
    low, high = threshold - kappa, threshold + kappa
    may_factor = low * low * (1.0 - 8.0 * rho) if low > 0.0 else -low * low * (1.0 + 8.0 * rho)
    may_addend = -slack if low > 0.0 else slack
    sure_factor = (
        high * high * (1.0 + 8.0 * rho) if high > 0.0 else -high * high * (1.0 - 8.0 * rho)
    )
    sure_addend = slack if high > 0.0 else -slack
    return shift, may_factor, may_addend, sure_factor, sure_addend


@compiled
def steps_of(n: int) -> float:
    """Steps of running sums of n values in float64."""
    return 3.0 * (n + 8.0)


@compiled
def mean_error(window: int, n: int, size: float, reach: float) -> float:
    """Largest distance between the law's mean and anchor + S1 / w from running sums in float64."""
    e1 = steps_of(n) * ROUNDING * math.sqrt(n) * size
    return 2.0 * e1 / window + 4.0 * (window + 4.0) * ROUNDING * size + 8.0 * ROUNDING * reach
