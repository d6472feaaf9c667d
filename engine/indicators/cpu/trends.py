"""Rows of adaptive trends: of several series, and many of one with shared sides of averages.

Sides are those of the definition, `strategy.indicators.adaptive_trend`; rows have its bits. Four
rows are four lanes, of one series or of four of one length; three equities of each go on together.
"""

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.indicators.trend_spec import (
    FAMILIES,
    FLOOR,
    LENGTHS,
    MILLION,
    TAYLOR,
    TRENDS,
    list_lengths,
)
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.compiling.loops import compiled_part, compiled_unlocked
from engine.runtime.cpu.simd4 import (
    LANES,
    above,
    load,
    select_by_side,
    sign_by_side,
    splat,
    store,
    whole_part,
)
from engine.runtime.cpu.types import Codes, Floats, Ints
from engine.runtime.lru_cache import ArrayCache
from strategy.expressions import Call
from strategy.indicator_registry import KINDS, TREND_SIDES
from strategy.rows import Rows, whole
from strategy.series import Series

TILE = 128
"""Bars that are worked on at once, so that they stay in the nearest memory."""

Packed = npt.NDArray[Any]
"""Sides, two bits each or a byte each, and votes."""

WIDTH = 8
"""Families in a row's state, and room for two."""

SIDES = LENGTHS * WIDTH
FAMILY_EQUITIES = 2 * LENGTHS * WIDTH
STEPS, VOTES = FAMILY_EQUITIES + WIDTH, FAMILY_EQUITIES + 2 * WIDTH
STATE = FAMILY_EQUITIES + 3 * WIDTH
"""Where a row's state holds what behind the equities of its averages, and its length."""


def build_start(weights: Ints, decay: int) -> Floats:
    """The state of a row before its first bar: [STATE] float64."""
    start = np.zeros(STATE)
    start[:SIDES] = 1.0
    start[FAMILY_EQUITIES:STEPS] = FLOOR
    start[FAMILY_EQUITIES : FAMILY_EQUITIES + FAMILIES] = np.maximum(weights / 10.0, FLOOR)
    start[STEPS:VOTES] = 1.0 - decay / 10000.0
    return start


@compiled_unlocked
def pack(codes: Packed, words: Packed) -> None:
    """Join the sides of averages, codes [9 or more, T] uint8, to words [T] of two bits each."""
    words[:] = 0
    for j in range(LENGTHS):
        sides = codes[j]
        for i in range(len(words)):
            words[i] |= np.uint32(sides[i]) << np.uint32(2 * j)


@compiled_unlocked
def weigh(
    closes: Floats,
    words: Packed,
    places: Ints,
    settings: Ints,
    is_script: bool,
    start: Floats,
    rows: Floats,
    votes: Packed,
) -> None:
    """Fill four rows.

    Args:
        closes: [S, T], price; row r is of series r % S.
        words: [A, T] uint32 as `pack` gives them.
        places: [4, 6] which of them are the families of each row.
        settings: [4, 5] growth, decay, cutout, and the hundredths above and below which a family
            votes.
        is_script: Whether a family without a vote repeats its last step.
        start: [4, STATE], as `build_start` gives it.
        rows: [4, T], the result.
        votes: [4, 6, T] int8, the votes of the families in hundredths; [4, 6, 0] where they
            are not wanted.
    """
    bars, has_votes = closes.shape[1], votes.shape[2] > 0
    state = np.ascontiguousarray(start.T).reshape(-1)
    at_hand = np.empty((TILE + 1, LANES), np.uint32)
    steps = np.empty((3, TILE * LANES))
    nums, dens = np.empty(TILE * LANES), np.empty(TILE * LANES)
    sums, held = np.empty(TILE * LANES), np.empty(TILE * LANES)
    bounds = np.empty((3, LANES))
    for lane in range(LANES):
        bounds[:, lane] = settings[lane, 2:]
    for first in range(0, bars, TILE):
        count = min(TILE, bars - first)
        for lane in range(LANES):
            _steps(closes[lane % len(closes)], settings[lane], first, count, lane, steps)
        sums[:] = 0.0
        held[:] = 0.0
        for family in range(FAMILIES):
            _take(words, places[:, family], family, first, count, state, at_hand)
            _earn(at_hand.reshape(-1), steps, family, count, state, nums, dens)
            _vote(nums, dens, steps, bounds, is_script, family, first, count, state, sums, held)
            if has_votes:
                for lane in range(LANES):
                    for i in range(count):
                        votes[lane, family, first + i] = np.int8(nums[i * LANES + lane])
        _join(sums, held, bounds, first, count)
        for lane in range(LANES):
            for i in range(count):
                rows[lane, first + i] = sums[i * LANES + lane]


@compiled_part
def _take(
    words: Packed,
    places: Ints,
    family: int,
    first: int,
    count: int,
    state: Floats,
    at_hand: Packed,
) -> None:
    """A family's words of four rows at the bar before and at some bars, a lane each."""
    for lane in range(LANES):
        row, before = words[places[lane], first : first + count], np.uint32(0)
        last = row[count - 1]
        for j in range(LENGTHS):
            at, shift = (SIDES + j * WIDTH + family) * LANES + lane, np.uint32(2 * j)
            before |= np.uint32(state[at] + 1.0) << shift
            state[at] = float((last >> shift) & np.uint32(3)) - 1.0
        at_hand[0, lane] = before
        for i in range(count):
            at_hand[i + 1, lane] = row[i]


