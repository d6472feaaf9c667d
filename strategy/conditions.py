"""Conditions as plain data: comparisons, joined. There is no `not`: it is moved inwards at once.

A comparison with an unknown value is neither true nor false, and neither is its `not`. With `not`
moved to the comparisons this three-valued logic needs two values only, where an unknown comparison
is never true.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from strategy.errors import StrategyError
from strategy.expressions import Expression, GeneValue, Setting, check_settings, holds_row
from strategy.nodes import Node, Numbers, Parameter, declare, whole

Relation = Literal[">", "<", ">=", "<="]

OPPOSITE: dict[Relation, Relation] = {">": "<=", "<=": ">", "<": ">=", ">=": "<"}


class Condition(Node):
    """True at a bar, or not."""


@declare("compare")
class Compare(Condition):
    """One comparison; true only where both sides are known."""

    left: Expression  # first side
    relation: Relation  # ``>``, ``<``, ``>=`` or ``<=``
    right: Expression  # second side
    # Its bar lies so many bars back; before bar 0 nothing is true.
    bars_ago: int = 0

    def __post_init__(self) -> None:
        if self.relation not in OPPOSITE:
            raise StrategyError(f"no comparison is {self.relation!r}; write > < >= or <=")
        is_of_switch = isinstance(self.left, GeneValue) and bool(self.left.gene.options)
        if not (is_of_switch or holds_row(self.left) or holds_row(self.right)):
            raise StrategyError("a comparison needs a row on one side, such as close or an ema")


@dataclass(frozen=True)
class Junction(Condition):
    """Conditions joined at one bar."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        if not self.conditions:
            raise StrategyError(f"{self.written} needs a condition")


@declare("all_of")
class AllOf(Junction):
    """True where all parts are."""


@declare("any_of")
class AnyOf(Junction):
    """True where any part is."""


@dataclass(frozen=True)
class OverBars(Condition):
    """A condition asked at each of the newest `bars` bars."""

    condition: Condition
    bars: Setting
    numbers: ClassVar[Numbers] = {"bars": Parameter("bars")}

    def __post_init__(self) -> None:
        check_settings(self)


@declare("held")
class Held(OverBars):
    """True where a condition was true at each of the newest `bars` bars."""


@declare("within")
class Within(OverBars):
    """True where a condition was true at any of the newest `bars` bars."""


@declare("switch")
class Switch(Condition):
    """A condition that a gene of 0 leaves out; see `settle_switches`."""

    gene: Setting = whole(least=0, most=1)
    condition: Condition

    def __post_init__(self) -> None:
        check_settings(self)


def split_conjunction(condition: Condition | None) -> Iterator[Condition]:
    """Parts that must all be true; none of a side that there is not."""
    if isinstance(condition, AllOf):
        for part in condition.conditions:
            yield from split_conjunction(part)
    elif condition is not None:
        yield condition


def negate_condition(condition: Condition) -> Condition:
    """The condition that is true where the given one is false, which is more than not true."""
    if isinstance(condition, Compare):
        opposite = OPPOSITE[condition.relation]
        return Compare(condition.left, opposite, condition.right, condition.bars_ago)
    if isinstance(condition, Switch):
        return Switch(condition.gene, negate_condition(condition.condition))
    if isinstance(condition, Junction):
        parts = tuple(negate_condition(part) for part in condition.conditions)
        return AnyOf(parts) if isinstance(condition, AllOf) else AllOf(parts)
    if isinstance(condition, OverBars):
        opposite_kind = Within if isinstance(condition, Held) else Held
        return opposite_kind(negate_condition(condition.condition), condition.bars)
    raise StrategyError(f"{condition!r} is no condition")


def settle_switches(condition: Condition, genes: Mapping[str, float]) -> Condition | None:
    """Condition without switches, given the value of each gene by name; None where nothing is left.

    A switch that is off leaves its condition out, as if it had not been written. `all_of` and
    `any_of` go on with their other parts. Anything that joins, holds or remembers only such
    conditions is left out as well, and a side or an exit without conditions never acts. Nothing
    else changes, so ``~`` before a switch is one before its condition.
    """
    if isinstance(condition, Switch):
        is_on = _read_switch(condition.gene, genes)
        return settle_switches(condition.condition, genes) if is_on else None
    if isinstance(condition, Junction):
        parts = (settle_switches(part, genes) for part in condition.conditions)
        left = tuple(part for part in parts if part is not None)
        return type(condition)(left) if left else None
    if isinstance(condition, OverBars):
        inner = settle_switches(condition.condition, genes)
        return None if inner is None else type(condition)(inner, condition.bars)
    return condition


def _read_switch(gene: Setting, genes: Mapping[str, float]) -> bool:
    value = genes[gene.gene.name] if isinstance(gene, GeneValue) else gene.value
    return value != 0


def crosses_above(a: Expression, b: Expression) -> Condition:
    """True where `a` is above `b`, and was not at the bar before."""
    return AllOf((Compare(a, ">", b), Compare(a, "<=", b, bars_ago=1)))


def crosses_below(a: Expression, b: Expression) -> Condition:
    """True where `a` is below `b`, and was not at the bar before."""
    return AllOf((Compare(a, "<", b), Compare(a, ">=", b, bars_ago=1)))


def equals(a: Expression, k: Expression) -> Condition:
    """True where both are the same number."""
    return AllOf((Compare(a, ">=", k), Compare(a, "<=", k)))
