"""Conditions that genes switch off, and what is left without them.

A switch that is off leaves its condition out, as if it had not been written: `all_of` and `any_of`
go on with their other parts; what joins, holds or remembers nothing but conditions that are left
out is left out as well; and a side, or an exit, of which nothing is left never asks for anything.
Nothing else is changed, so that ``~`` before a switch is one before its condition.
"""

from collections.abc import Mapping

from strategy.conditions import AllOf, AnyOf, Condition, OverBars, Switch
from strategy.expressions import GeneValue, Setting


def settle_switches(condition: Condition, genes: Mapping[str, float]) -> Condition | None:
    """Condition without any switch; None where nothing is left.

    Args:
        condition: Any.
        genes: Value of each gene by name.
    """
    if isinstance(condition, Switch):
        is_on = _read_switch(condition.gene, genes)
        return settle_switches(condition.condition, genes) if is_on else None
    if isinstance(condition, AllOf | AnyOf):
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
