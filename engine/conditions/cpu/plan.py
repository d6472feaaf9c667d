"""Parts of a strategy, and the ways to decide its conditions, for all series alike."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import cast

from engine.conditions.cpu.candidates import Bounded, bound_conjunction
from engine.conditions.cpu.codes import code_conjunction
from engine.conditions.cpu.expression_vm import RELATIONS
from engine.conditions.cpu.parts import Part, is_fresh, name_sides, name_words, write_formula
from engine.indicators.individuals import list_gene_columns, read_row
from strategy.conditions import AllOf, Compare, Condition
from strategy.expressions import Expression, holds_row
from strategy.genes import GenomeLayout
from strategy.nodes import Node


class ConditionPlan:
    """Parts of a strategy: each condition, row and number that it names, once.

    Args:
        layout: Of the genomes.
        conditions: All that will be asked for.
        values: What is read beside them.

    Attributes:
        relations: Relations of two sides by their numbers.
        bounded: Conjunctions with bounds by their numbers.
        coded: Those with codes: the comparisons, and all other conditions.
        passing: Names of parts that only conditions of the same whole genes read, never again.
        outermost: Numbers of conditions that no other part reads.
        places: Rows that comparisons and values read, with their places.
        reads: The same rows in order, as a bank knows them.
    """

    def __init__(
        self,
        layout: GenomeLayout,
        conditions: Sequence[Condition],
        values: Sequence[Expression],
    ) -> None:
        self._layout, self._is_whole = layout, layout.is_int.tolist()
        self._parts: dict[Node, Part] = {}
        self.relations: dict[tuple[int, int], set[int]] = {}
        self.bounded: dict[int, Bounded] = {}
        self.coded: dict[int, tuple[list[Part], list[Part]]] = {}
        asked = [self.part(condition) for condition in conditions]
        self.passing, self.outermost = self._list_passing(asked), self._list_outermost(asked)
        self.places = self._list_places([self.part(value) for value in values])
        self.reads = [read_row(cast(Expression, part.node), layout) for part in self.places]

    def part(self, node: Node) -> Part:
        """The part of a node; equal nodes are one part."""
        if node not in self._parts:
            columns = list_gene_columns(node, self._layout)
            below = node.parts if is_fresh(node) or isinstance(node, Condition) else ()
            parts = tuple(self.part(child) for child in below)
            made = Part(len(self._parts), node, parts, columns, is_fresh(node))
            if isinstance(node, Compare):
                sides = self.relations.setdefault((parts[0].number, parts[1].number), set())
                sides.add(RELATIONS[node.relation])
            self._parts[node] = made
            if isinstance(node, AllOf):
                self._prepare(made, node)
        return self._parts[node]

    def _prepare(self, part: Part, conjunction: AllOf) -> None:
        """Look for faster ways to decide a conjunction."""
        coded = code_conjunction(conjunction, self._layout)
        if coded:
            compares, rest = ([self.part(each) for each in some] for some in coded)
            self.coded[part.number] = compares, rest
        bounded = bound_conjunction(conjunction, self._layout)
        # Codes decide as fast at all bars.
        if bounded and not (coded and set(bounded.compares) <= set(coded.compares)):
            self.bounded[part.number] = bounded
            for condition in (bounded.impossible, *bounded.compares, *bounded.rest):
                self.part(condition)

    def _list_places(self, values: Sequence[Part]) -> dict[Part, int]:
        """The rows that comparisons and these values read, and places of them."""
        read = [*values]
        for part in self._parts.values():
            if isinstance(part.node, Compare):
                read += part.below
        leaves = write_formula(*read)[0].leaves
        rows = [leaf for leaf in leaves if holds_row(leaf.node)]
        return {leaf: number for number, leaf in enumerate(rows)}

    def _list_passing(self, asked: Sequence[Part]) -> set[Hashable]:
        """Names of parts that only conditions of the same whole genes read, never again."""
        lasting, names = {name_words(part) for part in asked}, set[Hashable]()
        for part in self._parts.values():
            bounded = self.bounded.get(part.number)
            conditions = (bounded.impossible, *bounded.rest) if bounded else ()
            _, rest = self.coded.get(part.number, ((), ()))
            for below in (*part.below, *map(self.part, conditions), *rest):
                if isinstance(below.node, Condition):
                    names.add(name_words(below))
                    if below.columns != part.columns or not self.are_whole(part.columns):
                        lasting.add(name_words(below))
            if isinstance(part.node, Compare):
                names.add(name_sides(part))
        return names - lasting

    def _list_outermost(self, asked: Sequence[Part]) -> set[int]:
        """Numbers of conditions that no other part reads."""
        read = [below for part in self._parts.values() for below in part.below]
        read += [below for _, rest in self.coded.values() for below in rest]
        read += [self.part(rest) for bounded in self.bounded.values() for rest in bounded.rest]
        return {part.number for part in asked} - {part.number for part in read}

    def split(self, part: Part) -> tuple[Sequence[Part], Sequence[Part]]:
        """Comparisons to decide where a condition is read, and what holds there as well."""
        is_late = part.number in self.coded and part.number in self.outermost
        return self.coded[part.number] if is_late else ((), (part,))

    def are_whole(self, columns: tuple[int, ...]) -> bool:
        """True if no real gene stands in some columns of a genome."""
        return all(self._is_whole[column] for column in columns)


@lru_cache(16)
def plan_conditions(
    layout: GenomeLayout, conditions: tuple[Condition, ...], values: tuple[Expression, ...]
) -> ConditionPlan:
    """The plan of a strategy, which engines of many series share."""
    return ConditionPlan(layout, conditions, values)
