"""How good forecasts are out of sample: against doing nothing, the mean and a line.

Losses are squared errors; over several symbols they are averaged at each time, so that one move of
all of them counts once. Everything is about bars after the refit that forecast them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from data.checks import Floats, Ints
from optimizer.forecasts.fit import Fitted
from optimizer.store.payload import Payload

Number = float | None

MOST_P = 0.05
"""Of a forecast that has skill, times the forecasts that were fitted on these bars."""

FEWEST = 30
"""Times of forecasts; fewer say nothing."""

NODES = 128
"""Places at which a density is looked at."""

RIVALS = ("nothing", "the mean", "the ridge")


@dataclass(frozen=True)
class RivalGain(Payload):
    """A forecast against another one."""

    # Share of the other's mean squared error that it takes away; negative where worse, None
    # where that makes no error.
    gain: Number
    p: Number  # one-sided, of a gain at least as great if both were equally good

    def is_better(self, fits: int) -> bool:
        """True if it has skill beyond the other, as one of so many fits on these bars."""
        return (self.gain or 0) > 0 and self.p is not None and self.p * fits <= MOST_P


@dataclass(frozen=True)
class SkillFigures(Payload):
    """Skill over some bars; None is undefined."""

    bars: int  # forecasts that were judged
    # By a name in `RIVALS`; the model itself is not among its rivals.
    against: Mapping[str, RivalGain]
    hits: Number  # share of forecasts with the sign of what came, where both have one
    hits_error: Number  # its standard error
    ups: Number  # share of targets above 0 among those
    slope: Number  # of targets on forecasts; 1 is calibrated
    slope_error: Number  # its standard error, by Newey and West
    intercept: Number  # of the same line


@dataclass(frozen=True)
class Skill(Payload):
    """Skill in all and by refit."""

    sentence: str  # the conclusion; "no skill" comes first
    has_skill: bool  # whether it is better than nothing and than the mean
    whole: SkillFigures  # over all bars
    folds: tuple[tuple[str, SkillFigures], ...]  # refit and figures of each

    def among(self, fits: int) -> "Skill":
        """The same figures, judged as one of so many forecasts that were fitted on these bars."""
        has_skill, sentence = _judge_skill(self.whole, fits)
        return replace(self, has_skill=has_skill, sentence=sentence)


def measure_skill(fitted: Fitted, model: str, horizon: int) -> Skill:
    """Judge forecasts by what came, as the only ones on these bars; no model is its own rival."""
    samples = fitted.samples
    is_judged = ~np.isnan(fitted.values) & ~np.isnan(samples.target)
    others = (np.zeros(len(fitted.values)), fitted.means, fitted.lines)
    itself = {"naive": RIVALS[1], "ridge": RIVALS[2]}.get(model)
    rivals = {name: values for name, values in zip(RIVALS, others, strict=True) if name != itself}

    def over(rows: Ints) -> SkillFigures:
        rows = rows[is_judged[rows]]
        return _figures(
            samples.target[rows],
            fitted.values[rows],
            {name: values[rows] for name, values in rivals.items()},
            samples.moment[rows],
            horizon,
        )

    whole = over(np.concatenate([fold.asked for fold in fitted.folds]))
    has_skill, sentence = _judge_skill(whole, 1)
    folds = tuple(
        (str(np.datetime64(fold.refit_ns, "ns").astype("datetime64[m]")), over(fold.asked))
        for fold in fitted.folds
    )
    return Skill(sentence, has_skill, whole, folds)


def diebold_mariano(gains: Floats, horizon: int) -> float:
    """P that a mean gain so great or greater comes of two forecasts that are equally good.

    Args:
        gains: [N], loss of the other less loss of the one, in the order of time.
        horizon: Bars ahead; gains of so many neighbours overlap.

    Returns:
        One-sided, by the t distribution with N - 1 degrees; NaN where it is undefined.

    Source: Diebold, Mariano 1995, the variance by Newey, West 1987 with lag horizon - 1, the
    statistic made smaller by Harvey, Leybourne, Newbold 1997.
    """
    count = len(gains)
    if count < max(FEWEST, 2 * horizon):
        return math.nan
    variance = long_run_variance(gains - gains.mean(), horizon - 1) / count
    if not variance > 0:
        return math.nan
    smaller = (count + 1 - 2 * horizon + horizon * (horizon - 1) / count) / count
    return t_above(math.sqrt(smaller) * float(gains.mean()) / math.sqrt(variance), count - 1)


def long_run_variance(around: Floats, lag: int) -> float:
    """Variance of a sum of what varies around 0, for each of its terms. Source: Newey, West 1987.

    Args:
        around: [N].
        lag: The furthest neighbours that depend on each other.
    """
    count = len(around)
    variance = float(around @ around) / count
    for k in range(1, min(lag, count - 1) + 1):
        variance += 2 * (1 - k / (lag + 1)) * float(around[k:] @ around[:-k]) / count
    return variance


def t_above(value: float, degrees: int) -> float:
    """P that a variable with Student's t distribution is above a value.

    The density by the angle atan(t / sqrt(degrees)), which is a power of its cosine, is summed by
    Gauss and Legendre as far as it matters. Source: Abramowitz, Stegun 26.7.1, 25.4.29.
    """
    root = math.sqrt(degrees)
    begin = math.atan(abs(value) / root)
    width = min(min(12.0, 40.0 / max(abs(value), 1.0)) / root, math.pi / 2 - begin)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    logs = (degrees - 1) * np.log(np.cos(begin + width * (nodes + 1) / 2))
    front = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(math.pi) / 2
    above = width / 2 * float(weights @ np.exp(front + logs))
    return above if value >= 0 else 1.0 - above


def _figures(
    target: Floats, values: Floats, rivals: Mapping[str, Floats], moment: Ints, horizon: int
) -> SkillFigures:
    if len(target) < FEWEST:
        empty = {name: RivalGain(None, None) for name in rivals}
        return SkillFigures(len(target), empty, *[None] * 6)
    errors = (target - values) ** 2
    against = {}
    for name, rival in rivals.items():
        other = (target - rival) ** 2
        gains = _by_moment(other - errors, moment)
        # A rival without error, as on prices that have stopped, has none to be taken away.
        gain = 1 - float(errors.mean()) / float(other.mean()) if other.any() else None
        against[name] = RivalGain(gain, _known(diebold_mariano(gains, horizon)))
    is_signed = (values != 0) & (target != 0)
    hit = (np.sign(values) == np.sign(target))[is_signed].astype(np.float64)
    hits = float(hit.mean()) if len(hit) else math.nan
    hits_error = _error(_by_moment(hit - hits, moment[is_signed]), horizon)
    ups = float((target[is_signed] > 0).mean()) if len(hit) else math.nan
    numbers = (hits, hits_error, ups, *_line(target, values, moment, horizon))
    return SkillFigures(len(target), against, *map(_known, numbers))


def _line(target: Floats, values: Floats, moment: Ints, horizon: int) -> tuple[float, float, float]:
    """Slope of targets on forecasts, its standard error, and the intercept."""
    moved = values - values.mean()
    size = float((moved**2).mean())
    # Forecasts that differ by rounding alone are one.
    if not size > (1e-9 * float(np.abs(values).max())) ** 2:
        return math.nan, math.nan, math.nan
    slope = float((moved * target).mean()) / size
    left = target - target.mean() - slope * moved
    error = _error(_by_moment(moved * left, moment), horizon) / size
    return slope, error, float(target.mean() - slope * values.mean())


def _error(around: Floats, horizon: int) -> float:
    """Standard error of a mean, from what lies around it in the order of time."""
    if len(around) < FEWEST:
        return math.nan
    return math.sqrt(max(long_run_variance(around, horizon - 1), 0.0) / len(around))


def _by_moment(values: Floats, moment: Ints) -> Floats:
    """The mean at each time, in the order of time."""
    _, number = np.unique(moment, return_inverse=True)
    number = number.reshape(-1)
    means: Floats = np.bincount(number, values) / np.bincount(number)
    return means


def _judge_skill(whole: SkillFigures, fits: int) -> tuple[bool, str]:
    """Skill or none, and its sentence."""
    if whole.bars < FEWEST:
        return False, f"No skill shown: {whole.bars} forecasts are too few to judge."
    needed = [(name, whole.against[name]) for name in RIVALS[:2] if name in whole.against]
    times = f", times {fits} fits on these bars" if fits > 1 else ""
    for name, gain in needed:
        if not gain.is_better(fits):
            return False, f"No skill: {_format_gain(gain)} against {name}{times}."
    sentence = f"Skill: {_format_gain(needed[-1][1])} against {needed[-1][0]}{times}"
    line = whole.against.get(RIVALS[2])
    if line is not None and not line.is_better(fits):
        return True, f"{sentence}; none beyond the ridge ({_format_gain(line)})."
    return True, f"{sentence}."


def _format_gain(rival: RivalGain) -> str:
    p = "undefined" if rival.p is None else f"{rival.p:.2g}"
    return f"{rival.gain or 0:+.2%} of the squared error (p = {p})"


def _known(value: float) -> Number:
    return None if math.isnan(value) else value
