"""A strategy as plain data: rows it reads, comparisons that signal, a bracket that exits."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal

from strategy.errors import StrategyError, unknown
from strategy.functions import text_digest
from strategy.genes import Floats, Gene, GenomeLayout
from strategy.indicators import EMA_OVER_HOLES, INDICATORS, SOURCES, WITH_HOLES, Indicator


@dataclass(frozen=True)
class Row:
    """One indicator over the bars, its parameters taken from genes or fixed.

    Args:
        name: How comparisons and the bracket refer to it.
        indicator: A name in `INDICATORS`, or an indicator of your own.
        source: What the indicator reads, a name in `SOURCES`; empty where the indicator fixes it.
        parameters: What the indicator takes, each the name of a gene or a number.
    """

    name: str
    indicator: str | Indicator
    source: str = ""
    parameters: tuple[str | float, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.indicator, str) and self.indicator not in INDICATORS:
            raise StrategyError(unknown("indicator", self.indicator, list(INDICATORS)))
        own = self.indicator
        if isinstance(own, Indicator) and INDICATORS.get(own.name, own) != own:
            raise StrategyError(
                f"row '{self.name}': there is an indicator '{own.name}' already; "
                "name yours otherwise"
            )
        self._check_source()
        self._check_parameters()

    @property
    def kind(self) -> Indicator:
        """The indicator itself; the average of a source that may have holes skips them."""
        given = self.indicator
        kind = INDICATORS[given] if isinstance(given, str) else given
        return EMA_OVER_HOLES if (kind.form, self.source) == ("ema", WITH_HOLES) else kind

    @property
    def reads(self) -> str:
        """The source that the indicator reads."""
        return self.kind.fixed_source or self.source

    @property
    def genes(self) -> tuple[str, ...]:
        """Names of the genes among its parameters."""
        return tuple(value for value in self.parameters if isinstance(value, str))

    def values(self, genes: Mapping[str, float]) -> tuple[float, ...]:
        """Its parameters, given the value of each gene by name; zeros have no sign."""
        return tuple(
            float(genes[value] if isinstance(value, str) else value) + 0.0
            for value in self.parameters
        )

    def warm_up(self, genes: Mapping[str, float]) -> int:
        """Bars before the first that may signal, given the value of each gene by name."""
        return self.kind.warm_up_of(self.values(genes))

    def _check_source(self) -> None:
        fixed = self.kind.fixed_source
        if fixed and self.source not in ("", fixed):
            raise StrategyError(
                f"row '{self.name}': {self.kind.name} always reads {fixed}, not {self.source}"
            )
        if not fixed and self.source not in SOURCES:
            raise StrategyError(
                f"row '{self.name}': " + unknown("source", self.source, list(SOURCES))
            )

    def _check_parameters(self) -> None:
        if len(self.parameters) != len(self.kind.parameters):
            raise StrategyError(
                f"row '{self.name}': {self.kind.name} takes "
                f"{len(self.kind.parameters)} parameters, got {len(self.parameters)}"
            )
        for value, parameter in zip(self.parameters, self.kind.parameters, strict=True):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not isinstance(value, str) and not (is_number and parameter.admits(value)):
                raise StrategyError(
                    f"row '{self.name}': {parameter.name} must be a gene, or a number that is "
                    f"{parameter.wanted}, got {value!r}"
                )


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
            self._check_row_genes(row)
        self._check_own_indicators()
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
            for value, parameter in zip(row.parameters, row.kind.parameters, strict=True):
                if isinstance(value, str):
                    column = self.layout.index(value)
                    least[column] = max(least[column], parameter.least)
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
            "genes": [described_gene(gene) for gene in self.layout.genes],
            "constraints": sorted(f"{p.left} < {p.right}" for p in self.layout.constraints),
            "rows": {row.name: _described_row(row) for row in self.rows},
            "conditions": sorted(f"{c.left} {c.relation} {c.right}" for c in self.entry),
            "bracket": asdict(self.bracket),
            "warm_up_bars": self.warm_up(self.layout.decode(self.layout.defaults)),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256, hexadecimal, of `described` as canonical JSON."""
        return digest_of(self.described)

    @property
    def goes_short(self) -> bool:
        """Whether it can be short: never."""
        return False

    @property
    def longest_hold(self) -> int | None:
        """Longest time that a trade may take within the bounds, bars."""
        return int(self.layout.gene(self.bracket.max_hold).high)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the reasons for which its trades may end."""
        return ("stop_gap", "stop", "target", "time", "end")

    @cached_property
    def row_genes(self) -> frozenset[str]:
        """Names of the genes that parameters of rows take."""
        return frozenset(name for row in self.rows for name in row.genes)

    @cached_property
    def longest_warm_up(self) -> int:
        """Longest warm-up of a row within the bounds, bars, at all corners of its genes."""
        return max((self._longest(row) for row in self.rows), default=0)

    def longest_reach(self, timeframe_ns: int) -> int:
        """Bars before one that its rows may depend on, recurrences by their warm-up."""
        return self.longest_warm_up

    @cached_property
    def most(self) -> Floats:
        """Above this no genome may go, whatever the bounds, [G]."""
        return self.layout.most

    def for_timeframe(self, timeframe_s: float) -> "StrategySpec":
        """The same strategy for bars of so many seconds: its lengths cover the same time."""
        factor = self.timeframe_s / timeframe_s
        return replace(self, layout=self.layout.scaled(factor))

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> "StrategySpec":
        """The same strategy with other bounds; see `GenomeLayout.with_bounds`."""
        return replace(self, layout=self.layout.with_bounds(bounds))

    def warm_up(self, genes: Mapping[str, float]) -> int:
        """First bar that may signal, given the value of each gene by name.

        Raises:
            IndicatorError: When a parameter is not legal.
        """
        return max((row.warm_up(genes) for row in self.rows), default=0)

    def check_genomes(self, genomes: Floats) -> None:
        """Refuse genomes [P, G] that no engine may run; bounds are the search's concern.

        Raises:
            GeneError: Naming the first individual that is not legal, and its gene.
        """
        self.layout.check(genomes, self.least, self.most)

    def _longest(self, row: Row) -> int:
        return max(row.warm_up(corner) for corner in self.layout.corners(row.genes))

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

    def _check_row_genes(self, row: Row) -> None:
        for value, parameter in zip(row.parameters, row.kind.parameters, strict=True):
            if not isinstance(value, str):
                continue
            gene = self.layout.gene(value)
            if gene.low < parameter.least or (parameter.is_whole and not gene.is_int):
                raise StrategyError(
                    f"row '{row.name}': gene '{value}' must be {parameter.wanted} for "
                    f"{row.kind.name}, got {gene.kind} from {gene.low:g}"
                )

    @property
    def own(self) -> dict[str, Indicator]:
        """A person's own indicators that it reads, by name."""
        return {row.kind.name: row.kind for row in self.rows if row.kind.is_own}

    def _check_own_indicators(self) -> None:
        own: dict[str, Indicator] = {}
        for row in self.rows:
            if own.setdefault(row.kind.name, row.kind) != row.kind:
                raise StrategyError(
                    f"strategy '{self.name}': two indicators are named '{row.kind.name}'"
                )


def digest_of(described: Mapping[str, object]) -> str:
    """SHA-256, hexadecimal, of what is ready for JSON, as canonical JSON."""
    text = json.dumps(described, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def described_gene(gene: Gene) -> dict[str, object]:
    """All of a gene that decides which genomes there are, ready for JSON."""
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
    kind = row.kind
    own = {
        "is_whole": [parameter.is_whole for parameter in kind.parameters],
        "definition": text_digest(kind.loop, kind.warm_up),
    }
    return {
        "indicator": kind.name,
        "computed_as": kind.form,
        "least": [float(parameter.least) for parameter in kind.parameters],
        "reads": row.reads,
        "parameters": [
            value if isinstance(value, str) else float(value) + 0.0 for value in row.parameters
        ],
        **(own if kind.is_own else {}),
    }
