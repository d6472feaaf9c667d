"""Expressions as plain data: columns, numbers, genes, arithmetic, indicators of one another."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from data.plain import LARGEST, make_plain, quote_value
from strategy.clock import Offset, check_offset
from strategy.custom_indicator import OwnIndicator
from strategy.errors import StrategyError, unknown
from strategy.gene import Gene
from strategy.indicator_registry import CLOCK, COLUMNS, KINDS, ROW_NAMES
from strategy.nodes import ANY, Node, Parameter, declare, walk

Operation = Literal["+", "-", "*", "/", "minimum", "maximum", "abs"]

DAY_MINUTES, WEEK_MINUTES = 1440, 10_080

ANY_WHOLE = Parameter("parameter", least=ANY)


class Expression(Node):
    """A number at every bar, or one for all of them."""


@declare("column")
class Column(Expression):
    """A column of the bars, or one that follows from them bar by bar."""

    name: str  # one of `COLUMNS`; any other for an extra column
    is_extra: bool = False  # whether it stands beside the bars, in a column of its own

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
        value = make_plain(self.value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            hint = ", or an @indicator of your own" if hasattr(self.value, "__len__") else ""
            raise StrategyError(
                f"{quote_value(self.value)} is no number; write a number, a row or a gene{hint}"
            )
        if not abs(value) <= LARGEST:
            raise StrategyError(f"a constant must be finite, got {quote_value(self.value)}")
        object.__setattr__(self, "value", float(value) + 0.0)


@dataclass(frozen=True)
class GeneValue(Expression):
    """The value of a gene."""

    gene: Gene  # as written
    # File and line that wrote it, for messages.
    place: str = field(default="", compare=False, repr=False)


Setting = Number | GeneValue
"""Value of a parameter: a constant or a gene."""


@declare("arithmetic")
class Arithmetic(Expression):
    """Two expressions joined; not known where a side is not, nor where the result is not finite."""

    operation: Operation  # one of `+ - * / minimum maximum abs`
    left: Expression  # first side
    right: Expression | None  # second side; None for abs alone

    def __post_init__(self) -> None:
        if self.operation not in get_args(Operation):
            raise StrategyError(unknown("operation", self.operation, list(get_args(Operation))))
        if (self.right is None) != (self.operation == "abs"):
            raise StrategyError(f"{self.operation} takes {1 + (self.operation != 'abs')} values")


@declare("call")
class Call(Expression):
    """An indicator."""

    indicator: str | OwnIndicator  # a name of `KINDS`, or a person's own
    source: Expression | None = None  # its source; None if the indicator fixes that
    parameters: tuple[Setting, ...] = ()  # whole numbers, constants or genes

    def __post_init__(self) -> None:
        if isinstance(self.indicator, str):
            self._check_kind(self.indicator)
        named = self._named
        if len(named) != len(self.parameters):
            wanted = ", ".join(parameter.name for parameter in named) or "no parameters"
            raise StrategyError(f"{self.label} takes {wanted}; got {len(self.parameters)} of them")
        check_settings(self)

    @property
    def label(self) -> str:
        """Name of the indicator."""
        return self.indicator if isinstance(self.indicator, str) else self.indicator.name

    @property
    def settings(self) -> "tuple[tuple[Parameter, Setting], ...]":
        """Its parameters."""
        return tuple(zip(self._named, self.parameters, strict=True))

    @property
    def _named(self) -> tuple[Parameter, ...]:
        if isinstance(self.indicator, OwnIndicator):
            return tuple(replace(ANY_WHOLE, name=name) for name in self.indicator.parameters)
        kind = KINDS[self.indicator]
        named = list(kind.parameters)
        if len(named) == len(self.parameters):
            # A constraint of the strategy keeps two genes apart.
            for upper, lower, apart in kind.above:
                above, below = self.parameters[upper], self.parameters[lower]
                if isinstance(below, Number):
                    least = max(named[upper].least, below.value + apart)
                    named[upper] = replace(named[upper], least=least)
                if isinstance(above, Number):
                    most = min(named[lower].most, above.value - apart)
                    named[lower] = replace(named[lower], most=most)
        return tuple(named)

    def _check_kind(self, name: str) -> None:
        if name not in KINDS:
            raise StrategyError(unknown("indicator", name, list(KINDS)))
        columns = KINDS[name].columns
        if columns and self.source is not None:
            raise StrategyError(f"{name} always reads {' and '.join(columns)}")
        if not columns and (self.source is None or not holds_row(self.source)):
            raise StrategyError(f"{name} reads a row, such as close, and it comes first")


@declare("higher")
class Higher(Expression):
    """A row on bars of so many minutes, read at each bar from the newest one that has ended."""

    minutes: int  # a whole multiple of the bars' duration that divides a day, or a week
    inner: Expression  # a row without the clock and without another `Higher`
    offset: int = 0  # minutes added to UTC; a fixed number

    def __post_init__(self) -> None:
        is_span = is_whole(self.minutes, 1, WEEK_MINUTES)
        if not (is_span and (DAY_MINUTES % self.minutes == 0 or self.minutes == WEEK_MINUTES)):
            raise StrategyError(
                f"higher takes whole minutes that divide a day ({DAY_MINUTES:,}), or a week "
                f"({WEEK_MINUTES:,}), got {quote_value(self.minutes)}"
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
                raise StrategyError(
                    f"{node.label} cannot stand inside of higher: the clock is that of the bars"
                )
            if isinstance(node, Column) and node.is_extra:
                raise StrategyError(f"the extra column '{node.name}' has no higher bars")


@declare("clock")
class Clock(Expression):
    """A row ruled by the clock."""

    name: str  # one of `CLOCK`
    parameters: tuple[Setting, ...] = ()  # whole minutes where the row takes them
    offset: Offset = 0  # minutes added to UTC, or a zone's name

    def __post_init__(self) -> None:
        if self.name not in CLOCK:
            raise StrategyError(unknown("clock row", self.name, list(CLOCK)))
        if len(CLOCK[self.name]) != len(self.parameters):
            raise StrategyError(f"{self.name} takes {len(CLOCK[self.name])} parameters")
        check_settings(self)
        check_offset(self.offset)

    @property
    def label(self) -> str:
        """Its name."""
        return self.name

    @property
    def settings(self) -> "tuple[tuple[Parameter, Setting], ...]":
        """Minutes of an opening range."""
        return tuple(zip(CLOCK[self.name], self.parameters, strict=True))


@declare("choice")
class Choose(Expression):
    """One of several rows, that of the number that a gene has."""

    gene: Setting  # a gene of whole numbers, from 0 on
    options: tuple[Expression, ...]  # rows

    def __post_init__(self) -> None:
        for option in self.options:
            if not holds_row(option):
                raise StrategyError("an option of a choice is a row, such as close or an ema")
        check_settings(self)

    @property
    def settings(self) -> "tuple[tuple[Parameter, Setting], ...]":
        """Its gene."""
        return ((Parameter("option", least=0, most=len(self.options) - 1), self.gene),)

    def pick(self, number: float) -> Expression:
        """The row of an option."""
        return self.options[int(number)]


def holds_row(node: Node) -> bool:
    """True if anything of it differs from bar to bar."""
    return any(isinstance(part, Column | Call | Higher | Clock) for part in walk(node))


def is_whole(value: object, least: int, most: int) -> bool:
    """True if a value is a whole number, from one to another."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def check_column_name(word: str, name: object) -> None:
    """Refuse what cannot name an extra column."""
    if not isinstance(name, str) or not name:
        raise StrategyError(
            f"a column has a name such as {word}('sentiment'), got {quote_value(name)}"
        )


