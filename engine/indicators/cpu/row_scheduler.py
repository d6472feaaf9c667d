"""Stage 1 on the host: rows laid out as parts, and the threads that compute them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.indicators.cpu.rows import (
    BEGIN,
    EMA,
    EMA_LANES,
    END,
    KIND,
    KINDS,
    LEAD,
    LENGTH,
    LEVEL,
    MENDED,
    PLACE,
    SMA,
    SOURCE,
    ZSCORE,
    RowColumns,
    fill_parts,
)
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints

COSTS = np.zeros(ZSCORE + 1)
COSTS[[LEVEL, SMA, ZSCORE]] = 1.5, 2.7, 4.4
"""Nanoseconds of a core for a bar of a row, so that what takes long is begun first."""

PART_BARS = 2**15
"""Bars of a part at least, where a row is cut into several."""

LEAD_LENGTHS = 20
"""Lengths by which a stretch of an EMA begins early: exp(-40) is left of its start."""

NO_TASKS: Ints = np.empty((0, 7), np.int64)

TAME = 2.0**400
"""Sums and squares of numbers from 1 / TAME to TAME neither overflow nor become subnormal."""


class RowForm(NamedTuple):
    """Form of a row, without its length."""

    indicator: str  # name of its loop, such as ``"sma"``
    source: str  # its source, such as ``"true_range"``


class RowRequest(NamedTuple):
    """Rows of one form to compute."""

    form: RowForm  # indicator and source
    lengths: Ints  # [n] bars of each row; 1 where it takes none
    slots: Ints  # [n] where each row goes


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

    def fill(self, requests: Sequence[RowRequest], rows: Floats) -> None:
        """Compute rows to places from `rows` on, which requests have as slots."""
        columns = RowColumns(self._n_bars, self._values, self._is_tame, rows)
        work, shared = self._plan_work(requests, self._n_bars), np.zeros(3, np.int64)
        begun = np.empty(len(work.tasks))
        self._threads.run(lambda _: fill_parts(columns, *work, begun, shared), len(work.parts))
        self.mended += int(shared[MENDED])

    def _plan_work(self, requests: Sequence[RowRequest], n_bars: int) -> RowWork:
        rows = [self._build_row_tasks(request) for request in requests]
        averages = [of_form for of_form in rows if of_form[0, KIND] == EMA]
        bundles = [part for of_form in averages for part in self._bundles(of_form, n_bars)]
        others = [of_form for of_form in rows if of_form[0, KIND] != EMA]
        pieces = _pieces(np.concatenate([NO_TASKS, *others]), n_bars)
        ends = np.cumsum([0, *map(len, bundles), *[1] * len(pieces)])
        windows = pieces[pieces[:, LENGTH] <= n_bars, LENGTH]
        return RowWork(
            tasks=np.concatenate([*bundles, pieces]),
            parts=np.stack((ends[:-1], ends[1:]), axis=1),
            longest=int(windows.max(initial=0)),
        )

    def _build_row_tasks(self, request: RowRequest) -> Ints:
        """Whole rows as tasks [n, 7], bars left out."""
        form, lengths, slots = request
        rows = np.zeros((len(slots), 7), np.int64)
        rows[:, KIND] = KINDS[form.indicator]
        rows[:, SOURCE] = self._names.index(form.source)
        rows[:, LENGTH] = lengths
        rows[:, PLACE] = slots
        return rows

    def _bundles(self, rows: Ints, n_bars: int) -> Iterator[Ints]:
        """EMAs [n, 7] of one form as parts: stretches of few, or many side by side."""
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
