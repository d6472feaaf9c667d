"""Individuals whose rows are not in the bank, on a backend that needs none.

To build rows for an individual that is seen once costs far more than to evaluate it. A row is
therefore computed when it is asked for again: what a search keeps coming back to gets into the
bank, what it tries once does not.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from data.bars import Window
from engine.backends import Form
from engine.backends.contract import Backend, Streamer
from engine.bank import RowBank
from engine.plan import RowGroup, plan_rows
from strategy.genes import Floats
from strategy.spec import StrategySpec

ROW_COST = 4
"""Individuals that can be streamed in the time in which one row is computed."""

Bools = npt.NDArray[np.bool_]


class ColdPath:
    """Evaluates populations of which rows are missing.

    Args:
        spec: The strategy.
        backend: Holds the series and the rows.
        bank: Which row lies in which slot.
        windows: Each a backtest.
        most: Most individuals that are evaluated together; all when None.
    """

    def __init__(
        self,
        spec: StrategySpec,
        backend: Backend,
        bank: RowBank,
        windows: Sequence[Window],
        most: int | None,
    ) -> None:
        self._spec, self._backend, self._bank = spec, backend, bank
        self._windows, self._most = windows, most
        self._streamer = backend if isinstance(backend, Streamer) else None
        self._missed: dict[Form, Bools] = {}

    def evaluate(self, genomes: Floats, out: Floats) -> bool:
        """Evaluate a population, streaming individuals whose rows are missing where that pays.

        Args:
            genomes: [P, G], legal.
            out: [P, W, A] receives the accumulators.

        Returns:
            Whether it was done; if not, all rows are to be computed, and nothing was written.
        """
        if self._streamer is None or not self._streamer.can_stream(genomes):
            return False
        plan = plan_rows(self._spec, genomes)
        slots = self._bank.peek(plan.groups)
        is_cold = (slots[plan.row_of] < 0).any(axis=1)
        if int((slots < 0).sum()) * ROW_COST < int(is_cold.sum()):
            return False
        again = self._missed_again(plan.groups, slots)
        if again and plan.n_rows <= self._bank.capacity:
            self._bank.slots(again)
            slots = self._bank.peek(plan.groups)
            is_cold = (slots[plan.row_of] < 0).any(axis=1)
        (warm,), (cold,) = np.nonzero(~is_cold), np.nonzero(is_cold)
        found = slots.astype(np.int32)[plan.row_of]
        if len(warm):
            self._bank.touch(found[warm])
        for members in self._parts(warm):
            rows = found[members]
            out[members] = self._backend.evaluate(genomes[members], rows, self._windows)
        for members in self._parts(cold):
            out[members] = self._streamer.stream(genomes[members], self._windows)
        return True

    def _parts(self, members: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        most = self._most or max(len(members), 1)
        return [members[i : i + most] for i in range(0, len(members), most)]

    def _missed_again(
        self, groups: Sequence[RowGroup], slots: npt.NDArray[np.int64]
    ) -> list[RowGroup]:
        """Rows that are missing and were missed before; remembers those that were not."""
        again: list[RowGroup] = []
        begun = 0
        for group in groups:
            missing = group.lengths[slots[begun : begun + len(group.lengths)] < 0]
            begun += len(group.lengths)
            if not len(missing):
                continue
            is_again = self._note(group.form, missing)
            if is_again.any():
                again.append(RowGroup(group.form, missing[is_again]))
        return again

    def _note(self, form: Form, lengths: npt.NDArray[np.int64]) -> Bools:
        """Which of the rows [n, L] were missed before; from now on all of them were."""
        places = lengths[:, 0] if lengths.shape[1] else np.zeros(len(lengths), np.int64)
        table = self._missed.get(form, np.zeros(1, np.bool_))
        most = int(places.max()) + 1
        if most > len(table):
            table = np.concatenate((table, np.zeros(most, np.bool_)))
        self._missed[form] = table
        was_missed = table[places]
        table[places] = True
        return was_missed
