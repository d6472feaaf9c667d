"""How numbers are written for people, and which of many things they see: the same everywhere."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from data.bars import Role

HELD_OUT = "held_out_"
"""Stands before the name of what was measured on bars that were held out."""

SAMPLES: Mapping[Role, str] = {
    "search": "in",
    "held_out": "held out",
    "train": "train",
    "test": "test",
}
"""What results say of a window, by its role."""

MEANINGS = {
    "cagr": "what equity gained a year, compounded",
    "calmar": "cagr over the deepest drawdown",
    "calmar_simple": "return a year over the deepest drawdown, not compounded",
    "expectancy": "the same as mean_r",
    "exposure": "share of bars with an open position",
    "max_drawdown": "deepest fall of equity, as a share of its peak",
    "max_drawdown_r": "deepest fall of the sum of R, in R",
    "mean_hold_bars": "bars that a trade lasts, on the mean",
    "mean_r": "mean result of a trade, in R, after costs",
    "profit_factor": "sum of gains over sum of losses",
    "sharpe": "sharpe_trade times the root of the trades a year",
    "sharpe_trade": "mean R over its standard deviation, per trade",
    "sortino": "mean R over the root mean square of losses, per trade",
    "std_r": "standard deviation of R",
    "strength": "sum_r over the root of the sum of squared R: standard errors above 0",
    "sum_r": "all results together, in R",
    "total_return": "what equity gained, each R worth --risk-fraction of it",
    "trades": "how many there are",
    "trades_per_year": "how many there are in 365.25 days",
    "win_rate": "share of trades that gain after costs",
}
"""What metrics and objectives are, in a few words; R is what a trade puts at risk.

Source: `engine.metrics.compute_metrics`, which says it exactly.
"""

FRACTIONS = frozenset({"total_return", "cagr", "max_drawdown", "win_rate", "exposure"})
"""Metrics that people read in percent."""

LONG = 1e9
"""From here on a number is written with its power of ten."""


def evenly(count: int, most: int) -> npt.NDArray[np.int64]:
    """Places of at most so many of `count` things, evenly apart, the first and the last included.

    >>> evenly(10, 4).tolist(), evenly(2, 4).tolist(), evenly(0, 4).tolist()
    ([0, 3, 6, 9], [0, 1], [])
    """
    return np.linspace(0, max(count - 1, 0), min(count, most)).round().astype(np.int64)


def minute(time_ns: int) -> str:
    """When, to the minute, from nanoseconds UTC, such as ``2024-01-31 09:30``."""
    return str(np.datetime64(time_ns, "ns").astype("datetime64[m]")).replace("T", " ")


def number(value: object) -> str:
    """A number as people read it: four significant digits, or a dash where it is unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        return str(value)
    if isinstance(value, int) or (value == int(value) and abs(value) < LONG):
        return f"{int(value):,}"
    if abs(value) >= LONG:
        return f"{value:.3g}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def counted(count: object, noun: str) -> str:
    """A count with its noun, such as ``1 trade`` or ``1,234 trades``."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def fraction(value: object) -> str:
    """A fraction as percent with two digits."""
    if not (isinstance(value, float) and math.isfinite(value)):
        return "-"
    if abs(value) >= LONG / 100:
        return f"{100 * value:.3g}%"
    return f"{value:.2%}".replace("-0.00%", "0.00%")


def metric(name: str, value: object) -> str:
    """A metric, or an objective made from it such as ``max_drawdown@worst``, as people read it."""
    return fraction(value) if is_fraction(name) else number(value)


def is_fraction(name: str) -> bool:
    """Whether people read a metric, or an objective made from it, in percent."""
    return name.removeprefix(HELD_OUT).partition("@")[0].partition(":")[0] in FRACTIONS
