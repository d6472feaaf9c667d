"""How far individuals are from keeping constraints, and undefined metrics that lack only losses."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from data.checks import Flags
from engine.accounts.derived import UNDEFINED
from optimizer.goals.constraints import Constraint
from optimizer.search.generation import Floats

LACK_FALLS = (UNDEFINED.index("no_losses"), UNDEFINED.index("no_drawdown"))
"""Reasons of metrics that are undefined because nothing was lost."""


def lacks_falls(reasons: npt.NDArray[np.int8]) -> Flags:
    """Whether losses or drawdown, and nothing else, are missing in windows [P, W] of a metric."""
    is_alike = (reasons == 0) | np.isin(reasons, LACK_FALLS)
    lacks: Flags = is_alike.all(axis=1) & (reasons != 0).any(axis=1)
    return lacks


def measure_misses(
    values: Mapping[Constraint, Floats],
    count: int,
    *,
    is_soft: bool,
    kept: Mapping[Constraint, Flags] | None = None,
) -> Floats:
    """How far each hard or each soft constraint is missed, [P, C].

    Args:
        values: [P] of the metric of each constraint.
        count: P.
        is_soft: Which of them are asked.
        kept: [P], where a metric is undefined by being too good, so that a floor counts as kept.
    """
    columns = []
    for constraint, value in values.items():
        if constraint.is_soft == is_soft:
            missed = constraint.misses(value)
            if kept is not None and constraint.wants_more:
                missed = np.where(kept[constraint], 0.0, missed)
            columns.append(missed)
    return np.column_stack(columns) if columns else np.zeros((count, 0))


def sum_columns(values: Floats) -> Floats:
    """Sum [P] of values [P, N], in the order of columns."""
    total = np.zeros(len(values), dtype=np.float64)
    for column in values.T:
        total = total + column
    return total