@compiled_part
def _steps(close: Floats, settings: Ints, first: int, count: int, lane: int, steps: Floats) -> None:
    """Factors of an equity, of a long, a short and neither, at some bars, in one lane."""
    growth, cutout, flat = settings[0], settings[2], 1.0 - settings[1] / 10000.0
    x, g = np.empty(TILE), np.empty(TILE)
    for i in range(count):
        product = growth * (first + i - cutout)
        x[i] = product / MILLION if product < MILLION else 1.0
    g[:] = TAYLOR[18]
    for k in range(17, -1, -1):
        for i in range(count):
            g[i] = g[i] * x[i] + TAYLOR[k]
    # Nothing is earned at the first bar of all.
    for i in range(max(1 - first, 0), count):
        before = close[first + i - 1]
        x[i] = (close[first + i] - before) / before * g[i]
    for i in range(count):
        steps[0, i * LANES + lane] = flat * (1.0 + x[i])
        steps[1, i * LANES + lane] = flat * (1.0 - x[i])
        steps[2, i * LANES + lane] = flat
    # Nor up to the cutout.
    for i in range(min(cutout + 1 - first, count)):
        steps[:, i * LANES + lane] = 1.0


@compiled_part
def _earn(
    words: Packed,
    steps: Floats,
    family: int,
    count: int,
    state: Floats,
    nums: Floats,
    dens: Floats,
) -> None:
    """Equities of a family's averages over some bars; nums and dens get their sums.

    Three lengths at a time, with equities in registers.
    """
    floor = splat(FLOOR)
    ups, downs, flats = steps
    nums[:] = 0.0
    dens[:] = 0.0
    for j in range(0, LENGTHS, 3):
        a = (j * WIDTH + family) * LANES
        b, c = a + WIDTH * LANES, a + 2 * WIDTH * LANES
        p, q, r = 2 * j, 2 * j + 2, 2 * j + 4
        x, y, z = load(state, a), load(state, b), load(state, c)
        for i in range(count):
            # The side of the bar before has earned the gain.
            k, now = i * LANES, (i + 1) * LANES
            rise, fall, still = load(ups, k), load(downs, k), load(flats, k)
            x = x * select_by_side(words, k, p, rise, fall, still)
            y = y * select_by_side(words, k, q, rise, fall, still)
            z = z * select_by_side(words, k, r, rise, fall, still)
            x = above(x, floor, x, floor)
            y = above(y, floor, y, floor)
            z = above(z, floor, z, floor)
            num = load(nums, k) + sign_by_side(words, now, p, x) + sign_by_side(words, now, q, y)
            store(nums, k, num + sign_by_side(words, now, r, z))
            store(dens, k, load(dens, k) + x + y + z)
        store(state, a, x)
        store(state, b, y)
        store(state, c, z)


@compiled_part
def _vote(
    nums: Floats,
    dens: Floats,
    steps: Floats,
    bounds: Floats,
    is_script: bool,
    family: int,
    first: int,
    count: int,
    state: Floats,
    sums: Floats,
    held: Floats,
) -> None:
    """A family's votes, which take the place of nums, and its share of the row's two sums."""
    nothing, unit, half, hundred = splat(0.0), splat(1.0), splat(0.5), splat(100.0)
    infinity, floor = splat(np.inf), splat(FLOOR)
    cutout, most, least = load(bounds[0], 0), load(bounds[1], 0), load(bounds[2], 0)
    ups, downs, flats = steps
    at = (FAMILY_EQUITIES + family) * LANES
    equity, before = load(state, at), load(state, at + WIDTH * LANES)
    vote = load(state, at + 2 * WIDTH * LANES)
    for i in range(count):
        k, bar = i * LANES, splat(float(first + i))
        still = before if is_script else load(flats, k)
        step = above(vote, nothing, load(ups, k), above(nothing, vote, load(downs, k), still))
        if is_script:
            # A step is repeated from the first that there was.
            before = above(bar, cutout, step, before)
            step = above(bar, cutout, step, unit)
        equity = equity * step
        equity = above(equity, floor, equity, floor)
        den = load(dens, k)
        share = load(nums, k) / den * hundred
        vote = whole_part(above(nothing, share, share - half, share + half))
        vote = above(infinity, den, vote, nothing)
        vote = above(cutout, bar, nothing, vote)
        store(nums, k, vote)
        against = above(least, vote, nothing - equity, nothing)
        store(sums, k, load(sums, k) + above(vote, most, equity, against))
        store(held, k, load(held, k) + equity)
    store(state, at, equity)
    store(state, at + WIDTH * LANES, before)
    store(state, at + 2 * WIDTH * LANES, vote)


@compiled_part
def _join(sums: Floats, held: Floats, bounds: Floats, first: int, count: int) -> None:
    """Some bars of the rows, in place of the first of their two sums."""
    nothing, infinity, unknown = splat(0.0), splat(np.inf), splat(np.nan)
    cutout = load(bounds[0], 0)
    for i in range(count):
        k = i * LANES
        den = load(held, k)
        joined = above(infinity, den, load(sums, k) / den + nothing, nothing)
        store(sums, k, above(cutout, splat(float(first + i)), unknown, joined))


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
