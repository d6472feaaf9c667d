"""Trees as a person would write them, for messages, names of rows and reports."""

import json
from collections.abc import Iterator
from dataclasses import fields

from strategy.conditions import (
    AllOf,
    AnyOf,
    Compare,
    crosses_above,
    crosses_below,
    equals,
)
from strategy.expressions import (
    Arithmetic,
    Call,
    Choose,
    Clock,
    Column,
    GeneValue,
    Number,
)
from strategy.forms import Ladder, Leg
from strategy.indicator_registry import COLUMNS, KINDS
from strategy.nodes import Node

WORDS = {"crosses_above": crosses_above, "crosses_below": crosses_below, "equals": equals}
"""Words that stand for two comparisons."""


def format_tree(node: Node) -> str:
    """A tree in the words of the language.

    >>> format_tree(Call("sma", Arithmetic("-", Column("high"), Column("low")), (Number(20),)))
    'sma(high - low, 20)'
    """
    if isinstance(node, Number):
        return f"{node.value:.15g}"
    if isinstance(node, GeneValue):
        return f'gene("{node.gene.name}")' if node.gene.name in COLUMNS else node.gene.name
    if isinstance(node, Column):
        return f'column("{node.name}")' if node.is_extra else node.name
    if isinstance(node, Arithmetic):
        return _arithmetic(node)
    if isinstance(node, Call):
        return f"{node.label}({', '.join(_list_arguments(node))})"
    if isinstance(node, Choose):
        return _format_choice(node)
    if isinstance(node, Clock):
        offset = f'"{node.offset}"' if isinstance(node.offset, str) else f"{node.offset}"
        return f"{node.name}({', '.join([*map(format_tree, node.parameters), offset])})"
    return _condition(node)


def _list_arguments(call: Call) -> Iterator[str]:
    """Arguments in the brackets; parameters with defaults by name, where they differ."""
    if call.source is not None:
        yield format_tree(call.source)
    defaults = KINDS[call.indicator].defaults if isinstance(call.indicator, str) else ()
    if not defaults:
        yield from map(format_tree, call.parameters)
        return
    for (parameter, setting), default in zip(call.settings, defaults, strict=True):
        if not isinstance(setting, Number) or setting.value != default:
            yield f"{parameter.name}={format_tree(setting)}"


def _format_choice(node: Choose) -> str:
    """A choice as it is called, which is its gene in the place of an option's name."""
    gene, texts = format_tree(node.gene), [format_tree(option) for option in node.options]
    names = node.gene.gene.options if isinstance(node.gene, GeneValue) else ()
    if len(names) == len(texts) and all(map(str.startswith, texts, names)):
        rests = {text[len(name) :] for text, name in zip(texts, names, strict=True)}
        if len(rests) == 1:
            return gene + rests.pop()
    return f"choice({', '.join([gene, *texts])})"


def _condition(node: Node) -> str:
    if isinstance(node, Compare):
        ago = {0: "", 1: " at the bar before"}.get(node.bars_ago, f" {node.bars_ago} bars before")
        return f"{format_tree(node.left)} {node.relation} {format_tree(node.right)}{ago}"
    if isinstance(node, AllOf) and (word := _find_word(node)):
        return word
    if isinstance(node, AllOf | AnyOf):
        joint = " & " if isinstance(node, AllOf) else " | "
        return joint.join(f"({format_tree(inner)})" for inner in node.conditions)
    if isinstance(node, Leg):
        return f"({format_tree(node.target)}, {format_tree(node.share)})"
    if isinstance(node, Ladder):
        return f"[{', '.join(map(format_tree, node.legs))}]"
    return f"{node.label}({', '.join(_list_fields(node))})"


def _list_fields(node: Node) -> Iterator[str]:
    """Arguments of a node, by name behind an omitted one."""
    is_whole = True
    for field in fields(node):
        value = getattr(node, field.name)
        if value is None or (isinstance(value, str | int) and value == field.default):
            is_whole = False
            continue
        text = format_tree(value) if isinstance(value, Node) else json.dumps(value)
        is_by_name = not is_whole or "is_later" in field.metadata
        yield f"{field.name}={text}" if is_by_name else text


def _find_word(node: AllOf) -> str:
    """A cross or an equality in one word; empty for anything else."""
    if len(node.conditions) == 2 and isinstance(node.conditions[0], Compare):
        left, right = node.conditions[0].left, node.conditions[0].right
        for word, build in WORDS.items():
            if node == build(left, right):
                return f"{word}({format_tree(left)}, {format_tree(right)})"
    return ""


def _arithmetic(node: Arithmetic) -> str:
    if node.right is None:
        return f"abs({format_tree(node.left)})"
    if node.operation in ("minimum", "maximum"):
        return f"{node.operation}({format_tree(node.left)}, {format_tree(node.right)})"
    left, right = (
        f"({format_tree(side)})" if _is_joined(side) else format_tree(side)
        for side in (node.left, node.right)
    )
    return f"{left} {node.operation} {right}"


def _is_joined(side: Node) -> bool:
    return isinstance(side, Arithmetic) and side.operation in ("+", "-", "*", "/")
