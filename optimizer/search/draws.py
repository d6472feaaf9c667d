"""Random numbers of one generation, those of several streams drawn by one compiled loop."""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from math import prod

import numpy as np

from optimizer.search.compiled.philox import BLOCK, FILL, ROUNDS, draw
from optimizer.search.generation import Floats
from optimizer.search.randomness import build_key

SPARE_SHARE = 8
"""One number in so many is drawn beyond what the generation before took: rates move."""


class Stream:
    """Numbers at an address, as `randomness.stream` gives them.

    Args:
        key: Of the address, [2].
    """

    def __init__(self, key: tuple[int, int]) -> None:
        self._key, self._n_taken = key, 0
        self._drawn: Floats = np.empty(0)

    @property
    def n_ready(self) -> int:
        """Numbers that are drawn and not taken."""
        return len(self._drawn)

    def random(self, size: tuple[int, ...] = ()) -> Floats:
        """The next numbers."""
        count = prod(size)
        if count > len(self._drawn):
            draw_ahead({self: count})
        numbers, self._drawn = self._drawn[:count], self._drawn[count:]
        self._n_taken += count
        return numbers.reshape(size)

    def fill(self, count: int, to: int) -> tuple[int, int, int, int, int]:
        """Fill of `philox.draw` that gives so many numbers and those before them in a block."""
        first = self._n_taken // BLOCK
        return *self._key, first, -(-(self._n_taken + count) // BLOCK) - first, to

    def take_drawn(self, numbers: Floats, count: int) -> None:
        """Take so many numbers from what was drawn by a fill."""
        start = self._n_taken % BLOCK
        self._drawn = numbers[start : start + count]


def draw_ahead(counts: Mapping[Stream, int]) -> None:
    """Draw at once so many numbers as each stream will be asked for next."""
    fills, end = [], 0
    for stream, count in counts.items():
        fills.append(stream.fill(count, end))
        end += BLOCK * fills[-1][3]
    numbers = np.empty(end)
    draw(np.array(fills, dtype=np.uint64).reshape(-1, FILL), ROUNDS, numbers)
    for (stream, count), fill in zip(counts.items(), fills, strict=True):
        stream.take_drawn(numbers[fill[4] :], count)


class Draws:
    """The random streams of one generation, each opened once and then drawn from in turn.

    Args:
        seed: Of the run.
        thread: Draws for the next generation, if there is one.
    """

    def __init__(self, seed: int, thread: Executor | None = None) -> None:
        self._seed, self._thread, self._generation = seed, thread, 0
        self._streams: dict[str, Stream] = {}
        self._asked: Counter[str] = Counter()
        self._next: tuple[Draws, Future[None]] | None = None

    def switch_generation(self, generation: int) -> "Draws":
        """The streams of another generation; those of the one before must no longer be used."""
        if generation != self._generation:
            self._generation, self._streams = generation, {}
            self._asked.clear()
            if self._next is not None and self._next[0]._generation == generation:
                following, drawing = self._next
                drawing.result()
                self._streams = following._streams
            self._next = None
        return self

    def begin_next(self) -> None:
        """Have the thread draw for the next generation about as many numbers as this one took."""
        if self._thread is None:
            return
        following, wanted = Draws(self._seed), +self._asked
        following.switch_generation(self._generation + 1)
        spared = {purpose: count + count // SPARE_SHARE for purpose, count in wanted.items()}
        self._next = following, self._thread.submit(following.ahead, spared)

    def __call__(self, purpose: str) -> Stream:
        """The stream of a purpose, where it was left."""
        if purpose not in self._streams:
            key = build_key(self._seed, self._generation, purpose)
            self._streams[purpose] = Stream(key)
        return self._streams[purpose]

    def ahead(self, counts: Mapping[str, int]) -> None:
        """Draw at once so many numbers as each purpose will be asked for next."""
        if self._thread is not None:
            self._asked.update(counts)
        wanted = {self(purpose): count for purpose, count in counts.items() if count}
        draw_ahead({stream: n for stream, n in wanted.items() if n > stream.n_ready})
