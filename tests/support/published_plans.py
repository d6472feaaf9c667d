"""Strategies whose trades others published, in words."""
# ruff: noqa: F403, F405

from strategy.words import *


def turn(summary, over, under):
    """Always in the market after the first signal; the stop is too far to be met."""
    return strategy(
        summary, long=over, short=under, exit_long=under, exit_short=over, stop=share(0.5)
    )


histogram, strength, before = macd_histogram(close), rsi(close, 14), lag(close, 1)
side = supertrend_side(10, 30)

MACD = turn("MACD crosses its signal.", crosses_above(histogram, 0), crosses_below(histogram, 0))
RSI = turn("RSI leaves its zones.", crosses_above(strength, 30), crosses_below(strength, 70))
BARUPDN = turn(
    "A bar that opens and goes on beyond the close before.",
    (close > open) & (open > before),
    (close < open) & (open < before),
)
SUPERTREND = turn("Supertrend turns.", crosses_above(side, 0), crosses_below(side, 0))

fast, slow = sma(close, 10), sma(close, 30)
AVERAGES = turn("Averages cross.", crosses_above(fast, slow), crosses_below(fast, slow))

FOREX = market(tick="0.00001")


def rest(summary, over, under, entry, **more):
    """Orders that rest, of both sides, each of which reverses; the stop is too far to be met."""
    plain = {"stop": share(0.5), "market": FOREX, "reverse": True}
    return strategy(summary, long=over, short=under, entry=entry, **(plain | more))


above, below = highest(high, 5) + 0.00001, lowest(low, 5) - 0.00001
CHANNEL = rest(
    "Breaks out of a channel.", close > 0, close > 0, by_side(stop_at(above, 1), stop_at(below, 1))
)

middle, width = sma(close, 20), 2 * std(close, 20)
BANDS = rest(
    "Comes back into Bollinger's bands.",
    crosses_above(close, middle - width),
    crosses_below(close, middle + width),
    by_side(stop_at(middle - width, 1), stop_at(middle + width, 1)),
)

centre, reach = ema_mean(close, 20), 2 * rma(true_range, 10)
KELTNER = rest(
    "Leaves Keltner's channel.",
    crosses_above(close, centre + reach),
    crosses_below(close, centre - reach),
    by_side(stop_at(high + 0.00001), stop_at(low - 0.00001)),
    # Each order waits until the close is beyond the average, as only that of the other side can be.
    cancel=crosses_above(close, centre) | crosses_below(close, centre),
)


ONCE = strategy(
    "Ten bars of each side, by the number of the bar.",
    long=equals(bar_number(), 10),
    short=equals(bar_number(), 40),
    exit_long=equals(bar_number(), 20),
    exit_short=equals(bar_number(), 50),
    stop=share(0.5),
    market=FOREX,
    slippage=ticks(10),
)

is_late = bar_number() >= 20
TURNS = strategy(
    "Turns every ten bars, whatever prices do.",
    long=is_late & equals(modulo(bar_number(), 20), 0),
    short=is_late & equals(modulo(bar_number(), 20), 10),
    reverse=True,
    stop=share(0.5),
    market=FOREX,
    slippage=ticks(15),
)

quick, late = sma(close, 10), sma(close, 20)
short_average, long_average = sma(close, 3), sma(close, 10)
BRACKETS = strategy(
    "Averages cross; leaves at prices so far from the close.",
    long=crosses_above(short_average, long_average),
    short=crosses_below(short_average, long_average),
    reverse=True,
    stop=by_side(level(close - 1000), level(close + 1000)),
    target=by_side(level(close + 1500), level(close - 1500)),
    market=market(tick="0.01"),
)

LIMITS = rest(
    "Averages cross; waits for a better price.",
    crosses_above(quick, late),
    crosses_below(quick, late),
    by_side(limit_at(close * (1 - 0.5 / 100)), limit_at(close * (1 + 0.5 / 100))),
    stop=share(0.01),
    slippage=ticks(20),
)
