"""How far individuals are from keeping constraints."""

from collections.abc import Mapping

import numpy as np

from optimizer.goals.constraints import Constraint
from optimizer.search.generation import Floats


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
