"""Averages: EMA recurrences of many lengths side by side, a tile of bars at a time.

A recurrence waits for itself, but not for those of other lengths. With the lengths next to each
other in memory a vector carries eight of them, and many vectors hide what each waits for. A tile
[bars, lanes] stays in a core's cache and is used again for the next bars; nothing is stored.
"""

from typing import NamedTuple

import numpy as np

from engine.backends.compiled import compiled, compiled_inline
from engine.backends.cpu.streamed.lowering import LENGTH, SOURCE, Course
from engine.backends.cpu.types import Floats, Ints, Slots

TILE_VALUES = 2**16
"""Values of a tile, half a megabyte."""

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


def averages_of(course: Course, columns: Floats, genomes: Floats) -> Averages:
    """A lane for each distinct length of each source among genomes [n, G], before bar 0."""
    lengths = genomes[:, np.maximum(course.rows[:, LENGTH], 0)].astype(np.int64)
    place_of = np.full(lengths.shape, -1, np.int32)
    stride_of = np.zeros(len(course.rows), np.int64)
    alphas, parts, rows_of = [], [], []
    for source in np.unique(course.rows[course.averages, SOURCE]).tolist():
        rows = course.averages[course.rows[course.averages, SOURCE] == source]
        distinct, lane_of = np.unique(lengths[:, rows], return_inverse=True)
        lanes = -(-len(distinct) // LANES) * LANES
        place_of[:, rows] = lane_of.reshape(-1, len(rows))
        stride_of[rows] = lanes
        # Lanes that only fill a vector up weigh nothing.
        alphas.append(np.concatenate((2.0 / (distinct + 1.0), np.zeros(lanes - len(distinct)))))
        parts.append((source, lanes, 0))
        rows_of.append(rows)
    all_lanes = sum(lanes for _, lanes, _ in parts)
    bars = min(MOST_TILE_BARS, max(8, TILE_VALUES // max(all_lanes, 1)))
    tile = np.empty((bars + 1) * all_lanes)
    place = 0
    for p, ((source, lanes, _), rows) in enumerate(zip(parts, rows_of, strict=True)):
        parts[p] = (source, lanes, place)
        place_of[:, rows] += place
        # The first bar's difference from its own value is exactly 0, which leaves the seed.
        tile[place : place + lanes] = columns[source, 0]
        place += (bars + 1) * lanes
    return Averages(
        place_of,
        stride_of,
        np.concatenate((*alphas, np.zeros(0))),
        np.array(parts, np.int64).reshape(-1, 3),
        tile,
        bars,
    )


@compiled
def advance(columns: Floats, averages: Averages, start: int, width: int) -> None:
    """Compute a tile of bars from `start` on; the bar before is the last one of the last tile."""
    begun = 0
    for p in range(averages.parts.shape[0]):
        lanes, place = averages.parts[p, 1], averages.parts[p, 2]
        _advance(
            columns[averages.parts[p, 0], start : start + width],
            averages.alpha[begun : begun + lanes],
            averages.tile[place : place + (width + 1) * lanes].reshape((width + 1, lanes)),
        )
        begun += lanes


@compiled
def _advance(values: Floats, alpha: Floats, tile: Floats) -> None:
    for k in range(values.size):
        x = values[k]
        for lane in range(alpha.size):
            before = tile[k, lane]
            tile[k + 1, lane] = before + alpha[lane] * (x - before)


@compiled_inline
def read_average(
    averages: Averages, row: int, i: int, first: int, bars: Slots, out: Floats
) -> None:
    """An individual's EMA row at bars [S] of the tile that begins at bar `first`, into out [S]."""
    place, stride = averages.place_of[i, row], averages.stride_of[row]
    for s in range(bars.size):
        out[s] = averages.tile[place + (bars[s] - first + 1) * stride]


@compiled_inline
def carry_on(averages: Averages, width: int) -> None:
    """Keep the last bar of a tile for the next one."""
    for p in range(averages.parts.shape[0]):
        lanes, place = averages.parts[p, 1], averages.parts[p, 2]
        for lane in range(lanes):
            averages.tile[place + lane] = averages.tile[place + width * lanes + lane]
