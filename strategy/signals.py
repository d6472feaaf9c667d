"""Values of conditions: the bars at which each of them is true."""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
import numpy.typing as npt

from strategy.conditions import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Held,
    Relation,
    Within,
    settle_switches,
)
from strategy.errors import StrategyError
from strategy.rows import DecodedGenes, Genes, Rows, bound, whole

Bools = npt.NDArray[np.bool_]


def truth(condition: Condition, rows: Rows, genes: Genes) -> Bools:
    """Truth of a condition after its switches, at every bar [T] of `rows`.

    Nowhere true if they leave nothing.
    """
    if isinstance(genes, DecodedGenes):
        left = genes.keep("settled", condition, lambda: _settle(condition, genes))
    else:
        left = _settle(condition, genes)
    return np.zeros(len(rows.series), np.bool_) if left is None else _truth(left, rows)


def _settle(condition: Condition, genes: Genes) -> Condition | None:
    """Condition that switches leave, without genes."""
    left = settle_switches(condition, genes)
    return None if left is None else bound(left, genes)


def _truth(condition: Condition, rows: Rows) -> Bools:
    """Truth of a condition without genes, [T] read-only, computed once for all callers."""
    return rows.kept.get((*rows.place, condition), lambda: _evaluate(condition, rows))


def _evaluate(condition: Condition, rows: Rows) -> Bools:
    if isinstance(condition, Compare):
        return _evaluate_comparison(condition, rows)
    if isinstance(condition, AllOf):
        return reduce(np.logical_and, (_truth(part, rows) for part in condition.conditions))
    if isinstance(condition, AnyOf):
        return reduce(np.logical_or, (_truth(part, rows) for part in condition.conditions))
    if isinstance(condition, Held):
        inner = _truth(condition.condition, rows)
        return rows.run(held_bars)(inner, whole(condition.bars))
    if isinstance(condition, Within):
        inner = _truth(condition.condition, rows)
        return rows.run(bars_within)(inner, whole(condition.bars))
    raise StrategyError(f"{condition!r} is no condition")


def _evaluate_comparison(condition: Compare, rows: Rows) -> Bools:
    # A comparison with NaN is false.
    sides = rows.of(condition.left), rows.of(condition.right)
    flags = np.asarray(_RELATIONS[condition.relation](*sides))
    if not flags.ndim:
        flags = np.full(len(rows.series), flags)
    if not condition.bars_ago:
        return flags
    earlier = np.zeros(len(flags), np.bool_)
    ago = min(condition.bars_ago, len(flags))
    earlier[ago:] = flags[: len(flags) - ago]
    return earlier


_RELATIONS: Mapping[Relation, Callable[..., Bools]] = {
    ">": np.greater,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
}


def held_bars(holds: Bools, bars: int) -> Bools:
    """Flags [T] of bars at which a condition held at each of the newest `bars` bars.

    >>> held_bars(np.array([True, True, False, True]), 2)
    array([False,  True, False, False])
    """
    flags = np.zeros(len(holds), np.bool_)
    in_a_row = 0
    for t in range(len(holds)):
        in_a_row = in_a_row + 1 if holds[t] else 0
        flags[t] = in_a_row >= bars
    return flags


def bars_within(holds: Bools, bars: int) -> Bools:
    """Flags [T] of bars at which a condition held at any of the newest `bars` bars.

    >>> bars_within(np.array([True, False, False, True]), 2)
    array([ True,  True, False,  True])
    """
    flags = np.zeros(len(holds), np.bool_)
    left = 0
    for t in range(len(holds)):
        left = bars if holds[t] else left - 1
        flags[t] = left > 0
    return flags
