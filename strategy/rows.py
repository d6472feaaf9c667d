"""Values of expressions, and truth of conditions, of each at every bar of one series."""

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from data.timeframe import DAY_NS, MINUTE_NS, find_bar_ends
from strategy.clock import days_of_week, local_time, minutes_of_day, number_sessions
from strategy.conditions import (
    AllOf,
    Compare,
    Condition,
    Held,
    Junction,
    OverBars,
    Relation,
    settle_switches,
)
from strategy.custom_indicator import OwnIndicator
from strategy.errors import StrategyError, unknown
from strategy.expressions import (
    DAY_MINUTES,
    WEEK_MINUTES,
    Arithmetic,
    Call,
    Choose,
    Clock,
    Column,
    Expression,
    GeneValue,
    Higher,
    Number,
    Setting,
)
from strategy.genes import Floats, Ints
from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS
from strategy.indicators.bars import opening_high, opening_low, vwap
from strategy.nodes import Node, transform_nodes, walk
from strategy.series import Series, higher_series

Loop = TypeVar("Loop", bound=Callable[..., object])
Tree = TypeVar("Tree", bound=Node)
Genes = Mapping[str, float]
Kept = TypeVar("Kept")
Row = TypeVar("Row", bound=npt.NDArray[Any])


class DecodedGenes(dict[str, float]):
    """Genes of one individual by name, with all that follows from them; threads may share them."""

    def __init__(self, genes: Genes) -> None:
        super().__init__(genes)
        self._made: dict[tuple[str, int], tuple[object, object]] = {}

    def keep(self, name: str, of: object, make: Callable[[], Kept]) -> Kept:
        """Value kept under a name; made if it is missing."""
        made = self._made.get((name, id(of)))
        if made is None:
            # It is held as well, so that nothing else gets its id. Two threads may make equal ones.
            made = self._made[name, id(of)] = of, make()
        return cast(Kept, made[1])


class LoopRunner(Protocol):
    """Form in which loops run: given a loop, it returns the function to call."""

    def __call__(self, loop: Loop) -> Loop:
        """The loop in this form."""


class CachedRows(Protocol):
    """Store of computed rows; `engine.runtime.lru_cache.ArrayCache` is one."""

    def get(self, name: tuple[object, ...], compute: Callable[[], Row]) -> Row:
        """The row of that name, computed if it is missing."""


def as_it_reads(loop: Loop) -> Loop:
    """A loop in plain Python, silent where IEEE 754 defines a result."""
    return np.errstate(all="ignore")(loop)


def row_values(
    expression: Expression,
    bars: Bars,
    genes: Genes | None = None,
    run: LoopRunner = as_it_reads,
) -> Floats:
    """Values of an expression at every bar, [T] read-only; NaN while unknown.

    Args:
        expression: Any; a number is the same at all bars.
        bars: Of one series.
        genes: Value of each gene by name.
        run: Form in which loops run, plain or compiled.

    Raises:
        StrategyError: When a column is missing, or a parameter does not fit the bars.

    >>> from data import load_bars
    >>> row = row_values(Call("sma", Column("close"), (Number(3),)), load_bars("sample"))
    >>> first_value(row)
    2
    """
    return Rows(Series.of(bars), run).values(expression, genes or {})


def first_value(row: Floats) -> int:
    """The first bar with a known value; the row's length without one."""
    known = ~np.isnan(row)
    return int(known.argmax()) if known.any() else len(row)


def bound(tree: Tree, genes: Genes) -> Tree:
    """A tree with genes replaced by their values, choices by rows: equal trees share one row."""

    def replace_gene(node: Node) -> Node:
        if isinstance(node, Choose) and isinstance(node.gene, Number):
            return node.pick(node.gene.value)
        return Number(genes[node.gene.name]) if isinstance(node, GeneValue) else node

    if isinstance(genes, DecodedGenes):
        return genes.keep("bound", tree, lambda: transform_nodes(tree, replace_gene))
    return transform_nodes(tree, replace_gene)


