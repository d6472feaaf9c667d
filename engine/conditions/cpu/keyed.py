"""Arrays of one part of a strategy, words of bars or candidates, by the values of its genes.

They stay from one population to the next, so that what individuals read is found by one look-up
for all of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.indicators.keys import Keys
from engine.runtime.cpu.types import Floats, Ints

Array = npt.NDArray[Any]
Made = tuple[Ints, Sequence[Array]]
"""Addresses [kinds, n], and what holds the memory there."""


class KeyedArrays:
    """Arrays that were computed so far, and where they lie.

    Args:
        columns: Genes that decide them, columns of a genome.
        kinds: Arrays of each set of values of these genes.

    `arrays` hold their memory.
    """

    def __init__(self, columns: Sequence[int], kinds: int = 1) -> None:
        self._keys = Keys(columns)
        self.arrays: list[Array] = []
        self._addresses = np.empty((kinds, 0), np.int64)

    def bring(self, genomes: Floats, make: Callable[[Ints], Made]) -> Ints:
        """Where the arrays of individuals [P, G] lie, [kinds, P]; `make` makes those of some."""
        known = self._keys.count
        numbers, fresh = self._keys.number(genomes)
        if fresh.size:
            try:
                addresses, arrays = make(fresh)
            except BaseException:
                self._keys.keep(np.arange(known))
                raise
            self._addresses = np.concatenate([self._addresses, addresses], axis=1)
            self.arrays.extend(arrays)
        return self._addresses[:, numbers]


def list_addresses(arrays: Sequence[Array]) -> Ints:
    """Where arrays lie, [n]."""
    return np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)


def addresses_within(block: Array) -> Ints:
    """Where the rows of a contiguous array [kinds, n, N] lie, [kinds, n]."""
    kinds, n, _ = block.shape
    begin = block.__array_interface__["data"][0]
    addresses: Ints = (
        begin + np.arange(kinds * n, dtype=np.int64).reshape(kinds, n) * block.strides[1]
    )
    return addresses
