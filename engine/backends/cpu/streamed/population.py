"""A population on one series: groups of individuals, each advancing block of bars by block."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from engine.backends.compiled import compiled_inline, compiled_unlocked, is_kept, is_loaded
from engine.backends.cpu.chain import begin, chain
from engine.backends.cpu.exact import EMA, values_at
from engine.backends.cpu.streamed.averages import (
    Averages,
    advance,
    averages_of,
    carry_on,
    read_average,
)
from engine.backends.cpu.streamed.columns import Columns
from engine.backends.cpu.streamed.late import is_crossing, keep_crossing, keep_late
from engine.backends.cpu.streamed.lowering import KIND, LENGTH, SOURCE, Course
from engine.backends.cpu.streamed.refine import refine
from engine.backends.cpu.streamed.screens import (
    Words,
    collect,
    screen,
    screen_levels,
    strongest_score,
)
from engine.backends.cpu.streamed.sums import Sums, empty_sums, sum_up
from engine.backends.cpu.types import Floats, Ints, Market, Slots
from engine.backends.lowered import Exits

SHORTEST_BLOCK = 8192
"""Bars of a block; more where windows reach further back, so that sums are not mostly history."""


LOAD_SECONDS = 0.05
"""What a process takes to load these loops where they were compiled before, on an EPYC."""

COMPILE_SECONDS = 10.0
"""What it takes to compile them, there."""

LARGEST_GROUP = 256
"""Individuals of a group: many share averages, and their tile still fits a core's cache."""


FEW = 25
"""A second score is asked on all bars only where the first left more than one in so many; on the
bars that are left it costs twenty times as much a bar."""


def stream(
    market: Market,
    columns: Columns,
    course: Course,
    exits: Exits,
    genomes: Floats,
    windows: Ints,
    out: Floats,
    *,
    threads: int,
) -> int:
    """Evaluate individuals in all windows of one series, without any row.

    Args:
        market: The series; its rows are not read.
        columns: Its sources.
        course: The strategy.
        exits: Bracket and costs.
        genomes: [P, G].
        windows: [W, 2] start and end of each window.
        out: [P, W, A] receives the accumulators, in the order of `ACCUMULATORS`.
        threads: How many work at a time.

    Returns:
        How many comparisons the law's formulas had to decide.
    """

    def streamed(members: Ints) -> int:
        averages = averages_of(course, columns.values, genomes[members])
        work = _work_of(columns, course, genomes[members], len(windows))
        return _stream(
            market, columns, course, exits, genomes, members, windows, out, averages, work
        )

    groups = groups_of(course, genomes, threads)
    if len(groups) == 1:
        return streamed(groups[0])
    # Threads of Python: a parallel loop would have all that it calls compiled once more.
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(streamed, groups))


def load_seconds() -> float:
    """About what these loops would cost this process now; 0 where it has them."""
    if is_loaded(_stream):
        return 0.0
    return LOAD_SECONDS if is_kept(_stream) else COMPILE_SECONDS


