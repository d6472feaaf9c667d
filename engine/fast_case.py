"""The fast case of a strategy: a long on strict comparisons of known rows, left by one bracket.

Some kernels know nothing else, and decide it on codes of one byte. Any other strategy is data to
the kernels that evaluate expressions. Both say the same in every bit; which of them runs follows
from the strategy alone.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

from data.checks import VALUES
from engine.accounts.costs import Costs
from engine.backend import Exits, RowForm
from strategy.conditions import Compare, Condition, split_conjunction
from strategy.expressions import Arithmetic, Call, Column, Expression, GeneValue, Number
from strategy.forms import BeyondBar, RMultiple
from strategy.genes import GenomeLayout
from strategy.indicator_registry import COLUMNS
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.parts import PARTS
from strategy.pretty_print import format_tree

Kind = TypeVar("Kind", bound=Node)

INDICATORS = ("ema", "sma", "zscore", "atr")
"""Indicators that fast kernels know, beside a source as it is; each takes one length."""

HOLED = "close_location"
"""The source that may have holes, which only `ema` would have to skip."""

SOURCES = (*VALUES, "true_range", HOLED)
"""Sources that a row of the fast case may read."""

PARTS_IN_USE = {"long", "stop", "target", "max_hold", "delay"}
"""Parts of a strategy that a fast case may have; it has all of them, without a delay."""


class Row(NamedTuple):
    """A row that a fast case reads."""

    name: str  # as the strategy writes it
    form: RowForm  # indicator and source
    # Name of a gene, or a number of bars; None where the indicator takes none.
    length: str | int | None = None

    @property
    def genes(self) -> tuple[str, ...]:
        """Names of the genes that it takes."""
        return (self.length,) if isinstance(self.length, str) else ()


class Comparison(NamedTuple):
    """One strict comparison at a bar; false where either side is NaN."""

    left: str  # name of a row
    relation: Literal[">", "<"]  # ``">"`` or ``"<"``
    right: str  # name of a row, or of a gene


class BracketRule(NamedTuple):
    """How a position ends: a stop below the signal bar's low, a target, a time limit."""

    stop_row: str  # row that measures the stop's distance, in price units
    stop_mult: str  # gene that multiplies it
    reward: str  # gene: distance of the target in units of risk (R)
    max_hold: str  # gene: number of bars after which the position is closed


@dataclass(frozen=True)
class FastCase:
    """Fast case of a strategy, as its kernels need it; empty for an unknown one."""

    strategy: Strategy  # all of it
    rows: tuple[Row, ...] = ()  # rows that it reads, in the order in which they are first read
    entry: tuple[Comparison, ...] = ()  # comparisons that must all hold at a bar's close to signal
    bracket: BracketRule | None = None  # its exits; None for a strategy that is no fast case

    @property
    def layout(self) -> GenomeLayout:
        """The genes of the strategy."""
        return self.strategy.layout

    @property
    def is_covered(self) -> bool:
        """True if fast kernels know all of the strategy."""
        return self.bracket is not None

    @cached_property
    def row_index(self) -> dict[str, int]:
        """Row name to its place in `rows`."""
        return {row.name: number for number, row in enumerate(self.rows)}

    @property
    def most_rows(self) -> int:
        """Distinct rows that a population within the bounds can ask for."""
        bounds = [self.layout.gene(name) for row in self.rows for name in row.genes]
        constant = sum(not row.genes for row in self.rows)
        return constant + sum(int(gene.high - gene.low + 1) for gene in bounds)


class _WiderError(Exception):
    """The strategy has something that fast kernels do not know."""


def find_fast_case(strategy: Strategy, costs: Costs | None = None) -> FastCase:
    """The fast case of a strategy; without rows and bracket where there is none.

    It goes long on a conjunction of strict comparisons, each of a row with a row or a gene; its
    stop is a positive gene times a row beyond the bar, its target a gene times the risk, and a gene
    in bars limits its time. Its `costs` are fractions of prices.
    """
    if costs is not None and costs.fee_unit > 0.0:
        return FastCase(strategy)
    try:
        return _fast_case(strategy)
    except _WiderError:
        return FastCase(strategy)


