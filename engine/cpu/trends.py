"""Rows of adaptive trends: going on where one ended, and many that share the sides of averages.

The law is `strategy.indicators.adaptive_trend`; these rows have its bits.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from engine.compiling.forms import CompiledForm
from engine.cpu.lanes import LANES
from engine.cpu.trend_layers import fresh_memory, weigh
from engine.cpu.trend_sides import MEMORY as SIDES_MEMORY
from engine.cpu.trend_sides import fill_sides
from engine.cpu.types import Codes, Floats, Ints
from engine.kept import Kept
from engine.rows.trend import FAMILIES, IN_SCRIPT, LENGTHS, lengths_of
from strategy.kinds import KINDS

Loop = TypeVar("Loop", bound=Callable[..., object])

Int8s = npt.NDArray[np.int8]

GROUPS = -(-LENGTHS // LANES)
"""Groups of four that hold a family's lengths."""

FORMS: dict[object, bool] = {
    KINDS["adaptive_trend"].loop: False,
    KINDS["adaptive_trend_script"].loop: True,
}
"""Definitions of the trend, and whether each is the script's."""

PLACES = np.arange(FAMILIES * LENGTHS).reshape(FAMILIES, LENGTHS)


class TrendState(NamedTuple):
    """All that a row goes on from.

    Args:
        bars: Bars that were seen.
        values: [n] float64.
    """

    bars: int
    values: Floats


class Trend(NamedTuple):
    """A row, from the bar at which it went on.

    Args:
        row: [T - begin], -1 to 1; NaN before the cutout.
        votes: [6, T - begin], hundredths, families in the order of their lengths.
        state: After the last bar.
    """

    row: Floats
    votes: Int8s
    state: TrendState


def trend_of(
    close: Floats, parameters: Sequence[int], is_script: bool, state: TrendState | None
) -> Trend:
    """The adaptive trend of a series [T]; see `engine.trends`."""
    close = _prices(close)
    begin = 0 if state is None else state.bars
    sides = np.zeros((FAMILIES, GROUPS, SIDES_MEMORY))
    layers = fresh_memory(np.array(parameters[12:]), parameters[8])
    if state is not None:
        sides = state.values[: sides.size].reshape(sides.shape).copy()
        layers = state.values[sides.size :].copy()
    codes = np.empty((FAMILIES, GROUPS * LANES, len(close) - begin), np.uint8)
    for family, base in enumerate(parameters[:6]):
        lengths = np.full(GROUPS * LANES, base)
        lengths[:LENGTHS] = lengths_of(base, parameters[6])
        lengths[LENGTHS:] = lengths[LENGTHS - 1]
        form = IN_SCRIPT.get(family, family) if is_script else family
        for group in range(GROUPS):
            four = slice(group * LANES, (group + 1) * LANES)
            fill_sides(close, form, lengths[four], begin, sides[family, group], codes[family, four])
    places = np.arange(codes.shape[0] * codes.shape[1]).reshape(codes.shape[:2])[:, :LENGTHS]
    row, votes = _weighed(
        close, codes.reshape(-1, len(close) - begin), places, parameters, is_script, begin, layers
    )
    state = TrendState(len(close), np.concatenate((sides.reshape(-1), layers)))
    return Trend(row, votes, state)


def _weighed(
    close: Floats,
    codes: Codes,
    places: Ints,
    parameters: Sequence[int],
    is_script: bool,
    begin: int,
    memory: Floats,
) -> tuple[Floats, Int8s]:
    row = np.empty(len(close) - begin)
    votes = np.empty((FAMILIES, len(close) - begin), np.int8)
    settings = np.array(parameters[7:12], np.int64)
    weigh(
        close, codes, np.ascontiguousarray(places), settings, is_script, begin, memory, row, votes
    )
    return row, votes


def _prices(close: Floats) -> Floats:
    """A column as the compiled loops know it, of which there is then one version."""
    found = np.ascontiguousarray(close, np.float64).view()
    found.flags.writeable = False
    return found


class TrendForm:
    """Runs loops compiled, and the adaptive trend so that many rows of a series share its sides.

    Nothing that it holds refers back to it, so that what is kept goes when it does.

    Args:
        kept: Where sides are kept.
    """

    def __init__(self, kept: Kept) -> None:
        self._compiled, self._kept = CompiledForm(), kept
        self._columns: dict[int, tuple[weakref.ref[Floats], int]] = {}
        self._numbers = count()

    def __call__(self, loop: Loop) -> Loop:
        """The loop as it is run."""
        if loop in FORMS:
            return cast(Loop, partial(self._row, FORMS[loop]))
        return self._compiled(loop)

    def _row(self, is_script: bool, close: Floats, *parameters: int) -> Floats:
        codes = np.empty((PLACES.size, len(close)), np.uint8)
        prices = _prices(close)
        for family, base in enumerate(parameters[:6]):
            form = IN_SCRIPT.get(family, family) if is_script else family
            for j, n in enumerate(lengths_of(base, parameters[6]).tolist()):
                codes[PLACES[family, j]] = self._sides(close, form, n // LANES)[n % LANES]
        memory = fresh_memory(np.array(parameters[12:]), parameters[8])
        row, _ = _weighed(prices, codes, PLACES, parameters, is_script, 0, memory)
        return row

    def _sides(self, close: Floats, form: int, group: int) -> Codes:
        """The sides [4, T] of four lengths that follow each other."""

        def compute() -> Floats:
            lengths = np.maximum(group * LANES + np.arange(LANES), 2)
            codes = np.empty((LANES, len(close)), np.uint8)
            fill_sides(_prices(close), form, lengths, 0, np.zeros(SIDES_MEMORY), codes)
            return cast(Floats, codes)

        return cast(Codes, self._kept.get(("sides", self._number(close), form, group), compute))

    def _number(self, close: Floats) -> int:
        """A number for a column, as long as it is there; another one never gets it."""
        known, number = self._columns.get(id(close), (None, 0))
        if known is None or known() is not close:
            number = next(self._numbers)
            self._columns[id(close)] = weakref.ref(close), number
        return number
