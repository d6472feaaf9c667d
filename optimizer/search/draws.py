"""Random numbers of one generation, those of several streams drawn by one compiled loop."""

from collections.abc import Iterable, Mapping
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
    def n_taken(self) -> int:
        """Numbers that were taken."""
        return self._n_taken

    @property
    def drawn(self) -> Floats:
        """Numbers that are drawn and not taken."""
        return self._drawn

    def take(self, count: int) -> Floats:
        """The next numbers, drawn if they are not yet."""
        if count > len(self._drawn):
            draw_ahead([(self, count)])
        numbers, self._drawn = self._drawn[:count], self._drawn[count:]
        self._n_taken += count
        return numbers

    def random(self, size: tuple[int, ...] = ()) -> Floats:
        """The next numbers."""
        return self.take(prod(size)).reshape(size)

    def fill(self, count: int, to: int) -> tuple[int, int, int, int, int]:
        """Fill of `philox.draw` that gives so many numbers and those before them in a block."""
        first = self._n_taken // BLOCK
        return *self._key, first, -(-(self._n_taken + count) // BLOCK) - first, to

    def take_drawn(self, numbers: Floats, begin: int, count: int) -> None:
        """Take so many numbers from the beginning of a fill."""
        begin += self._n_taken % BLOCK
        self._drawn = numbers[begin : begin + count]


def draw_ahead(counts: Iterable[tuple[Stream, int]]) -> None:
    """Draw at once as many numbers as each stream will need next."""
    wanted = [(stream, count) for stream, count in counts if count > len(stream.drawn)]
    if not wanted:
        return
    fills: list[int] = []
    begins, end = [], 0
    for stream, count in wanted:
        fill = stream.fill(count, end)
        fills += fill
        begins.append(end)
        end += BLOCK * fill[3]
    numbers = np.empty(end)
    draw(np.array(fills, dtype=np.uint64).reshape(-1, FILL), ROUNDS - 2, numbers)
    for (stream, count), begin in zip(wanted, begins, strict=True):
        stream.take_drawn(numbers, begin, count)


class Draws:
    """The random streams of one generation, each opened once and then drawn from in turn.

    Args:
        seed: Of the run.
        thread: Draws for the next generation, if there is one.
    """

    def __init__(self, seed: int, thread: Executor | None = None) -> None:
        self._seed, self._thread, self._generation = seed, thread, 0
        self._streams: dict[str, Stream] = {}
        self._foreseen: dict[str, int] = {}
        self._next: tuple[Draws, Future[None]] | None = None

    def switch_generation(self, generation: int) -> "Draws":
        """The streams of another generation; those of the one before must no longer be used."""
        if generation != self._generation:
            self._foreseen = self._foresee()
            self._generation, self._streams = generation, {}
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
        following = Draws(self._seed).switch_generation(self._generation + 1)
        self._next = following, self._thread.submit(following.ahead, self._foresee())

    def __call__(self, purpose: str) -> Stream:
        """The stream of a purpose, at its last position."""
        if purpose not in self._streams:
            key = build_key(self._seed, self._generation, purpose)
            self._streams[purpose] = Stream(key)
        return self._streams[purpose]

    def ahead(self, counts: Mapping[str, int]) -> None:
        """Draw at once as many numbers as each purpose will need first.

        For other purposes about as many as the generation before took, if there was one.
        """
        wanted = self._foreseen | {purpose: count for purpose, count in counts.items() if count}
        draw_ahead((self(purpose), count) for purpose, count in wanted.items())

    def _foresee(self) -> dict[str, int]:
        """About how many numbers of each purpose the next generation takes."""
        taken = {purpose: stream.n_taken for purpose, stream in self._streams.items()}
        return {purpose: count + count // SPARE_SHARE for purpose, count in taken.items()}
