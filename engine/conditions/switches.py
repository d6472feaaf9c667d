"""Switches as comparisons of their genes, which every kernel of conditions knows.

`strategy.conditions.settle_switches` has the rest after a switch is off. Here the same is done
for all genes at once: an omitted part is true if its neighbours must all hold,
else false.
"""

from typing import NamedTuple

from strategy.conditions import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    OverBars,
    Switch,
    negate_condition,
)
from strategy.expressions import Number
from strategy.model import Strategy
from strategy.nodes import walk

HALF = Number(0.5)
"""Between off, 0, and on, 1."""


class SideConditions(NamedTuple):
    """Conditions of a strategy, without a switch; None where there is none."""

    long: Condition | None
    short: Condition | None
    exit_long: Condition | None
    exit_short: Condition | None
    cancel_long: Condition | None
    cancel_short: Condition | None


def lower_conditions(spec: Strategy) -> SideConditions:
    """Conditions of a strategy for all genes at once."""
    entries_and_exits = spec.long, spec.short, spec.exit_long, spec.exit_short
    return SideConditions(*map(lower_switches, (*entries_and_exits, *spec.cancels)))


def lower_switches(condition: Condition | None) -> Condition | None:
    """A condition for all genes at once, true at the same bars."""
    if condition is None or not any(isinstance(node, Switch) for node in walk(condition)):
        return condition
    return _lower_part(condition, is_needed=False)


def _lower_part(condition: Condition, *, is_needed: bool) -> Condition:
    """A part that is true or, if not needed, false while it is left out."""
    there, lowered = _find_presence(condition), _lower_present(condition)
    if there is None:
        return lowered
    if is_needed:
        return AnyOf((negate_condition(there), lowered))
    return AllOf((there, lowered))


def _lower_present(condition: Condition) -> Condition:
    """The truth of a condition while it is not left out."""
    if isinstance(condition, Switch):
        return _lower_present(condition.condition)
    if isinstance(condition, AllOf | AnyOf):
        is_all = isinstance(condition, AllOf)
        parts = (_lower_part(part, is_needed=is_all) for part in condition.conditions)
        return type(condition)(tuple(parts))
    if isinstance(condition, OverBars):
        return type(condition)(_lower_present(condition.condition), condition.bars)
    return condition


def _find_presence(condition: Condition) -> Condition | None:
    """Bars with a condition in force; None if it always is."""
    if isinstance(condition, Switch):
        is_on = Compare(condition.gene, ">", HALF)
        inner = _find_presence(condition.condition)
        return is_on if inner is None else AllOf((is_on, inner))
    if isinstance(condition, AllOf | AnyOf):
        parts = [_find_presence(part) for part in condition.conditions]
        known = [part for part in parts if part is not None]
        return AnyOf(tuple(known)) if len(known) == len(parts) else None
    return _find_presence(condition.condition) if isinstance(condition, OverBars) else None
