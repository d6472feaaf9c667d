"""Adaptive trend: six families of averages vote on the direction, weighed by their earnings.

Each average takes a side of the price. Following the sides of the nine averages of a family would
have earned an equity each, forgetting a little every bar; the sides weighed by these equities are
the family's vote, and the votes weighed by equities of their own are the trend, from -1 to 1.

Source of the idea: the public indicator "Adaptive Trend Classification: Moving Averages" by
InvestorUnknown, which `adaptive_trend_script` follows.
"""

import math
from collections.abc import Sequence

import numpy as np

from strategy.genes import Floats, Ints
from strategy.indicators.averages import ema_mean, hma, kama, lsma, path_sums, smoothing, wma
from strategy.indicators.windows import sma

FAMILIES = ("ema", "hma", "wma", "dema", "lsma", "kama")

LENGTHS = 9
"""Averages of a family."""

OFFSETS = np.array([[1, 2, 3, 4], [1, 2, 4, 6], [1, 3, 5, 7]])
"""Distances of a family's lengths from its base, by robustness."""

BAND = 1e-12
"""Price and average are level within this share of price: far above rounding, below any tick."""

FLOOR = 0.25
"""An equity never falls below this."""

MILLION = 1_000_000

TAYLOR = np.array([1.0 / math.factorial(i) for i in range(19)])
"""Coefficients of the series of exp."""


def adaptive_trend(close: Floats, *parameters: int) -> Floats:
    """Votes of six families of averages, weighed by what following them would have earned.

    Args:
        close: [T], price.
        *parameters: Eighteen whole numbers: base length of each family, bars; robustness 0, 1
            or 2, how far a family's nine lengths lie apart; growth, millionths a bar by which
            newer returns count more; decay, basis points of equity that are forgotten a bar;
            cutout, bars at the start for which nothing is earned or known; the hundredths above
            which a family votes long, and those below which it votes short; the tenths of equity
            with which each family starts against the others.

    Returns:
        [T], -1 to 1; NaN before the cutout.
    """
    return _trend(close, parameters, False)


def adaptive_trend_script(close: Floats, *parameters: int) -> Floats:
    """The trend as the script of its author has it; parameters as `adaptive_trend`.

    Plain means stand for Hull averages, Kaufman's average begins at 0 and moves from the first
    bar on, and a family without a vote repeats its last step.

    Returns:
        [T], -1 to 1; NaN before the cutout.
    """
    return _trend(close, parameters, True)


def _trend(close: Floats, parameters: tuple[int, ...], is_script: bool) -> Floats:
    bases, weights = parameters[:6], parameters[12:]
    robustness, growth, decay, cutout, vote_long, vote_short = parameters[6:12]
    steps = compute_steps(close, growth, decay, cutout)
    votes = np.zeros((len(bases), len(close)), np.int64)
    equities = np.zeros((len(bases), len(close)))
    for k in range(len(bases)):
        lengths = list_lengths(bases[k], robustness)
        votes[k], _ = compute_votes(compute_signals(close, k, lengths, is_script), steps, cutout)
        equities[k] = compute_equity(votes[k], weights[k] / 10.0, steps, cutout, is_script)
    return weigh_votes(votes, equities, vote_long, vote_short, cutout)


def list_lengths(base: int, robustness: int) -> Ints:
    """The nine lengths of a family, the base first, then longer ones, then shorter ones."""
    lengths = np.full(LENGTHS, base)
    lengths[1:5] += OFFSETS[robustness]
    lengths[5:] -= OFFSETS[robustness]
    return lengths


def find_longest_length(bases: Sequence[int], robustness: int) -> int:
    """The longest of all lengths of some families, bars."""
    return max(bases) + int(OFFSETS[robustness].max())


def average(close: Floats, family: int, n: int, is_script: bool) -> Floats:
    """One average of a family, [T]; NaN while unknown."""
    if family == 0:
        return ema_mean(close, n)
    if family == 1:
        return sma(close, n) if is_script else hma(close, n)
    if family == 2:
        return wma(close, n)
    if family == 3:
        return dema_from_value(close, n)
    if family == 4:
        return lsma(close, n)
    return kama_from_zero(close, n) if is_script else kama(close, n)


def dema_from_value(close: Floats, n: int) -> Floats:
    """The double average with a second one from the first value of the first, [T]."""
    weight = 2.0 / (n + 1)
    averages = ema_mean(close, n)
    doubled = np.full(len(close), math.nan)
    first = len(close)
    second = math.nan
    for t in range(len(close)):
        if math.isnan(averages[t]):
            continue
        if first == len(close):
            first = t
            second = averages[t]
        else:
            second = second + weight * (averages[t] - second)
        doubled[t] = 2.0 * averages[t] - second
    return doubled


def kama_from_zero(close: Floats, n: int) -> Floats:
    """Kaufman's average that begins as 0 before the first bar, [T]."""
    moves = path_sums(close, n)
    averages = np.empty(len(close))
    average = 0.0
    for t in range(len(close)):
        average = average + smoothing(close, moves, n, t) * (close[t] - average)
        averages[t] = average
    return averages


