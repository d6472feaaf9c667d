"""A person's own indicator: a function over whole arrays, run on the host, told apart by its text.

What it may not do is look ahead, and that is proved: on bars cut short it must say the same.
"""

import hashlib
import json
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from strategy import limits
from strategy.errors import IndicatorError
from strategy.genes import Floats
from strategy.series import Series

CUTS = 64

Function = Callable[..., Floats]


@dataclass(frozen=True)
class OwnIndicator:
    """An indicator that a person wrote; two are equal where name, text and libraries are.

    Args:
        name: Of the function.
        parameters: Names of what it takes beside the bars.
        text_sha256: Of the file that defines it, hexadecimal.
        uses: Libraries that it needs beside numpy, each with its version.
        line: Where the function begins in its file.
        function: (bars, *whole numbers) to [T] float64.
        warm_up: Whole numbers to the bars before the first that it knows.
    """

    name: str
    parameters: tuple[str, ...]
    text_sha256: str
    uses: tuple[tuple[str, str], ...] = ()
    line: int = 0
    function: Function = field(compare=False, repr=False, kw_only=True)
    warm_up: Callable[..., int] = field(compare=False, repr=False, kw_only=True)

    def digest(self, values: Sequence[int]) -> str:
        """SHA-256, hexadecimal, of text, libraries, name and the values of its parameters."""
        told = [self.text_sha256, [list(one) for one in self.uses], self.name, list(values)]
        return hashlib.sha256(json.dumps(told, separators=(",", ":")).encode()).hexdigest()

    def shown(self, values: Sequence[int]) -> str:
        """The call as a person would write it."""
        return f"{self.name}({', '.join(str(value) for value in values)})"

    def warm_up_of(self, values: Sequence[int]) -> int:
        """Bars before the first that it knows.

        Raises:
            IndicatorError: When `warm_up` fails or says no number of bars.
        """
        try:
            bars = operator.index(self.warm_up(*values))
        except Exception as error:
            raise IndicatorError(f"{self.shown(values)}: its warm-up failed: {error}") from error
        if bars < 0:
            raise IndicatorError(f"{self.shown(values)}: its warm-up is {bars}, below 0")
        return bars

    def row(self, series: Series, values: Sequence[int]) -> Floats:
        """What it says of a series, [T]; NaN before its warm-up.

        Raises:
            IndicatorError: When it fails, writes to the bars, gives another shape or type, an
                infinity, or no value at all.
        """
        warm_up = self.warm_up_of(values)
        if len(series) <= warm_up:
            return np.full(len(series), math.nan)
        row = self._said(series, values, warm_up)
        if np.isnan(row).all():
            raise IndicatorError(f"{self.shown(values)} has no value from bar {warm_up} on")
        return row

    def _said(self, series: Series, values: Sequence[int], warm_up: int) -> Floats:
        try:
            with np.errstate(all="ignore"), limits.time_limit(limits.LONGEST_S):
                said = self.function(series, *values)
        except limits.TooLongError as error:
            raise IndicatorError(
                f"{self.shown(values)} took longer than {limits.LONGEST_S:g} seconds on "
                f"{len(series):,} bars{_line_of(error, self.function)}"
            ) from None
        except KeyboardInterrupt:
            raise
        # A library may raise what no `except Exception` catches, and sys.exit() is no answer.
        except BaseException as error:
            raise IndicatorError(
                f"{self.shown(values)} failed on {len(series):,} bars: "
                f"{type(error).__name__}: {error}{_line_of(error, self.function)}"
            ) from error
        if not isinstance(said, np.ndarray) or said.shape != (len(series),):
            raise IndicatorError(
                f"{self.shown(values)} must return an array of {len(series):,} numbers, one a "
                f"bar, got {getattr(said, 'shape', type(said).__name__)}"
            )
        if said.dtype != np.float64:
            raise IndicatorError(f"{self.shown(values)} must return float64, got {said.dtype}")
        row = said + 0.0
        row[:warm_up] = math.nan
        row[np.isnan(row)] = math.nan
        if np.isinf(row).any():
            first = int(np.isinf(row).argmax())
            raise IndicatorError(f"{self.shown(values)} is infinite at bar {first}")
        return row


def prove_causal(
    own: OwnIndicator, values: Sequence[int], series: Series, also: Sequence[int] = ()
) -> None:
    """Prove on one series that no value of an own indicator depends on later bars.

    Bars are cut short after bar t: what it says of bars up to t must be the same in every bit.
    Cuts are at the first two bars that it knows, at the last but one, and 63 between.

    Args:
        own: The indicator.
        values: Of its parameters.
        series: Bars to prove it on; a series no longer than the warm-up proves nothing.
        also: Further bars t to cut after, such as those at which an individual signals.

    Raises:
        IndicatorError: Naming function, parameters, and the first bar that differs.
    """
    warm_up, length = own.warm_up_of(values), len(series)
    if length <= warm_up:
        return
    whole = own.row(series, values)
    again = own.row(series, values)
    if (first := _first_difference(whole, again)) is not None:
        raise IndicatorError(
            f"{own.shown(values)} says something else when asked twice, first at bar {first}"
        )
    for cut in sorted({*_cuts(warm_up, length), *also}):
        if not warm_up <= cut < length:
            continue
        part = own._said(series.until(cut + 1), values, warm_up)
        if (first := _first_difference(whole[: cut + 1], part)) is not None:
            raise IndicatorError(
                f"{own.shown(values)} looks ahead: cut after bar {cut} it says {part[first]!r} "
                f"at bar {first}, with all bars {whole[first]!r}"
            )


def _cuts(warm_up: int, length: int) -> Iterator[int]:
    yield from (warm_up, warm_up + 1, length - 2)
    for i in range(1, CUTS):
        yield warm_up + ((length - 1 - warm_up) * i) // CUTS


def _first_difference(one: Floats, other: Floats) -> int | None:
    """First bar at which two rows differ in any bit, with NaN equal to NaN."""
    differs = (one != other) & ~(np.isnan(one) & np.isnan(other))
    return int(differs.argmax()) if differs.any() else None


def _line_of(error: BaseException, function: Function) -> str:
    """The line of the function's own file where an exception came from."""
    file, line, trace = function.__code__.co_filename, 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" ({file}:{line})" if line else ""
