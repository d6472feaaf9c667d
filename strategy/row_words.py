"""Words for rows of the bars: columns, indicators by their names, and rows made of these."""

import inspect
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import ParamSpec

from strategy.clock import Offset
from strategy.conditions import AllOf, AnyOf, Compare, Condition, Held, Within
from strategy.errors import StrategyError
from strategy.expressions import Arithmetic, Call, Clock, Column, Expression
from strategy.indicator_registry import COLUMNS, KINDS
from strategy.language import (
    Claim,
    Operand,
    Term,
    as_condition,
    as_expression,
    as_setting,
    build_word,
    check_constant,
    word,
)
from strategy.nodes import ABOVE_ZERO, ANY, Parameter

P = ParamSpec("P")


def _indicator_word(name: str) -> Callable[..., Term]:
    """The word that calls an indicator: its source, if any, then its parameters."""
    kind = KINDS[name]
    taken: dict[str, object] = dict.fromkeys(
        () if kind.columns else ("x",), inspect.Parameter.empty
    )
    defaults = kind.defaults or (inspect.Parameter.empty,) * len(kind.parameters)
    names = (parameter.name for parameter in kind.parameters)
    taken |= zip(names, defaults, strict=True)

    def make(**given: object) -> Term:
        source = None if kind.columns else as_expression(given.pop("x"))
        return Term(Call(name, source, tuple(map(as_setting, given.values()))))

    # Its first line; the rest speaks of arrays.
    return build_word(name, kind.summary or str(kind.loop.__doc__).splitlines()[0], taken, make)


open, high, low, close, volume = (Term(Column(name)) for name in COLUMNS[:5])
true_range, close_location, hl2, hlc3, ohlc4 = (Term(Column(name)) for name in COLUMNS[5:])

ema, rma, sma, wma = map(_indicator_word, ("ema", "rma", "sma", "wma"))
ema_mean, dema, hma, lsma, kama = map(_indicator_word, ("ema_mean", "dema", "hma", "lsma", "kama"))
adaptive_trend, adaptive_trend_script = map(
    _indicator_word, ("adaptive_trend", "adaptive_trend_script")
)
std, zscore, rsi, roc, lag = map(_indicator_word, ("std", "zscore", "rsi", "roc", "lag"))
highest, lowest, stoch, atr = map(_indicator_word, ("highest", "lowest", "stoch", "atr"))
plus_di, minus_di, adx, obv = map(_indicator_word, ("plus_di", "minus_di", "adx", "obv"))
swing_high, swing_low = map(_indicator_word, ("swing_high", "swing_low"))
cci, mfi, sar, supertrend, supertrend_side = map(
    _indicator_word, ("cci", "mfi", "sar", "supertrend", "supertrend_side")
)

sign, square_root, floor, total = map(_indicator_word, ("sign", "square_root", "floor", "total"))
last_known, bars_unknown, filled = map(_indicator_word, ("last_known", "bars_unknown", "filled"))
percentile, percent_rank, rank_correlation = map(
    _indicator_word, ("percentile", "percent_rank", "rank_correlation")
)
bars_since_highest, bars_since_lowest = map(
    _indicator_word, ("bars_since_highest", "bars_since_lowest")
)


@word
def minimum(x: Operand, y: Operand) -> Term:
    """The smaller of two numbers at each bar."""
    return Term(Arithmetic("minimum", as_expression(x), as_expression(y)))


@word
def maximum(x: Operand, y: Operand) -> Term:
    """The larger of two numbers at each bar."""
    return Term(Arithmetic("maximum", as_expression(x), as_expression(y)))


COMPOSED: list[str] = []
"""Words made of other words, for what people look for by name: rows that could be written out.

They are recorded as that: no engine knows of them, and two spellings share their rows. Where
programs differ, their values are TradingView's.
"""