def check_settings(node: Node, genes: Mapping[str, Gene] | None = None) -> None:
    """Refuse a node with illegal constants or genes.

    Args:
        node: Any.
        genes: The genes as they stand now by name, where their bounds may have changed.

    Raises:
        StrategyError: Naming the row or form, the gene, and what is legal.
    """
    for parameter, setting in node.settings:
        if isinstance(setting, GeneValue):
            name = setting.gene.name
            _check_gene(node.label, parameter, genes[name] if genes else setting.gene)
        elif not isinstance(setting, Number):
            raise StrategyError(
                f"{node.label}: {parameter.name} is a number or a gene, not a row or arithmetic"
            )
        elif not parameter.admits(setting.value):
            raise StrategyError(
                f"{node.label} needs {parameter.name} {parameter.wanted}, got {setting.value:g}"
                f"{parameter.explain(setting.value)}"
            )


def _check_gene(where: str, parameter: Parameter, gene: Gene) -> None:
    if parameter.is_whole and not gene.is_int:
        raise StrategyError(
            f"{where}: gene '{gene.name}' is real, but {parameter.name} must be "
            f"{parameter.wanted}: write length('{gene.name}', ...) or whole('{gene.name}', ...)"
        )
    if not (parameter.admits(gene.low) and parameter.admits(gene.high)):
        raise StrategyError(
            f"{where}: gene '{gene.name}' may be {gene.low:g} .. {gene.high:g}, but "
            f"{parameter.name} must be {parameter.wanted}{parameter.explain(gene.high)}"
        )
