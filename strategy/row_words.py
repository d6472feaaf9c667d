"""Words for rows of the bars: columns, and an indicator's name called with its parameters."""

from collections.abc import Callable
from inspect import Parameter

from strategy.expressions import Arithmetic, Call, Column
from strategy.indicator_registry import COLUMNS, KINDS
from strategy.language import Operand, Term, as_expression, as_setting, build_word, word


def _indicator_word(name: str) -> Callable[..., Term]:
    """The word that calls an indicator: a source where it takes one, then its parameters."""
    kind = KINDS[name]
    taken: dict[str, object] = dict.fromkeys(() if kind.columns else ("x",), Parameter.empty)
    defaults = kind.defaults or (Parameter.empty,) * len(kind.parameters)
    names = (parameter.name for parameter in kind.parameters)
    taken |= zip(names, defaults, strict=True)

    def make(**given: object) -> Term:
        source = None if kind.columns else as_expression(given.pop("x"))
        return Term(Call(name, source, tuple(map(as_setting, given.values()))))

    # Its first line; the rest speaks of arrays.
    return build_word(name, kind.summary or str(kind.loop.__doc__).splitlines()[0], taken, make)


open, high, low, close, volume = (Term(Column(name)) for name in COLUMNS[:5])
true_range, close_location, hl2, hlc3, ohlc4 = (Term(Column(name)) for name in COLUMNS[5:])

ema, rma, sma, wma = (_indicator_word(name) for name in ("ema", "rma", "sma", "wma"))
ema_mean, dema, hma, lsma, kama = (
    _indicator_word(name) for name in ("ema_mean", "dema", "hma", "lsma", "kama")
)
adaptive_trend, adaptive_trend_script = (
    _indicator_word(name) for name in ("adaptive_trend", "adaptive_trend_script")
)
std, zscore, rsi, roc, lag = (
    _indicator_word(name) for name in ("std", "zscore", "rsi", "roc", "lag")
)
highest, lowest, stoch, atr = (
    _indicator_word(name) for name in ("highest", "lowest", "stoch", "atr")
)
plus_di, minus_di, adx, obv = (
    _indicator_word(name) for name in ("plus_di", "minus_di", "adx", "obv")
)
swing_high, swing_low = (_indicator_word(name) for name in ("swing_high", "swing_low"))
cci, mfi, sar, supertrend, supertrend_side = (
    _indicator_word(name) for name in ("cci", "mfi", "sar", "supertrend", "supertrend_side")
)


@word
def minimum(x: Operand, y: Operand) -> Term:
    """The smaller of two numbers at each bar."""
    return Term(Arithmetic("minimum", as_expression(x), as_expression(y)))


@word
def maximum(x: Operand, y: Operand) -> Term:
    """The larger of two numbers at each bar."""
    return Term(Arithmetic("maximum", as_expression(x), as_expression(y)))