def compose(function: Callable[P, Term]) -> Callable[P, Term]:
    """A word that is made of others.

    >>> from strategy.words import bollinger_upper, close
    >>> bollinger_upper(close, 20, 2)
    sma(close, 20) + (2 * std(close, 20))
    """
    COMPOSED.append(function.__name__)
    return word(function)


@compose
def macd(x: Operand, fast: Operand = 12, slow: Operand = 26) -> Term:
    """MACD line: a fast average minus a slow one, both `ema_mean`."""
    return ema_mean(x, fast) - ema_mean(x, slow)


@compose
def macd_signal(x: Operand, fast: Operand = 12, slow: Operand = 26, signal: Operand = 9) -> Term:
    """MACD signal line: the average of the MACD line."""
    return ema_mean(macd(x, fast, slow), signal)


@compose
def macd_histogram(x: Operand, fast: Operand = 12, slow: Operand = 26, signal: Operand = 9) -> Term:
    """MACD line minus its signal line."""
    return macd(x, fast, slow) - macd_signal(x, fast, slow, signal)


@compose
def bollinger_upper(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Bollinger band above: the mean plus `k` standard deviations; the middle is `sma`."""
    return sma(x, n) + k * std(x, n)


@compose
def bollinger_lower(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Bollinger band below: the mean minus `k` standard deviations."""
    return sma(x, n) - k * std(x, n)


@compose
def bollinger_percent(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Place between the Bollinger bands (%B): 0 at the lower, 1 at the upper one."""
    lower = bollinger_lower(x, n, k)
    return (x - lower) / (bollinger_upper(x, n, k) - lower)


@compose
def bollinger_width(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Distance between the Bollinger bands, in percent of the mean."""
    return 100 * ((bollinger_upper(x, n, k) - bollinger_lower(x, n, k)) / sma(x, n))


@compose
def keltner_upper(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Keltner channel above: `ema_mean` plus `k` times that of the true range."""
    return ema_mean(x, n) + k * ema_mean(true_range, n)


@compose
def keltner_lower(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Keltner channel below: `ema_mean` minus `k` times that of the true range."""
    return ema_mean(x, n) - k * ema_mean(true_range, n)


@compose
def donchian_upper(n: Operand) -> Term:
    """Donchian channel above: the highest high of `n` bars, this one too."""
    return highest(high, n)


@compose
def donchian_lower(n: Operand) -> Term:
    """Donchian channel below: the lowest low of `n` bars, this one too."""
    return lowest(low, n)


@compose
def donchian_middle(n: Operand) -> Term:
    """Middle of the Donchian channel; a line of Ichimoku."""
    return (donchian_upper(n) + donchian_lower(n)) / 2


@compose
def atr_wilder(n: Operand) -> Term:
    """Average true range of TradingView and TA-Lib: Wilder's average; `atr` is a plain mean."""
    return rma(true_range, n)


@compose
def williams_r(n: Operand) -> Term:
    """Williams %R: the close's place in the range of `n` bars, -100 to 0."""
    return stoch(n) - 100


@compose
def momentum(x: Operand, n: Operand) -> Term:
    """Change over `n` bars."""
    return x - lag(x, n)


@compose
def tema(x: Operand, n: Operand) -> Term:
    """Triple exponential average, by `ema_mean`."""
    first = ema_mean(x, n)
    second = ema_mean(first, n)
    return 3 * first - 3 * second + ema_mean(second, n)


@compose
def trix(x: Operand, n: Operand) -> Term:
    """Change of a triply smoothed row from bar to bar, in percent."""
    return 100 * roc(ema_mean(ema_mean(ema_mean(x, n), n), n), 1)


@compose
def vwma(x: Operand, n: Operand) -> Term:
    """Mean weighted by volume."""
    return sma(x * volume, n) / sma(volume, n)


@compose
def cmo(x: Operand, n: Operand) -> Term:
    """Chande's momentum oscillator: net change as a share of the path, -100 to 100."""
    move = momentum(x, 1)
    return 100 * (sma(move, n) / sma(abs(move), n))


@compose
def tsi(x: Operand, short: Operand = 13, long: Operand = 25) -> Term:
    """True strength index: twice smoothed change as a share of twice smoothed path, -1 to 1."""
    move = momentum(x, 1)
    smooth = ema_mean(ema_mean(move, long), short)
    return smooth / ema_mean(ema_mean(abs(move), long), short)


@compose
def stoch_rsi(x: Operand, n: Operand = 14) -> Term:
    """Place of the RSI in its range of `n` bars, 0 to 100."""
    strength = rsi(x, n)
    bottom = lowest(strength, n)
    return 100 * ((strength - bottom) / (highest(strength, n) - bottom))


@compose
def awesome_oscillator() -> Term:
    """Mean of 5 middles of bars minus that of 34."""
    return sma(hl2, 5) - sma(hl2, 34)


@compose
def heikin_open() -> Term:
    """Open of a Heikin-Ashi bar: half way from the open of the one before to its close."""
    return ema(lag(ohlc4, 1), 3)


@compose
def heikin_high() -> Term:
    """High of a Heikin-Ashi bar."""
    return maximum(high, maximum(heikin_open(), ohlc4))


@compose
def heikin_low() -> Term:
    """Low of a Heikin-Ashi bar."""
    return minimum(low, minimum(heikin_open(), ohlc4))


@compose
def heikin_close() -> Term:
    """Close of a Heikin-Ashi bar: `ohlc4`."""
    return +ohlc4


@compose
def median(x: Operand, n: Operand) -> Term:
    """Middle one of the newest `n` values by size; the mean of two where `n` is even."""
    return percentile(x, n, 50)


@compose
def linreg(x: Operand, n: Operand, offset: Operand) -> Term:
    """The least-squares line through `n` values, `offset` bars before its end, which is `lsma`."""
    end = lsma(x, n)
    return end - offset * ((end - sma(x, n)) / ((n - 1) / 2))


@compose
def correlation(x: Operand, y: Operand, n: Operand) -> Term:
    """Pearson's correlation of the newest `n` values of two rows, -1 to 1."""
    return (sma(x * y, n) - sma(x, n) * sma(y, n)) / (std(x, n) * std(y, n))


@compose
def gravity(x: Operand, n: Operand) -> Term:
    """Ehlers' centre of gravity: the mean age of values weighted by them, below 0."""
    return ((n + 1) / 2) * (wma(x, n) / sma(x, n)) - (n + 1)


_ALMA = (
    Parameter("n"),
    Parameter("offset", least=ANY, is_whole=False),
    Parameter("sigma", least=ABOVE_ZERO, is_whole=False),
)


@compose
def alma(x: Operand, n: int, offset: float = 0.85, sigma: float = 6) -> Term:
    """Arnaud Legoux' average: a mean with weights of a bell."""
    for parameter, value in zip(_ALMA, (n, offset, sigma), strict=True):
        check_constant("alma", parameter, value)
    places = [Decimal(k - offset * (n - 1)) / Decimal(n / sigma) for k in range(int(n))]
    # Decimals, since the last bit of a processor's own exponential is not the same everywhere.
    bell = [(-place * place / 2).exp() for place in places]
    weights = [float(height / sum(bell)) for height in bell]
    sums = Term(as_expression(x)) * weights[-1]
    for k, weight in enumerate(weights[:-1]):
        sums = sums + lag(x, n - 1 - k) * weight
    return sums


@compose
def modulo(x: Operand, k: Operand) -> Term:
    """The rest of a division: what `x` is above the whole multiple of `k` below it."""
    row = Term(as_expression(x))
    return row - k * floor(row / k)


@compose
def bar_number() -> Term:
    """Number of a bar from the first of the file, which is 0."""
    return total(0 * close + 1) - 1


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
