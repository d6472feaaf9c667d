"""Unshipped strategies, for what those that ship do not ask of an engine."""

from strategy.words import (
    all_of,
    atr,
    beyond_bar,
    close,
    close_location,
    ema,
    gene,
    length,
    open,
    r_multiple,
    sma,
    strategy,
    true_range,
    volume,
    zscore,
)

STOP_MULT = gene("stop_mult", 1.0, 0.1, 3.0)
TARGET = r_multiple(gene("reward", 1.0, 0.3, 4.0))
MAX_HOLD = length("max_hold", 20, 1, 60)

_FAST, _SLOW = length("fast", 5, 2, 30), length("slow", 20, 2, 60)
_SCORE = length("score", 15, 2, 50)

CROSSINGS = strategy(
    "Every form on either side of a comparison, several series; for tests.",
    long=all_of(
        sma(close, _FAST) > sma(open, _SLOW),
        ema(close, _SLOW) < close,
        sma(close, _FAST) > ema(close, _SLOW),
        sma(volume, _SCORE) > gene("mean_min", 0.0, -2.0, 60.0),
        ema(volume, _FAST) > gene("pace_min", 0.0, -2.0, 60.0),
        zscore(close, _SCORE) < gene("score_max", 2.0, -1.0, 3.0, "std"),
        zscore(true_range, _SLOW) < zscore(close, _SCORE),
    ),
    stop=beyond_bar(STOP_MULT * ema(true_range, length("pace", 8, 2, 20))),
    target=TARGET,
    max_hold=MAX_HOLD,
    name="crossings",
    order=("fast", "slow", "score", "pace", "mean_min", "score_max", "pace_min"),
)
"""Its stop is measured by an EMA."""

_WINDOW = length("window", 10, 2, 40)

LOCATED = strategy(
    "A score of the close's location, which flat bars do not have; for tests.",
    long=zscore(close_location, _WINDOW) > gene("score_min", 0.0, -1.0, 2.0, "std"),
    stop=beyond_bar(STOP_MULT * atr(_WINDOW)),
    target=TARGET,
    max_hold=MAX_HOLD,
    name="located",
)

_SCORES, _SCORE_MIN = length("score", 15, 2, 100), gene("score_min", -0.5, -1.0, 1.0, "std")

LEVELS = strategy(
    "Levels on either side of genes, and a stop of one bar's range; for tests.",
    long=all_of(
        zscore(volume, _SCORES) > _SCORE_MIN,
        zscore(true_range, _SCORES) > _SCORE_MIN,
        close_location < gene("location_max", 0.6, 0.2, 0.9, "fraction of the bar's range"),
        volume > gene("volume_min", 400.0, 100.0, 1500.0, "units"),
    ),
    stop=beyond_bar(STOP_MULT * true_range),
    target=TARGET,
    max_hold=MAX_HOLD,
    name="levels",
)
"""Its scores are low enough to hold at many bars."""
