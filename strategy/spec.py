"""A strategy as plain data: rows it reads, comparisons that signal, a bracket that exits."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal

from strategy.errors import GeneError, StrategyError, unknown
from strategy.genes import Floats, Gene, GenomeLayout
from strategy.indicators import INDICATORS, SOURCES


@dataclass(frozen=True)
class Row:
    """One indicator over the bars, its lengths taken from genes.

    Args:
        name: How comparisons and the bracket refer to it.
        indicator: A name in `INDICATORS`.
        source: What the indicator reads, a name in `SOURCES`; empty where the indicator fixes it.
        lengths: Names of the int genes that give its lengths in bars.
    """

    name: str
    indicator: str
    source: str = ""
    lengths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.indicator not in INDICATORS:
            raise StrategyError(unknown("indicator", self.indicator, list(INDICATORS)))
        indicator = INDICATORS[self.indicator]
        if indicator.fixed_source and self.source not in ("", indicator.fixed_source):
            raise StrategyError(
                f"row '{self.name}': {self.indicator} always reads "
                f"{indicator.fixed_source}, not {self.source}"
            )
        if not indicator.fixed_source and self.source not in SOURCES:
            raise StrategyError(
                f"row '{self.name}': " + unknown("source", self.source, list(SOURCES))
            )
        if len(self.lengths) != indicator.n_lengths:
            raise StrategyError(
                f"row '{self.name}': {self.indicator} takes "
                f"{indicator.n_lengths} lengths, got {len(self.lengths)}"
            )

    @property
    def reads(self) -> str:
        """The source that the indicator reads."""
        return INDICATORS[self.indicator].fixed_source or self.source

    @property
    def form(self) -> str:
        """Name under which backends compute the indicator."""
        return INDICATORS[self.indicator].form


@dataclass(frozen=True)
class Comparison:
    """One strict comparison at a bar; false where either side is NaN.

    Args:
        left: Name of a row.
        relation: ``">"`` or ``"<"``.
        right: Name of a row, or of a gene.
    """

    left: str
    relation: Literal[">", "<"]
    right: str


@dataclass(frozen=True)
class Bracket:
    """How a long position ends: a stop below the signal bar's low, a target, a time limit.

    Args:
        stop_row: Row that measures the distance of the stop, in price units.
        stop_mult: Gene that multiplies it.
        reward: Gene: distance of the target in units of risk (R).
        max_hold: Int gene: number of bars after which the position is closed.
    """

    stop_row: str
    stop_mult: str
    reward: str
    max_hold: str


@dataclass(frozen=True)
class StrategySpec:
    """Everything that an engine needs to know about a strategy.

    Args:
        name: Identifier, a key of `STRATEGIES`.
        summary: One sentence for people.
        layout: Its genes and their constraints.
        rows: Indicator rows it reads.
        entry: Comparisons that must all hold at a bar's close to signal.
        bracket: Its exits.
        timeframe_s: Duration in seconds of the bars that the default lengths were chosen for.
        version: Raised whenever the same genes would trade differently.

    Raises:
        StrategyError: When a name does not exist or a row is not used.
    """

    name: str
    summary: str
    layout: GenomeLayout
    rows: tuple[Row, ...]
    entry: tuple[Comparison, ...]
    bracket: Bracket
    timeframe_s: int = 900
    version: int = 1

    def __post_init__(self) -> None:
        if len(self.row_index) != len(self.rows):
            raise StrategyError(f"strategy '{self.name}': row names repeat")
        if set(self.row_index) & set(self.layout.names):
            raise StrategyError(f"strategy '{self.name}': a row and a gene share a name")
        for row in self.rows:
            for length in row.lengths:
                self._check_length(row, length)
        self._check_entry()
        self._check_bracket()

    @cached_property
    def row_index(self) -> dict[str, int]:
        """Row name to its place in `rows`."""
        return {row.name: i for i, row in enumerate(self.rows)}

    @cached_property
    def least(self) -> Floats:
        """Below this no genome may go, for its genes' sake or its indicators', [G]."""
        least = self.layout.least.copy()
        for row in self.rows:
            for length in row.lengths:
                column = self.layout.index(length)
                least[column] = max(least[column], INDICATORS[row.indicator].shortest)
        return least

    @cached_property
    def described(self) -> dict[str, object]:
        """All that decides what a genome trades and which genomes there are, ready for JSON.

        Rows stand by their names and comparisons in the order of their text, because no result
        depends on the order in which they were written. That of genes decides random numbers.
        """
        return {
            "name": self.name,
            "version": self.version,
            "timeframe_s": self.timeframe_s,
            "genes": [_described_gene(gene) for gene in self.layout.genes],
            "constraints": sorted(f"{p.left} < {p.right}" for p in self.layout.constraints),
            "rows": {row.name: _described_row(row) for row in self.rows},
            "conditions": sorted(f"{c.left} {c.relation} {c.right}" for c in self.entry),
            "bracket": asdict(self.bracket),
            "warm_up_bars": self.warm_up(self.layout.decode(self.layout.defaults)),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256, hexadecimal, of `described` as canonical JSON."""
        text = json.dumps(self.described, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def for_timeframe(self, timeframe_s: float) -> "StrategySpec":
        """The same strategy with its lengths scaled to bars of another duration.

        Args:
            timeframe_s: Duration of a bar in seconds.

        Returns:
            A spec whose genes counted in bars cover the same time.
        """
        factor = self.timeframe_s / timeframe_s
        return replace(self, layout=self.layout.scaled(factor))

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> "StrategySpec":
        """The same strategy with other bounds; see `GenomeLayout.with_bounds`."""
        return replace(self, layout=self.layout.with_bounds(bounds))

    def warm_up(self, genes: Mapping[str, float]) -> int:
        """First bar that may signal: the largest indicator length minus one.

        Args:
            genes: Gene name to value.

        Returns:
            Bar number, 0 where no row has a length.
        """
        lengths = [int(genes[name]) for row in self.rows for name in row.lengths]
        return max(lengths, default=1) - 1

    def check_genomes(self, genomes: Floats) -> None:
        """Refuse genomes that no engine may run; bounds are the search's concern.

        Args:
            genomes: [P, G].

        Raises:
            GeneError: Naming the first individual that is not legal, and its gene.
        """
        legal = self.layout.is_legal(genomes) & (genomes >= self.least).all(axis=1)
        if legal.all():
            return
        first = int(legal.argmin())
        try:
            self.layout.encode(dict(zip(self.layout.names, genomes[first].tolist(), strict=True)))
        except GeneError as error:
            raise GeneError(f"individual {first}: {error}") from None
        raise GeneError(
            f"individual {first}: a length is too short for its indicator: "
            f"{self.layout.decode(genomes[first])}"
        )

    def _check_entry(self) -> None:
        if not self.entry:
            raise StrategyError(f"strategy '{self.name}': an entry needs a comparison")
        for comparison in self.entry:
            self._check_row(comparison.left)
            if comparison.right not in self.layout.names:
                self._check_row(comparison.right)

    def _check_bracket(self) -> None:
        self._check_row(self.bracket.stop_row)
        if not self.layout.gene(self.bracket.max_hold).is_length:
            raise StrategyError(f"strategy '{self.name}': max_hold must be an int gene in bars")
        for name in (self.bracket.stop_mult, self.bracket.reward):
            if not self.layout.gene(name).positive:
                raise StrategyError(f"strategy '{self.name}': gene '{name}' must be positive")

    def _check_row(self, name: str) -> None:
        if name not in self.row_index:
            raise StrategyError(
                f"strategy '{self.name}': " + unknown("row", name, list(self.row_index))
            )

    def _check_length(self, row: Row, length: str) -> None:
        gene = self.layout.gene(length)
        shortest = INDICATORS[row.indicator].shortest
        if not gene.is_int or gene.low < shortest:
            raise StrategyError(
                f"row '{row.name}': gene '{length}' must be int and at least "
                f"{shortest} for {row.indicator}, got low {gene.low:g}"
            )


def _described_gene(gene: Gene) -> dict[str, object]:
    return {
        "name": gene.name,
        "kind": gene.kind,
        "low": float(gene.low),
        "high": float(gene.high),
        "default": float(gene.default),
        "is_length": gene.is_length,
        "positive": gene.positive,
    }


def _described_row(row: Row) -> dict[str, object]:
    indicator = INDICATORS[row.indicator]
    return {
        "indicator": indicator.name,
        "computed_as": indicator.form,
        "shortest_bars": indicator.shortest,
        "reads": row.reads,
        "lengths": list(row.lengths),
    }
