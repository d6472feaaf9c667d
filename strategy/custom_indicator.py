"""A person's own indicator: a function over whole arrays, run on the host, known by its text.

It may not look ahead: `strategy.lookahead_check` runs it on bars that are cut short.
"""

import hashlib
import json
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from data.checks import COLUMNS
from strategy import limits
from strategy.errors import IndicatorError, in_one_line
from strategy.genes import Floats
from strategy.series import Series


class KeptRows(Protocol):
    """Store of rows from run to run."""

    def get(self, own: "OwnIndicator", series: Series, values: Sequence[int]) -> Floats:
        """Row of an indicator on a series, [T], held or computed; raises as `compute_row`."""

    def forget(self, own: "OwnIndicator") -> None:
        """Keep none of its rows any more."""


@dataclass(frozen=True)
class OwnIndicator:
    """An indicator that a person wrote; two are equal where name, text and libraries are."""

    name: str  # of the function
    parameters: tuple[str, ...]  # names of its arguments beside the bars
    text_sha256: str  # of the file that defines it, hexadecimal
    # Libraries that it needs beside numpy, each with its version.
    uses: tuple[tuple[str, str], ...] = ()
    line: int = 0  # where the function begins in its file
    # (bars, *whole numbers) to [T] float64.
    function: Callable[..., Floats] = field(compare=False, repr=False, kw_only=True)
    # Whole numbers to the bars before the first that it knows.
    warm_up: Callable[..., int] = field(compare=False, repr=False, kw_only=True)
    # Where its rows are kept from run to run; None where each run computes them.
    kept: KeptRows | None = field(compare=False, repr=False, kw_only=True, default=None)
    _warm_ups: dict[tuple[int, ...], int] = field(
        compare=False, repr=False, init=False, default_factory=dict
    )

    def digest(self, values: Sequence[int]) -> str:
        """SHA-256, hexadecimal, of text, libraries, name and the values of its parameters."""
        identity = [self.text_sha256, [list(pair) for pair in self.uses], self.name, list(values)]
        return hashlib.sha256(json.dumps(identity, separators=(",", ":")).encode()).hexdigest()

    def format_call(self, values: Sequence[int]) -> str:
        """The call as a person would write it."""
        return f"{self.name}({', '.join(str(value) for value in values)})"

    def error(
        self, values: Sequence[int], fault: str, cause: BaseException | None = None
    ) -> IndicatorError:
        """Error of a call, in one line with the place in its file."""
        return IndicatorError(f"{self.format_call(values)} {fault} ({self._place(cause)})")

    def count_warm_up(self, values: Sequence[int]) -> int:
        """Bars before the first that it knows.

        Raises:
            IndicatorError: When `warm_up` fails, takes too long or returns no number of bars.
        """
        key = tuple(values)
        if key not in self._warm_ups:
            self._warm_ups[key] = self._run_warm_up(key)
        return self._warm_ups[key]

    def _run_warm_up(self, values: tuple[int, ...]) -> int:
        try:
            with limits.own_code():
                bars = operator.index(self.warm_up(*values))
        except limits.TooLongError as error:
            too_long = f"takes longer than {limits.LONGEST_S:g} seconds to say its warm-up"
            raise self.error(values, too_long, error) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = f"cannot say its warm-up: {in_one_line(error)}"
            raise self.error(values, fault, error) from error
        if bars < 0:
            raise self.error(values, f"says that its warm-up is {bars}, below 0")
        return bars

    def row(self, series: Series, values: Sequence[int]) -> Floats:
        """Row that engines read, [T]: kept, else as `compute_row`; raises as that."""
        if self.kept is not None:
            return self.kept.get(self, series, values)
        return self.compute_row(series, values)

    def compute_row(self, series: Series, values: Sequence[int]) -> Floats:
        """Row of a series, computed anew, [T]; NaN before its warm-up.

        Raises:
            IndicatorError: When it fails, writes to the bars, gives another shape or type, an
                infinity, or no value at all.
        """
        warm_up = self.count_warm_up(values)
        if len(series) <= warm_up:
            return np.full(len(series), math.nan)
        row = self.call_function(series, values, warm_up)
        if np.isnan(row).all():
            raise self.error(values, f"has no value from bar {warm_up} on")
        return row

    def call_function(self, series: Series, values: Sequence[int], warm_up: int) -> Floats:
        """Row of more bars than its warm-up, [T], which may hold no value at all.

        The function gets a copy of the bars: no array within its reach has any others.

        Raises:
            IndicatorError: As `row`.
        """
        copy = series.copy()
        try:
            with np.errstate(all="ignore"), limits.own_code():
                result = self.function(copy, *values)
        except limits.TooLongError as error:
            too_long = f"took longer than {limits.LONGEST_S:g} seconds on {len(series):,} bars"
            raise self.error(values, too_long, error) from None
        except KeyboardInterrupt:
            raise
        # A library may raise what no `except Exception` catches, and sys.exit() is no answer.
        except BaseException as error:
            failed = f"failed on {len(series):,} bars: {in_one_line(error)}"
            if "'Series' object" in failed:
                failed += f"; bars has {', '.join(COLUMNS)}, each an array of numpy"
            raise self.error(values, failed, error) from error
        return self._check_row(result, len(series), values, warm_up)

    def _check_row(
        self, result: object, length: int, values: Sequence[int], warm_up: int
    ) -> Floats:
        wanted = f"must return an array of {length:,} numbers, one a bar, got"
        if not isinstance(result, np.ndarray):
            raise self.error(values, f"{wanted} {_kind(result)}")
        if isinstance(result, np.ma.MaskedArray):
            raise self.error(values, f"{wanted} a masked one; add .filled(np.nan)")
        if result.ndim == 1 and result.size < length:
            begin = "where it knows nothing yet its value is np.nan"
            raise self.error(values, f"{wanted} {result.size:,}; {begin}")
        if result.shape != (length,):
            raise self.error(values, f"{wanted} one of shape {result.shape}")
        if result.dtype != np.float64:
            wanted = f"must return float64, got {result.dtype}; add .astype(float)"
            raise self.error(values, wanted)
        row: Floats = result + 0.0
        row[:warm_up] = math.nan
        row[np.isnan(row)] = math.nan
        if np.isinf(row).any():
            first = int(np.isinf(row).argmax())
            raise self.error(values, f"is infinite at bar {first}")
        return row

    def _place(self, cause: BaseException | None) -> str:
        """File and line: the last of its file on the way to an error, else its beginning."""
        file, line = self.function.__code__.co_filename, self.line
        trace = None if cause is None else cause.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == file:
                line = trace.tb_lineno
            trace = trace.tb_next
        return f"{file}:{line or self.function.__code__.co_firstlineno}"


def _kind(result: object) -> str:
    """Kind of a result that is no array, and the way to make it one."""
    if hasattr(result, "tree"):
        return "a row or condition of the words; compute with numpy, as in bars.close + bars.open"
    hint = "; add .to_numpy()" if hasattr(result, "to_numpy") else ""
    return f"a {type(result).__name__}{hint}"
