"""Words made of other words, for what people look for by name.

Each is a row that could be written out in rows and arithmetic, and is recorded as that: no engine
knows of it, and two spellings share their rows. Where programs differ, its value is TradingView's.

>>> from strategy.words import bollinger_upper, close
>>> bollinger_upper(close, 20, 2)
sma(close, 20) + (2 * std(close, 20))
"""

from strategy.language import Operand, Term, word
from strategy.row_words import (
    ema,
    ema_mean,
    high,
    highest,
    hl2,
    lag,
    low,
    lowest,
    maximum,
    minimum,
    ohlc4,
    rma,
    roc,
    rsi,
    sma,
    std,
    stoch,
    true_range,
    volume,
)


@word
def macd(x: Operand, fast: Operand = 12, slow: Operand = 26) -> Term:
    """MACD line: a fast average minus a slow one, both `ema_mean`."""
    return ema_mean(x, fast) - ema_mean(x, slow)


@word
def macd_signal(x: Operand, fast: Operand = 12, slow: Operand = 26, signal: Operand = 9) -> Term:
    """MACD signal line: the average of the MACD line."""
    return ema_mean(macd(x, fast, slow), signal)


@word
def macd_histogram(x: Operand, fast: Operand = 12, slow: Operand = 26, signal: Operand = 9) -> Term:
    """MACD line minus its signal line."""
    return macd(x, fast, slow) - macd_signal(x, fast, slow, signal)


@word
def bollinger_upper(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Bollinger band above: the mean plus `k` standard deviations; the middle is `sma`."""
    return sma(x, n) + k * std(x, n)


@word
def bollinger_lower(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Bollinger band below: the mean minus `k` standard deviations."""
    return sma(x, n) - k * std(x, n)


@word
def bollinger_percent(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Place between the Bollinger bands (%B): 0 at the lower, 1 at the upper one."""
    lower = bollinger_lower(x, n, k)
    return (x - lower) / (bollinger_upper(x, n, k) - lower)


@word
def bollinger_width(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Distance between the Bollinger bands, in percent of the mean."""
    return 100 * ((bollinger_upper(x, n, k) - bollinger_lower(x, n, k)) / sma(x, n))


@word
def keltner_upper(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Keltner channel above: `ema_mean` plus `k` times that of the true range."""
    return ema_mean(x, n) + k * ema_mean(true_range, n)


@word
def keltner_lower(x: Operand, n: Operand = 20, k: Operand = 2) -> Term:
    """Keltner channel below: `ema_mean` minus `k` times that of the true range."""
    return ema_mean(x, n) - k * ema_mean(true_range, n)


@word
def donchian_upper(n: Operand) -> Term:
    """Donchian channel above: the highest high of `n` bars, this one too."""
    return highest(high, n)


@word
def donchian_lower(n: Operand) -> Term:
    """Donchian channel below: the lowest low of `n` bars, this one too."""
    return lowest(low, n)


@word
def donchian_middle(n: Operand) -> Term:
    """Middle of the Donchian channel; a line of Ichimoku."""
    return (donchian_upper(n) + donchian_lower(n)) / 2


@word
def atr_wilder(n: Operand) -> Term:
    """Average true range of TradingView and TA-Lib: Wilder's average; `atr` is a plain mean."""
    return rma(true_range, n)


@word
def williams_r(n: Operand) -> Term:
    """Williams %R: the close's place in the range of `n` bars, -100 to 0."""
    return stoch(n) - 100


@word
def momentum(x: Operand, n: Operand) -> Term:
    """Change over `n` bars."""
    return x - lag(x, n)


@word
def tema(x: Operand, n: Operand) -> Term:
    """Triple exponential average, by `ema_mean`."""
    first = ema_mean(x, n)
    second = ema_mean(first, n)
    return 3 * first - 3 * second + ema_mean(second, n)


@word
def trix(x: Operand, n: Operand) -> Term:
    """Change of a triply smoothed row from bar to bar, in percent."""
    return 100 * roc(ema_mean(ema_mean(ema_mean(x, n), n), n), 1)


@word
def vwma(x: Operand, n: Operand) -> Term:
    """Mean weighted by volume."""
    return sma(x * volume, n) / sma(volume, n)


@word
def cmo(x: Operand, n: Operand) -> Term:
    """Chande's momentum oscillator: net change as a share of the path, -100 to 100."""
    move = momentum(x, 1)
    return 100 * (sma(move, n) / sma(abs(move), n))


@word
def tsi(x: Operand, short: Operand = 13, long: Operand = 25) -> Term:
    """True strength index: twice smoothed change as a share of twice smoothed path, -1 to 1."""
    move = momentum(x, 1)
    smooth = ema_mean(ema_mean(move, long), short)
    return smooth / ema_mean(ema_mean(abs(move), long), short)


@word
def stoch_rsi(x: Operand, n: Operand = 14) -> Term:
    """Place of the RSI in its range of `n` bars, 0 to 100."""
    strength = rsi(x, n)
    bottom = lowest(strength, n)
    return 100 * ((strength - bottom) / (highest(strength, n) - bottom))


@word
def awesome_oscillator() -> Term:
    """Mean of 5 middles of bars minus that of 34."""
    return sma(hl2, 5) - sma(hl2, 34)


@word
def heikin_open() -> Term:
    """Open of a Heikin-Ashi bar: half way from the open of the one before to its close."""
    return ema(lag(ohlc4, 1), 3)


@word
def heikin_high() -> Term:
    """High of a Heikin-Ashi bar."""
    return maximum(high, maximum(heikin_open(), ohlc4))


@word
def heikin_low() -> Term:
    """Low of a Heikin-Ashi bar."""
    return minimum(low, minimum(heikin_open(), ohlc4))


@word
def heikin_close() -> Term:
    """Close of a Heikin-Ashi bar: `ohlc4`."""
    return +ohlc4


__all__ = sorted(name for name, one in vars().items() if getattr(one, "__module__", "") == __name__)
