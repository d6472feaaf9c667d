"""Rows of conditions, and conditions of remembered rows: words that are made of other words."""

from functools import reduce

from strategy.clock import Offset
from strategy.conditions import AllOf, AnyOf, Compare, Condition, Held, Within
from strategy.errors import StrategyError
from strategy.expressions import Clock, Expression
from strategy.language import (
    Claim,
    Operand,
    Term,
    as_condition,
    as_expression,
    check_constant,
    word,
)
from strategy.nodes import Parameter
from strategy.row_words import (
    bars_unknown,
    close,
    compose,
    filled,
    high,
    highest,
    lag,
    last_known,
    low,
    lowest,
    maximum,
    minimum,
    sign,
    square_root,
    total,
    volume,
)

_AGO = Parameter("ago", least=0)


def _mark(condition: Condition) -> Term:
    """1 where a condition is true, 0 where it is not; unknown where a number of it is."""
    if isinstance(condition, Compare):
        above = Term(condition.left) - Term(condition.right)
        if condition.relation in ("<", "<="):
            above = Term(condition.right) - Term(condition.left)
        side = lag(sign(above), condition.bars_ago) if condition.bars_ago else sign(above)
        return maximum(side, 0) if condition.relation in (">", "<") else minimum(side + 1, 1)
    if isinstance(condition, AllOf | AnyOf):
        join = minimum if isinstance(condition, AllOf) else maximum
        return reduce(join, map(_mark, condition.conditions))
    if isinstance(condition, Held | Within):
        extreme = lowest if isinstance(condition, Held) else highest
        return extreme(_mark(condition.condition), Term(condition.bars))
    raise StrategyError("a row of a condition has no switch in it: join the switch outside")


def _is_known(row: Term) -> Term:
    """1 where a row is known, else 0."""
    return filled(0 * row + 1, 0)


def _join(a: Term, b: Term) -> Term:
    """Of two rows the one that is known; they never are both."""
    return (filled(a, 0) + filled(b, 0)) / maximum(_is_known(a), _is_known(b))


@compose
def where(c: Claim, x: Operand, y: Operand | None = None) -> Term:
    """`x` where a condition is true, else `y`, or unknown without one.

    Unknown where a number of the condition is.
    """
    mark = _mark(as_condition(c, "the condition of where"))
    chosen = Term(as_expression(x)) / mark
    return chosen if y is None else _join(chosen, Term(as_expression(y)) / (1 - mark))


@compose
def known_or(x: Operand, y: Operand) -> Term:
    """`x` where it is known, else `y`."""
    row = Term(as_expression(x))
    return _join(row, Term(as_expression(y)) / (1 - _is_known(row)))


@compose
def value_when(c: Claim, x: Operand, ago: int = 0) -> Term:
    """Value of a row at the newest bar at which a condition was true, or so many of these ago."""
    check_constant("value_when", _AGO, ago)
    value = last_known(where(c, x))
    return value if ago == 0 else value_when(c, lag(value, 1), ago - 1)


@compose
def bars_since(c: Claim) -> Term:
    """Bars since a condition was last true."""
    return bars_unknown(where(c, 1))


@compose
def session_total(x: Operand, offset: Offset = 0) -> Term:
    """Sum of a row since the first bar of its day, from the second day on."""
    day, minute = (Term(Clock(name, (), offset)) for name in ("day_of_week", "minute_of_day"))
    begins = (day > lag(day, 1)) | (day < lag(day, 1)) | (minute < lag(minute, 1))
    sums = total(x)
    # A row may be unknown at the first bar, and a difference of sums has not its last bit.
    return where(begins, x, sums - value_when(begins, lag(last_known(sums), 1)))


@compose
def vwap_band(x: Operand, k: Operand, offset: Offset = 0) -> Term:
    """The day's mean of a row, weighted by volume, and `k` standard deviations."""
    units = session_total(volume, offset)
    mean = session_total(x * volume, offset) / units
    variance = session_total(x * x * volume, offset) / units - mean * mean
    return mean + k * square_root(maximum(variance, 0))


@compose
def pivot_high(x: Operand, before: int, after: int) -> Term:
    """A turn, `after` bars late: no value of `before` bars is above it, none of `after` reaches it.

    Unknown at other bars; `last_known` of it is the newest turn.
    """
    turn = lag(x, after)
    return where((turn > highest(x, after)) & (turn >= highest(x, before + after + 1)), turn)


@compose
def pivot_low(x: Operand, before: int, after: int) -> Term:
    """A turn from below; all else as `pivot_high`."""
    turn = lag(x, after)
    return where((turn < lowest(x, after)) & (turn <= lowest(x, before + after + 1)), turn)


@compose
def accumulation() -> Term:
    """Accumulation and distribution: volume by the close's place in its bar, summed."""
    return total(volume * where(high > low, (2 * close - high - low) / (high - low), 0))


@compose
def price_volume_trend() -> Term:
    """Volume times the change of the close as a fraction, summed."""
    return total(volume * ((close - lag(close, 1)) / lag(close, 1)))


@word
def lazily(asked: Claim, c: Claim) -> Claim:
    """True where both are, as `and` of Pine: a cross compares with the bar that asked before."""
    first = as_condition(asked, "what asks first")

    def remember(row: Expression) -> Expression:
        return lag(last_known(where(asked, Term(row))), 1).tree

    def move(condition: Condition) -> Condition:
        if isinstance(condition, Compare) and condition.bars_ago == 1:
            sides = remember(condition.left), remember(condition.right)
            return Compare(sides[0], condition.relation, sides[1])
        if isinstance(condition, AllOf | AnyOf):
            return type(condition)(tuple(map(move, condition.conditions)))
        return condition

    return Claim(AllOf((first, move(as_condition(c, "what is asked lazily")))))
