"""Rows of adaptive trends: of several series, and many of one with shared sides of averages.

The law is `strategy.indicators.adaptive_trend`; these rows have its bits.
"""

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.errors import EngineError
from engine.indicators.cpu.trend_layers import build_start, pack, weigh
from engine.indicators.cpu.trend_sides import fill_sides
from engine.indicators.trend_spec import (
    FAMILIES,
    IN_SCRIPT,
    LENGTHS,
    TRENDS,
    has_room,
    list_lengths,
)
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.types import Codes, Floats, Ints
from engine.runtime.lru_cache import ArrayCache
from strategy.expressions import Call
from strategy.indicator_registry import KINDS
from strategy.rows import Rows, whole
from strategy.series import Series

Loop = TypeVar("Loop", bound=Callable[..., object])

Int8s = npt.NDArray[np.int8]
Words = npt.NDArray[np.uint32]

GROUPS = -(-LENGTHS // LANES)
"""Groups of four that hold a family's lengths."""

FORMS: dict[object, bool] = {KINDS[name].loop: is_script for name, is_script in TRENDS.items()}
"""Definitions of the trend, and whether each is the script's."""


class Trend(NamedTuple):
    """A row and the votes under it."""

    row: Floats  # [T], -1 to 1; NaN before the cutout
    votes: Int8s  # [6, T], hundredths, families in the order of their lengths


def compute_trends(
    closes: Sequence[Floats],
    parameters: Sequence[int],
    is_script: bool,
) -> list[Trend]:
    """The adaptive trends of up to four series of one length.

    Raises:
        EngineError: Where prices are too large for sums over them.
    """
    require_room(closes, parameters)
    bars = len(closes[0])
    codes = np.empty((FAMILIES, GROUPS * LANES, bars), np.uint8)
    lengths = np.repeat(np.array(parameters[:6])[:, None], GROUPS * LANES, axis=1)
    for family, base in enumerate(parameters[:6]):
        lengths[family, :LENGTHS] = list_lengths(base, parameters[6])
        lengths[family, LENGTHS:] = lengths[family, LENGTHS - 1]
    forms = np.array([IN_SCRIPT.get(k, k) if is_script else k for k in range(FAMILIES)])
    words = np.empty((LANES * FAMILIES, bars), np.uint32)
    for lane, close in enumerate(closes):
        fill_sides(_prices(close), forms, lengths, codes)
        for family in range(FAMILIES):
            pack(codes[family], words[lane * FAMILIES + family])
    word_numbers = np.arange(LANES * FAMILIES).reshape(LANES, FAMILIES)
    # Spare lanes repeat the first one.
    lanes = [lane if lane < len(closes) else 0 for lane in range(LANES)]
    settings = np.array([parameters[7:12]] * LANES, np.int64)
    start = np.array([build_start(np.array(parameters[12:]), parameters[8])] * LANES)
    rows, votes = weigh_lanes(
        _prices(np.stack([closes[lane] for lane in lanes])),
        words, word_numbers[lanes], settings, is_script, start,
        has_votes=True,
    )  # fmt: skip
    return [Trend(rows[lane].copy(), votes[lane].copy()) for lane in range(len(closes))]


def require_room(closes: Sequence[Floats], parameters: Sequence[int]) -> None:
    """Refuse prices with sums that could overflow.

    Raises:
        EngineError: Naming the largest price.
    """
    for close in closes:
        if not has_room(close.max(initial=0.0), parameters[:6]):
            raise EngineError(
                f"a price of {close.max():g} is too large for adaptive trends of such lengths: "
                "divide all prices by a power of ten, which changes no trend"
            )


def weigh_lanes(
    closes: Floats,
    words: Words,
    places: Ints,
    settings: Ints,
    is_script: bool,
    start: Floats,
    *,
    has_votes: bool,
) -> tuple[Floats, Int8s]:
    """Rows and votes of four lanes; see `engine.indicators.cpu.trend_layers.weigh`."""
    bars = closes.shape[1]
    rows = np.empty((LANES, bars))
    votes = np.empty((LANES, FAMILIES, bars if has_votes else 0), np.int8)
    places = np.ascontiguousarray(places)
    weigh(closes, words, places, settings, is_script, start, rows, votes)
    return rows, votes


def _prices(close: Floats) -> Floats:
    """A column as the compiled loops know it, so that one version serves."""
    prices = np.ascontiguousarray(close, np.float64).view()
    prices.flags.writeable = False
    return prices


class TrendForm:
    """Runs loops compiled, and the adaptive trend so that many rows of a series share its sides.

    Nothing that it holds refers back to it, so that kept arrays go when it does.

    Args:
        kept: Where sides are kept.
    """

    def __init__(self, kept: ArrayCache) -> None:
        self._compiled, self._kept = CompiledForm(), kept
        self._columns: dict[int, tuple[weakref.ref[Floats], int]] = {}
        self._numbers = count()

    def __call__(self, loop: Loop) -> Loop:
        """The loop as it is run."""
        if loop in FORMS:
            return cast(Loop, lambda close, *found: self.rows(loop, close, [found])[0])
        return self._compiled(loop)

    def rows(self, loop: object, close: Floats, tuples: Sequence[Sequence[int]]) -> list[Floats]:
        """Rows [T] of up to four tuples, by one of the definitions in `FORMS`."""
        is_script = FORMS[loop]
        lengths = [length for parameters in tuples for length in parameters[:6]]
        if not has_room(close.max(initial=0.0), lengths):
            define = self._compiled(cast(Callable[..., Floats], loop))
            return [define(close, *parameters) for parameters in tuples]
        at_hand: dict[tuple[int, int, int], int] = {}
        word_numbers = np.zeros((LANES, FAMILIES), np.int64)
        for lane, parameters in enumerate(tuples):
            for family, base in enumerate(parameters[:6]):
                form = IN_SCRIPT.get(family, family) if is_script else family
                key = form, int(base), int(parameters[6])
                word_numbers[lane, family] = at_hand.setdefault(key, len(at_hand))
        words = np.empty((len(at_hand), len(close)), np.uint32)
        for (form, base, robustness), number in at_hand.items():
            words[number] = self._words(close, form, base, robustness)
        lanes = [lane if lane < len(tuples) else 0 for lane in range(LANES)]
        settings = np.array([tuples[lane][7:12] for lane in lanes], np.int64)
        start = np.array(
            [build_start(np.array(tuples[lane][12:]), tuples[lane][8]) for lane in lanes]
        )
        prices = _prices(close[None])
        lanes_rows, _ = weigh_lanes(
            prices, words, word_numbers[lanes], settings, is_script, start, has_votes=False
        )
        # A released one must not stay because of the others.
        return [row.copy() for row in lanes_rows[: len(tuples)]]

    def compute_calls(self, close: Floats, calls: Sequence[Call]) -> list[Floats]:
        """Rows [T] of up to four calls of one indicator."""
        tuples = [[whole(parameter) for parameter in call.parameters] for call in calls]
        return self.rows(KINDS[calls[0].label].loop, close, tuples)

    def _words(self, close: Floats, form: int, base: int, robustness: int) -> Words:
        """The sides of a family's nine averages, [T] uint32."""

        def compute() -> Floats:
            codes = np.empty((LENGTHS, len(close)), np.uint8)
            for j, n in enumerate(list_lengths(base, robustness).tolist()):
                codes[j] = self._sides(close, form, n // LANES)[n % LANES]
            words = np.empty(len(close), np.uint32)
            pack(codes, words)
            return cast(Floats, words)

        name = "words", self._number(close), form, base, robustness
        return cast(Words, self._kept.get(name, compute))

    def _sides(self, close: Floats, form: int, group: int) -> Codes:
        """The sides [4, T] of four lengths that follow each other."""

        def compute() -> Floats:
            lengths = np.maximum(group * LANES + np.arange(LANES), 2)[None]
            codes = np.empty((1, LANES, len(close)), np.uint8)
            fill_sides(_prices(close), np.array([form]), lengths, codes)
            return cast(Floats, codes[0])

        return cast(Codes, self._kept.get(("sides", self._number(close), form, group), compute))

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
