"""Expressions as plain data: columns, numbers, genes, arithmetic, indicators of one another."""

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal, get_args

from strategy.clock import Offset, check_offset
from strategy.errors import StrategyError, unknown
from strategy.genes import Gene
from strategy.indicators import Parameter
from strategy.kinds import CLOCK, COLUMNS, KINDS, ROW_NAMES, Kind
from strategy.nodes import Node, walk
from strategy.own import OwnIndicator

Operation = Literal["+", "-", "*", "/", "minimum", "maximum", "abs"]

DAY_MINUTES, WEEK_MINUTES = 1440, 10_080

ANY_WHOLE = Parameter("parameter", least=-(2**31))


class Expression(Node):
    """A number at every bar, or one for all of them."""


@dataclass(frozen=True)
class Column(Expression):
    """A column of the bars, or one that follows from them bar by bar.

    Args:
        name: One of `COLUMNS`; any other for an extra column.
        is_extra: Whether it stands beside the bars, in a column of its own.
    """

    name: str
    is_extra: bool = False

    def __post_init__(self) -> None:
        if self.is_extra and self.name in ROW_NAMES:
            raise StrategyError(f"'{self.name}' is no extra column, it exists for all bars")
        if not self.is_extra and self.name not in COLUMNS:
            raise StrategyError(unknown("column", self.name, list(COLUMNS)))


@dataclass(frozen=True)
class Number(Expression):
    """A constant, finite; a zero has no sign."""

    value: float

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, Real):
            raise StrategyError(f"{self.value!r} is no number; write a number, a row or a gene")
        if not math.isfinite(self.value):
            raise StrategyError(f"a constant must be finite, got {self.value}")
        object.__setattr__(self, "value", float(self.value) + 0.0)


@dataclass(frozen=True)
class GeneValue(Expression):
    """The value of a gene.

    Args:
        gene: As written.
        place: File and line that wrote it, for messages.
    """

    gene: Gene
    place: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.gene.name in ROW_NAMES:
            raise StrategyError(f"gene '{self.gene.name}': a row has this name; take another one")


Setting = Number | GeneValue
"""What a parameter may be."""


@dataclass(frozen=True)
class Arithmetic(Expression):
    """Two expressions joined; not known where a side is not, nor where the result is not finite.

    Args:
        operation: One of `+ - * / minimum maximum abs`.
        left: First side.
        right: Second side; None for abs alone.
    """

    operation: Operation
    left: Expression
    right: Expression | None

    def __post_init__(self) -> None:
        if self.operation not in get_args(Operation):
            raise StrategyError(unknown("operation", self.operation, list(get_args(Operation))))
        if (self.right is None) != (self.operation == "abs"):
            raise StrategyError(f"{self.operation} takes {1 + (self.operation != 'abs')} values")


@dataclass(frozen=True)
class Call(Expression):
    """An indicator.

    Args:
        indicator: A name of `KINDS`, or a person's own.
        source: What it reads; None where the indicator fixes that.
        parameters: Whole numbers, constants or genes.
    """

    indicator: str | OwnIndicator
    source: Expression | None = None
    parameters: tuple[Setting, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.indicator, OwnIndicator):
            named = [Parameter(name, ANY_WHOLE.least) for name in self.indicator.parameters]
            self._check(self.indicator.name, tuple(named))
            return
        if self.indicator not in KINDS:
            raise StrategyError(unknown("indicator", self.indicator, list(KINDS)))
        kind = KINDS[self.indicator]
        if (self.source is None) != bool(kind.columns):
            wanted = f"always reads {' and '.join(kind.columns)}" if kind.columns else "needs a row"
            raise StrategyError(f"{kind.name} {wanted}")
        if self.source is not None and not holds_row(self.source):
            raise StrategyError(f"{kind.name} reads a row, such as close; this is a number")
        self._check(kind.name, kind.parameters)
        self._check_order(kind)

    @property
    def name(self) -> str:
        """Of the indicator."""
        return self.indicator if isinstance(self.indicator, str) else self.indicator.name

    def _check(self, name: str, named: tuple[Parameter, ...]) -> None:
        if len(named) != len(self.parameters):
            wanted = ", ".join(one.name for one in named) or "no parameters"
            raise StrategyError(f"{name} takes {wanted}; got {len(self.parameters)} of them")
        for one, setting in zip(named, self.parameters, strict=True):
            check_setting(name, one, setting)

    def _check_order(self, kind: Kind) -> None:
        if len(kind.parameters) < 2:
            return
        above, below = self.parameters[:2]
        # Two genes are kept apart by a constraint of the strategy.
        are_genes = isinstance(above, GeneValue) and isinstance(below, GeneValue)
        if are_genes or least_of(above) > most_of(below):
            return
        one, other = (parameter.name for parameter in kind.parameters[:2])
        raise StrategyError(f"{kind.name} needs {one} above {other}")


