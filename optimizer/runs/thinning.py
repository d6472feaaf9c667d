"""Which populations give way: those that are not to be kept, and the oldest beyond a budget.

Only what stands before the newest two generations is ever thinned, in the order of age: first
whole populations to their fronts, and when no whole one is left, fronts to summaries.
"""

import sqlite3

from optimizer.runs.chain import sound_columns
from optimizer.runs.database import population_bytes, read_digests, shrink_row
from optimizer.runs.rows import NOTHING, Columns, Digests, front_population, pack, unpack
from optimizer.runs.space import WHOLE_GENERATIONS, Keep


class Thinning:
    """What is left of older generations; all of it happens in the transaction of its caller.

    Args:
        connection: The writer's.
        keep: What stays of them at most.
        budget: Bytes that populations may take altogether, None without a limit.
    """

    def __init__(self, connection: sqlite3.Connection, *, keep: Keep, budget: int | None) -> None:
        self._connection = connection
        self._keep = keep
        self._budget = budget
        self._whole_from = 0
        """Every older generation before this one is a front at most."""
        self._front_from = 0
        """Every older generation before this one is a summary."""
        self._n_bytes: int | None = None

    def removed(self) -> None:
        """Rows were removed: what is left is counted anew when it is needed."""
        self._n_bytes = None

    def added(self, columns: Columns) -> None:
        """A row was written."""
        if self._n_bytes is not None:
            self._n_bytes += columns.n_bytes

    def thin(self, newest: int) -> None:
        """Drop what need not be kept.

        Args:
            newest: Number of the newest generation.
        """
        end = newest + 1 - WHOLE_GENERATIONS
        if self._keep != "all":
            self._thin_to_front(end)
        if self._keep == "last":
            self._thin_to_summary(end)
        while self._is_over_budget() and self._front_from < end:
            if self._whole_from < end:
                self._thin_to_front(self._whole_from + 1)
            else:
                self._thin_to_summary(self._front_from + 1)

    def _is_over_budget(self) -> bool:
        if self._budget is None:
            return False
        if self._n_bytes is None:
            self._n_bytes = population_bytes(self._connection)
        return self._n_bytes > self._budget

    def _thin_to_front(self, end: int) -> None:
        for digests in list(read_digests(self._connection, self._whole_from, end)):
            if digests.kept == "whole":
                self._replace(digests, is_front=self._keep != "last")
        self._whole_from = max(self._whole_from, end)

    def _thin_to_summary(self, end: int) -> None:
        for digests in list(read_digests(self._connection, self._front_from, end)):
            if digests.kept != "summary":
                self._replace(digests, is_front=False)
        self._front_from = max(self._front_from, end)

    def _replace(self, digests: Digests, *, is_front: bool) -> None:
        """A damaged population stays as it is, for `verify` to report."""
        columns = sound_columns(self._connection, digests)
        if columns is None:
            return
        left = _front(columns, digests) if is_front else None
        shrink_row(self._connection, digests, left)
        if self._n_bytes is not None:
            self._n_bytes += (left or NOTHING).n_bytes - columns.n_bytes


def _front(columns: Columns, digests: Digests) -> Columns:
    return pack(front_population(unpack(columns, digests.genes, digests.objectives)))