def count_warm_up(tree: Node, genes: Genes, timeframe_ns: int | None = None) -> int:
    """Bars before the first that may signal, of an expression, a condition or an exit.

    It comes from parameters alone: a row may know its first value later than that. With the length
    of a bar it is the bars before one that its value may depend on, recurrences by their warm-up:
    rows of higher bars count in bars of the series, those of a session as a day.
    """
    left = settle_switches(tree, genes) if isinstance(tree, Condition) else tree
    return 0 if left is None else _warm_up(left, genes, timeframe_ns)


def check_spans(strategy: Node, timeframe_ns: int) -> None:
    """Refuse a strategy with higher bars that bars of this length do not divide."""
    for node in walk(strategy):
        if isinstance(node, Higher):
            _check_span(node.minutes, timeframe_ns)


class Rows:
    """Rows of one series, each computed once; threads may share it where `kept` may be shared.

    Args:
        series: Columns that they are computed from.
        run: Form in which loops run.
        kept: Store of computed rows; None for one of its own.
        place: Stands before the name of each row there, for stores that several series share.
    """

    def __init__(
        self,
        series: Series,
        run: LoopRunner = as_it_reads,
        kept: CachedRows | None = None,
        place: tuple[object, ...] = (),
    ) -> None:
        self.series, self.run, self.kept, self.place = series, run, kept or _Memory(), place
        self._higher: dict[tuple[int, int], tuple[Rows, Ints]] = {}

    def values(self, expression: Expression, genes: Genes) -> Floats:
        """Values of an expression at every bar, [T] read-only."""
        row = self.of(bound(expression, genes))
        if isinstance(row, float):
            row = np.full(len(self.series), row)
            row.flags.writeable = False
        return row

    def of(self, tree: Expression) -> Floats | float:
        """Values [T] of a tree without genes, or the one number that it always is."""
        if isinstance(tree, Number):
            return tree.value
        if isinstance(tree, Column) and tree.name not in COMPUTED_COLUMNS:
            return self._column(tree)
        if isinstance(tree, Arithmetic):
            # Computed sooner than looked up: with a real gene in it no other tree shares it.
            made = self._apply_operation(tree)
            if not made.ndim:
                return float(made) if math.isfinite(made) else math.nan
            self.run(make_finite)(made)
            made.flags.writeable = False
            return made
        return self.kept.get(
            (*self.place, tree), lambda: self._make_canonical(self._compute_row(tree))
        )

    def _make_canonical(self, row: Floats) -> Floats:
        # The row of a loop is new and not shared, whatever a compiler holds of it.
        row = row.copy() if isinstance(row.base, np.ndarray) else row
        self.run(make_canonical)(row)
        row.flags.writeable = False
        return row

    def _compute_row(self, tree: Expression) -> Floats:
        if isinstance(tree, Column):
            loop, names = COMPUTED_COLUMNS[tree.name]
            return self.run(loop)(*(getattr(self.series, name) for name in names))
        if isinstance(tree, Call):
            return self._call_indicator(tree)
        if isinstance(tree, Higher):
            return self._from_higher(tree)
        if isinstance(tree, Clock):
            return self._by_clock(tree)
        raise StrategyError(f"{tree!r} has no values before its genes have theirs")

    def _apply_operation(self, tree: Arithmetic) -> Floats:
        """One operation at each bar, rounded once; a new row, or one number."""
        sides = [self.of(side) for side in (tree.left, tree.right) if side is not None]
        with np.errstate(all="ignore"):
            return np.asarray(_OPERATIONS[tree.operation](*sides), np.float64)

    def _call_indicator(self, call: Call) -> Floats:
        parameters = [whole(setting) for setting in call.parameters]
        if isinstance(call.indicator, OwnIndicator):
            # It may be kept elsewhere too.
            return call.indicator.row(self.series, parameters).copy()
        kind = KINDS[call.indicator]
        read = [call.source] if call.source is not None else [Column(name) for name in kind.columns]
        return self.run(kind.loop)(*(self.of(operand) for operand in read), *parameters)

    def _column(self, column: Column) -> Floats:
        if not column.is_extra:
            return cast(Floats, getattr(self.series, column.name))
        if column.name not in self.series.extra:
            known = list(self.series.extra) or ["none"]
            raise StrategyError(unknown("extra column", column.name, known))
        return self.series.extra[column.name]

    def _from_higher(self, tree: Higher) -> Floats:
        rows, newest = self.higher(tree.minutes, tree.offset)
        if not len(rows.series):
            return np.full(len(self.series), math.nan)
        inner = rows.values(tree.inner, {})
        return np.where(newest < 0, math.nan, inner[np.maximum(newest, 0)])

    def higher(self, minutes: int, offset: int) -> "tuple[Rows, Ints]":
        """Rows of bars of so many minutes, and the newest that is over with each bar, [T]."""
        _check_span(minutes, self.series.timeframe_ns)
        if (minutes, offset) not in self._higher:
            series, newest = higher_series(self.series, minutes, offset, self.run)
            prefix = (*self.place, "higher", minutes, offset)
            self._higher[minutes, offset] = Rows(series, self.run, self.kept, prefix), newest
        return self._higher[minutes, offset]

    def _by_clock(self, tree: Clock) -> Floats:
        local = local_time(self.series.timestamp, tree.offset)
        if tree.name == "minute_of_day":
            return minutes_of_day(local)
        if tree.name == "day_of_week":
            return days_of_week(local)
        sessions = number_sessions(local)
        if tree.name == "vwap":
            return self.run(vwap)(self.values(Column("hlc3"), {}), self.series.volume, sessions)
        loop, side = {
            "opening_high": (opening_high, self.series.high),
            "opening_low": (opening_low, self.series.low),
        }[tree.name]
        span = whole(tree.parameters[0]) * MINUTE_NS
        over_ns = find_bar_ends(self.series.timestamp, self.series.timeframe_ns)
        return self.run(loop)(side, self.series.timestamp, over_ns, sessions, span)


