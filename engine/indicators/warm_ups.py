"""The first bar at which each individual of a population may signal."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from engine.backend import Floats, Ints
from engine.indicators.individuals import KEPT_ROWS, Individuals, list_gene_columns, resolve_values
from engine.indicators.keys import Keys
from strategy.conditions import Compare, OverBars, Switch
from strategy.expressions import Arithmetic, Expression, GeneValue, Number, Setting
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.parts import PARTS
from strategy.rows import count_warm_up

Columns = tuple[int, ...]
"""Genes, columns of a genome."""

Settings = tuple[Setting, ...]


class Reach(NamedTuple):
    """A row, and how far back conditions look at it."""

    row: Expression  # the row
    ago: int  # bars
    # Lengths of conditions that hold it or remember it, each reaching back one bar less.
    spans: Settings = ()
    switches: Settings = ()  # it is looked at where all of them are on


class WarmUps:
    """Warm-up of a strategy's rows and conditions before it may signal."""

    def __init__(self, spec: Strategy) -> None:
        self._layout: GenomeLayout = spec.layout
        self._least, groups = _group_reaches(spec)
        self._varying = [_Varying(group) for group in groups]
        self._keys = {group.columns: Keys(group.columns) for group in groups}

    def of(self, individuals: Individuals) -> Ints:
        """First bar that may signal, [P]; [1] if the same for all."""
        warm_ups, here = np.full(1, self._least, np.int64), individuals.here
        sets = {
            columns: keys.number(here if columns else here[:1])
            for columns, keys in self._keys.items()
        }
        for varying in self._varying:
            group = varying.group
            numbers, fresh = sets[group.columns]
            varying.learn(here[fresh])
            bars = varying.bars[numbers]
            for span in group.spans:
                held = resolve_values(span, self._layout, here)
                bars = bars + held.astype(np.int64) - 1
            for switch in group.switches:
                bars = np.where(resolve_values(switch, self._layout, here) > 0, bars, 0)
            warm_ups = np.maximum(warm_ups, bars)
        return warm_ups


class _Group(NamedTuple):
    """Rows that are looked at in the same way."""

    columns: Columns
    spans: Settings
    switches: Settings
    count: Callable[[tuple[float, ...]], int]  # bars that they need for values of their genes


class _Varying:
    """Needs of rows for the values of genes that were seen."""

    def __init__(self, group: _Group) -> None:
        self.group = group
        self.bars: Ints = np.empty(0, np.int64)

    def learn(self, genomes: Floats) -> None:
        """Count bars for genomes [n, G] with new values."""
        known = list(map(self.group.count, map(tuple, genomes[:, self.group.columns].tolist())))
        self.bars = np.concatenate([self.bars, np.array(known, np.int64)])


@lru_cache(16)
def _group_reaches(spec: Strategy) -> tuple[int, list[_Group]]:
    """Bars that any individual needs, and groups of rows whose needs vary."""
    reaches: dict[Reach, None] = {}
    for name in PARTS:
        part = getattr(spec, name)
        if isinstance(part, Node):
            _note(part, Reach(Number(0.0), 0), reaches)
    groups: dict[tuple[Columns, Settings, Settings], list[Reach]] = {}
    for reach in reaches:
        columns = list_gene_columns(reach.row, spec.layout)
        groups.setdefault((columns, reach.spans, reach.switches), []).append(reach)
    fixed = groups.pop(((), (), ()), [])
    least = max((count_warm_up(reach.row, {}) + reach.ago for reach in fixed), default=0)
    return least, [
        _Group(*group, _build_count(rows, [spec.layout.names[column] for column in group[0]]))
        for group, rows in groups.items()
    ]


def _build_count(rows: list[Reach], names: list[str]) -> Callable[[tuple[float, ...]], int]:
    """Counts bars that rows need; markets of many searches ask for the same values."""

    @lru_cache(KEPT_ROWS)
    def count(values: tuple[float, ...]) -> int:
        genes = dict(zip(names, values, strict=True))
        return max(count_warm_up(reach.row, genes) + reach.ago for reach in rows)

    return count


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
