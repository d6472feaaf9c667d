"""Conjunctions asked only at candidates: bars at which they can hold for some values of real genes.

A comparison in which one real gene stands once, and nowhere below a divisor, `abs` or a row,
depends on that gene monotonically at each bar, because each operation does in either side, also
after it is rounded. So where its opposite holds for both bounds of the gene, it holds for no value
between them. The bars left follow from whole genes alone: they are listed once for each set
of their values, and the values for comparisons there are copied side by side.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from engine.conditions.cpu.parts import Bound
from engine.runtime.compiling.loops import compiled_loop, compiled_unlocked
from engine.runtime.cpu.bitset import LAST_BIT, ONE, Words
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.simd8 import load_indirect_value, load_indirect_word, lowest_place
from engine.runtime.cpu.types import Floats, Ints
from strategy.conditions import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    negate_condition,
    split_conjunction,
)
from strategy.expressions import Arithmetic, GeneValue
from strategy.gene import Gene
from strategy.genes import GenomeLayout
from strategy.nodes import Node, transform_nodes, walk

MOST_SETS = 1024
"""Sets of values of the whole genes that decide candidates; beyond, few would come up again."""

SEVERAL = 2
"""Counted for a real gene that does not act monotonically."""


class Bounded(NamedTuple):
    """A conjunction with some comparisons that have bounds."""

    # Comparisons with one real gene each, on which it acts monotonically.
    compares: tuple[Compare, ...]
    rest: tuple[Condition, ...]  # the other conditions
    # True where all of it holds for no values of real genes within their bounds; whole genes
    # decide it.
    impossible: Condition
    columns: tuple[int, ...]  # columns of these real genes


def bound_conjunction(conjunction: AllOf, layout: GenomeLayout) -> Bounded | None:
    """The comparisons of a conjunction that have bounds, and the bars ruled out; None without."""
    conditions = tuple(split_conjunction(conjunction))
    genes = {condition: _list_genes(condition, layout) for condition in conditions}
    whole = {
        condition: {gene for gene in genes[condition] if gene.is_int} for condition in conditions
    }
    bounded = [
        condition
        for condition in conditions
        if isinstance(condition, Compare)
        and _has_bounds(condition, layout)
        and prod(gene.high - gene.low + 1 for gene in whole[condition]) <= MOST_SETS
    ]
    if not bounded:
        return None
    # As many as possible share their candidates.
    shared = max(
        (whole[condition] for condition in bounded),
        key=lambda some: sum(whole[condition] <= some for condition in bounded),
    )
    compares = tuple(condition for condition in bounded if whole[condition] <= shared)
    fixed = [condition for condition in conditions if genes[condition] <= shared]
    possible = AllOf((*(_widen(condition, layout) for condition in compares), *fixed))
    real = {gene.name for condition in compares for gene in genes[condition] - whole[condition]}
    return Bounded(
        compares,
        tuple(condition for condition in conditions if condition not in compares),
        negate_condition(possible),
        tuple(sorted(map(layout.index, real))),
    )


def _list_genes(node: Node, layout: GenomeLayout) -> set[Gene]:
    return {_find_gene(leaf, layout) for leaf in walk(node) if isinstance(leaf, GeneValue)}


def _find_gene(node: GeneValue, layout: GenomeLayout) -> Gene:
    return layout.genes[layout.index(node.gene.name)]


def _has_bounds(compare: Compare, layout: GenomeLayout) -> bool:
    return _count_real(compare.left, layout) + _count_real(compare.right, layout) == 1


def _count_real(node: Node, layout: GenomeLayout) -> int:
    """How many real genes stand in an expression, or more where one is not monotonic."""
    if isinstance(node, GeneValue):
        return int(not _find_gene(node, layout).is_int)
    counts = [_count_real(part, layout) for part in node.parts]
    if isinstance(node, Arithmetic) and node.operation != "abs":
        is_divisor = node.operation == "/" and counts[1] > 0
        return sum(counts) + is_divisor * SEVERAL
    return sum(counts) * SEVERAL


def _widen(compare: Compare, layout: GenomeLayout) -> Condition:
    """A comparison that holds for either bound of its real gene."""
    return AnyOf(tuple(_set_to_bound(compare, end, layout) for end in ("low", "high")))


def _set_to_bound(compare: Compare, end: str, layout: GenomeLayout) -> Compare:
    def replace_gene(node: Node) -> Node:
        if not isinstance(node, GeneValue) or (gene := _find_gene(node, layout)).is_int:
            return node
        return Bound(getattr(gene, end))

    return transform_nodes(compare, replace_gene)


@compiled_loop
def copy_candidates(rows: Ints, u: int, bars: Ints, bars_ago: Ints) -> Floats:
    """Candidates [S] of one individual, and behind them the value of each row there, [1 + L, S].

    Args:
        rows: [U, L] addresses of rows.
        u: The individual.
        bars: [S].
        bars_ago: [L] so many bars before; NaN before the first bar.
    """
    copies = np.empty((1 + rows.shape[1], bars.size))
    for s in range(bars.size):
        copies[0, s] = bars[s]
        for k in range(rows.shape[1]):
            bar = bars[s] - bars_ago[k]
            copies[1 + k, s] = load_indirect_value(rows, u, k, bar) if bar >= 0 else np.nan
    return copies


@compiled_unlocked
def set_kept_bars(kept: Words, others: Ints, shared: Ints, out: Words) -> None:
    """Set the bars of candidates that were kept, of one individual after another.

    Other threads take others.

    Args:
        kept: [U, M] bits of the candidates at which all comparisons hold.
        others: [U, 1 + K] addresses of candidates, and of words that must hold as well.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [U, N] zeros; receives the bars.
    """
    u = take(shared, 0)
    while u < out.shape[0]:
        for i in range(kept.shape[1]):
            word = kept[u, i]
            while word != 0:
                bar = int(load_indirect_value(others, u, 0, i * 64 + lowest_place(word)))
                word &= word - ONE
                word_number, bit = bar >> 6, np.uint64(bar & LAST_BIT)
                holds = ONE
                for k in range(1, others.shape[1]):
                    holds &= load_indirect_word(others, u, k, word_number) >> bit
                out[u, word_number] |= holds << bit
        u = take(shared, 0)