def sides(close: Floats, averages: Floats) -> Ints:
    """The side that an average takes: 1 above, -1 below, 0 before it first changes, [T].

    A price within `BAND` of the average keeps the side that was taken last.
    """
    taken = np.zeros(len(close), np.int64)
    before = 0
    was_known = False
    signal = 0
    for t in range(len(close)):
        d = close[t] - averages[t]
        band = close[t] * BAND
        if math.isnan(d):
            was_known = False
            continue
        side = 1 if d > band else -1 if d < -band else 0
        if was_known and side != before and side != 0:
            signal = side
        before = side
        was_known = True
        taken[t] = signal
    return taken


def average_sides(close: Floats, family: int, n: int, is_script: bool) -> Ints:
    """The sides that one average of a family takes, [T]."""
    return sides(close, average(close, family, n, is_script))


def compute_steps(
    close: Floats, growth: int, decay: int, cutout: int
) -> tuple[Floats, Floats, float]:
    """Factors of an equity at each bar: of a long, of a short [T], of neither."""
    flat = 1.0 - decay / 10000.0
    up = np.full(len(close), math.nan)
    down = np.full(len(close), math.nan)
    for t in range(cutout + 1, len(close)):
        change = (close[t] - close[t - 1]) / close[t - 1]
        r = change * compute_growth(growth, t - cutout)
        up[t] = flat * (1.0 + r)
        down[t] = flat * (1.0 - r)
    return up, down, flat


def compute_growth(growth: int, bars: int) -> float:
    """exp(growth * bars / 1,000,000), at most e: additions and multiplications alone."""
    product = growth * bars
    x = product / MILLION if product < MILLION else 1.0
    # Horner's scheme, so that every engine adds in the same order.
    g = float(TAYLOR[18])
    for i in range(17, -1, -1):
        g = g * x + TAYLOR[i]
    return g


def floor_equity(equity: float) -> float:
    """An equity after its start and after every step."""
    return equity if equity > FLOOR else FLOOR


def compute_signals(close: Floats, family: int, lengths: Ints, is_script: bool) -> Ints:
    """Signals of a family's averages, [9, T]."""
    signals = np.zeros((LENGTHS, len(close)), np.int64)
    for j in range(LENGTHS):
        signals[j] = average_sides(close, family, lengths[j], is_script)
    return signals


def compute_equity(
    signal: Ints, start: float, steps: tuple[Floats, Floats, float], cutout: int, repeats: bool
) -> Floats:
    """The equity of following a signal, [T]; NaN before `cutout`, where it is `start`.

    `repeats` takes the last step again without a signal, in place of the flat one.
    """
    up, down, flat = steps
    equities = np.full(len(signal), math.nan)
    step = flat
    for t in range(cutout, len(signal)):
        if t == cutout:
            equities[t] = floor_equity(start)
            continue
        # The signal of the bar before has earned what this bar brings.
        held = signal[t - 1]
        if held != 0 or not repeats:
            step = up[t] if held > 0 else down[t] if held < 0 else flat
        equities[t] = floor_equity(equities[t - 1] * step)
    return equities


def compute_votes(
    signals: Ints, steps: tuple[Floats, Floats, float], cutout: int
) -> tuple[Ints, Floats]:
    """A family's votes in whole hundredths [T], 0 before `cutout`, and its equities [9, T]."""
    equities = np.zeros((LENGTHS, signals.shape[1]))
    for j in range(LENGTHS):
        equities[j] = compute_equity(signals[j], 1.0, steps, cutout, False)
    votes = np.zeros(signals.shape[1], np.int64)
    for t in range(cutout, signals.shape[1]):
        num = 0.0
        den = 0.0
        for j in range(LENGTHS):
            num = num + signals[j, t] * equities[j, t]
            den = den + equities[j, t]
        votes[t] = hundredths(num, den)
    return votes, equities


def hundredths(num: float, den: float) -> int:
    """A quotient in whole hundredths, halves away from zero; 0 where den is not below infinity."""
    if not den < math.inf:
        return 0
    y = num / den * 100.0
    return int(y + 0.5) if y >= 0.0 else int(y - 0.5)


def weigh_votes(
    votes: Ints, equities: Floats, vote_long: int, vote_short: int, cutout: int
) -> Floats:
    """Votes of families [6, T] weighed by their equities [6, T], as the row [T]."""
    row = np.full(votes.shape[1], math.nan)
    for t in range(cutout, votes.shape[1]):
        num = 0.0
        den = 0.0
        for k in range(len(votes)):
            vote = 1 if votes[k, t] > vote_long else -1 if votes[k, t] < vote_short else 0
            num = num + vote * equities[k, t]
            den = den + equities[k, t]
        row[t] = num / den + 0.0 if den < math.inf else 0.0
    return row
