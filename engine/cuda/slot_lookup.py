"""Slots of rows, known on the device; and the launch that looks it up."""

from collections.abc import Sequence

import numpy as np
import torch

from engine.backend import RowRequest
from engine.conditions.cuda.candidate_lists import CandidateLists, Packing
from engine.cuda.validate import admission_kernel
from engine.cuda.workspace import Workspace
from engine.fast_case import FastCase
from engine.indicators.plan import length_columns
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import overwrite, to_device

LANES = 128
"""Individuals of a program, a lane each."""

FEWEST_ADMITTED = 512
"""Fewer individuals are looked up by the host."""

LONGEST = 2**16
"""Rows with a whole parameter up to this are found on the device, others by the host."""


class Admission:
    """Knows on the device which row lies in which slot, and launches the check.

    Args:
        case: The strategy.
        packing: Which comparisons candidates carry.
        capacity: Slots for rows.
        device: Where tensors lie.
    """

    def __init__(
        self, case: FastCase, packing: Packing, capacity: int, device: torch.device
    ) -> None:
        columns = length_columns(case)
        self._is_possible = bool((columns >= -1 - LONGEST).all())
        self._lengths = tuple(columns.tolist())
        self._forms = [row.form for row in case.rows]
        # Parameters within the bounds, as far as a table pays.
        most = [case.layout.high[c] if c >= 0 else -1 - c for c in self._lengths]
        self._width = int(min(max(most, default=0), LONGEST)) + 1
        self._capacity = capacity
        self._device = device
        self._here = np.full((len(case.rows), self._width), -1, np.int32)
        self.places = torch.full(self._here.shape, -1, dtype=torch.int32, device=device)
        layout = case.layout
        self._limits = to_device(np.stack([case.strategy.least, case.strategy.most]), device)
        self._bounds = to_device(packing.bounds, device)
        self._whole = tuple(np.flatnonzero(layout.is_int).tolist())
        self._ordered = tuple(layout.ordered.reshape(-1).tolist())
        packed = zip(packing.genes.tolist(), packing.is_greater.tolist(), strict=True)
        self._packed = tuple(int(number) for pair in packed for number in pair)
        self._lead = packing.lead

    def pays(self, individuals: int) -> bool:
        """True if the device should look up: it can, and they are too many for the host."""
        return self._is_possible and individuals >= FEWEST_ADMITTED

    def note(self, requests: Sequence[RowRequest]) -> None:
        """Remember the rows in slots from now on, in place of the former ones."""
        if not self._is_possible:
            return
        is_taken = np.zeros(self._capacity + 1, np.bool_)
        for request in requests:
            is_taken[request.slots] = True
        # Nowhere, -1, is behind all slots.
        self._here[is_taken[self._here]] = -1
        for form, parameters, slots in requests:
            lengths = parameters[:, 0] if parameters.shape[1] else np.zeros(len(parameters))
            is_listed = lengths < self._width
            parameter_sets = lengths[is_listed].astype(np.int64)
            for row, other in enumerate(self._forms):
                if other == form:
                    self._here[row, parameter_sets] = slots[is_listed]
        overwrite(self.places, self._here)

    def clear(self) -> None:
        """Forget all rows."""
        self._here.fill(-1)
        self.places.fill_(-1)

    def run(self, work: Workspace, candidates: CandidateLists, individuals: int) -> None:
        """Launch the check for at least as many individuals as were uploaded."""
        launch(admission_kernel, (-(-individuals // LANES),), work.asked, work.counts, work.genomes,
               self._limits, self.places, candidates.list_of, self._bounds, work.table,
               self._width, N_COLUMNS=work.genomes.shape[1], N_ROWS=work.table.shape[1],
               WHOLE=self._whole, ORDERED=self._ordered, LENGTHS=self._lengths, LEAD=self._lead,
               PACKED=self._packed, LANES=LANES)  # fmt: skip
