"""The first bar at which each individual of a population may signal."""

from typing import NamedTuple

import numpy as np

from engine.backend import Ints
from engine.indicators.individuals import Individuals, list_gene_columns, resolve_values
from engine.indicators.keys import Keys
from strategy.conditions import Compare, OverBars, Switch
from strategy.expressions import Arithmetic, Expression, GeneValue, Number, Setting
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.parts import PARTS
from strategy.rows import count_warm_up


class Reach(NamedTuple):
    """A row, and how far back conditions look at it."""

    row: Expression  # the row
    ago: int  # bars
    # Lengths of conditions that hold it or remember it, each reaching back one bar less.
    spans: tuple[Setting, ...] = ()
    switches: tuple[Setting, ...] = ()  # it is looked at where all of them are on


class WarmUps:
    """What a strategy's rows and conditions need before it may signal.

    Args:
        spec: The strategy.
    """

    def __init__(self, spec: Strategy) -> None:
        self._layout: GenomeLayout = spec.layout
        reaches: dict[Reach, None] = {}
        for name in PARTS:
            part = getattr(spec, name)
            if isinstance(part, Node):
                _note(part, Reach(Number(0.0), 0), reaches)
        self._varying = [
            _Varying(reach, Keys(list_gene_columns(reach.row, spec.layout)), [])
            for reach in reaches
            if list_gene_columns(reach.row, spec.layout) or reach.spans or reach.switches
        ]
        fixed = reaches.keys() - {leaf.reach for leaf in self._varying}
        self._least = max((count_warm_up(leaf.row, {}) + leaf.ago for leaf in fixed), default=0)

    def of(self, individuals: Individuals) -> Ints:
        """First bar that may signal, [P]; [1] where it is the same for all."""
        warm_ups = np.full(1, self._least, np.int64)
        for leaf in self._varying:
            bars = self._of_row(leaf, individuals) + leaf.reach.ago
            for span in leaf.reach.spans:
                held = resolve_values(span, self._layout, individuals.here)
                bars = bars + held.astype(np.int64) - 1
            for switch in leaf.reach.switches:
                bars = np.where(resolve_values(switch, self._layout, individuals.here) > 0, bars, 0)
            warm_ups = np.maximum(warm_ups, bars)
        return warm_ups

    def _of_row(self, one: "_Varying", individuals: Individuals) -> Ints:
        if not one.keys.columns:
            return np.full(1, count_warm_up(one.reach.row, {}), np.int64)
        numbers, fresh = one.keys.number(individuals.here)
        for values in individuals.here[fresh][:, one.keys.columns].tolist():
            names = (self._layout.names[column] for column in one.keys.columns)
            one.known.append(count_warm_up(one.reach.row, dict(zip(names, values, strict=True))))
        return np.array(one.known, np.int64)[numbers]


class _Varying(NamedTuple):
    """A row whose warm-up genes decide, and what it was for their values."""

    reach: Reach
    keys: Keys
    known: list[int]


def _note(node: Node, reach: Reach, found: dict[Reach, None]) -> None:
    """Note every row below a node, and how far back it is looked at."""
    if isinstance(node, GeneValue | Number):
        return
    if isinstance(node, Expression) and not isinstance(node, Arithmetic):
        found[reach._replace(row=node)] = None
        return
    if isinstance(node, Compare):
        reach = reach._replace(ago=reach.ago + node.bars_ago)
    if isinstance(node, OverBars):
        reach = reach._replace(spans=(*reach.spans, node.bars))
    if isinstance(node, Switch):
        reach = reach._replace(switches=(*reach.switches, node.gene))
    for part in node.parts:
        _note(part, reach, found)