def encode_exits(case: FastCase, costs: Costs) -> Exits:
    """The bracket and the costs as numbers."""
    bracket, layout = case.bracket, case.layout
    assert bracket is not None
    return Exits(
        case.row_index[bracket.stop_row],
        layout.index(bracket.stop_mult),
        layout.index(bracket.reward),
        layout.index(bracket.max_hold),
        float(costs.per_side),
        float(costs.min_risk),
        float(costs.risk_fraction),
        int(costs.entry_delay),
    )


def find_form(row: Expression) -> tuple[RowForm, tuple[float, ...]] | None:
    """Form and parameters of a row without genes; None where fast kernels do not know it."""
    try:
        form, length = _form_and_length(row)
    except _WiderError:
        return None
    return form, () if length is None else (float(length),)


def _fast_case(strategy: Strategy) -> FastCase:
    _need(strategy.delay == Number(0.0))
    _need({name for name in PARTS if getattr(strategy, name) is not None} == PARTS_IN_USE)
    # Its comparisons know rows and genes by name.
    _need(not set(COLUMNS) & set(strategy.layout.names))
    rows: dict[str, Row] = {}
    entry = tuple(_comparison(comparison, rows) for comparison in split_conjunction(strategy.long))
    distance = _as(Arithmetic, _as(BeyondBar, strategy.stop).distance)
    _need(distance.operation == "*")
    # A product has the same bits in either order.
    factor, row = distance.left, distance.right
    if isinstance(row, GeneValue):
        factor, row = row, factor
    reward = _as(RMultiple, strategy.target).multiple
    bracket = BracketRule(_row(row, rows), _gene(factor), _gene(reward), _gene(strategy.max_hold))
    layout = strategy.layout
    _need(layout.gene(bracket.stop_mult).positive and layout.gene(bracket.max_hold).is_length)
    return FastCase(strategy, tuple(rows.values()), entry, bracket)


def _comparison(condition: Condition, rows: dict[str, Row]) -> Comparison:
    compare = _as(Compare, condition)
    left, relation, right = compare.left, compare.relation, compare.right
    _need(compare.bars_ago == 0 and relation in (">", "<"))
    is_greater = relation == ">"
    if isinstance(left, GeneValue):
        left, right, is_greater = right, left, not is_greater
    name = _row(left, rows)
    other = right.gene.name if isinstance(right, GeneValue) else _row(right, rows)
    return Comparison(name, ">" if is_greater else "<", other)


def _row(expression: Expression | None, rows: dict[str, Row]) -> str:
    """Name of an expression's row, added if new."""
    name = format_tree(_as(Expression, expression))
    if name not in rows:
        form, length = _form_and_length(expression)
        rows[name] = Row(name, form, length)
    return name


def _form_and_length(expression: Expression | None) -> tuple[RowForm, str | int | None]:
    if isinstance(expression, Column):
        return RowForm("level", _source(expression)), None
    call = _as(Call, expression)
    _need(call.indicator in INDICATORS)
    (setting,) = call.parameters
    length = setting.gene.name if isinstance(setting, GeneValue) else int(setting.value)
    if call.indicator == "atr":
        return RowForm("sma", "true_range"), length
    source = _source(_as(Column, call.source))
    _need(call.indicator != "ema" or source != HOLED)
    return RowForm(str(call.indicator), source), length


def _source(column: Column) -> str:
    _need(column.name in SOURCES and not column.is_extra)
    return column.name


def _gene(setting: Node | None) -> str:
    return _as(GeneValue, setting).gene.name


def _as(kind: type[Kind], node: Node | None) -> Kind:
    if not isinstance(node, kind):
        raise _WiderError
    return node


def _need(holds: bool) -> None:
    if not holds:
        raise _WiderError
