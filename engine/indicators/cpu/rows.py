"""Stage 1, rows: each distinct indicator row [T] of a series, float64.

A sum waits for its own last step. Four of them therefore go side by side (`simd4.py`): EMAs of
four lengths or of four stretches of a series, or the sums of four blocks of one rolling row.
Rows are written as they are computed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeGuard, cast

import numpy as np

from data.checks import VALUES
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.trend_spec import is_trend
from engine.runtime.compiling.loops import compiled_part, compiled_unlocked
from engine.runtime.cpu.memory import SlotMemory
from engine.runtime.cpu.simd4 import (
    LANES,
    Lanes,
    Starts,
    canonical,
    four,
    gather,
    load,
    quotient,
    root,
    scatter,
    splat,
    store,
    take,
    where_positive,
)
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from strategy.expressions import Call, Column, Expression
from strategy.rows import Rows, whole

LEVEL, EMA, SMA, ZSCORE = range(4)

KINDS = {"level": LEVEL, "ema": EMA, "sma": SMA, "zscore": ZSCORE}
"""Form of an indicator that has a compiled form here to its number."""

EMA_LANES = 4 * LANES
"""EMAs that go side by side: as many as hide how long a step of one takes."""

KIND, SOURCE, LENGTH, PLACE, BEGIN, END, LEAD = range(7)
"""Columns of a task: a row, or a stretch of it."""

TAKEN, DONE, MENDED = range(3)
"""Counters that threads share: parts taken, parts done, stretches computed again."""


class RowColumns(NamedTuple):
    """Inputs of the rows of one series, and their slots; arrays are counted through."""

    n_bars: int  # T
    values: Floats  # [S * T] the sources
    is_tame: Ints  # [S] 1 where `quotient` may multiply instead of dividing
    rows: Floats  # receives the rows


@compiled_unlocked
def fill_parts(
    columns: RowColumns, tasks: Ints, parts: Ints, longest: int, begun: Floats, shared: Ints
) -> None:
    """Compute parts of rows, one after another, while other threads compute others.

    Who finishes the last part mends the EMAs.

    Args:
        columns: The series.
        tasks: [N, 7] rows, or stretches of them: of rolling rows from the begin of a block on, of
            EMAs in order of their bars.
        parts: [n, 2] first task and one past the last: up to EMA_LANES EMAs of one source; or up to
            LANES stretches of some, all of the same number of bars but for those from bar 0 on,
            which may be longer; or one task.
        longest: Of all windows that are not longer than the series, in bars.
        begun: [N] receives what an EMA was taken to be at the bar before its stretch.
        shared: [3] counters, 0 at first.
    """
    left = np.empty(2 * LANES * longest)
    part = take(shared, TAKEN)
    while part < parts.shape[0]:
        _fill(columns, tasks, parts[part, 0], parts[part, 1], left, begun)
        if take(shared, DONE) == parts.shape[0] - 1:
            shared[MENDED] = _mend(columns, tasks, begun)
        part = take(shared, TAKEN)


@compiled_part
def _fill(
    columns: RowColumns, tasks: Ints, first: int, last: int, left: Floats, begun: Floats
) -> None:
    """Compute tasks first .. last - 1, which are a part."""
    n_bars, values, rows = columns.n_bars, columns.values, columns.rows
    kind, window = tasks[first, KIND], tasks[first, LENGTH]
    source, bars = tasks[first, SOURCE], tasks[last - 1, END] - tasks[last - 1, BEGIN]
    start = source * n_bars + tasks[first, BEGIN]
    offset = tasks[first, PLACE] + tasks[first, BEGIN]
    if kind == EMA:
        alphas, averages = np.empty(EMA_LANES), np.empty(EMA_LANES)
        starts, offsets = np.empty(EMA_LANES, np.int64), np.empty(EMA_LANES, np.int64)
        _begin(columns, tasks, first, last, alphas, averages, starts, offsets, begun)
        _advance(values, starts, alphas, averages, last - first, bars, rows, offsets)
    elif kind == LEVEL:
        # No sign to look at: a copy of four at a time.
        for k in range(np.uint64(bars)):
            value = values[np.uint64(start) + k]
            rows[np.uint64(offset) + k] = value + 0.0 if value == value else np.nan
    elif window <= n_bars:
        for done in range(0, bars, LANES * window):
            _rolling(values, start + done, (source + 1) * n_bars, source * n_bars, window,
                     kind == ZSCORE, columns.is_tame[source] == 1, left, rows,
                     offset - start)  # fmt: skip
    for i in range(first, last):
        if tasks[i, BEGIN] == 0:
            unknown = tasks[i, PLACE]
            for t in range(unknown, unknown + min(tasks[i, LENGTH] - 1, n_bars)):
                rows[t] = np.nan


@compiled_part
def _rolling(
    values: Floats,
    first: int,
    end: int,
    zero: int,
    window: int,
    is_score: bool,
    is_tame: bool,
    left: Floats,
    rows: Floats,
    shift: int,
) -> None:
    """Means or standard scores of the windows that end in up to four blocks.

    Args:
        values: Columns, counted through; bars are counted so as well.
        first: Bar at which the blocks begin.
        end: One past the last bar of the series.
        zero: Its first bar.
        window: Bars of a window and of a block, no more than the series has.
        is_score: Whether scores are wanted.
        is_tame: Whether `quotient` may multiply.
        left: [2 * LANES * window] scratch.
        rows: Receives them, `shift` places on.
        shift: From a bar to its place.
    """
    count, inverse = splat(float(window)), splat(1.0 / window)
    anchor = gather(values, _starts(first, window, 0, end), 0)
    _sum_left(values, _find_block_starts(first, window, end, zero), window, anchor, left)
    right1, right2 = splat(0.0), splat(0.0)
    # The last block of a series may be shorter than the others.
    short = (end - first) % window if first + LANES * window > end else 0
    done, size = 0, window if first + window <= end else short
    while done < size:
        until = short if done < short else size
        starts = _starts(first, window, done, end)
        for k in range(done, until):
            x = gather(values, starts, k)
            d = x - anchor
            right1 = right1 + d
            right2 = right2 + d * d
            sum1 = load(left, 2 * LANES * k) + right1
            mean = anchor + _divide_lanes(sum1, count, inverse, is_tame)
            if is_score:
                sum2 = load(left, 2 * LANES * k + LANES) + right2
                product = _divide_lanes(sum1 * sum1, count, inverse, is_tame)
                variance = _divide_lanes(sum2 - product, count, inverse, is_tame)
                score = where_positive(variance, (x - mean) / root(variance))
                scatter(rows, starts, k + shift, canonical(score))
            else:
                scatter(rows, starts, k + shift, canonical(mean))
        done = until


@compiled_part
def _sum_left(values: Floats, starts: Starts, window: int, anchor: Lanes, left: Floats) -> None:
    """Sums over what windows hold of the block before theirs, backwards from its last bar.

    left[k] is the sum of d and that of d * d, four lanes each, for the windows that end k bars
    after their block's first. The window that ends with its block holds nothing of another.
    """
    total1, total2 = splat(0.0), splat(0.0)
    for k in range(window - 1, -1, -1):
        store(left, 2 * LANES * k, total1)
        store(left, 2 * LANES * k + LANES, total2)
        d = gather(values, starts, k) - anchor
        total1 = total1 + d
        total2 = total2 + d * d


@compiled_part
def _starts(first: int, window: int, done: int, end: int) -> Starts:
    """Where four blocks begin; where the first does, for those with nothing left after `done`."""
    second, third, fourth = first + window, first + 2 * window, first + 3 * window
    return (
        first,
        second if second + done < end else first,
        third if third + done < end else first,
        fourth if fourth + done < end else first,
    )


@compiled_part
def _find_block_starts(first: int, window: int, end: int, zero: int) -> Starts:
    """Where the blocks before them begin; bars that exist, where there is none."""
    before = max(first - window, zero)
    return (
        before,
        first if first + window < end else before,
        first + window if first + 2 * window < end else before,
        first + 2 * window if first + 3 * window < end else before,
    )


@compiled_part
def _divide_lanes(x: Lanes, count: Lanes, inverse: Lanes, is_tame: bool) -> Lanes:
    return quotient(x, count, inverse) if is_tame else x / count


@compiled_part
def _begin(
    columns: RowColumns,
    tasks: Ints,
    first: int,
    last: int,
    alphas: Floats,
    averages: Floats,
    starts: Ints,
    places: Ints,
    begun: Floats,
) -> None:
    """Set EMA_LANES averages up, all with the same number of bars before them.

    A stretch is begun from the source's own value, LEAD bars early. The start of an EMA fades,
    so that nearly always it then holds the same bits as if it had come from bar 0. `begun`
    receives its value, for `_mend` to compare.
    """
    n_bars, values, rows = columns.n_bars, columns.values, columns.rows
    lead, bars = tasks[first, LEAD], tasks[last - 1, END] - tasks[last - 1, BEGIN]
    zero = tasks[first, SOURCE] * n_bars
    for lane in range(EMA_LANES):
        # Spare lanes repeat the first.
        i = first + lane if first + lane < last else first
        starts[lane] = zero + max(tasks[i, BEGIN] - lead, 0)
        alphas[lane] = 2.0 / (tasks[i, LENGTH] + 1.0)
        averages[lane] = values[starts[lane]]
    bars_before, alpha, average = four(starts, 0), load(alphas, 0), load(averages, 0)
    for k in range(lead):
        average = average + alpha * (gather(values, bars_before, k) - average)
    store(averages, 0, average)
    for lane in range(EMA_LANES):
        i = first + lane if first + lane < last else first
        bar, offset = tasks[i, END] - bars, tasks[i, PLACE]
        starts[lane], places[lane] = zero + bar, offset + bar
        if tasks[i, BEGIN] == 0:
            averages[lane] = values[zero]
            for t in range(bar):
                averages[lane] += alphas[lane] * (values[zero + t] - averages[lane])
                rows[offset + t] = averages[lane] + 0.0
        if first + lane < last:
            begun[i] = averages[lane]


@compiled_part
def _advance(
    values: Floats,
    starts: Ints,
    alphas: Floats,
    averages: Floats,
    count: int,
    bars: int,
    rows: Floats,
    places: Ints,
) -> None:
    """Carry `count` averages on over so many bars from their starts on, into rows.

    Up to LANES of them may be at different bars, more are all at the same one.
    """
    a0, a1, a2, a3 = load(alphas, 0), load(alphas, 4), load(alphas, 8), load(alphas, 12)
    y0, y1, y2, y3 = load(averages, 0), load(averages, 4), load(averages, 8), load(averages, 12)
    p0, p1, p2, p3 = four(places, 0), four(places, 4), four(places, 8), four(places, 12)
    # At bar 0 the difference is exactly 0, which leaves the seed as it is.
    if count <= LANES:
        sources = four(starts, 0)
        for k in range(bars):
            y0 = y0 + a0 * (gather(values, sources, k) - y0)
            scatter(rows, p0, k, canonical(y0))
    else:
        start = starts[0]
        for k in range(bars):
            x = splat(values[start + k])
            y0 = y0 + a0 * (x - y0)
            y1 = y1 + a1 * (x - y1)
            y2 = y2 + a2 * (x - y2)
            y3 = y3 + a3 * (x - y3)
            scatter(rows, p0, k, canonical(y0))
            scatter(rows, p1, k, canonical(y1))
            scatter(rows, p2, k, canonical(y2))
            scatter(rows, p3, k, canonical(y3))


@compiled_part
def _mend(columns: RowColumns, tasks: Ints, begun: Floats) -> int:
    """Compute stretches of EMAs again that began with another value than the one before ended with.

    As far as they differ: from the bar on at which both hold the same, they stay the same.

    Returns:
        How many there were.
    """
    n_bars, values, rows, count = columns.n_bars, columns.values, columns.rows, 0
    for i in range(tasks.shape[0]):
        offset, start = tasks[i, PLACE], tasks[i, SOURCE] * n_bars
        begin, alpha = tasks[i, BEGIN], 2.0 / (tasks[i, LENGTH] + 1.0)
        if tasks[i, KIND] != EMA or begin == 0 or rows[offset + begin - 1] == begun[i]:
            continue
        y, t, is_met = rows[offset + begin - 1], begin, False
        while t < tasks[i, END] and not is_met:
            y = y + alpha * (values[start + t] - y)
            is_met = rows[offset + t] == y
            rows[offset + t] = y + 0.0
            t += 1
        count += 1
    return count


COSTS = np.zeros(ZSCORE + 1)
COSTS[[LEVEL, SMA, ZSCORE]] = 1.5, 2.7, 4.4
"""Nanoseconds of a core for a bar of a row, so that what takes long is begun first."""

PART_BARS = 2**15
"""Bars of a part at least, where a row is cut into several."""

LEAD_LENGTHS = 20
"""Lengths by which a stretch of an EMA begins early: exp(-40) is left of its start."""

TAME = 2.0**400
"""Sums and squares of numbers from 1 / TAME to TAME neither overflow nor become subnormal."""


class RowForm(NamedTuple):
    """Form of a row, without its length."""

    indicator: str  # name of its loop, such as ``"sma"``
    source: str  # its source, such as ``"true_range"``


FormAndLength = tuple[RowForm, int]
"""Form of a row, and its bars: 1 where it takes none."""


class RowWork(NamedTuple):
    """Rows to compute, as `fill_parts` takes them."""

    tasks: Ints  # [N, 7]
    parts: Ints  # [n, 2], what takes long first
    longest: int  # of all windows that are not longer than the series


class RowFiller:
    """Computes rows of one series on several threads.

    Args:
        sources: Name to column [T].
        threads: They compute.

    `mended` counts the stretches of EMAs that had to be computed again.
    """

    def __init__(self, sources: dict[str, Floats], threads: Threads) -> None:
        self.mended = 0
        self._threads = threads
        self._names, columns = list(sources), list(sources.values())
        self._n_bars, self._values = len(columns[0]), np.concatenate(columns)
        self._is_tame = np.array([_is_tame(column) for column in columns], np.int64)

    def fill(self, forms: Sequence[FormAndLength], places: Ints, rows: Floats) -> None:
        """Compute rows [n] by their forms, to places [n] from `rows` on."""
        columns = RowColumns(self._n_bars, self._values, self._is_tame, rows)
        tasks = np.zeros((len(forms), 7), np.int64)
        tasks[:, KIND] = [KINDS[form.indicator] for form, _ in forms]
        tasks[:, SOURCE] = [self._names.index(form.source) for form, _ in forms]
        tasks[:, LENGTH], tasks[:, PLACE] = [length for _, length in forms], places
        work, shared = self._plan_work(tasks, self._n_bars), np.zeros(3, np.int64)
        begun = np.empty(len(work.tasks))
        self._threads.run(lambda _: fill_parts(columns, *work, begun, shared), len(work.parts))
        self.mended += int(shared[MENDED])

    def _plan_work(self, tasks: Ints, n_bars: int) -> RowWork:
        """Parts of whole rows [n, 7], bars left out."""
        averages, others = (tasks[(tasks[:, KIND] == EMA) == is_ema] for is_ema in (True, False))
        by_source = [averages[averages[:, SOURCE] == k] for k in np.unique(averages[:, SOURCE])]
        bundles = [part for some in by_source for part in self._bundles(some, n_bars)]
        pieces = _pieces(others, n_bars)
        ends = np.cumsum([0, *map(len, bundles), *[1] * len(pieces)])
        windows = pieces[pieces[:, LENGTH] <= n_bars, LENGTH]
        return RowWork(
            tasks=np.concatenate([*bundles, pieces]),
            parts=np.stack((ends[:-1], ends[1:]), axis=1),
            longest=int(windows.max(initial=0)),
        )

    def _bundles(self, rows: Ints, n_bars: int) -> Iterator[Ints]:
        """EMAs [n, 7] of one source as parts: stretches of few, or many side by side."""
        is_few = len(rows) < LANES * self._threads.count
        wanted = LANES * max(1, self._threads.count // len(rows)) if is_few else 0
        leads = LEAD_LENGTHS * rows[:, LENGTH]
        counts = np.minimum(wanted, n_bars // (2 * leads) // LANES * LANES)
        for i in np.flatnonzero(counts):
            yield from _stretches(rows[i], n_bars, leads[i], counts[i])
        whole = rows[counts == 0]
        whole[:, END] = n_bars
        together = min(EMA_LANES, max(1, -(-len(whole) // self._threads.count)))
        yield from (whole[i : i + together] for i in range(0, len(whole), together))


def _pieces(rows: Ints, n_bars: int) -> Ints:
    """Rows [n, 7] cut where groups of blocks begin, the costliest pieces first."""
    group = LANES * rows[:, LENGTH]
    step = group * -(-PART_BARS // group)
    counts = -(-n_bars // step)
    pieces, steps = np.repeat(rows, counts, axis=0), np.repeat(step, counts)
    number = np.arange(len(pieces)) - np.repeat(np.cumsum(counts) - counts, counts)
    pieces[:, BEGIN] = number * steps
    pieces[:, END] = np.minimum(pieces[:, BEGIN] + steps, n_bars)
    costs = (pieces[:, END] - pieces[:, BEGIN]) * COSTS[pieces[:, KIND]]
    return pieces[np.argsort(-costs, kind="stable")]


def _stretches(row: Ints, n_bars: int, lead: int, count: int) -> list[Ints]:
    """An EMA [7] as parts of LANES stretches; the first one takes the bars that are left over."""
    ends = n_bars - n_bars // count * np.arange(count)[::-1]
    cut = np.tile(row, (count, 1))
    cut[1:, BEGIN], cut[:, END], cut[:, LEAD] = ends[:-1], ends, lead
    return np.split(cut, count // LANES)


def _is_tame(values: Floats) -> bool:
    """True if all numbers [T] are 0 or of a size between 1 / TAME and TAME."""
    if values.min() > 1 / TAME and values.max() < TAME:
        return True
    sizes = np.abs(values[values != 0.0])
    return not sizes.size or bool(sizes.min() > 1 / TAME and sizes.max() < TAME)


ITEM = 8
"""Bytes of a value."""

LOOPS = ("ema", "sma", "zscore", "atr")
"""Indicators with a loop of their own, beside a source as it is; each takes one length."""

HOLED = "close_location"
"""The source that may have holes, which only `ema` would have to skip."""

SOURCES = (*VALUES, "true_range", HOLED)
"""Sources that these loops read."""


class RowArrays:
    """Rows of one series in slots, which a bank knows (`engine.indicators.row_bank`).

    Rows of known forms are computed by loops of theirs, all others as they are defined.

    Args:
        rows: Of the series.
        workers: Threads that compute them.

    `addresses` [n] say where the row of each slot lies, until another one takes its place.
    """

    def __init__(self, rows: Rows, workers: Threads) -> None:
        self._rows, self._workers = rows, workers
        self._memory = SlotMemory(len(rows.series) * ITEM)
        self._arrays: dict[int, Floats] = {}
        self.addresses = np.empty(0, np.int64)

    def fill(self, trees: Sequence[Expression], slots: Ints) -> None:
        """Compute rows of trees without genes into slots."""
        forms = [find_form(tree) for tree in trees]
        known = [index for index, form in enumerate(forms) if form is not None]
        self._memory.bring(slots[known])
        rows: dict[int, Floats] = {
            index: self._memory.view(int(slots[index])).view(np.float64) for index in known
        }
        self._compute_known([form for form in forms if form is not None], list(rows.values()))
        parts = self._share_trees(trees, [k for k, form in enumerate(forms) if form is None])

        def work(thread: int) -> None:
            for indices in parts[thread :: self._workers.count]:
                made = self._compute([trees[index] for index in indices])
                rows.update(zip(indices, made, strict=True))

        self._workers.run(work, len(parts))
        addresses = np.zeros(max(len(self.addresses), int(slots.max(initial=-1)) + 1), np.int64)
        addresses[: len(self.addresses)] = self.addresses
        for index, slot in enumerate(slots.tolist()):
            self._arrays[slot] = rows[index]
            addresses[slot] = rows[index].__array_interface__["data"][0]
        self.addresses = addresses

    def row(self, slot: int) -> Floats:
        """The row [T] in a slot."""
        return self._arrays[slot]

    def _compute_known(self, forms: Sequence[FormAndLength], rows: Sequence[Floats]) -> None:
        """Compute rows [T] by their forms."""
        if forms:
            # Places are counted from the row that lies first in memory.
            addresses = np.array([row.__array_interface__["data"][0] for row in rows])
            first = int(addresses.argmin())
            places = (addresses - addresses[first]) // rows[first].itemsize
            sources = {form.source: self._rows.of(Column(form.source)) for form, _ in forms}
            filler = RowFiller(cast(dict[str, Floats], sources), self._workers)
            filler.fill(forms, places, rows[first])

    def _share_trees(self, trees: Sequence[Expression], indices: list[int]) -> list[list[int]]:
        """Places of rows that are computed together: trends, where all threads get some."""
        parts = [[index] for index in indices if not self._shares_sides(trees[index])]
        of_label: dict[str, list[int]] = {}
        for index in indices:
            if self._shares_sides(trees[index]):
                of_label.setdefault(trees[index].label, []).append(index)
        for some in of_label.values():
            size = max(min(LANES, len(some) // self._workers.count), 1)
            parts += [some[begin : begin + size] for begin in range(0, len(some), size)]
        return parts

    def _shares_sides(self, tree: Expression) -> bool:
        return is_trend(tree) and isinstance(self._rows.run, TrendForm)

    def _compute(self, trees: Sequence[Expression]) -> list[Floats]:
        """Rows [T] of one tree, or of some with shared parts."""
        if self._shares_sides(trees[0]):
            run = cast(TrendForm, self._rows.run)
            return run.compute_calls(self._rows.series.close, cast(Sequence[Call], trees))
        # They are read from their addresses on.
        return [np.ascontiguousarray(self._rows.of(tree), np.float64) for tree in trees]


def find_form(tree: Expression) -> FormAndLength | None:
    """Form and length of a row without genes; None where it has no loop of its own."""
    if isinstance(tree, Column):
        return (RowForm("level", tree.name), 1) if _is_source(tree) else None
    if not isinstance(tree, Call) or tree.indicator not in LOOPS:
        return None
    (length,) = map(whole, tree.parameters)
    if tree.indicator == "atr":
        return RowForm("sma", "true_range"), length
    source = tree.source
    if not _is_source(source) or (tree.indicator == "ema" and source.name == HOLED):
        return None
    return RowForm(str(tree.indicator), source.name), length


def _is_source(node: Expression | None) -> TypeGuard[Column]:
    return isinstance(node, Column) and node.name in SOURCES and not node.is_extra
