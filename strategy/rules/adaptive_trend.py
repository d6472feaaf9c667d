"""Adaptive trend: long while six families of moving averages, weighed by merit, say up.

Adaptive trend bracket has a target and a time limit too.

Source: house rule on `strategy.indicators.adaptive_trend`, after the public indicator "Adaptive
Trend Classification: Moving Averages". Lengths count bars on every timeframe.
"""

from strategy.words import (
    adaptive_trend,
    atr,
    beyond_bar,
    crosses_above,
    gene,
    length,
    r_multiple,
    strategy,
    whole,
)

LENGTHS = ("ema_len", "hma_len", "wma_len", "dema_len", "lsma_len", "kama_len")

TREND = adaptive_trend(
    *(length(name, 28, 10, 120) for name in LENGTHS),
    robustness=whole("robustness", 1, 0, 2),
    growth=whole("growth", 20, 5, 500, "millionths a bar"),
    decay=whole("decay", 3, 1, 25, "basis points a bar"),
)
RISES = crosses_above(TREND, gene("long_threshold", 0.1, 0.05, 0.65))
HAS_FALLEN = TREND < gene("exit_threshold", -0.1, -0.65, 0.05)  # noqa: SIM300 - a row, no constant
STOP = beyond_bar(
    gene("atr_stop_mult", 3.0, 0.5, 20, "ATR") * atr(length("atr_window", 14, 5, 200))
)

ORDER = (
    *LENGTHS,
    "robustness",
    "growth",
    "decay",
    "long_threshold",
    "exit_threshold",
    "atr_window",
    "atr_stop_mult",
)

ADAPTIVE_TREND = strategy(
    "Long while the adaptive trend is up, out when it has fallen.",
    long=RISES,
    exit_long=HAS_FALLEN,
    stop=STOP,
    name="adaptive_trend",
    order=ORDER,
)


ADAPTIVE_TREND_BRACKET = strategy(
    "Long while the adaptive trend is up, out at a target, after a time, or when it has fallen.",
    long=RISES,
    exit_long=HAS_FALLEN,
    stop=STOP,
    target=r_multiple(gene("reward_r", 3.0, 0.5, 20, "R")),
    max_hold=length("max_hold", 60, 4, 2000),
    name="adaptive_trend_bracket",
    order=ORDER,
)
