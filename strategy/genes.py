"""Genes: the numbers that a search may change, their bounds, and how a genome is laid out.

A genome is one row of float64, one column a gene, in the order of the layout. Integer genes are
held as whole float64 values, which are exact far beyond any length that a search could want.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from strategy.errors import GeneError
from strategy.gene import (
    LONGEST_LENGTH,
    Gene,
    GeneText,
    as_steps,
    compute_step_values,
    find_gene_name,
    find_least,
    scale,
    with_bounds,
)

Floats = npt.NDArray[np.float64]

Ints = npt.NDArray[np.int64]

Value = TypeVar("Value")


@dataclass(frozen=True)
class LessThan:
    """The constraint that one whole gene stays below another."""

    left: str
    right: str


@dataclass(frozen=True)
class GenomeLayout:
    """The genes of a strategy in their order, with the constraints between them.

    Args:
        genes: [G], names unique.
        constraints: Pairs of int genes; a gene stands in at most one pair, so that repairing one
            pair never breaks another.

    Raises:
        GeneError: When names repeat, a constraint names no int gene, or no genome can satisfy it.
    """

    genes: tuple[Gene, ...]
    constraints: tuple[LessThan, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.genes):
            raise GeneError(f"gene names repeat: {', '.join(self.names)}")
        paired: set[str] = set()
        for pair in self.constraints:
            self._check_constraint(pair, paired)
            paired |= {pair.left, pair.right}

    def __len__(self) -> int:
        return len(self.genes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Gene names in layout order, [G]."""
        return tuple(gene.name for gene in self.genes)

    @cached_property
    def low(self) -> Floats:
        """Smallest legal values, [G]."""
        return np.array([gene.low for gene in self.genes], dtype=np.float64)

    @cached_property
    def high(self) -> Floats:
        """Largest legal values, [G]."""
        return np.array([gene.high for gene in self.genes], dtype=np.float64)

    @cached_property
    def is_int(self) -> npt.NDArray[np.bool_]:
        """Flags of whole genes, [G]."""
        return np.array([gene.is_int for gene in self.genes], dtype=np.bool_)

    @cached_property
    def is_category(self) -> npt.NDArray[np.bool_]:
        """Flags of genes with values without an order, [G]."""
        return np.array([bool(gene.options) for gene in self.genes], dtype=np.bool_)

    @cached_property
    def step(self) -> Floats:
        """Steps of genes that have one, [G]; 0 for all others."""
        return np.array([gene.step or 0.0 for gene in self.genes], dtype=np.float64)

    @cached_property
    def defaults(self) -> Floats:
        """The published genome, [G]."""
        return np.array([gene.default for gene in self.genes], dtype=np.float64)

    def index(self, name: str) -> int:
        """Column of the gene that a name means; raises `GeneError` when it means none alone."""
        return self.names.index(find_gene_name(name, self.names))

    def name_genes(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Values by the names in records, of genes as a person names them.

        A name that means no gene alone stays as it is: its reader refuses it.

        Raises:
            GeneError: When two names mean one gene.
        """
        named: dict[str, Value] = {}
        for text, value in values.items():
            name = text
            with suppress(GeneError):
                name = find_gene_name(text, self.names)
            if name in named:
                raise GeneError(f"gene '{name}' is given twice")
            named[name] = value
        return named

    def gene(self, name: str) -> Gene:
        """The gene that a name means; raises `GeneError` when it means none alone."""
        return self.genes[self.index(name)]

    def corners(self, names: Sequence[str]) -> Iterator[dict[str, float]]:
        """Every combination of the extremes of some genes, by name."""
        for corner in product(*(self.gene(name).extremes for name in names)):
            yield dict(zip(names, corner, strict=True))

    def encode(self, values: Mapping[str, object]) -> Floats:
        """Turn named values, numbers or names of options, into a genome [G].

        Genes that are not named keep their default.

        Bounds are the search's concern and are not applied; constraints are.

        Raises:
            GeneError: When a name is unknown, a value is not legal, or a constraint is broken.
        """
        genome = self.defaults.copy()
        for name, value in self.name_genes(values).items():
            genome[self.index(name)] = self.gene(name).parse(value)
        for pair in self.constraints:
            left, right = genome[self.index(pair.left)], genome[self.index(pair.right)]
            if not left < right:
                raise GeneError(
                    f"'{pair.left}' must be below '{pair.right}', got {left:g} and {right:g}"
                )
        return genome

    def decode(self, genome: Floats) -> dict[str, int | float]:
        """Turn a genome [G] into named values; whole genes come back as int."""
        return {
            gene.name: int(value) if gene.is_int else float(value)
            for gene, value in zip(self.genes, genome, strict=True)
        }

    def show(self, genome: Floats) -> dict[str, GeneText]:
        """Turn a genome [G] into named values for people; options come as their names."""
        return {
            gene.name: gene.show(value)
            for gene, value in zip(self.genes, genome.tolist(), strict=True)
        }

    @cached_property
    def grid(self) -> "GenomeLayout":
        """The same with a whole gene, the number of its step, for each gene with a step."""
        if not self.step.any():
            return self
        return GenomeLayout(tuple(map(as_steps, self.genes)), self.constraints)

    def to_grid(self, genomes: Floats) -> Floats:
        """Genomes [P, G] of `grid`, that of the nearest step."""
        if self.grid is self:
            return genomes
        has_step = self.step > 0
        steps = np.rint((genomes - self.low) / np.where(has_step, self.step, 1.0))
        return np.where(has_step, steps, genomes)

    def from_grid(self, genomes: Floats) -> Floats:
        """Genomes [P, G] of those of `grid`."""
        if self.grid is self:
            return genomes
        values = compute_step_values(genomes, self.low, self.high, self.step)
        return np.where(self.step > 0, values, genomes)

    @cached_property
    def table(self) -> Floats:
        """Bounds and kinds of genes as compiled loops read them, [7, G].

        Bounds of `grid`, its flags of whole genes and of those without order; steps, and bounds.
        """
        grid = self.grid
        kinds = grid.is_int, grid.is_category
        return np.array([grid.low, grid.high, *kinds, self.step, self.low, self.high])

    def axis_moves(self, reach: Floats) -> Floats:
        """Moves along one gene of `grid` each: plus its reach, in order, then each minus, [n, G].

        Behind them stand moves to the other options of genes without order, with a reach of 1.

        Args:
            reach: How far each gene moves, [G]; 0 for one that stays.
        """
        plus = np.diag(reach)[reach > 0]
        columns = np.flatnonzero(self.is_category).tolist()
        others = [self._move_to_other_options(column) for column in columns]
        return np.concatenate([plus, -plus, *others])

    def move(self, genomes: Floats, moves: Floats) -> Floats:
        """Genomes [..., G] after moves on `grid`, neither clipped nor repaired.

        Options are counted round.
        """
        moved = self.to_grid(genomes) + moves
        if self.is_category.any():
            rounds = self.low + np.mod(moved - self.low, self.high - self.low + 1.0)
            moved = np.where(self.is_category, rounds, moved)
        return self.from_grid(moved)

    def clip(self, genomes: Floats) -> Floats:
        """Genomes [P, G] of whole numbers and steps inside their bounds, a new array."""
        clipped = np.where(self.is_int, np.rint(genomes), self.from_grid(self.to_grid(genomes)))
        np.maximum(clipped, self.low, out=clipped)
        np.minimum(clipped, self.high, out=clipped)
        return clipped

    def repair(self, genomes: Floats) -> tuple[Floats, int]:
        """Clip genomes [P, G], then restore the constraints in one pass.

        The larger gene of a broken pair is raised to one above the smaller; where its bound stands
        in the way, the smaller gene gives way instead. Returns legal genomes [P, G], and how many
        individuals broke a constraint.
        """
        legal = self.clip(genomes)
        broken = np.zeros(len(legal), dtype=np.bool_)
        for pair in self.constraints:
            i_left, i_right = self.index(pair.left), self.index(pair.right)
            is_wrong = ~(legal[:, i_left] < legal[:, i_right])
            raised = np.minimum(legal[:, i_left] + 1.0, self.high[i_right])
            legal[:, i_right] = np.where(is_wrong, raised, legal[:, i_right])
            lowered = np.minimum(legal[:, i_left], legal[:, i_right] - 1.0)
            legal[:, i_left] = np.where(is_wrong, lowered, legal[:, i_left])
            broken |= is_wrong
        return legal, int(broken.sum())

    @cached_property
    def least(self) -> Floats:
        """Lower limit of genomes, whatever the bounds, [G]."""
        return np.array([find_least(gene) for gene in self.genes])

    @cached_property
    def most(self) -> Floats:
        """Upper limit of genomes, whatever the bounds, [G]."""
        finite = float(np.finfo(np.float64).max)
        return np.array([float(LONGEST_LENGTH) if gene.is_int else finite for gene in self.genes])

    @cached_property
    def ordered(self) -> npt.NDArray[np.int64]:
        """Columns of each pair with a first gene that must be below the second, [N, 2]."""
        pairs = [(self.index(pair.left), self.index(pair.right)) for pair in self.constraints]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def is_legal(self, genomes: Floats) -> npt.NDArray[np.bool_]:
        """Flags of genomes [P, G] that are finite, whole where they must be, in order, long enough.

        Bounds are not asked: a person may test a genome outside the search's bounds.
        """
        # A comparison with NaN is false, so a value that is not finite fails one of these.
        inside = (genomes >= self.least) & (genomes <= self.most)
        whole = ~self.is_int | (genomes == np.rint(genomes))
        below = genomes[:, self.ordered[:, 0]] < genomes[:, self.ordered[:, 1]]
        legal: npt.NDArray[np.bool_] = (inside & whole).all(axis=1) & below.all(axis=1)
        return legal

    def check(self, genomes: Floats, least: Floats, most: Floats) -> None:
        """Refuse illegal genomes [P, G], and values outside the needed range of each gene, [G].

        Raises:
            GeneError: Naming the first individual that is refused, and its gene.
        """
        inside = (genomes >= least) & (genomes <= most)
        legal = self.is_legal(genomes) & inside.all(axis=1)
        if legal.all():
            return
        first = int(legal.argmin())
        try:
            self.encode(dict(zip(self.names, genomes[first].tolist(), strict=True)))
        except GeneError as error:
            raise GeneError(f"individual {first}: {error}") from None
        column = int(inside[first].argmin())
        value, low, high = genomes[first, column], least[column], most[column]
        wanted = f"at most {high:g}" if value > high else f"at least {low:g}"
        raise GeneError(
            f"individual {first}: gene '{self.names[column]}' is {value:g}, what reads it needs "
            f"{wanted}"
        )

    def with_bounds(self, bounds: Mapping[str, tuple[float | str, float | str]]) -> "GenomeLayout":
        """Another layout, with bounds (low, high) by gene, numbers or names of options.

        A default outside its new bounds moves to the nearer one.

        Raises:
            GeneError: When a name is unknown or a bound is not legal.
        """
        named = self.name_genes(bounds)
        for name in named:
            self.index(name)
        return replace(
            self,
            genes=tuple(
                with_bounds(gene, *named[gene.name]) if gene.name in named else gene
                for gene in self.genes
            ),
        )

    def scaled(self, factor: float) -> "GenomeLayout":
        """Multiply every gene counted in bars, for another timeframe.

        `factor` is bars of the new timeframe per bar of the old, such as 0.25 from 15 minutes to
        one hour; 1 changes nothing. Lengths are rounded to whole bars, none below two.

        Raises:
            GeneError: When bars are so long that rounding leaves no genome inside a constraint.
        """
        genes = tuple(scale(gene, factor) for gene in self.genes)
        try:
            return replace(self, genes=genes)
        except GeneError as error:
            raise GeneError(
                f"lengths times {factor:g} are too short for such bars: {error}"
            ) from None

    def _move_to_other_options(self, column: int) -> Floats:
        """Moves [k, G] of a gene to its options that are no neighbours by number."""
        farther = np.arange(2.0, self.high[column] - self.low[column])
        moves = np.zeros((len(farther), len(self)))
        moves[:, column] = farther
        return moves

    def _check_constraint(self, pair: LessThan, paired: set[str]) -> None:
        left, right = self.gene(pair.left), self.gene(pair.right)
        if not (left.is_int and right.is_int):
            raise GeneError(f"'{left.name}' < '{right.name}': both genes must be int")
        if {left.name, right.name} & paired or left.name == right.name:
            raise GeneError(f"'{left.name}' < '{right.name}': a gene stands in one constraint only")
        if not left.low < right.high:
            raise GeneError(
                f"no genome can have '{left.name}' below '{right.name}': "
                f"{left.low:g} is not below {right.high:g}"
            )
