"""Indicators: each family in one file, with its formulas, sources and readable loops.

The loops here are the oracle's: one bar at a time, causal, as they read in plain Python and in the
same words compiled. Fast forms live beside the other rows of each engine backend and must equal
these bit for bit; an indicator without one is computed by its loop everywhere.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType

import numpy as np

from data.checks import VALUES
from strategy.errors import IndicatorError
from strategy.genes import Floats
from strategy.indicators.bar_columns import close_location, true_range
from strategy.indicators.ema import ema, ema_over_holes
from strategy.indicators.level import level
from strategy.indicators.rolling import sma, zscore

Loop = Callable[..., Floats]

ANY = -(2.0**31)
"""Least of a parameter that may be any number, also a negative one."""

ABOVE_ZERO = math.ulp(0.0)
"""The smallest positive number, for what must be positive."""


@dataclass(frozen=True)
class Parameter:
    """A number that an indicator takes.

    Args:
        name: For messages.
        least: Smallest legal value.
        is_whole: Whether only whole values are legal; the loop then takes an int, else a float.
        most: Largest legal value.
    """

    name: str
    least: float = 1
    is_whole: bool = True
    most: float = math.inf

    @property
    def wanted(self) -> str:
        """What a value has to be, in words."""
        least = "above 0" if self.least == ABOVE_ZERO else f"at least {self.least:g}"
        most = "" if self.most == math.inf else f"at most {self.most:g}"
        parts = "whole" if self.is_whole else "", "" if self.least == ANY else least, most
        return " and ".join(filter(None, parts))

    def admits(self, value: float) -> bool:
        """Whether a value is finite, large enough, and whole where it must be."""
        is_number = self.least <= value <= self.most and math.isfinite(value)
        return is_number and (value % 1 == 0 or not self.is_whole)


@dataclass(frozen=True)
class Indicator:
    """What a strategy may ask for as a row.

    Args:
        name: Key in `INDICATORS`, or any other for one of your own.
        loop: The readable definition, a plain function: ``(values, *parameters)`` to values [T],
            of which value t depends on values up to t only.
        parameters: What it takes beside the values, in their order.
        warm_up: Parameters to bars before the first that may signal; what the loop says of these
            is taken as unknown.
        fixed_source: The source it always reads; empty where the strategy chooses one.
        computed_as: Name of the indicator that computes it, where it is another one on a fixed
            source; else its own name.

    Raises:
        IndicatorError: When definition or warm-up is no plain function.
    """

    name: str
    loop: Loop
    parameters: tuple[Parameter, ...]
    warm_up: Callable[..., int]
    fixed_source: str = ""
    computed_as: str = ""

    def __post_init__(self) -> None:
        for what, function in (("definition", self.loop), ("warm-up", self.warm_up)):
            if not isinstance(function, FunctionType):
                raise IndicatorError(
                    f"indicator '{self.name}': its {what} must be a plain function, which the "
                    f"engine compiles itself, got {function!r}"
                )

    @property
    def form(self) -> str:
        """Name under which backends compute it."""
        return self.computed_as or self.name

    @property
    def is_own(self) -> bool:
        """Whether it is none of `INDICATORS`."""
        return self.name not in INDICATORS

    def arguments(self, parameters: Sequence[float]) -> tuple[float, ...]:
        """Parameters as the loop takes them: an int where whole, else a float, never -0.0.

        Raises:
            IndicatorError: When one is not legal.
        """
        named = list(zip(self.parameters, parameters, strict=True))
        for one, value in named:
            if not one.admits(value):
                raise IndicatorError(f"{self.name} needs {one.name} {one.wanted}, got {value:g}")
        return tuple(int(value) if one.is_whole else float(value) + 0.0 for one, value in named)

    def warm_up_of(self, parameters: Sequence[float]) -> int:
        """Bars before the first that may signal.

        Raises:
            IndicatorError: When parameters are not legal, or `warm_up` says no number of bars.
        """
        bars = self.warm_up(*self.arguments(parameters))
        if not hasattr(bars, "__index__") or bars < 0:
            raise IndicatorError(
                f"{self._shown(parameters)}: its warm-up must be whole and at least 0, got {bars!r}"
            )
        return operator.index(bars)

    def row(
        self, values: Floats, parameters: Sequence[float], run: Callable[[Loop], Loop]
    ) -> Floats:
        """The row of values, as every engine has to know it.

        Args:
            values: [T], what it reads.
            parameters: Legal ones.
            run: Loop to what is called in its place.

        Returns:
            [T]; NaN within the warm-up, all of it where the series is no longer.

        Raises:
            IndicatorError: When the loop fails, or returns anything but a number or NaN a bar.
        """
        arguments, warm_up = self.arguments(parameters), self.warm_up_of(parameters)
        if len(values) <= warm_up:
            return np.full(len(values), math.nan)
        try:
            row: Floats = np.asarray(run(self.loop)(values, *arguments))
        except Exception as error:
            raise IndicatorError(
                f"{self._shown(parameters)} failed: {type(error).__name__}: {error}"
            ) from error
        if row.shape != values.shape or row.dtype != np.float64:
            raise IndicatorError(
                f"{self._shown(parameters)} must return {len(values):,} values of float64, one a "
                f"bar, got {row.dtype} {row.shape}"
            )
        if not np.isnan(row[:warm_up]).all():
            row = np.concatenate((np.full(warm_up, math.nan), row[warm_up:]))
        if self.is_own and np.isinf(row).any():
            t = int(np.isinf(row).argmax())
            raise IndicatorError(f"{self._shown(parameters)} is infinite at bar {t}")
        return row

    def _shown(self, parameters: Sequence[float]) -> str:
        named = zip(self.parameters, parameters, strict=True)
        return f"{self.name}({', '.join(f'{one.name}={value:g}' for one, value in named)})"


def one_less(bars: int) -> int:
    """Warm-up of a window: it is known with its last bar."""
    return bars - 1


_BARS, _WINDOW = (Parameter("bars"),), (Parameter("bars", least=2),)

INDICATORS: dict[str, Indicator] = {
    one.name: one
    for one in (
        Indicator("atr", sma, _WINDOW, one_less, "true_range", "sma"),
        Indicator("ema", ema, _BARS, one_less),
        Indicator("level", level, (), lambda: 0),
        Indicator("sma", sma, _WINDOW, one_less),
        Indicator("zscore", zscore, _WINDOW, one_less),
    )
}
"""Every indicator by name. atr(w) is sma(true_range, w)."""

EMA_OVER_HOLES = Indicator("ema", ema_over_holes, _BARS, one_less, computed_as="ema_over_holes")
"""The ema of a source that may have holes, which skips them; without holes both have equal bits."""

WITH_HOLES = "close_location"
"""The source that may have holes: a bar whose prices are all equal has no close location."""

SOURCES: dict[str, Callable[..., Floats] | None] = {
    **dict.fromkeys(VALUES),
    "true_range": true_range,
    "close_location": close_location,
}
"""What a row may read: a column of the bars, or a function (high, low, close) of them."""
