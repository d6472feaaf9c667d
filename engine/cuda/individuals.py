"""Individuals of a population by the genes that they share, here and on a device."""

from typing import NamedTuple

import numpy as np
import torch

from engine.contract import Floats
from engine.cuda.waiting import to_device
from engine.rows.individuals import Individuals
from strategy.genes import GenomeLayout


class OnDevice(NamedTuple):
    """`Distinct` on the device: int32 for kernels, and int64 to take what belongs to each."""

    members: torch.Tensor
    set_of: torch.Tensor


class DeviceIndividuals(Individuals):
    """Genomes of a population, of which a device knows what it was asked for.

    Args:
        genomes: [P, G].
        layout: Of the genomes.
        device: Where tensors lie.
    """

    def __init__(self, genomes: Floats, layout: GenomeLayout, device: torch.device) -> None:
        super().__init__(genomes, layout)
        self._device = device
        self._there: dict[tuple[int, ...], OnDevice] = {}

    def there(self, columns: tuple[int, ...]) -> OnDevice:
        """The sets of values in some columns, on the device."""
        if columns not in self._there:
            members, set_of = self.distinct(columns)
            self._there[columns] = OnDevice(
                to_device(members.astype(np.int32), self._device), to_device(set_of, self._device)
            )
        return self._there[columns]
