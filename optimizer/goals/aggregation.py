"""Several windows make one number: their mean, the worst of them, or a quantile near the worst."""

import re

import numpy as np

from optimizer.errors import ConfigError
from optimizer.search.generation import Floats

MEAN = "mean"
WORST = "worst"
HIGHEST_QUANTILE = 50
FORMS = f"{MEAN}, {WORST}, or q1 to q{HIGHEST_QUANTILE} (percent of the windows may be worse)"
"""How windows may be taken together, in words."""

_QUANTILE = re.compile(r"q([1-9][0-9]?)")


def check_aggregation(text: str) -> str:
    """Return a way of taking windows together when it is legal.

    Args:
        text: ``mean``, ``worst``, or ``q`` with a whole percentage from 1 to 50.

    Raises:
        ConfigError: When it is anything else.
    """
    found = _QUANTILE.fullmatch(text)
    if text in (MEAN, WORST) or (found and int(found[1]) <= HIGHEST_QUANTILE):
        return text
    raise ConfigError(f"windows cannot be taken together as '{text}'; use {FORMS}")


def over_windows(values: Floats, how: str, *, more_is_better: bool) -> Floats:
    """Take the windows of each individual together.

    Args:
        values: [P, W], W at least 1; what is not finite counts as undefined.
        how: As `check_aggregation` allows. A quantile is one of the values, the nearest one on the
            worse side, so that nothing is interpolated.
        more_is_better: Which side is the worse one.

    Returns:
        [P]; NaN where a window is undefined, because no number stands for what nobody knows.
    """
    is_known = np.isfinite(values).all(axis=1)
    # A mean of numbers may be beyond all numbers.
    with np.errstate(over="ignore"):
        found = _mean(values) if how == MEAN else _from_worst(values, how, more_is_better)
    return np.where(is_known & np.isfinite(found), found, np.nan)


def _mean(values: Floats) -> Floats:
    """Mean [P], summed in the order of windows."""
    total = np.zeros(len(values), dtype=np.float64)
    for window in np.ascontiguousarray(np.where(np.isfinite(values), values, np.nan).T):
        total += window
    mean: Floats = total / values.shape[1]
    return mean


def _from_worst(values: Floats, how: str, more_is_better: bool) -> Floats:
    """The value [P] that stands so far from the worst as `how` says."""
    percent = 0 if how == WORST else int(how[1:])
    place = percent * (values.shape[1] - 1) // 100
    ordered = np.sort(values, axis=1)
    return np.asarray(ordered[:, place if more_is_better else -1 - place])
