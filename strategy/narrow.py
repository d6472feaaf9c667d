"""Strategies that say nothing but what a `StrategySpec` can: for kernels made for that shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from strategy.conditions import AllOf, Compare, Condition
from strategy.exits import BeyondBar, RMultiple
from strategy.expressions import Arithmetic, Call, Column, Expression, GeneValue, Number, Setting
from strategy.indicators import INDICATORS, SOURCES
from strategy.model import Strategy
from strategy.nodes import Node, walk
from strategy.spec import Bracket, Comparison, Row, StrategySpec
from strategy.wording import written

Kind = TypeVar("Kind")

AnyStrategy = StrategySpec | Strategy
"""In the narrow shape that kernels were made for, or in words."""


class _WiderError(Exception):
    """It says something that the narrow shape cannot."""


@dataclass(frozen=True)
class NarrowSpec(StrategySpec):
    """A strategy of the wider language in the narrow shape; it is told apart by its own digest."""

    origin: Strategy = field(kw_only=True, compare=False, repr=False)

    @cached_property
    def described(self) -> dict[str, object]:
        """As the strategy itself."""
        return self.origin.described

    def for_timeframe(self, timeframe_s: float) -> StrategySpec:
        """The same strategy for bars of so many seconds."""
        changed = self.origin.for_timeframe(timeframe_s)
        return replace(self, layout=changed.layout, origin=changed)

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> StrategySpec:
        """The same strategy with other bounds."""
        changed = self.origin.with_bounds(bounds)
        return replace(self, layout=changed.layout, origin=changed)


def in_words(spec: AnyStrategy) -> Strategy | None:
    """The strategy in words that a spec was made of; None of one that was made otherwise."""
    origin = spec.origin if isinstance(spec, NarrowSpec) else spec
    return origin if isinstance(origin, Strategy) else None


def place_in(spec: AnyStrategy, *genes: str) -> str:
    """How a message ends that is about some genes, or about none: ``(FILE:LINE)`` after a blank.

    It is where the first of them is written that is, else the strategy; empty of one of no file.
    """
    words = in_words(spec)
    if words is None:
        return ""
    values = [node for node in walk(words) if isinstance(node, GeneValue)]
    place = next((one.place for one in values if one.gene.name in genes), "") or words.place
    return f" ({place})" if place else ""


def narrowed(strategy: Strategy) -> NarrowSpec | None:
    """The strategy as today's kernels know it, with its own genes and digest; None if it is wider.

    It is not wider where it goes long on a conjunction of strict comparisons, of a row with a row
    or with a gene; where the stop is a positive gene times a row beyond the bar, the target a gene
    times the risk, and the time limit a gene in bars; and where all rows are known indicators on
    known sources.
    """
    try:
        return _narrowed(strategy)
    except _WiderError:
        return None


def _narrowed(strategy: Strategy) -> NarrowSpec:
    given = {"long", "stop", "target", "max_hold"}
    others = {"short", "exit_long", "exit_short", "trail", "break_even", "session"}
    _need(all(getattr(strategy, name) is not None for name in given))
    _need(all(getattr(strategy, name) is None for name in others))
    _need(strategy.delay == Number(0.0))
    rows: dict[str, Row] = {}
    entry = tuple(_comparison(one, rows) for one in _conjunction(strategy.long))
    distance = _as(Arithmetic, _as(BeyondBar, strategy.stop).distance)
    _need(distance.operation == "*")
    # A product has the same bits in either order.
    factor, row = distance.left, distance.right
    if isinstance(row, GeneValue):
        factor, row = row, factor
    reward = _as(RMultiple, strategy.target).multiple
    bracket = Bracket(_row(row, rows), _gene(factor), _gene(reward), _gene(strategy.max_hold))
    layout = strategy.layout
    _need(layout.gene(bracket.stop_mult).positive)
    _need(layout.gene(bracket.max_hold).is_length)
    return NarrowSpec(
        name=strategy.name,
        summary=strategy.summary,
        layout=layout,
        rows=tuple(rows.values()),
        entry=entry,
        bracket=bracket,
        # Whatever this is, only the strategy itself scales its lengths.
        timeframe_s=int(strategy.timeframe_s or 900),
        version=strategy.version,
        origin=strategy,
    )


def _conjunction(condition: Condition | None) -> list[Compare]:
    if isinstance(condition, AllOf):
        return [one for part in condition.conditions for one in _conjunction(part)]
    return [_as(Compare, condition)]


def _comparison(compare: Compare, rows: dict[str, Row]) -> Comparison:
    left, relation, right = compare.left, compare.relation, compare.right
    _need(compare.bars_ago == 0 and relation in (">", "<"))
    if isinstance(left, GeneValue):
        left, right = right, left
        relation = "<" if relation == ">" else ">"
    name = _row(left, rows)
    other = right.gene.name if isinstance(right, GeneValue) else _row(right, rows)
    return Comparison(name, ">" if relation == ">" else "<", other)


def _row(expression: Expression | None, rows: dict[str, Row]) -> str:
    """Name of the row that an expression is, added where it is new."""
    name = written(_as(Expression, expression))
    rows.setdefault(name, _as_row(name, expression))
    return name


def _as_row(name: str, expression: Expression | None) -> Row:
    if isinstance(expression, Column):
        return Row(name, "level", _source(expression))
    call = _as(Call, expression)
    _need(isinstance(call.indicator, str) and call.label in INDICATORS)
    reads = "" if call.source is None else _source(call.source)
    return Row(name, call.label, reads, tuple(_parameter(one) for one in call.parameters))


def _source(expression: Expression) -> str:
    column = _as(Column, expression)
    _need(column.name in SOURCES and not column.is_extra)
    return column.name


def _parameter(setting: Setting) -> str | float:
    return int(setting.value) if isinstance(setting, Number) else setting.gene.name


def _gene(setting: Node | None) -> str:
    return _as(GeneValue, setting).gene.name


def _as(kind: type[Kind], value: object) -> Kind:
    if not isinstance(value, kind):
        raise _WiderError
    return value


def _need(holds: bool) -> None:
    if not holds:
        raise _WiderError


def at_its_narrowest(strategy: Strategy) -> AnyStrategy:
    """The narrow shape where that says it all, else the strategy itself."""
    return narrowed(strategy) or strategy
