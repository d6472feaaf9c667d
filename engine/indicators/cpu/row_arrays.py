"""Rows of one series on the host, where any strategy reads them: by address."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from engine.fast_case import find_form
from engine.indicators.cpu.row_scheduler import RowFiller
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.plan import group_rows
from engine.indicators.row_bank import RowName
from engine.indicators.trend_spec import is_trend
from engine.runtime.cpu.row_memory import SlotMemory
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from strategy.expressions import Call, Column, Expression
from strategy.rows import Rows

ITEM = 8
"""Bytes of a value."""


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
        self._compute_known([forms[k] for k in known], list(rows.values()))
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

    def _compute_known(self, names: Sequence[RowName], rows: Sequence[Floats]) -> None:
        """Compute rows [T] by their forms and parameters."""
        if names:
            # Places are counted from the row that lies first in memory.
            addresses = np.array([row.__array_interface__["data"][0] for row in rows])
            first = int(addresses.argmin())
            places = (addresses - addresses[first]) // rows[first].itemsize
            fill_known(self._rows, names, places, rows[first], self._workers)

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


def fill_known(
    rows: Rows, names: Sequence[RowName], places: Ints, out: Floats, workers: Threads
) -> None:
    """Compute rows by forms and parameters, as `find_form` gives them, to places from `out` on."""
    requests = group_rows(names, places)
    sources = {form.source: rows.of(Column(form.source)) for form, *_ in requests}
    RowFiller(cast(dict[str, Floats], sources), workers).fill(requests, out)
