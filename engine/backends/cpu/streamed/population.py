"""A population on one series: groups of individuals, each advancing block of bars by block."""

from typing import NamedTuple

import numpy as np
from numba import prange

from engine.backends.compiled import compiled, compiled_parallel
from engine.backends.cpu.chain import Measure, begin, chain
from engine.backends.cpu.exact import EMA
from engine.backends.cpu.streamed.averages import Averages, advance, averages_of, carry_on
from engine.backends.cpu.streamed.lowering import KIND, LEFT, LENGTH, RIGHT, SIGN, SOURCE, Course
from engine.backends.cpu.streamed.refine import late_holds, refine
from engine.backends.cpu.streamed.screens import collect, screen
from engine.backends.cpu.streamed.sums import Sums, empty_sums, sum_up
from engine.backends.cpu.types import Floats, Ints, Market, Slots
from engine.backends.lowered import Exits

SHORTEST_BLOCK = 8192
"""Bars of a block; more where windows reach further back, so that sums are not mostly history."""


LARGEST_GROUP = 256
"""Individuals of a group: many share averages, and their tile still fits a core's cache."""


class Columns(NamedTuple):
    """The sources that a strategy reads, of one series.

    Args:
        values: [S, T].
        runs: [S, T] int32, how many equal values end at each bar.
    """

    values: Floats
    runs: Slots


def columns_of(sources: dict[str, Floats], names: list[str]) -> Columns:
    """Sources by number.

    Args:
        sources: Name to source [T].
        names: Of the sources, in the order of their numbers.

    Returns:
        The columns.
    """
    values = np.stack([sources[name] for name in names])
    bars = np.arange(values.shape[1], dtype=np.int32)
    is_new = np.ones(values.shape, np.bool_)
    is_new[:, 1:] = values[:, 1:] != values[:, :-1]
    since = np.maximum.accumulate(np.where(is_new, bars, 0), axis=1)
    return Columns(values, (bars - since + 1).astype(np.int32))


