"""Genes: the numbers that a search may change, their bounds, and how a genome is laid out.

A genome is one row of float64, one column a gene, in the order of the layout. Integer genes are
held as whole float64 values, which are exact far beyond any length that a search could want.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from strategy.errors import GeneError, unknown

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHORTEST_LENGTH_BARS = 2
"""No scaled length falls below this: a rolling window needs two bars."""

LONGEST_LENGTH = 2**31 - 1
"""Whole genes stay below this, so that every engine can hold them in 32 bits."""


@dataclass(frozen=True)
class Gene:
    """One number of a strategy that a search may change.

    Args:
        name: Identifier, unique within a strategy.
        kind: ``"int"`` or ``"float"``.
        low: Smallest legal value, in `unit`.
        high: Largest legal value, in `unit`; equal to `low` means frozen.
        default: Value of the strategy as published, in `unit`.
        unit: What the number counts. ``"bars"`` marks a length, which scales with the timeframe.
        positive: Whether only values above 0 make sense, whatever the bounds; lengths always are.

    Raises:
        GeneError: When a value is not finite, is out of order, or is not whole for an int gene.
    """

    name: str
    kind: Literal["int", "float"]
    low: float
    high: float
    default: float
    unit: str = "1"
    positive: bool = False

    def __post_init__(self) -> None:
        for label, value in (("low", self.low), ("high", self.high), ("default", self.default)):
            self.check(value, label)
        if self.low > self.high:
            raise GeneError(f"gene '{self.name}': low {self.low} is above high {self.high}")
        if not self.low <= self.default <= self.high:
            raise GeneError(
                f"gene '{self.name}': default {self.default} is outside {self.low} .. {self.high}"
            )

    @property
    def is_int(self) -> bool:
        """Whether only whole values are legal."""
        return self.kind == "int"

    @property
    def is_length(self) -> bool:
        """Whether the gene counts bars."""
        return self.is_int and self.unit == "bars"

    def check(self, value: float, label: str = "value") -> None:
        """Refuse a value that this gene can never have, whatever its bounds; `label` names it.

        Raises:
            GeneError: When it is not finite, not whole for an int gene, or not positive where it
                must be.
        """
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise GeneError(f"gene '{self.name}': {label} must be a finite number, got {value!r}")
        if self.is_int and value != int(value):
            raise GeneError(f"gene '{self.name}': {label} must be whole, got {value!r}")
        if self.is_int and abs(value) > LONGEST_LENGTH:
            raise GeneError(f"gene '{self.name}': {label} must be at most {LONGEST_LENGTH}")
        if self.is_length and value < 1:
            raise GeneError(f"gene '{self.name}': {label} must be at least 1 bar, got {value!r}")
        if self.positive and value <= 0:
            raise GeneError(f"gene '{self.name}': {label} must be above 0, got {value!r}")


@dataclass(frozen=True)
class LessThan:
    """The constraint that one whole gene stays below another.

    Args:
        left: Name of the gene that must be smaller.
        right: Name of the gene that must be larger.
    """

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
    def defaults(self) -> Floats:
        """The published genome, [G]."""
        return np.array([gene.default for gene in self.genes], dtype=np.float64)

    def index(self, name: str) -> int:
        """Column of a gene; raises `GeneError` when there is none of that name."""
        if name not in self.names:
            raise GeneError(unknown("gene", name, list(self.names)))
        return self.names.index(name)

    def gene(self, name: str) -> Gene:
        """The gene of that name; raises `GeneError` when there is none."""
        return self.genes[self.index(name)]

    def corners(self, names: Sequence[str]) -> Iterator[dict[str, float]]:
        """Every combination of the bounds of some genes, by name."""
        bounds = [(self.gene(name).low, self.gene(name).high) for name in names]
        for corner in product(*bounds):
            yield dict(zip(names, corner, strict=True))

    def encode(self, values: Mapping[str, float]) -> Floats:
        """Turn named values into a genome [G]; genes that are not named keep their default.

        Bounds are the search's concern and are not applied; constraints are.

        Raises:
            GeneError: When a name is unknown, a value is not legal, or a constraint is broken.
        """
        genome = self.defaults.copy()
        for name, value in values.items():
            gene = self.gene(name)
            gene.check(value)
            genome[self.index(name)] = value
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

    def clip(self, genomes: Floats) -> Floats:
        """Genomes [P, G] with whole genes rounded and every gene inside its bounds, a new array."""
        clipped = np.where(self.is_int, np.rint(genomes), genomes)
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
        return np.array([_least(gene) for gene in self.genes])

    @cached_property
    def most(self) -> Floats:
        """Upper limit of genomes, whatever the bounds, [G]."""
        finite = float(np.finfo(np.float64).max)
        return np.array([float(LONGEST_LENGTH) if gene.is_int else finite for gene in self.genes])

    @cached_property
    def ordered(self) -> npt.NDArray[np.int64]:
        """Columns of each pair whose first gene must be below the second, [N, 2]."""
        pairs = [(self.index(pair.left), self.index(pair.right)) for pair in self.constraints]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def is_legal(self, genomes: Floats) -> npt.NDArray[np.bool_]:
        """Flags of genomes [P, G] that are finite, whole where they must be, in order, long enough.

        Bounds are not asked: a person may test a genome outside the search's bounds.
        """
        # A comparison with NaN is false, so that what is not finite fails one of these.
        inside = (genomes >= self.least) & (genomes <= self.most)
        whole = ~self.is_int | (genomes == np.rint(genomes))
        below = genomes[:, self.ordered[:, 0]] < genomes[:, self.ordered[:, 1]]
        legal: npt.NDArray[np.bool_] = (inside & whole).all(axis=1) & below.all(axis=1)
        return legal

    def check(self, genomes: Floats, least: Floats, most: Floats) -> None:
        """Refuse genomes [P, G] that are not legal, or outside of what is needed of each gene, [G].

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

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> "GenomeLayout":
        """Another layout, with bounds (low, high) by gene.

        A default outside its new bounds moves to the nearer one.

        Raises:
            GeneError: When a name is unknown or a bound is not legal.
        """
        for name in bounds:
            self.index(name)
        return replace(
            self,
            genes=tuple(
                _rebound(gene, *bounds[gene.name]) if gene.name in bounds else gene
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
        genes = tuple(_scale(gene, factor) for gene in self.genes)
        try:
            return replace(self, genes=genes)
        except GeneError as error:
            raise GeneError(
                f"lengths times {factor:g} are too short for such bars: {error}"
            ) from None

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


def _rebound(gene: Gene, low: float, high: float) -> Gene:
    bounded = replace(gene, low=low, high=max(low, high), default=low)
    if high < low:
        raise GeneError(f"gene '{gene.name}': low {low} is above high {high}")
    return replace(bounded, default=min(max(gene.default, low), high))


def _scale(gene: Gene, factor: float) -> Gene:
    if not gene.is_length or factor == 1:
        return gene

    def to_bars(value: float) -> int:
        return max(SHORTEST_LENGTH_BARS, round(value * factor))

    return replace(
        gene, low=to_bars(gene.low), high=to_bars(gene.high), default=to_bars(gene.default)
    )


def _least(gene: Gene) -> float:
    """The smallest value that a gene can have, whatever its bounds."""
    if gene.is_length:
        return 1.0
    above_zero = 1.0 if gene.is_int else float(np.nextafter(0.0, 1.0))
    if gene.positive:
        return above_zero
    return -float(LONGEST_LENGTH) if gene.is_int else -float(np.finfo(np.float64).max)
