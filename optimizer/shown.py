"""How numbers are written for people, the same in the terminal and in the report."""

import math

HELD_OUT = "held_out_"
"""Stands before the name of what was measured on bars that were held out."""

FRACTIONS = frozenset({"total_return", "max_drawdown", "win_rate", "exposure"})
"""Metrics that people read in percent."""


def number(value: object) -> str:
    """A number as people read it: four significant digits, or a dash where it is unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        return str(value)
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e9):
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def counted(count: object, noun: str) -> str:
    """A count with its noun, such as ``1 trade`` or ``1,234 trades``."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def fraction(value: object) -> str:
    """A fraction as percent with two digits."""
    if not (isinstance(value, float) and math.isfinite(value)):
        return "-"
    return f"{value:.2%}".replace("-0.00%", "0.00%")


def metric(name: str, value: object) -> str:
    """A metric, or an objective made from it such as ``max_drawdown@worst``, as people read it."""
    return fraction(value) if is_fraction(name) else number(value)


def is_fraction(name: str) -> bool:
    """Whether people read a metric, or an objective made from it, in percent."""
    return name.removeprefix(HELD_OUT).partition("@")[0].partition(":")[0] in FRACTIONS
