"""A generation's random numbers at once: those of `randomness.stream`, by one compiled loop.

Block b of an address is Philox of the counter b + 1, four words of 64 bits, and a number is the
upper 53 bits of a word. Whoever only shows a run reads words, and does without the compiler.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, Future
from math import prod

import numpy as np

from data.checks import Floats
from engine.runtime.compiling.loops import compiled_unlocked
from engine.runtime.cpu.wide_product import multiply_wide
from optimizer.search.compiled.fronts import ONE, TWO, Unsigned
from optimizer.search.randomness import build_key

BLOCK = 4
"""Numbers of a block."""

FILL = 5
"""Columns of a fill: both words of a key, first block, blocks, and where they begin."""

FIRST, SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
"""Multipliers of the first and of the third word of a counter."""

FIRST_STEP, SECOND_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
"""Increment of either word of the key from round to round."""

ROUNDS = 10
UNUSED_BITS, THREE = np.uint64(11), np.uint64(3)
UNIT = 2.0**-53

SPARE_SHARE = 8
"""One number in so many is drawn beyond what the generation before took: rates move."""


@compiled_unlocked
def draw(fills: Unsigned, n_rounds: int, out: Floats) -> None:
    """Draw whole blocks of several addresses, fills [N, `FILL`], into `out` [M], from 0 up to 1.

    `n_rounds` is `ROUNDS` less two, which are laid out because most of a counter is 0; as an
    argument, because a loop that is laid out whole takes longer.
    """
    for n in range(fills.shape[0]):
        to, first, second = fills[n, 4], fills[n, 0] + FIRST_STEP, fills[n, 1] + SECOND_STEP
        key_above, key_below = multiply_wide(FIRST, fills[n, 0])
        for block in range(fills[n, 3]):
            above, below = multiply_wide(FIRST, fills[n, 2] + np.uint64(block) + ONE)
            c_above, c_below = multiply_wide(SECOND, above ^ fills[n, 1])
            a, b, c, d = c_above ^ first, c_below, key_above ^ below ^ second, key_below
            key, other = first + FIRST_STEP, second + SECOND_STEP
            for _ in range(n_rounds):
                a_above, a_below = multiply_wide(FIRST, a)
                c_above, c_below = multiply_wide(SECOND, c)
                a, b, c, d = c_above ^ b ^ key, c_below, a_above ^ d ^ other, a_below
                key, other = key + FIRST_STEP, other + SECOND_STEP
            out[to] = np.float64(a >> UNUSED_BITS) * UNIT
            out[to + ONE] = np.float64(b >> UNUSED_BITS) * UNIT
            out[to + TWO] = np.float64(c >> UNUSED_BITS) * UNIT
            out[to + THREE] = np.float64(d >> UNUSED_BITS) * UNIT
            to += np.uint64(BLOCK)


class Stream:
    """Numbers at the address of a key, as `stream` gives them."""

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
        """Fill of `draw` that gives so many numbers and those before them in a block."""
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

    The thread, if there is one, draws for the next generation.
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
