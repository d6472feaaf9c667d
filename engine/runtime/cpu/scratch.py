"""Memory of arrays that one population after another writes anew."""

from math import prod

import numpy as np

from engine.runtime.cpu.bitset import Words


class Scratch:
    """Words that are read until the next population comes, in memory that stays.

    A system clears each page that it gives. For words of bars that takes as long as to decide them.
    """

    def __init__(self) -> None:
        self._kept: list[Words] = []
        self._taken = 0

    def release(self) -> None:
        """Have what was taken so far written anew."""
        self._taken = 0

    def take(self, *shape: int) -> Words:
        """An array of words; it holds whatever was there."""
        size, number = prod(shape), self._taken
        if number == len(self._kept):
            self._kept.append(np.empty(size, np.uint64))
        elif self._kept[number].size < size:
            self._kept[number] = np.empty(size, np.uint64)
        self._taken += 1
        return self._kept[number][:size].reshape(shape)