@dataclass(frozen=True)
class Higher(Expression):
    """A row on bars of so many minutes, at each bar that of the newest one that has ended.

    Args:
        minutes: A whole multiple of the bars' duration that divides a day, or a week.
        inner: A row without the clock and without another `Higher`.
        offset: Minutes added to UTC; a fixed number.
    """

    minutes: int
    inner: Expression
    offset: int = 0

    def __post_init__(self) -> None:
        is_whole = isinstance(self.minutes, int) and not isinstance(self.minutes, bool)
        if not is_whole or not _is_legal_span(self.minutes):
            raise StrategyError(
                f"higher takes whole minutes that divide a day ({DAY_MINUTES:,}), or a week "
                f"({WEEK_MINUTES:,}), got {self.minutes!r}"
            )
        check_offset(self.offset)
        if isinstance(self.offset, str):
            raise StrategyError(
                f"higher takes a fixed offset in minutes, not the zone '{self.offset}'"
            )
        if not holds_row(self.inner):
            raise StrategyError("higher reads a row, such as higher(240, close)")
        for node in walk(self.inner):
            if isinstance(node, Clock | Higher):
                name = node.name if isinstance(node, Clock) else "higher"
                raise StrategyError(f"{name} cannot stand inside of higher: its bars are others")
            if isinstance(node, Column) and node.is_extra:
                raise StrategyError(f"the extra column '{node.name}' has no higher bars")


@dataclass(frozen=True)
class Clock(Expression):
    """A row ruled by the clock.

    Args:
        name: One of `CLOCK`.
        parameters: Whole minutes where the row takes them.
        offset: Minutes added to UTC, or a zone's name.
    """

    name: str
    parameters: tuple[Setting, ...] = ()
    offset: Offset = 0

    def __post_init__(self) -> None:
        if self.name not in CLOCK:
            raise StrategyError(unknown("clock row", self.name, list(CLOCK)))
        if len(CLOCK[self.name]) != len(self.parameters):
            raise StrategyError(f"{self.name} takes {len(CLOCK[self.name])} parameters")
        for one, setting in zip(CLOCK[self.name], self.parameters, strict=True):
            check_setting(self.name, one, setting)
        check_offset(self.offset)


def holds_row(node: Node) -> bool:
    """Whether anything of it differs from bar to bar."""
    return any(isinstance(one, Column | Call | Higher | Clock) for one in walk(node))


def check_setting(
    where: str, parameter: Parameter, setting: Setting, gene: Gene | None = None
) -> None:
    """Refuse a constant or a gene that a parameter cannot take.

    Args:
        where: Name of the row or form.
        parameter: What is legal.
        setting: A constant or a gene.
        gene: The gene as it stands now, where its bounds have changed.
    """
    if isinstance(setting, Number):
        if not parameter.admits(setting.value):
            raise StrategyError(
                f"{where} needs {parameter.name} {parameter.wanted}, got {setting.value:g}"
            )
        return
    if not isinstance(setting, GeneValue):
        raise StrategyError(
            f"{where}: {parameter.name} is a number or a gene, not a row or arithmetic"
        )
    gene = gene or setting.gene
    if parameter.is_whole and not gene.is_int:
        raise StrategyError(
            f"{where}: gene '{gene.name}' is real; {parameter.name} is {parameter.wanted}: "
            f"write length('{gene.name}', ...) or whole('{gene.name}', ...)"
        )
    if not (parameter.admits(gene.low) and parameter.admits(gene.high)):
        raise StrategyError(
            f"{where}: gene '{gene.name}' may be {gene.low:g} .. {gene.high:g}, but "
            f"{parameter.name} is {parameter.wanted}"
        )


def least_of(setting: Setting) -> float:
    """The smallest value that a setting can have."""
    return setting.value if isinstance(setting, Number) else setting.gene.low


def most_of(setting: Setting) -> float:
    """The largest value that a setting can have."""
    return setting.value if isinstance(setting, Number) else setting.gene.high


def _is_legal_span(minutes: int) -> bool:
    return minutes == WEEK_MINUTES or (minutes >= 1 and DAY_MINUTES % minutes == 0)
