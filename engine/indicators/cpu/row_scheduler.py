"""Stage 1 on the host: rows laid out as parts, and the threads that compute them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.backend import RowForm, RowRequest
from engine.indicators.coders import Coder, FixedCoder, coder_maps
from engine.indicators.cpu.codes import HIGHEST_CODE
from engine.indicators.cpu.rows import (
    BEGIN,
    CODER,
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
from engine.runtime.cpu.types import Floats, Ints, Market

COSTS = np.zeros(ZSCORE + 1)
COSTS[[LEVEL, SMA, ZSCORE]] = 1.5, 2.7, 4.4
"""Nanoseconds of a core for a bar of a row, so that what takes long is begun first."""

PART_BARS = 2**15
"""Bars of a part at least, where a row is cut into several."""

LEAD_LENGTHS = 20
"""Lengths by which a stretch of an EMA begins early: exp(-40) is left of its start."""

NO_TASKS: Ints = np.empty((0, 8), np.int64)

TAME = 2.0**400
"""Sums and squares of numbers from 1 / TAME to TAME neither overflow nor become subnormal."""


class RowWork(NamedTuple):
    """Rows to compute, as `fill_parts` takes them."""

    tasks: Ints  # [N, 8]
    parts: Ints  # [n, 2], what takes long first
    longest: int  # of all windows that are not longer than the series


class RowFiller:
    """Computes rows of several series on several threads.

    Args:
        sources: Of each series: name to column [T], the same names in all.
        markets: Of each series, for its slots; where rows are not [slots, T], slots are places.
        coders: Form to the map of its codes.
        threads: They compute.

    `mended` counts the stretches of EMAs that had to be computed again.
    """

    def __init__(
        self,
        sources: Sequence[dict[str, Floats]],
        markets: Sequence[Market],
        coders: dict[RowForm, Coder],
        threads: Threads,
    ) -> None:
        self.mended = 0
        self._threads = threads
        self._names = list(sources[0])
        self._maps = list(dict.fromkeys(coders.values()))
        self._coder_of = {form: self._maps.index(coder) for form, coder in coders.items()}
        self._columns = [
            _build_columns(columns, self._maps, market)
            for columns, market in zip(sources, markets, strict=True)
        ]
        self._has_slots = markets[0].rows.ndim > 1

    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows in every series."""
        works = {
            n_bars: self._plan_work(requests, n_bars)
            for n_bars in {columns.n_bars for columns in self._columns}
        }
        calls = [
            (columns, *work, np.empty(len(work.tasks)), np.zeros(3, np.int64))
            for columns in self._columns
            for work in [works[columns.n_bars]]
        ]

        def compute(_: int) -> None:
            for arguments in calls:
                fill_parts(*arguments)

        self._threads.run(compute, sum(len(parts) for _, _, parts, *_ in calls))
        self.mended += sum(int(shared[MENDED]) for *_, shared in calls)

    def _plan_work(self, requests: Sequence[RowRequest], n_bars: int) -> RowWork:
        rows = [self._build_row_tasks(request, n_bars) for request in requests]
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

    def _build_row_tasks(self, request: RowRequest, n_bars: int) -> Ints:
        """Whole rows as tasks [n, 8], bars left out."""
        form, parameters, slots = request
        rows = np.zeros((len(slots), 8), np.int64)
        kind = KINDS[form.indicator]
        rows[:, KIND] = kind
        rows[:, SOURCE] = self._names.index(form.source)
        rows[:, CODER] = self._coder_of.get(form, -1)
        rows[:, LENGTH] = 1 if kind == LEVEL else parameters[:, 0]
        rows[:, PLACE] = slots * n_bars if self._has_slots else slots
        return rows

    def _bundles(self, rows: Ints, n_bars: int) -> Iterator[Ints]:
        """EMAs [n, 8] of one form as parts: stretches of few, or many side by side."""
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
    """Rows [n, 8] cut where groups of blocks begin, the costliest pieces first."""
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
    """An EMA [8] as parts of LANES stretches; the first one takes the bars that are left over."""
    ends = n_bars - n_bars // count * np.arange(count)[::-1]
    cut = np.tile(row, (count, 1))
    cut[1:, BEGIN], cut[:, END], cut[:, LEAD] = ends[:-1], ends, lead
    return np.split(cut, count // LANES)


def _build_columns(sources: dict[str, Floats], maps: Sequence[Coder], market: Market) -> RowColumns:
    n_bars = len(market.open)
    moves = np.array([not isinstance(coder, FixedCoder) for coder in maps], np.int64)
    low, scale = np.empty(len(maps) * n_bars), np.empty(len(maps) * n_bars)
    for number, coder in enumerate(maps):
        # Of a map that does not move no more is read.
        first, count = number * n_bars, n_bars if moves[number] else min(n_bars, 2 * LANES)
        span = slice(first, first + count)
        of_bars = coder_maps(coder, sources, HIGHEST_CODE)
        low[span], scale[span] = (values[:count] for values in of_bars)
    return RowColumns(
        n_bars=n_bars,
        values=np.concatenate(list(sources.values())),
        is_tame=np.array([_is_tame(values) for values in sources.values()], np.int64),
        low=low,
        scale=scale,
        moves=moves,
        rows=market.rows.reshape(-1),
        codes=market.codes.reshape(-1),
    )


def _is_tame(values: Floats) -> bool:
    """True if all numbers [T] are 0 or of a size between 1 / TAME and TAME."""
    if values.min() > 1 / TAME and values.max() < TAME:
        return True
    sizes = np.abs(values[values != 0.0])
    return not sizes.size or bool(sizes.min() > 1 / TAME and sizes.max() < TAME)
