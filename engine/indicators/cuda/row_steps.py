"""Indicators as steps: each row is made of others by kernels of `row_kernels`."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial
from math import inf, isqrt
from typing import cast

from engine.indicators.trend_spec import QUICKEST, SLOWEST
from strategy.expressions import Arithmetic, Call, Clock, Column, Expression, Number, holds_row
from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS
from strategy.rows import Rows, whole

WINDOWS = ("sum", "sma", "wma", "lsma", "std", "zscore")
"""Steps by two-block sums."""

SESSIONS = {
    "vwap": ("hlc3", "volume"),
    "opening_high": ("high",),
    "opening_low": ("low",),
}
"""Steps that begin anew with each session, and the columns that they read."""

CHAIN, GIVEN = "chain", "given"
"""RowStep of a recurrence; and a row that is sent, or made otherwise."""

FINITE = frozenset("+-*/") | {"minimum", "maximum", "abs"}
"""Steps with infinite results as unknown ones."""


@dataclass(frozen=True, eq=False, slots=True)
class RowStep:
    """A row and its parts; equal ones of a `StepBook` are one."""

    form: str  # name of the step
    operands: tuple["RowStep | float", ...] = ()  # rows or numbers
    whole: int = 0  # whole number that it takes
    also: int = 0  # another one
    tree: Expression | None = None  # of a given row, or one that begins anew with each session
    is_shared: bool = False  # whether rows of any lengths read it


class StepBook:
    """Steps of rows of one series.

    Args:
        rows: Of the series.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._known: dict[object, RowStep] = {}

    def find(self, tree: Expression) -> RowStep:
        """The step that makes a row of a tree without genes."""
        if isinstance(tree, Column) and tree.name in COMPUTED_COLUMNS:
            _, names = COMPUTED_COLUMNS[tree.name]
            return self.add(tree.name, *(self.find(Column(name)) for name in names))
        if isinstance(tree, Arithmetic):
            sides = [side for side in (tree.left, tree.right) if side is not None]
            return self.add(tree.operation, *map(self._find_side, sides))
        if isinstance(tree, Call) and isinstance(tree.indicator, str):
            kind, build = KINDS[tree.indicator], _INDICATORS.get(tree.indicator)
            read = [tree.source] if tree.source is not None else map(Column, kind.columns)
            if build is not None:
                return build(self.add, *map(self.find, read), *map(whole, tree.parameters))
        if isinstance(tree, Clock) and tree.name in SESSIONS:
            operands = tuple(map(self.find, map(Column, SESSIONS[tree.name])))
            step = RowStep(tree.name, operands, tree=tree, is_shared=not tree.parameters)
            return self._known.setdefault(tree, step)
        is_shared = isinstance(tree, Column | Clock)
        return self._known.setdefault(tree, RowStep(GIVEN, tree=tree, is_shared=is_shared))

    def add(self, form: str, *operands: RowStep | float, whole: int = 0, also: int = 0) -> RowStep:
        """A step of others."""
        key = form, operands, whole, also
        if key not in self._known:
            self._known[key] = RowStep(
                form, operands, whole, also, is_shared=_is_shared(form, operands, whole)
            )
        return self._known[key]

    def forget(self, kept: Container[RowStep]) -> None:
        """Forget all steps but some."""
        self._known = {key: step for key, step in self._known.items() if step in kept}

    def _find_side(self, tree: Expression) -> RowStep | float:
        """A side of arithmetic: a row, or the one number that it always is."""
        is_one = isinstance(tree, Number | Arithmetic) and not holds_row(tree)
        return cast(float, self._rows.of(tree)) if is_one else self.find(tree)


Add = Callable[..., RowStep]
"""`StepBook.add`."""


def _is_shared(form: str, operands: tuple[RowStep | float, ...], whole: int) -> bool:
    """True if a step follows from columns alone; extremes of 2, 4, 8 ... bars do as well."""
    below = operands[0]
    is_double = whole == 1 or (isinstance(below, RowStep) and 2 * below.whole == whole)
    if whole and not (form in ("larger", "smaller") and is_double):
        return False
    return all(isinstance(row, RowStep) and row.is_shared for row in operands)


def _own(form: str) -> Callable[[Add, RowStep, int], RowStep]:
    """A step that is an indicator itself."""
    return lambda add, values, bars: add(form, values, whole=bars)


_mean = _own("sma")


