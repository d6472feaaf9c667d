"""Rows of adaptive trends: of several series, and many of one with shared sides of averages.

Sides are those of the definition, `strategy.indicators.adaptive_trend`; rows have its bits.
"""

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.indicators.cpu.trend_layers import build_start, pack, weigh
from engine.indicators.trend_spec import FAMILIES, TRENDS, list_lengths
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.types import Codes, Floats
from engine.runtime.lru_cache import ArrayCache
from strategy.expressions import Call
from strategy.indicator_registry import KINDS, TREND_SIDES
from strategy.rows import Rows, whole
from strategy.series import Series

Loop = TypeVar("Loop", bound=Callable[..., object])

Int8s = npt.NDArray[np.int8]
Words = npt.NDArray[np.uint32]

FORMS: dict[object, bool] = {KINDS[name].loop: is_script for name, is_script in TRENDS.items()}
"""Definitions of the trend, and whether each is the script's."""


class Trend(NamedTuple):
    """A row and the votes under it."""

    row: Floats  # [T], -1 to 1; NaN before the cutout
    votes: Int8s  # [6, T], hundredths, families in the order of their lengths


def weigh_lanes(
    closes: Sequence[Floats],
    tuples: Sequence[Sequence[int]],
    words: Sequence[Sequence[Words]],
    *,
    is_script: bool,
    has_votes: bool,
) -> list[Trend]:
    """Trends of up to four lanes.

    Args:
        closes: [T] of each.
        tuples: Parameters of each.
        words: Sides of the six families of each, [T].
        is_script: Whether to take `adaptive_trend_script`.
        has_votes: Whether votes are wanted; [6, 0] else.
    """
    bars = len(closes[0])
    # Spare lanes repeat the first one.
    lanes = [lane if lane < len(tuples) else 0 for lane in range(LANES)]
    distinct = {id(row): row for lane in words for row in lane}
    places = {name: place for place, name in enumerate(distinct)}
    rows = np.empty((LANES, bars))
    votes = np.empty((LANES, FAMILIES, bars if has_votes else 0), np.int8)
    weigh(
        freeze_prices(np.stack([closes[lane] for lane in lanes])),
        np.stack(list(distinct.values())),
        np.array([[places[id(row)] for row in words[lane]] for lane in lanes]),
        np.array([tuples[lane][7:12] for lane in lanes], np.int64),
        is_script,
        np.array([build_start(np.array(tuples[lane][12:]), tuples[lane][8]) for lane in lanes]),
        rows,
        votes,
    )
    # A released one must not stay because of the others.
    return [Trend(rows[lane].copy(), votes[lane].copy()) for lane in range(len(tuples))]


def freeze_prices(prices: Floats) -> Floats:
    """Prices as compiled loops know them, so that one version serves."""
    frozen = np.ascontiguousarray(prices, np.float64).view()
    frozen.flags.writeable = False
    return frozen


class TrendForm:
    """Runs loops compiled, and the adaptive trend so that many rows of a series share its sides.

    Nothing that it holds refers back to it, so that kept arrays go when it does.
    """

    def __init__(self, kept: ArrayCache) -> None:
        self._compiled, self._kept = CompiledForm(), kept
        self._columns: dict[int, tuple[weakref.ref[Floats], int]] = {}
        self._numbers = count()

    def __call__(self, loop: Loop) -> Loop:
        """The loop as it is run."""
        if loop not in FORMS:
            return self._compiled(loop)
        is_script = FORMS[loop]
        return cast(Loop, lambda close, *given: self.rows(close, [given], is_script=is_script)[0])

    def rows(
        self, close: Floats, tuples: Sequence[Sequence[int]], *, is_script: bool
    ) -> list[Floats]:
        """Rows [T] of up to four tuples of parameters."""
        words = [self.find_words(close, parameters, is_script=is_script) for parameters in tuples]
        closes = [close] * len(tuples)
        trends = weigh_lanes(closes, tuples, words, is_script=is_script, has_votes=False)
        return [trend.row for trend in trends]

    def compute_calls(self, close: Floats, calls: Sequence[Call]) -> list[Floats]:
        """Rows [T] of up to four calls of one indicator."""
        tuples = [[whole(parameter) for parameter in call.parameters] for call in calls]
        return self.rows(close, tuples, is_script=TRENDS[calls[0].label])

    def find_words(
        self, close: Floats, parameters: Sequence[int], *, is_script: bool
    ) -> list[Words]:
        """Sides of the averages of each family, [T] uint32."""
        robustness = int(parameters[6])

        def find(family: int, base: int) -> Words:
            def compute() -> Words:
                lengths = list_lengths(np.array(base), np.array(robustness)).tolist()
                words = np.empty(len(close), np.uint32)
                pack(np.stack([self.sides(close, family, n, is_script) for n in lengths]), words)
                return words

            name = "words", self._number(close), is_script, family, base, robustness
            return self._kept.get(name, compute)

        return [find(family, int(base)) for family, base in enumerate(parameters[:FAMILIES])]

    def sides(self, close: Floats, family: int, length: int, is_script: bool) -> Codes:
        """Sides of price of an average, [T]: -1, 0 or 1, plus 1."""

        def compute() -> Codes:
            taken = self._compiled(TREND_SIDES)(freeze_prices(close), family, length, is_script)
            return (taken + 1).astype(np.uint8)

        name = "sides", self._number(close), is_script, family, length
        return self._kept.get(name, compute)

    def _number(self, close: Floats) -> int:
        """A number for a column, as long as it lives; another one never gets it."""
        known, number = self._columns.get(id(close), (None, 0))
        if known is None or known() is not close:
            number = next(self._numbers)
            self._columns[id(close)] = weakref.ref(close), number
        return number


def build_series_rows(series: Sequence[Bars], most_bytes: int) -> list[Rows]:
    """Rows of each series, kept up to an amount of memory; threads and devices may share them."""
    kept = ArrayCache(most_bytes)
    run = TrendForm(kept)
    return [Rows(Series.of(bars), run, kept, (number,)) for number, bars in enumerate(series)]