class _Memory:
    """Keeps all rows, for one thread."""

    def __init__(self) -> None:
        self._rows: dict[tuple[object, ...], Any] = {}

    def get(self, name: tuple[object, ...], compute: Callable[[], Row]) -> Row:
        if name not in self._rows:
            self._rows[name] = compute()
            self._rows[name].flags.writeable = False
        return cast(Row, self._rows[name])


def whole(setting: Setting) -> int:
    """The whole number of a parameter with the values of its genes."""
    assert isinstance(setting, Number)
    return int(setting.value)


def make_canonical(row: Floats) -> None:
    """Take the sign from every zero of a row [T], and make every NaN the same."""
    for t in range(len(row)):
        row[t] = math.nan if math.isnan(row[t]) else row[t] + 0.0


def make_finite(row: Floats) -> None:
    """The same, with NaN for infinite values."""
    for t in range(len(row)):
        row[t] = row[t] + 0.0 if math.isfinite(row[t]) else math.nan


_OPERATIONS: Mapping[str, Callable[..., Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    # Over 0 it is infinite or NaN, so not known either way.
    "/": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "abs": np.abs,
}


def resolve_value(setting: Node, genes: Genes) -> float:
    """The value of a constant or a gene."""
    if isinstance(setting, GeneValue):
        return float(genes[setting.gene.name])
    assert isinstance(setting, Number)
    return setting.value


def _warm_up(tree: Node, genes: Genes, timeframe_ns: int | None = None) -> int:
    if isinstance(tree, Higher | Clock):
        return 0 if timeframe_ns is None else _reach_by_clock(tree, genes, timeframe_ns)
    if isinstance(tree, Choose):
        return _warm_up(tree.pick(resolve_value(tree.gene, genes)), genes, timeframe_ns)
    below = max((_warm_up(part, genes, timeframe_ns) for part in tree.parts), default=0)
    if isinstance(tree, Call):
        parameters = [int(resolve_value(setting, genes)) for setting in tree.parameters]
        indicator = tree.indicator
        if isinstance(indicator, OwnIndicator):
            return indicator.count_warm_up(parameters)
        return below + KINDS[indicator].warm_up(*parameters)
    if isinstance(tree, Compare):
        return below + tree.bars_ago
    if isinstance(tree, OverBars):
        return below + int(resolve_value(tree.bars, genes)) - 1
    return below


def _reach_by_clock(tree: Higher | Clock, genes: Genes, timeframe_ns: int) -> int:
    if isinstance(tree, Higher):
        span = tree.minutes * MINUTE_NS
        return -(-(_warm_up(tree.inner, genes) + 1) * span // timeframe_ns)
    is_of_session = tree.name not in ("minute_of_day", "day_of_week")
    return DAY_NS // timeframe_ns if is_of_session else 0


def _check_span(minutes: int, timeframe_ns: int) -> None:
    if minutes * MINUTE_NS % timeframe_ns:
        bar = timeframe_ns / MINUTE_NS
        legal = [m for m in (*_divisors(DAY_MINUTES), WEEK_MINUTES) if m % bar == 0]
        raise StrategyError(
            f"higher({minutes}, ...) does not fit bars of {bar:g} minutes; legal are "
            f"{', '.join(map(str, legal)) or 'none'}"
        )


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


Bools = npt.NDArray[np.bool_]


def truth(condition: Condition, rows: Rows, genes: Genes) -> Bools:
    """Truth of a condition after its switches, at every bar [T] of `rows`.

    Nowhere true if they leave nothing.
    """
    if isinstance(genes, DecodedGenes):
        left = genes.keep("settled", condition, lambda: _settle(condition, genes))
    else:
        left = _settle(condition, genes)
    return np.zeros(len(rows.series), np.bool_) if left is None else _truth(left, rows)


def _settle(condition: Condition, genes: Genes) -> Condition | None:
    """Condition that switches leave, without genes."""
    left = settle_switches(condition, genes)
    return None if left is None else bound(left, genes)


def _truth(condition: Condition, rows: Rows) -> Bools:
    """Truth of a condition without genes, [T] read-only, computed once for all callers."""
    return rows.kept.get((*rows.place, condition), lambda: _evaluate(condition, rows))


def _evaluate(condition: Condition, rows: Rows) -> Bools:
    if isinstance(condition, Compare):
        return _evaluate_comparison(condition, rows)
    if isinstance(condition, Junction):
        join = np.logical_and if isinstance(condition, AllOf) else np.logical_or
        return reduce(join, (_truth(part, rows) for part in condition.conditions))
    if isinstance(condition, OverBars):
        inner = _truth(condition.condition, rows)
        loop = held_bars if isinstance(condition, Held) else bars_within
        return rows.run(loop)(inner, whole(condition.bars))
    raise StrategyError(f"{condition!r} is no condition")


def _evaluate_comparison(condition: Compare, rows: Rows) -> Bools:
    # A comparison with NaN is false.
    sides = rows.of(condition.left), rows.of(condition.right)
    flags = np.asarray(_RELATIONS[condition.relation](*sides))
    if not flags.ndim:
        flags = np.full(len(rows.series), flags)
    if not condition.bars_ago:
        return flags
    earlier = np.zeros(len(flags), np.bool_)
    ago = min(condition.bars_ago, len(flags))
    earlier[ago:] = flags[: len(flags) - ago]
    return earlier


_RELATIONS: Mapping[Relation, Callable[..., Bools]] = {
    ">": np.greater,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
}


def held_bars(holds: Bools, bars: int) -> Bools:
    """Flags [T] of bars at which a condition held at each of the newest `bars` bars.

    >>> held_bars(np.array([True, True, False, True]), 2)
    array([False,  True, False, False])
    """
    flags = np.zeros(len(holds), np.bool_)
    in_a_row = 0
    for t in range(len(holds)):
        in_a_row = in_a_row + 1 if holds[t] else 0
        flags[t] = in_a_row >= bars
    return flags


def bars_within(holds: Bools, bars: int) -> Bools:
    """Flags [T] of bars at which a condition held at any of the newest `bars` bars.

    >>> bars_within(np.array([True, False, False, True]), 2)
    array([ True,  True, False,  True])
    """
    flags = np.zeros(len(holds), np.bool_)
    left = 0
    for t in range(len(holds)):
        left = bars if holds[t] else left - 1
        flags[t] = left > 0
    return flags