def groups_of(course: Course, genomes: Floats, threads: int) -> tuple[Ints, Ints]:
    """Divide a population into groups that advance together, as many for each thread.

    Args:
        course: The strategy.
        genomes: [P, G].
        threads: How many work at a time.

    Returns:
        Individuals [P], group after group, and where each group begins among them, and P. Within a
        group neighbours have similar lengths, so that they read the same sums.
    """
    count = len(genomes)
    groups = min(threads * -(-count // (LARGEST_GROUP * threads)), max(count, 1))
    key = genomes[:, course.leading] if course.leading >= 0 else np.zeros(count)
    order = np.argsort(key, kind="stable")
    dealt = [order[group::groups] for group in range(groups)]
    edges = np.cumsum([0, *(len(members) for members in dealt)])
    return np.concatenate(dealt), edges


@compiled_parallel
def stream(
    market: Market,
    columns: Columns,
    course: Course,
    exits: Exits,
    genomes: Floats,
    members: Ints,
    edges: Ints,
    windows: Ints,
    out: Floats,
    tally: Ints,
) -> None:
    """Evaluate individuals in all windows of one series, without any row.

    Args:
        market: The series; its rows are not read.
        columns: Its sources.
        course: The strategy.
        exits: Bracket and costs.
        genomes: [P, G].
        members: [P] individuals, group after group.
        edges: [N + 1] where each group begins among the members, and P.
        windows: [W, 2] start and end of each window.
        out: [P, W, A] receives the accumulators, in the order of `ACCUMULATORS`.
        tally: [N] receives how many comparisons of each group the law's formulas had to decide.
    """
    for group in prange(edges.size - 1):
        of_group = members[edges[group] : edges[group + 1]]
        tally[group] = _stream_group(
            market, columns, course, exits, genomes, of_group, windows, out
        )


@compiled
def _stream_group(
    market: Market,
    columns: Columns,
    course: Course,
    exits: Exits,
    genomes: Floats,
    members: Ints,
    windows: Ints,
    out: Floats,
) -> int:
    n = members.size
    first, last = windows[0, 0], windows[0, 1] - 1
    for w in range(windows.shape[0]):
        first, last = min(first, windows[w, 0]), max(last, windows[w, 1] - 1)
        for i in range(n):
            begin(out[members[i], w])
    warm, reach = _reaches(course, genomes, members)
    averages = averages_of(course, columns.values, genomes, members)
    block = max(SHORTEST_BLOCK, reach)
    sums = empty_sums(columns.values.shape[0] if course.rolling.size else 1, block + reach)
    words = np.zeros(block // 8 + 1, np.uint64)
    found = np.empty(words.size + 1, np.int32)
    bars = np.empty((n, block + 16), np.int32)
    distances = np.empty((n, block + 16))
    counts = np.zeros(n, np.int64)
    flat_from = np.zeros((n, windows.shape[0]), np.int64)
    tally = np.zeros(1, np.int64)
    start = max(first, int(warm.min()))
    _skip_to(columns.values, averages, min(start, last))
    while start < last:
        end = min(start + block, last)
        base = max(0, start - reach)
        for source in course.rolling:
            sum_up(columns.values, source, base, end - base, sums)
        for i in range(n):
            counts[i] = _early(columns, sums, base, course, genomes[members[i]],
                               max(start, warm[i]), end, words, found, bars[i], tally)  # fmt: skip
        if course.averages.size:
            _late(columns, sums, base, course, genomes, members, averages, start, end,
                  counts, bars, distances, tally)  # fmt: skip
        _go_on(market, columns, course, exits, genomes, members, windows, counts, bars, distances,
               flat_from, out)  # fmt: skip
        start = end
    return int(tally[0])


@compiled
def _reaches(course: Course, genomes: Floats, members: Ints) -> tuple[Ints, int]:
    """First bar [n] at which all rows of each individual are known; longest rolling window."""
    warm = np.zeros(members.size, np.int64)
    reach = 1
    for i in range(members.size):
        for column in course.warm_columns:
            warm[i] = max(warm[i], int(genomes[members[i], column]) - 1)
        for row in range(course.rows.shape[0]):
            if course.rows[row, KIND] != EMA and course.rows[row, LENGTH] >= 0:
                for source in course.rolling:
                    if course.rows[row, SOURCE] == source:
                        length = int(genomes[members[i], course.rows[row, LENGTH]])
                        reach = max(reach, length)
    return warm, reach


@compiled
def _skip_to(values: Floats, averages: Averages, bar: int) -> None:
    """Bring the averages to the bar before this one."""
    tile_bars = averages.bars
    if averages.parts.shape[0] == 0:
        return
    for start in range(0, bar, tile_bars):
        width = min(tile_bars, bar - start)
        advance(values, averages, start, width)
        carry_on(averages, width)


@compiled
def _early(
    columns: Columns,
    sums: Sums,
    base: int,
    course: Course,
    genome: Floats,
    start: int,
    end: int,
    words: np.ndarray,
    found: Slots,
    bars: Slots,
    tally: Ints,
) -> int:
    """Bars of a block at which all comparisons without an EMA hold; returns how many."""
    if start >= end:
        return 0
    width = end - start
    n_words = (width + 7) // 8
    words[n_words - 1] = 0
    marks = words.view(np.uint8)
    screen(columns.values, sums, base, course, genome, start, marks[:width])
    count = collect(words[:n_words], marks, start, found, bars)
    return refine(columns.values, columns.runs, sums, base, course, genome, count, bars, tally)


@compiled
def _late(
    columns: Columns,
    sums: Sums,
    base: int,
    course: Course,
    genomes: Floats,
    members: Ints,
    averages: Averages,
    start: int,
    end: int,
    counts: Ints,
    bars: Slots,
    distances: Floats,
    tally: Ints,
) -> None:
    """Keep of each individual's bars those at which the comparisons with an EMA hold, too."""
    n = members.size
    tile_bars = averages.bars
    seen = np.zeros(n, np.int64)
    kept = np.zeros(n, np.int64)
    stop_row = course.stop_row
    late = course.late
    place_of, stride_of, tile = averages.place_of, averages.stride_of, averages.tile
    for first in range(start, end, tile_bars):
        width = min(tile_bars, end - first)
        advance(columns.values, averages, first, width)
        for i in range(n):
            begun, done, keeps = seen[i], counts[i], kept[i]
            s = begun
            while s < done and bars[i, s] < first + width:
                t = bars[i, s]
                k = t - first + 1
                is_kept = True
                for f in range(late.shape[0]):
                    left, right = late[f, LEFT], late[f, RIGHT]
                    if right >= 0 and place_of[i, left] >= 0 and place_of[i, right] >= 0:
                        first_value = tile[place_of[i, left] + k * stride_of[left]]
                        second_value = tile[place_of[i, right] + k * stride_of[right]]
                        if late[f, SIGN] > 0:
                            is_kept &= first_value > second_value
                        else:
                            is_kept &= first_value < second_value
                    elif is_kept:
                        is_kept = late_holds(
                            columns.values, columns.runs, course, late[f], genomes[members[i]], t,
                            averages, i, k, tally,
                        )  # fmt: skip
                bars[i, keeps] = t
                if place_of[i, stop_row] >= 0:
                    place = place_of[i, stop_row] + k * stride_of[stop_row]
                    distances[i, keeps] = tile[place]
                keeps += is_kept
                s += 1
            seen[i], kept[i] = s, keeps
        carry_on(averages, width)
    counts[:] = kept


@compiled
def _go_on(
    market: Market,
    columns: Columns,
    course: Course,
    exits: Exits,
    genomes: Floats,
    members: Ints,
    windows: Ints,
    counts: Ints,
    bars: Slots,
    distances: Floats,
    flat_from: Ints,
    out: Floats,
) -> None:
    """Take the signals of a block in all windows."""
    kind, source = course.rows[course.stop_row, KIND], course.rows[course.stop_row, SOURCE]
    length = course.rows[course.stop_row, LENGTH]
    values, runs = columns.values[source], columns.runs[source]
    no_whole = np.empty((0, 4), np.int64)
    no_prices = np.empty((0, 5))
    for i in range(members.size):
        if counts[i] == 0:
            continue
        genome = genomes[members[i]]
        # Only where a trade needs it: the sums of a window cost more than the trade.
        measure = Measure(values, runs, -1 if kind == EMA else kind,
                          int(genome[length]) if length >= 0 else 1)  # fmt: skip
        if kind != EMA:
            distances[i, : counts[i]] = np.nan
        for w in range(windows.shape[0]):
            signals, reaches = bars[i, : counts[i]], distances[i]
            begun = 0
            while begun < counts[i] and signals[begun] < windows[w, 0]:
                begun += 1
            flat_from[i, w] = chain(
                market, exits, genome, signals[begun:], reaches[begun:], measure, windows[w, 1],
                flat_from[i, w], out[members[i], w], no_whole, no_prices,
            )  # fmt: skip
