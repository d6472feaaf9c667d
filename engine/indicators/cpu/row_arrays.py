"""Rows of one series on the host, where any strategy reads them: by address."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from engine.indicators.cpu.trends import TrendForm
from engine.indicators.trend_spec import is_trend
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from strategy.expressions import Call, Expression
from strategy.rows import Rows


class RowArrays:
    """Rows of one series in slots, which a bank knows (`engine.indicators.row_bank`).

    Args:
        rows: Of the series.
        workers: Threads that compute them.

    `addresses` [n] say where the row of each slot lies, until another one takes its place.
    """

    def __init__(self, rows: Rows, workers: Threads) -> None:
        self._rows, self._workers = rows, workers
        self._arrays: list[Floats] = []
        self.addresses = np.empty(0, np.int64)

    def fill(self, trees: Sequence[Expression], slots: Ints) -> None:
        """Compute rows of trees without genes into slots."""
        rows: dict[int, Floats] = {}
        parts = self._share_trees(trees)

        def work(thread: int) -> None:
            for places in parts[thread :: min(self._workers.count, len(parts))]:
                made = self._compute([trees[place] for place in places])
                rows.update(zip(places, made, strict=True))

        self._workers.run(work, len(parts))
        for place, slot in enumerate(slots.tolist()):
            if slot < len(self._arrays):
                self._arrays[slot] = rows[place]
            else:
                self._arrays.append(rows[place])
        addresses = np.empty(len(self._arrays), np.int64)
        addresses[: len(self.addresses)] = self.addresses
        addresses[slots] = [rows[place].ctypes.data for place in range(len(slots))]
        self.addresses = addresses

    def _share_trees(self, trees: Sequence[Expression]) -> list[list[int]]:
        """Places of rows that are computed together: trends, where all threads get some."""
        alone = [[place] for place, tree in enumerate(trees) if not self._shares_sides(tree)]
        labels = sorted({tree.label for tree in trees if self._shares_sides(tree)})
        for label in labels:
            places = [place for place, tree in enumerate(trees) if tree.label == label]
            size = max(min(LANES, len(places) // self._workers.count), 1)
            alone += [places[begin : begin + size] for begin in range(0, len(places), size)]
        return alone

    def _shares_sides(self, tree: Expression) -> bool:
        return is_trend(tree) and isinstance(self._rows.run, TrendForm)

    def _compute(self, trees: Sequence[Expression]) -> list[Floats]:
        """Rows [T] of one tree, or of some that share what they are made of."""
        if self._shares_sides(trees[0]):
            run = cast(TrendForm, self._rows.run)
            return run.compute_calls(self._rows.series.close, cast(Sequence[Call], trees))
        # They are read from their addresses on.
        return [np.ascontiguousarray(self._rows.of(tree), np.float64) for tree in trees]
