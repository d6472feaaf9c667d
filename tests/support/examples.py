"""Strategies in the words of the language: ten that say, together, all that it can say.

They are written as a person would write a file of one's own, and are loaded from here by path too.
"""
# ruff: noqa: F403, F405

from strategy.words import *

strength = rsi(close, 14)
RSI_PULLBACK = strategy(
    "Buys a dip in an uptrend of two timeframes.",
    long=(close > sma(close, length("slow", 200, 50, 400)))
    & (higher(240, close) > higher(240, ema(close, 20)))
    & crosses_above(strength, gene("oversold", 35, 15, 45)),
    exit_long=strength > 65,
    stop=beyond_bar(gene("stop", 1.5, 0.3, 4) * rma(true_range, 14)),
    target=r_multiple(2),
    max_hold=48,
)

n, wild = length("channel", 55, 10, 200), rma(true_range, 20)
DONCHIAN_TRAIL = strategy(
    "Follows a breakout with a chandelier.",
    long=close > lag(highest(high, n), 1),
    short=close < lag(lowest(low, n), 1),
    stop=from_entry(2 * wild),
    trail=trail(from_entry(gene("room", 3, 1, 8) * wild)),
)

macd = ema(close, 12) - ema(close, 26)
line = ema(macd, 9)
MACD_CROSS = strategy(
    "A cross below zero, and its mirror.",
    long=crosses_above(macd, line) & (macd < 0),
    short=crosses_below(macd, line) & (macd > 0),
    exit_long=crosses_below(macd, line),
    exit_short=crosses_above(macd, line),
    stop=beyond_bar(1 * rma(true_range, 14)),
    target=r_multiple(3),
    break_even=1,
)

mid, k = sma(close, 20), gene("width", 2, 1, 4)
calm = ~(adx(14) > 30)
BOLLINGER_REVERSION = strategy(
    "Back to the middle while there is no trend.",
    long=(close < mid - k * std(close, 20)) & calm,
    short=(close > mid + k * std(close, 20)) & calm,
    stop=share(0.02),
    target=level(mid),
    max_hold=96,
)

fair, move, early = vwap(0), roc(close, 12), minute_of_day(0) < 1140
VWAP_REVERSION = strategy(
    "Back to the day's average price, flat by 19:55.",
    long=held(close < fair, 3) & (move < -0.004) & early,
    short=held(close > fair, 3) & (move > 0.004) & early,
    stop=from_entry(2 * atr(30)),
    target=level(fair),
    session=session_exit(1195),
)

quick, slow = ema(close, length("quick", 20, 5, 60)), ema(close, length("slow", 100, 61, 400))
MA_CROSS = strategy(
    "Always in the market, except after a stop.",
    long=crosses_above(quick, slow),
    short=crosses_below(quick, slow),
    exit_long=crosses_below(quick, slow),
    exit_short=crosses_above(quick, slow),
    stop=by_side(long=level(lowest(low, 50)), short=level(highest(high, 50))),
)

loud = (zscore(volume, 672) > gene("vol_z_min", 2, 0.5, 4)) & (zscore(true_range, 672) > 1.2)
down = ema(close, 96) < ema(close, 672)
SELLER_FIBONACCI = strategy(
    "Sellers are done: up to a retracement of the fall.",
    long=down & loud & (close_location > 0.6),
    stop=beyond_bar(0.7 * atr(96)),
    target=level(low + gene("ratio", 0.618, 0.3, 1) * (swing_high(96, 5) - low)),
    max_hold=96,
)
BUYER_EXHAUSTION = strategy(
    "The mirror.",
    short=(ema(close, 96) > ema(close, 672)) & loud & (close_location < 0.4),
    stop=beyond_bar(0.7 * atr(96)),
    target=r_multiple(2),
    max_hold=96,
)

# A ninth, for what the eight leave out.
busy, fresh = within(volume > 1.5 * sma(volume, 50), 5), day_of_week(0) < 5
OPENING_RANGE = strategy(
    "Out of the first hour.",
    delay=1,
    long=all_of(
        crosses_above(close, opening_high(60)), busy, (close > vwap(0)) | (stoch(14) < 20), fresh
    ),
    short=all_of(
        crosses_below(close, opening_low(60)), busy, (close < vwap(0)) | (stoch(14) > 80), fresh
    ),
    stop=share(0.01),
    target=share(0.03),
    trail=trail(share(0.008), after=0.5),
    session=session_exit(),
)

average = choice("average", sma, ema, wma, default="ema")
source, chosen = choice("source", close, hl2), average(close, length("span", 30, 10, 60))
CHOSEN_AVERAGE = strategy(
    "Crosses a chosen average, with conditions that may be left out.",
    long=crosses_above(source, chosen) & switch("busy", volume > sma(volume, 20)),
    short=switch("shorts", crosses_below(source, chosen), default=False),
    exit_long=(rsi(close, 14) > 75) | switch("leaves", close < chosen),
    stop=from_entry(gene("far", 2, 0.5, 4, step=0.25) * rma(true_range, 14)),
    max_hold=96,
)
