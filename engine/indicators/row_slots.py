"""Slots of the rows that individuals read: looked up, and filled where rows are missing."""

import numpy as np

from engine.backend import Floats, Slots
from engine.fast_case import FastCase
from engine.indicators.plan import RowPlan, length_columns, plan_rows
from engine.indicators.row_cache import RowBank
from engine.validate import are_legal, find_slots, load_loops


class RowSlots:
    """Knows where the rows of legal genomes lie.

    Args:
        case: The strategy.
        bank: Holds the rows.
    """

    def __init__(self, case: FastCase, bank: RowBank) -> None:
        self._case, self._bank = case, bank
        self._lengths = length_columns(case)
        spec, layout = case.strategy, case.layout
        self._limits = (spec.least, spec.most, layout.is_int.astype(np.int64), layout.ordered)
        load_loops(layout.defaults[None].copy(), self._limits, self._lengths)

    def require_legal(self, genomes: Floats) -> Floats:
        """The same genomes [P, G].

        Raises:
            GenomeError: When one is not legal; the message names the first.
        """
        if not are_legal(genomes, *self._limits):
            self._case.strategy.check_genomes(genomes)
        return genomes

    def find(self, genomes: Floats) -> Slots | None:
        """Slots [P, R] where all rows are in the bank, which after a few generations they are."""
        slots = np.empty((len(genomes), len(self._lengths)), np.int32)
        tables = tuple(self._bank.table(row.form) for row in self._case.rows)
        if tables and not find_slots(genomes, self._lengths, tables, slots):
            return None
        self._bank.touch(slots)
        return slots

    def try_fill(self, genomes: Floats) -> Slots | None:
        """Slots [P, R] after all rows were computed; None where they do not fit together."""
        plan = plan_rows(self._case, self.require_legal(genomes))
        if plan.n_rows > self._bank.capacity:
            return None
        return self.fill(plan)

    def fill(self, plan: RowPlan) -> Slots:
        """Slots [P, R] of a plan's rows, all of which are in the bank from now on."""
        slots: Slots = self._bank.slots(plan.groups).astype(np.int32)[plan.row_of]
        return slots
