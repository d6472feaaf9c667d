"""How far individuals are from keeping constraints, and metrics that lack nothing but losses."""

from collections.abc import Mapping

import numpy as np

from engine.accounts.metrics import NO_DRAWDOWN, NO_LOSSES, MetricTable
from optimizer.formatting import WITHOUT_LOSSES
from optimizer.goals.constraints import Constraint
from optimizer.search.generation import Floats


def list_values(table: MetricTable, metric: str) -> Floats:
    """A metric [P, W]: infinity where it is undefined for want of losses, else NaN where it is."""
    values = table.column(metric)
    known: Floats = np.where(np.isfinite(values), values, np.nan)
    if metric not in WITHOUT_LOSSES:
        return known
    reasons = table.why(metric)
    return np.where((reasons == NO_LOSSES) | (reasons == NO_DRAWDOWN), np.inf, known)


def measure_misses(values: Mapping[Constraint, Floats], count: int, *, is_soft: bool) -> Floats:
    """How far each hard or each soft constraint is missed, [P, C].

    Args:
        values: [P] of the metric of each constraint.
        count: P.
        is_soft: Which of them are asked.
    """
    columns = [bound.misses(value) for bound, value in values.items() if bound.is_soft == is_soft]
    return np.column_stack(columns) if columns else np.zeros((count, 0))


def sum_columns(values: Floats) -> Floats:
    """Sum [P] of values [P, N], in the order of columns."""
    total = np.zeros(len(values), dtype=np.float64)
    for column in values.T:
        total = total + column
    return total