def _ema(add: Add, values: RowStep, span: int) -> RowStep:
    return add(CHAIN, values, values, 2.0 / (span + 1.0), whole=1, also=span - 1)


def _rma(add: Add, values: RowStep, bars: int) -> RowStep:
    return add(CHAIN, values, _mean(add, values, bars), 1.0 / bars, whole=1)


def _ema_mean(add: Add, values: RowStep, bars: int) -> RowStep:
    return add(CHAIN, values, _mean(add, values, bars), 2.0 / (bars + 1), whole=1)


def _dema(add: Add, values: RowStep, bars: int) -> RowStep:
    averages = _ema_mean(add, values, bars)
    return add("doubled", averages, _ema_mean(add, averages, bars))


def _hma(add: Add, values: RowStep, bars: int) -> RowStep:
    half, wide = (add("wma", values, whole=n) for n in (bars // 2, bars))
    return add("wma", add("doubled", half, wide), whole=isqrt(bars))


def _kama(add: Add, values: RowStep, bars: int) -> RowStep:
    moves = add("sum", add("step", values), whole=bars)
    factors = add("factor", values, moves, QUICKEST, SLOWEST, whole=bars)
    return add(CHAIN, values, values, factors, whole=bars)


def _extreme(form: str, add: Add, values: RowStep, bars: int) -> RowStep:
    """Extreme of windows: of two of 2, 4, 8 ... bars that make up each."""
    size = 1
    while 2 * size <= bars:
        values, size = add(form, values, whole=size), 2 * size
    return values if size == bars else add(form, values, whole=bars - size)


_highest, _lowest = partial(_extreme, "larger"), partial(_extreme, "smaller")


def _rsi(add: Add, values: RowStep, bars: int) -> RowStep:
    return add("part", *(_rma(add, add(way, values), bars) for way in ("rise", "fall")))


def _stoch(add: Add, high: RowStep, low: RowStep, close: RowStep, bars: int) -> RowStep:
    return add("place", close, _highest(add, high, bars), _lowest(add, low, bars))


def _directional(
    way: str, add: Add, high: RowStep, low: RowStep, ranges: RowStep, bars: int
) -> RowStep:
    moves = _rma(add, add(way, high, low), bars)
    return add("share", moves, _rma(add, add("later", ranges), bars))


def _adx(add: Add, high: RowStep, low: RowStep, ranges: RowStep, bars: int) -> RowStep:
    both = (_directional(way, add, high, low, ranges, bars) for way in ("up", "down"))
    return _rma(add, add("apart", *both), bars)


def _swing_high(add: Add, high: RowStep, lookback: int, lookahead: int) -> RowStep:
    around = _highest(add, high, 2 * lookahead + 1)
    known = add("confirmed", high, around, whole=lookahead)
    bars = lookback - 2 * lookahead
    # Where so few bars hold no neighbours, none is confirmed: a row that is never known.
    confirmed = _highest(add, known, bars) if bars > 0 else add("*", high, -inf)
    plain = _highest(add, high, lookback - lookahead)
    return add("swing", confirmed, plain, whole=lookahead, also=lookback + lookahead)


def _swing_low(add: Add, low: RowStep, lookback: int, lookahead: int) -> RowStep:
    return add("negated", _swing_high(add, add("negated", low), lookback, lookahead))


def _cci(add: Add, values: RowStep, bars: int) -> RowStep:
    return add("deviation", values, _mean(add, values, bars), 0.015, whole=bars)


def _mfi(add: Add, prices: RowStep, volume: RowStep, bars: int) -> RowStep:
    ways = (add(way, prices, volume) for way in ("rising", "falling"))
    return add("part", *(_mean(add, money, bars) for money in ways))


_INDICATORS: dict[str, Callable[..., RowStep]] = {
    **{name: _own(name) for name in ("sma", "wma", "lsma", "std", "zscore", "lag", "roc")},
    "atr": _mean,
    "ema": _ema,
    "rma": _rma,
    "ema_mean": _ema_mean,
    "dema": _dema,
    "hma": _hma,
    "kama": _kama,
    "highest": _highest,
    "lowest": _lowest,
    "rsi": _rsi,
    "stoch": _stoch,
    "plus_di": partial(_directional, "up"),
    "minus_di": partial(_directional, "down"),
    "adx": _adx,
    "swing_high": _swing_high,
    "swing_low": _swing_low,
    "cci": _cci,
    "mfi": _mfi,
}
