"""Rows of one series on the host, where any strategy reads them: by address."""

from collections.abc import Sequence
from typing import TypeGuard, cast

import numpy as np

from data.checks import VALUES
from engine.indicators.cpu.row_scheduler import RowFiller, RowForm, RowRequest
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.trend_spec import is_trend
from engine.runtime.cpu.row_memory import SlotMemory
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from strategy.expressions import Call, Column, Expression
from strategy.rows import Rows, whole

ITEM = 8
"""Bytes of a value."""

LOOPS = ("ema", "sma", "zscore", "atr")
"""Indicators with a loop of their own, beside a source as it is; each takes one length."""

HOLED = "close_location"
"""The source that may have holes, which only `ema` would have to skip."""

SOURCES = (*VALUES, "true_range", HOLED)
"""Sources that these loops read."""

FormAndLength = tuple[RowForm, int]
"""Form of a row, and its bars."""


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
            fill_known(self._rows, forms, places, rows[first], self._workers)

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
    rows: Rows, forms: Sequence[FormAndLength], places: Ints, out: Floats, workers: Threads
) -> None:
    """Compute rows by forms, as `find_form` gives them, to places from `out` on."""
    of_form: dict[RowForm, list[int]] = {}
    for index, (form, _) in enumerate(forms):
        of_form.setdefault(form, []).append(index)
    lengths = np.array([length for _, length in forms], np.int64)
    requests = [
        RowRequest(form, lengths[indices], places[indices]) for form, indices in of_form.items()
    ]
    sources = {form.source: rows.of(Column(form.source)) for form in of_form}
    RowFiller(cast(dict[str, Floats], sources), workers).fill(requests, out)


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
