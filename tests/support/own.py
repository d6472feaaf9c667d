"""Indicators that nobody ships, and strategies that read them."""

import statistics

import numpy as np

from strategy import (
    Bracket,
    Comparison,
    Gene,
    GenomeLayout,
    Indicator,
    Parameter,
    Row,
    StrategySpec,
)

SHIFT = 0.25


def moved(value, other):
    """How far a value lies from another one; called by `drift`."""
    return value - other + SHIFT - SHIFT


def drift(values, bars, weight):
    """An average of what changed in so many bars; numba compiles it."""
    found = np.full(len(values), np.nan)
    average = 0.0
    for t in range(bars, len(values)):
        average = average + weight * (moved(values[t], values[t - bars]) - average)
        found[t] = average
    return found


def middle(values, bars):
    """The median of so many bars; numba knows nothing of the library."""
    found = np.full(len(values), np.nan)
    for t in range(bars - 1, len(values)):
        found[t] = statistics.median(values[t - bars + 1 : t + 1].tolist())
    return found


def late(values, bars):
    """Four times the values as they are, known long before its warm-up; or from a bar on."""
    return 4.0 * values if bars < 1000 else np.full(len(values), np.nan)


BARS = Parameter("bars", least=1)
DRIFT = Indicator(
    "drift",
    drift,
    (BARS, Parameter("weight", least=0.0, is_whole=False)),
    lambda bars, weight: bars,
)
MIDDLE = Indicator("middle", middle, (BARS,), lambda bars: bars - 1)
LATE = Indicator("late", late, (BARS,), lambda bars: 3 * bars)

_BRACKET_GENES = (
    Gene("stop_mult", "float", 0.1, 3.0, 1.0, positive=True),
    Gene("reward", "float", 0.3, 4.0, 1.0, positive=True),
    Gene("max_hold", "int", 1, 60, 20, "bars"),
)
_BRACKET = Bracket("reach", "stop_mult", "reward", "max_hold")

MIXED = StrategySpec(
    name="mixed",
    summary="Own indicators beside shipped ones, a float gene, constants; for tests.",
    layout=GenomeLayout(
        (
            Gene("bars", "int", 2, 12, 4, "bars"),
            Gene("slow", "int", 3, 25, 9, "bars"),
            Gene("weight", "float", 0.05, 0.9, 0.3),
            Gene("drift_min", "float", -3.0, 1.0, -1.0),
            *_BRACKET_GENES,
        )
    ),
    rows=(
        Row("close", "level", "close"),
        Row("drift", DRIFT, "close", ("bars", "weight")),
        Row("calm", DRIFT, "close", (3, 0.125)),
        Row("middle", MIDDLE, "close", ("slow",)),
        Row("mean", "sma", "close", (7,)),
        Row("reach", LATE, "true_range", ("bars",)),
    ),
    entry=(
        Comparison("drift", ">", "drift_min"),
        Comparison("calm", ">", "drift_min"),
        Comparison("close", ">", "middle"),
        Comparison("middle", "<", "mean"),
    ),
    bracket=_BRACKET,
)
"""Its rows are found by name; the stop's row warms up longest, and is known before."""

LISTED = StrategySpec(
    name="listed",
    summary="Own indicators of one whole parameter each, or a constant; for tests.",
    layout=GenomeLayout(
        (
            Gene("bars", "int", 2, 12, 4, "bars"),
            Gene("drift_min", "float", -8.0, 1.0, -1.0, "std"),
            *_BRACKET_GENES,
        )
    ),
    rows=(
        Row("middle", MIDDLE, "close", ("bars",)),
        Row("fixed", MIDDLE, "close", (5,)),
        Row("score", "zscore", "close", ("bars",)),
        Row("reach", LATE, "true_range", (6,)),
    ),
    entry=(Comparison("score", ">", "drift_min"), Comparison("fixed", "<", "middle")),
    bracket=_BRACKET,
)
"""Its rows are found in tables, by a device itself where it can."""

OWN_SPECS = {spec.name: spec for spec in (MIXED, LISTED)}
