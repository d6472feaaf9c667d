"""Hypervolume of a front from an account that does nothing, for null searches to compare."""

import math
from collections.abc import Sequence

import moocore
import numpy as np

from data.checks import Floats
from optimizer.evidence.figures import Figure, make_undefined
from optimizer.search.archive import EXACT_OBJECTIVES

IDLE = {"profit_factor": 1.0, "max_drawdown": 1.0, "exposure": 1.0}
"""Metrics of an account that does nothing, at worst; it has 0 of those that are maximised."""


def hypervolume(values: Floats, names: Sequence[str], maximised: Sequence[bool]) -> Figure:
    """Hypervolume of a front from an account that does nothing.

    Args:
        values: [F, O] in their natural sense; members that such an account equals or beats in an
            objective add nothing.
        names: [O] of metrics.
        maximised: [O], whether more is better.

    Returns:
        0 of an empty front; undefined where an objective has no value for such an account, and
        with more objectives than hypervolume is exact for.
    """
    if len(names) > EXACT_OBJECTIVES:
        return make_undefined(f"more than {EXACT_OBJECTIVES} objectives")
    reference = np.array(
        [
            IDLE.get(name, 0.0 if is_up else math.nan)
            for name, is_up in zip(names, maximised, strict=True)
        ]
    )
    if np.isnan(reference).any():
        lost = names[int(np.isnan(reference).argmax())]
        return make_undefined(f"an account that does nothing has no {lost}")
    signs = np.where(np.asarray(maximised), -1.0, 1.0)
    ahead = signs * (values - reference)
    ahead = ahead[(ahead < 0).all(axis=1)]
    if not len(ahead):
        return Figure(0.0)
    if ahead.shape[1] == 1:
        return Figure(-float(ahead.min()))
    return Figure(float(moocore.hypervolume(ahead, ref=0.0)))