def groups_of(course: Course, genomes: Floats, threads: int) -> list[Ints]:
    """Divide a population into groups that advance together, as many for each thread.

    Args:
        course: The strategy.
        genomes: [P, G].
        threads: How many work at a time.

    Returns:
        Individuals of each group. Those of a group share averages; neighbours have similar
        windows, so that they read the same sums.
    """
    count = len(genomes)
    groups = min(threads * -(-count // (LARGEST_GROUP * threads)), count)
    columns = np.unique(course.rows[course.averages, LENGTH]).tolist()
    repeated = min(columns, key=lambda column: len(np.unique(genomes[:, column])), default=-1)
    order = _order_by(genomes, repeated, np.arange(count))
    return [
        _order_by(genomes, course.leading, part) for part in np.array_split(order, max(groups, 1))
    ]


def _order_by(genomes: Floats, column: int, members: Ints) -> Ints:
    """Members in the order of a gene; as they are where there is none."""
    if column < 0:
        return members
    return members[np.argsort(genomes[members, column], kind="stable")]


class Work(NamedTuple):
    """What a group of n individuals needs on its way.

    Args:
        warm: [n] first bar at which all rows of an individual are known.
        reach: Longest rolling window, in bars.
        block: Bars of a block.
        sums: Of the block, and of what its windows reach back to.
        words: [N] marks of a block, eight at a time.
        found: [N + 1] which words hold one.
        bars: [n block + 16] bars that are left, one individual's after another's.
        distances: [n block] the row that measures the stop's distance, there.
        sides: [2, w + 1] sums of a window of that row, from both sides.
        edges: [n + 1] where each individual's bars begin.
        seen: [n] how far they have been looked at.
        kept: [n] how many of these were kept.
        flat_from: [n, W] bar from which on there is no position.
        tally: [1] comparisons that the law's formulas had to decide.
        no_whole: [0, 4] because no ledger is wanted.
        no_prices: [0, 5] for the same reason.
    """

    warm: Ints
    reach: int
    block: int
    sums: Sums
    words: Words
    found: Slots
    bars: Slots
    distances: Floats
    sides: Floats
    edges: Ints
    seen: Ints
    kept: Ints
    flat_from: Ints
    tally: Ints
    no_whole: Ints
    no_prices: Floats


def _work_of(columns: Columns, course: Course, genomes: Floats, windows: int) -> Work:
    """Room for a group with genomes [n, G]; memory is taken page by page as it is written."""
    n, rows = len(genomes), course.rows
    warm = genomes[:, course.warm_columns].max(axis=1, initial=1.0).astype(np.int64) - 1
    is_rolling = (rows[:, KIND] != EMA) & (rows[:, LENGTH] >= 0)
    is_summed = is_rolling & np.isin(rows[:, SOURCE], course.rolling)
    reach = int(genomes[:, rows[is_summed, LENGTH]].max(initial=1.0))
    block = max(SHORTEST_BLOCK, reach)
    stop_length = rows[course.stop_row, LENGTH]
    stop_reach = int(genomes[:, stop_length].max(initial=1.0)) if stop_length >= 0 else 1
    return Work(
        warm,
        reach,
        block,
        empty_sums(len(columns.values) if len(course.rolling) else 1, block + reach),
        np.zeros(block // 8 + 1, np.uint64),
        np.empty(block // 8 + 2, np.int32),
        np.empty(n * block + 16, np.int32),
        np.empty(n * block),
        np.empty((2, stop_reach + 1)),
        np.zeros(n + 1, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros((n, windows), np.int64),
        np.zeros(1, np.int64),
        np.empty((0, 4), np.int64),
        np.empty((0, 5)),
    )


@compiled_unlocked
def _stream(
    market: Market,
    columns: Columns,
    course: Course,
    exits: Exits,
    genomes: Floats,
    members: Ints,
    windows: Ints,
    out: Floats,
    averages: Averages,
    work: Work,
) -> int:
    n = members.size
    first, last = windows[0, 0], windows[0, 1] - 1
    for w in range(windows.shape[0]):
        first, last = min(first, windows[w, 0]), max(last, windows[w, 1] - 1)
    soonest = last
    for i in range(n):
        soonest = min(soonest, work.warm[i])
        for w in range(windows.shape[0]):
            begin(out[members[i], w])
    start = max(first, soonest)
    _skip_to(columns.values, averages, min(start, last))
    edges = work.edges
    while start < last:
        end = min(start + work.block, last)
        base = max(0, start - work.reach)
        for source in course.rolling:
            sum_up(columns.values, source, base, end - base, work.sums)
        for i in range(n):
            edges[i + 1] = edges[i] + _early(
                columns, course, genomes[members[i]], max(start, work.warm[i]), end, base,
                work.bars[edges[i] :], work,
            )  # fmt: skip
        if course.averages.size:
            _late(columns, course, genomes, members, averages, start, end, base, work)
        _go_on(market, columns, course, exits, genomes, members, windows, start, end, out, work)
        start = end
    return int(work.tally[0])


@compiled_inline
def _skip_to(values: Floats, averages: Averages, bar: int) -> None:
    """Bring the averages to the bar before this one."""
    # Bar 0, but no literal, for which `advance` would be compiled once more.
    start = bar - bar
    while start < bar and averages.alpha.size:
        width = min(averages.bars, bar - start)
        advance(values, averages, start, width)
        carry_on(averages, width)
        start += width


@compiled_inline
def _early(
    columns: Columns,
    course: Course,
    genome: Floats,
    start: int,
    end: int,
    base: int,
    bars: Slots,
    work: Work,
) -> int:
    """Bars of a block at which all comparisons without an EMA hold; returns how many."""
    if start >= end:
        return 0
    width = end - start
    n_words = (width + 7) // 8
    work.words[n_words - 1] = 0
    marks = work.words.view(np.uint8)
    words, within = work.words[:n_words], marks[:width]
    first = strongest_score(work.sums, course, genome)
    screen_levels(columns.codes, course, genome, start, within)
    if first >= 0:
        screen(work.sums, base, course, genome, first, start, within)
    count = collect(words, start, work.found, bars)
    if count * FEW > width:
        for e in range(course.early.shape[0]):
            if e != first:
                screen(work.sums, base, course, genome, e, start, within)
        count = collect(words, start, work.found, bars)
    return refine(columns.values, columns.runs, work.sums, base, course, genome, first, count, bars,
                  work.tally)  # fmt: skip


@compiled_inline
def _late(
    columns: Columns,
    course: Course,
    genomes: Floats,
    members: Ints,
    averages: Averages,
    start: int,
    end: int,
    base: int,
    work: Work,
) -> None:
    """Keep of each individual's bars those at which the comparisons with an EMA hold, too."""
    n, late = members.size, course.late
    edges, seen, kept, bars = work.edges, work.seen, work.kept, work.bars
    for i in range(n):
        seen[i] = kept[i] = edges[i]
    first = start
    while first < end:
        width = min(averages.bars, end - first)
        advance(columns.values, averages, first, width)
        for i in range(n):
            begun, keeps = kept[i], kept[i]
            if seen[i] == edges[i + 1] or bars[seen[i]] >= first + width:
                continue
            is_fast = late.shape[0] > 0 and is_crossing(averages, late[0], i)
            if is_fast:
                seen[i], keeps = keep_crossing(averages, late[0], i, first, first + width,
                                               seen[i], edges[i + 1], begun, bars)  # fmt: skip
            while seen[i] < edges[i + 1] and bars[seen[i]] < first + width:
                bars[keeps] = bars[seen[i]]
                keeps += 1
                seen[i] += 1
            for f in range(is_fast, late.shape[0]):
                keeps = keep_late(columns, work.sums, base, course, late[f], genomes[members[i]],
                                  averages, i, first, begun, keeps, bars, work.tally)  # fmt: skip
            kept[i] = keeps
            if averages.place_of[i, course.stop_row] >= 0:
                read_average(averages, course.stop_row, i, first, bars[begun:keeps],
                             work.distances[begun:keeps])  # fmt: skip
        carry_on(averages, width)
        first += width
    # What was kept, from edges[i] to kept[i], moves together.
    count = 0
    for i in range(n):
        begun = edges[i]
        edges[i] = count
        for s in range(begun, kept[i]):
            bars[count], work.distances[count] = bars[s], work.distances[s]
            count += 1
    edges[n] = count


@compiled_inline
def _go_on(
    market: Market,
    columns: Columns,
    course: Course,
    exits: Exits,
    genomes: Floats,
    members: Ints,
    windows: Ints,
    start: int,
    end: int,
    out: Floats,
    work: Work,
) -> None:
    """Take the signals of a block in all windows."""
    kind, source = course.rows[course.stop_row, KIND], course.rows[course.stop_row, SOURCE]
    length = course.rows[course.stop_row, LENGTH]
    values, runs = columns.values[source], columns.runs[source]
    edges, bars, distances = work.edges, work.bars, work.distances
    for i in range(members.size):
        done = edges[i + 1]
        begun = edges[i]
        if begun == done:
            continue
        genome = genomes[members[i]]
        window = int(genome[length]) if length >= 0 else 1
        if kind != EMA:
            values_at(values, runs, kind, window, bars[begun:done], work.sides,
                      distances[begun:done])  # fmt: skip
        for w in range(windows.shape[0]):
            if windows[w, 0] >= end or windows[w, 1] - 1 <= start:
                continue
            # Windows mostly follow each other, and the search for their signals with them.
            if begun > edges[i] and bars[begun - 1] >= windows[w, 0]:
                begun = edges[i]
            while begun < done and bars[begun] < windows[w, 0]:
                begun += 1
            work.flat_from[i, w] = chain(
                market, exits, genome, bars[begun:done], distances[begun:done], windows[w, 1],
                work.flat_from[i, w], out[members[i], w], work.no_whole, work.no_prices,
            )  # fmt: skip
