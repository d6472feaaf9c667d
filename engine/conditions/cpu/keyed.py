"""Arrays of one part of a strategy, words of bars or candidates, by the values of its genes.

They stay from one population to the next, so that what individuals read is found by one look-up
for all of them.
"""

from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from engine.indicators.keys import Keys
from engine.runtime.cpu.types import Floats, Ints

Array = npt.NDArray[Any]
Key = TypeVar("Key", bound=Hashable)


class KeyedArrays:
    """Arrays that were computed so far, and where they lie.

    Args:
        columns: Genes that decide them, columns of a genome.
        kinds: Arrays of each set of values of these genes.
    """

    def __init__(self, columns: Sequence[int], kinds: int = 1) -> None:
        self._keys = Keys(columns)
        self._arrays: list[Array] = []
        self._addresses = np.zeros((kinds, 0), np.int64)
        self._count = 0
        self._last = np.empty(0, np.int64)

    def find(self, genomes: Floats) -> Ints:
        """Look up individuals [P, G]; those whose arrays are missing are to be added in order."""
        self._last, fresh = self._keys.number(genomes)
        return fresh

    def add(self, addresses: Ints, arrays: Sequence[Array]) -> None:
        """Take up arrays by their addresses [kinds, n], and what holds their memory."""
        end = self._count + addresses.shape[1]
        if end > self._addresses.shape[1]:
            self._addresses = np.pad(self._addresses, ((0, 0), (0, 2 * end - self._count)))
        self._addresses[:, self._count : end] = addresses
        self._arrays.extend(arrays)
        self._count = end

    @property
    def addresses(self) -> Ints:
        """Where the arrays of the individuals that were looked up lie, [kinds, P]."""
        return self._addresses[:, self._last]

    @property
    def first(self) -> Array:
        """The array that was added first."""
        return self._arrays[0]


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


@contextmanager
def forget_unfinished(tables: MutableMapping[Key, KeyedArrays], name: Key) -> Iterator[None]:
    """Forget a table in which individuals were looked up, but whose arrays were not computed."""
    try:
        yield
    except BaseException:
        tables.pop(name, None)
        raise
