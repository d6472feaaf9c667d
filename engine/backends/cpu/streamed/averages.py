"""Averages: EMA recurrences of many lengths side by side, a tile of bars at a time.

A recurrence waits for itself, but not for those of other lengths. With the lengths next to each
other in memory a vector carries eight of them, and many vectors hide what each waits for. A tile
[bars, lanes] stays in a core's cache and is used again for the next bars; nothing is stored.
"""

from typing import NamedTuple

import numpy as np

from engine.backends.compiled import compiled
from engine.backends.cpu.streamed.lowering import LENGTH, SOURCE, Course
from engine.backends.cpu.types import Floats, Ints, Slots

TILE_VALUES = 2**15
"""Values of a tile, a quarter of a megabyte."""

MOST_TILE_BARS = 512

LANES = 32
"""Lanes come in multiples of this, so that no vector is left half empty."""


class Averages(NamedTuple):
    """EMAs on their way along the bars.

    The tile holds a part for each source, one after another: [B + 1, lanes], the bar before the
    tile and then its bars.

    Args:
        place_of: [n, R] place in the tile of each individual's EMA rows at the bar before it; -1
            for other rows.
        stride_of: [R] places from one bar to the next.
        alpha: [L] weight of the newest bar, part after part.
        parts: [A, 3] source, lanes, and first place in the tile.
        tile: [(B + 1) L].
        bars: B.
    """

    place_of: Slots
    stride_of: Ints
    alpha: Floats
    parts: Ints
    tile: Floats
    bars: int


@compiled
def averages_of(course: Course, columns: Floats, genomes: Floats, members: Ints) -> Averages:
    """A lane for each distinct length of each source, before bar 0."""
    lane_of, alpha, parts = _lanes_of(course, genomes, members)
    lanes = parts[:, 1].sum()
    bars = min(MOST_TILE_BARS, max(8, TILE_VALUES // max(lanes, 1)))
    tile = np.zeros((bars + 1) * lanes)
    stride_of = np.zeros(course.rows.shape[0], np.int64)
    place = 0
    for p in range(parts.shape[0]):
        # The first bar's difference from its own value is exactly 0, which leaves the seed.
        tile[place : place + parts[p, 1]] = columns[parts[p, 0], 0]
        parts[p, 2] = place
        for row in course.averages:
            if course.rows[row, SOURCE] == parts[p, 0]:
                stride_of[row] = parts[p, 1]
                lane_of[:, row] += np.int32(place)
        place += (bars + 1) * parts[p, 1]
    return Averages(lane_of, stride_of, alpha, parts, tile, bars)


@compiled
def _lanes_of(course: Course, genomes: Floats, members: Ints) -> tuple[Slots, Floats, Ints]:
    n = members.size
    lane_of = np.full((n, course.rows.shape[0]), -1, np.int32)
    parts = np.zeros((course.averages.size, 3), np.int64)
    alpha = np.zeros((n + LANES) * course.averages.size)
    longest = 1
    for row in course.averages:
        for i in range(n):
            longest = max(longest, int(genomes[members[i], course.rows[row, LENGTH]]))
    lane_by_length = np.full(longest + 1, -1, np.int32)
    p = -1
    begun = 0
    for row in course.averages:
        if p < 0 or course.rows[row, SOURCE] != parts[p, 0]:
            begun += parts[p, 1] if p >= 0 else 0
            p += 1
            parts[p, 0] = course.rows[row, SOURCE]
            lane_by_length[:] = -1
            lanes = 0
        for i in range(n):
            length = int(genomes[members[i], course.rows[row, LENGTH]])
            if lane_by_length[length] < 0:
                lane_by_length[length] = lanes
                alpha[begun + lanes] = 2.0 / (length + 1.0)
                lanes += 1
            lane_of[i, row] = lane_by_length[length]
        parts[p, 1] = (lanes + LANES - 1) // LANES * LANES
    return lane_of, alpha, parts[: p + 1].copy()


@compiled
def advance(columns: Floats, averages: Averages, start: int, width: int) -> None:
    """Compute a tile of bars from `start` on; the bar before is the last one of the last tile."""
    begun = 0
    for p in range(averages.parts.shape[0]):
        source, lanes, place = averages.parts[p]
        tile = averages.tile[place : place + (width + 1) * lanes].reshape((width + 1, lanes))
        _advance(
            columns[source, start : start + width], averages.alpha[begun : begun + lanes], tile
        )
        begun += lanes


@compiled
def _advance(values: Floats, alpha: Floats, tile: Floats) -> None:
    for k in range(values.size):
        x = values[k]
        for lane in range(alpha.size):
            before = tile[k, lane]
            tile[k + 1, lane] = before + alpha[lane] * (x - before)


@compiled
def carry_on(averages: Averages, width: int) -> None:
    """Keep the last bar of a tile for the next one."""
    for p in range(averages.parts.shape[0]):
        _, lanes, place = averages.parts[p]
        last = place + width * lanes
        averages.tile[place : place + lanes] = averages.tile[last : last + lanes]
