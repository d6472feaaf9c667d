"""A gene: a number that a search may change, or the number of an option, and its bounds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from data.checks import Floats
from data.plain import make_plain, require
from strategy.errors import GeneError, unknown

GeneText = int | float | str
"""A gene's value as people read it: a number, or the name of an option."""

SHORTEST_LENGTH_BARS = 2
"""No scaled length falls below this: a rolling window needs two bars."""

LONGEST_LENGTH = 2**31 - 1
"""Whole genes stay below this, so that every engine can hold them in 32 bits."""

NEARLY = 1e-9
"""Share of a step by which rounding may miss a value on a grid."""


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
        step: Distance of values of a float gene, which are ``low + k * step`` with k from 0 on,
            a product and a sum each rounded once; the last of them is `high`. None for any value.
        options: What values 0, 1, ... of an int gene stand for, which then have no order; empty
            where they are numbers.

    Raises:
        GeneError: When a value is not finite, is out of order, is not whole for an int gene, no
            value of the step, or no number of an option.
    """

    name: str
    kind: Literal["int", "float"]
    low: float
    high: float
    default: float
    unit: str = "1"
    positive: bool = False
    step: float | None = None
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_options()
        for label, value in (("low", self.low), ("high", self.high), ("default", self.default)):
            self.check(value, label)
        if self.low > self.high:
            raise GeneError(f"gene '{self.name}': low {self.low} is above high {self.high}")
        if not self.low <= self.default <= self.high:
            raise GeneError(
                f"gene '{self.name}': default {self.default} is outside {self.low} .. {self.high}"
            )
        if self.step is not None:
            self._check_step(require(f"gene '{self.name}': step", self.step, float, GeneError))

    @property
    def is_int(self) -> bool:
        """True if only whole values are legal."""
        return self.kind == "int"

    @property
    def is_length(self) -> bool:
        """True if the gene counts bars."""
        return self.is_int and self.unit == "bars"

    @property
    def extremes(self) -> tuple[float, ...]:
        """Values between which anything monotonic is greatest and least: bounds, or all options."""
        if self.options:
            return tuple(float(number) for number in range(int(self.low), int(self.high) + 1))
        return self.low, self.high

    def parse(self, value: object, label: str = "value") -> float:
        """The number that a value is, which may be the name of an option; `label` names it.

        Raises:
            GeneError: When this gene can never have it, whatever its bounds.
        """
        if isinstance(value, str) and self.options:
            if value not in self.options:
                raise GeneError(
                    f"gene '{self.name}': {unknown('option', value, list(self.options))}"
                )
            return float(self.options.index(value))
        number = cast(float, make_plain(value))
        self.check(number, label)
        return number

    def show(self, value: float) -> GeneText:
        """A value as people read it: the name of an option, or a number."""
        if self.options and value in range(len(self.options)):
            return self.options[int(value)]
        return int(value) if self.is_int and value == int(value) else float(value)

    def snap(self, value: float) -> float:
        """The nearest value within bounds that a search may give it."""
        if self.step is not None:
            number = np.rint((value - self.low) / self.step)
            value = float(compute_step_values(number, self.low, self.high, self.step))
        return min(max(value, self.low), self.high)

    def check(self, value: float, label: str = "value") -> None:
        """Refuse a value that this gene can never have, whatever its bounds; `label` names it.

        Raises:
            GeneError: When it is not finite, not whole for an int gene, or not positive where it
                must be.
        """
        require(f"gene '{self.name}': {label}", value, float, GeneError)
        if self.is_int and value != int(value):
            raise GeneError(f"gene '{self.name}': {label} must be whole, got {value!r}")
        if self.is_int and abs(value) > LONGEST_LENGTH:
            raise GeneError(f"gene '{self.name}': {label} must be at most {LONGEST_LENGTH}")
        if self.is_length and value < 1:
            raise GeneError(f"gene '{self.name}': {label} must be at least 1 bar, got {value!r}")
        if self.positive and value <= 0:
            raise GeneError(f"gene '{self.name}': {label} must be above 0, got {value!r}")
        if self.options and not 0 <= value < len(self.options):
            raise GeneError(
                f"gene '{self.name}': {label} must be one of {', '.join(self.options)}, "
                f"got {value!r}"
            )

    def _check_options(self) -> None:
        if not self.options:
            return
        if len(self.options) < 2 or len(set(self.options)) != len(self.options):
            raise GeneError(
                f"gene '{self.name}': needs two options or more, each once, "
                f"got {', '.join(self.options)}"
            )
        if not self.is_int:
            raise GeneError(f"gene '{self.name}': options are those of an int gene")

    def _check_step(self, step: float) -> None:
        if self.is_int or not 0 < step < np.inf:
            raise GeneError(
                f"gene '{self.name}': step is a number above 0 and of a float gene, got {step!r}"
            )
        for label, value in (("high", self.high), ("default", self.default)):
            steps = (value - self.low) / step
            if steps > LONGEST_LENGTH or abs(steps - round(steps)) > NEARLY:
                below = self.low + int(steps) * step
                raise GeneError(
                    f"gene '{self.name}': {label} {value:g} is no value of steps of {step:g} from "
                    f"{self.low:g}; near it are {below:g} and {below + step:g}"
                )
        # The very value that a search gives it.
        object.__setattr__(self, "default", self.snap(self.default))


def write_gene_name(text: str) -> str:
    """Name that records have of a gene as a person calls it; an identifier is its own.

    >>> write_gene_name("Fast Length"), write_gene_name("stop %"), write_gene_name("stopMult")
    ('fast_length', 'stop', 'stopMult')
    """
    return text if text.isidentifier() else "_".join(re.findall(r"\w+", text.lower()))


def find_gene_name(text: str, names: Sequence[str]) -> str:
    """Name of the gene that a person means: spelt otherwise, or its beginning alone.

    Raises:
        GeneError: When no name, or more than one, is meant.

    >>> [find_gene_name(text, ["fast_length", "slow"]) for text in ("Fast Length", "sl")]
    ['fast_length', 'slow']
    """
    if text in names:
        return text
    folded = write_gene_name(text).lower()
    same = [name for name in names if name.lower() == folded]
    meant = same or [name for name in names if folded and name.lower().startswith(folded)]
    if len(meant) > 1:
        raise GeneError(f"gene '{text}' may be {' or '.join(sorted(meant))}: write more of it")
    if not meant:
        raise GeneError(unknown("gene", text, list(names)))
    return meant[0]


def compute_step_values(
    numbers: Floats, low: Floats | float, high: Floats | float, step: Floats | float
) -> Floats:
    """Values of steps by their numbers, see `Gene`; any shapes that go together."""
    values = low + numbers * step
    return np.where(values > high - NEARLY * step, high, values)


def with_bounds(gene: Gene, low: float | str, high: float | str) -> Gene:
    """A gene with other bounds, numbers or names of options, from which its steps begin.

    A default outside of them moves to the nearest value.

    Raises:
        GeneError: When a bound is not legal.
    """
    low, high = gene.parse(low, "low"), gene.parse(high, "high")
    bounded = replace(gene, low=low, high=max(low, high), default=low)
    if high < low:
        raise GeneError(f"gene '{gene.name}': low {low} is above high {high}")
    return replace(bounded, default=bounded.snap(gene.default))


def scale(gene: Gene, factor: float) -> Gene:
    """A gene for bars with `factor` times as many in the same time."""
    if not gene.is_length or factor == 1:
        return gene

    def to_bars(value: float) -> int:
        return max(SHORTEST_LENGTH_BARS, round(value * factor))

    return replace(
        gene, low=to_bars(gene.low), high=to_bars(gene.high), default=to_bars(gene.default)
    )


def as_steps(gene: Gene) -> Gene:
    """A gene with a step as the number of its step; any other gene as it is."""
    if gene.step is None:
        return gene
    most, default = (round((value - gene.low) / gene.step) for value in (gene.high, gene.default))
    return Gene(gene.name, "int", 0, most, default)


def find_least(gene: Gene) -> float:
    """The smallest value that a gene can have, whatever its bounds."""
    if gene.is_length:
        return 1.0
    above_zero = 1.0 if gene.is_int else float(np.nextafter(0.0, 1.0))
    if gene.positive:
        return above_zero
    return -float(LONGEST_LENGTH) if gene.is_int else -float(np.finfo(np.float64).max)
