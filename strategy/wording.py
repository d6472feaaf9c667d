"""Trees as a person would write them, for messages, names of rows and reports."""

from collections.abc import Iterator

from strategy.clock import Offset
from strategy.conditions import (
    AllOf,
    AnyOf,
    Compare,
    OverBars,
    crosses_above,
    crosses_below,
    equals,
)
from strategy.exits import SessionExit
from strategy.expressions import Arithmetic, Call, Clock, Column, GeneValue, Higher, Number
from strategy.kinds import KINDS
from strategy.nodes import Node

WORDS = {"crosses_above": crosses_above, "crosses_below": crosses_below, "equals": equals}
"""Words that stand for two comparisons."""


def written(node: Node) -> str:
    """A tree in the words of the language.

    >>> written(Call("sma", Arithmetic("-", Column("high"), Column("low")), (Number(20),)))
    'sma(high - low, 20)'
    """
    if isinstance(node, Number):
        return f"{node.value:.15g}"
    if isinstance(node, GeneValue):
        return node.gene.name
    if isinstance(node, Column):
        return f'column("{node.name}")' if node.is_extra else node.name
    if isinstance(node, Arithmetic):
        return _arithmetic(node)
    if isinstance(node, Call):
        return f"{node.label}({', '.join(_given(node))})"
    if isinstance(node, Higher):
        offset = f", {node.offset}" if node.offset else ""
        return f"higher({node.minutes}, {written(node.inner)}{offset})"
    if isinstance(node, Clock):
        return f"{node.name}({', '.join([*map(written, node.parameters), _offset(node.offset)])})"
    return _condition(node)


def _given(call: Call) -> Iterator[str]:
    """What stands in the brackets; parameters with defaults by name, where they differ."""
    if call.source is not None:
        yield written(call.source)
    defaults = KINDS[call.indicator].defaults if isinstance(call.indicator, str) else ()
    if not defaults:
        yield from map(written, call.parameters)
        return
    for (parameter, one), default in zip(call.settings, defaults, strict=True):
        if not isinstance(one, Number) or one.value != default:
            yield f"{parameter.name}={written(one)}"


def _condition(node: Node) -> str:
    if isinstance(node, Compare):
        ago = {0: "", 1: " at the bar before"}.get(node.bars_ago, f" {node.bars_ago} bars before")
        return f"{written(node.left)} {node.relation} {written(node.right)}{ago}"
    if isinstance(node, AllOf) and (word := _word_of(node)):
        return word
    if isinstance(node, AllOf | AnyOf):
        joint = " & " if isinstance(node, AllOf) else " | "
        return joint.join(f"({written(one)})" for one in node.conditions)
    if isinstance(node, OverBars):
        return f"{node.label}({written(node.condition)}, {written(node.bars)})"
    given = [written(part) for part in node.parts]
    if isinstance(node, SessionExit) and node.offset:
        given.append(_offset(node.offset))
    return f"{node.label}({', '.join(given)})"


def _offset(offset: Offset) -> str:
    return f'"{offset}"' if isinstance(offset, str) else f"{offset}"


def _word_of(node: AllOf) -> str:
    """A cross or an equality in one word; empty where it is none."""
    if len(node.conditions) == 2 and isinstance(node.conditions[0], Compare):
        left, right = node.conditions[0].left, node.conditions[0].right
        for word, made in WORDS.items():
            if node == made(left, right):
                return f"{word}({written(left)}, {written(right)})"
    return ""


def _arithmetic(node: Arithmetic) -> str:
    if node.right is None:
        return f"abs({written(node.left)})"
    if node.operation in ("minimum", "maximum"):
        return f"{node.operation}({written(node.left)}, {written(node.right)})"
    left, right = (
        f"({written(side)})" if _is_joined(side) else written(side)
        for side in (node.left, node.right)
    )
    return f"{left} {node.operation} {right}"


def _is_joined(side: Node) -> bool:
    return isinstance(side, Arithmetic) and side.operation in ("+", "-", "*", "/")
