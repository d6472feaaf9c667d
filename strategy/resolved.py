"""A strategy as one member trades it: without the choices and switches that a search had."""

from dataclasses import replace
from typing import Any

from strategy.conditions import Condition, settle_switches
from strategy.expressions import Choose, GeneValue
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node, transform_nodes, walk
from strategy.parts import PARTS
from strategy.rows import Genes, resolve_value


def resolve_options(strategy: Strategy, genes: Genes) -> Strategy:
    """The strategy of one value of each gene with options; all other genes stay.

    Raises:
        StrategyError: When its switches leave no entry.
    """
    if not strategy.layout.is_category.any():
        return strategy
    parts: dict[str, Any] = {name: _resolve_part(getattr(strategy, name), genes) for name in PARTS}
    for side in ("long", "short"):
        if parts[side] is None:
            parts[f"exit_{side}"] = parts["reverse"] = None
    read = {leaf.gene.name for part in parts.values() for leaf in _list_genes(part)}
    layout = strategy.layout
    kept = GenomeLayout(
        tuple(gene for gene in layout.genes if gene.name in read),
        tuple(pair for pair in layout.constraints if {pair.left, pair.right} <= read),
    )
    return replace(strategy, **parts, layout=kept)


def _resolve_part(part: Node | bool | None, genes: Genes) -> Node | bool | None:
    if not isinstance(part, Node):
        return part
    left = settle_switches(part, genes) if isinstance(part, Condition) else part

    def pick(node: Node) -> Node:
        return node.pick(resolve_value(node.gene, genes)) if isinstance(node, Choose) else node

    return None if left is None else transform_nodes(left, pick)


def _list_genes(part: Node | bool | None) -> list[GeneValue]:
    if not isinstance(part, Node):
        return []
    return [node for node in walk(part) if isinstance(node, GeneValue)]
