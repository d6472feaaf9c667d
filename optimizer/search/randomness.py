"""Random numbers by address: one independent stream per (seed, generation, purpose).

The numbers come from Philox4x64-10, a counter-based generator: its key is the address and nothing
else, so a stream can be opened again at any time, in any process, without replaying what came
before. A search that is resumed at generation 40 draws what an unbroken one would have drawn.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from concurrent.futures import Executor, Future
from math import prod

import numpy as np
import numpy.typing as npt

from optimizer.errors import ConfigError

MAX_SEED = 2**63 - 1
"""Largest seed: fits the signed 64-bit integers of databases and configuration files."""

MAX_GENERATION = 2**48 - 1
"""Largest generation number: it shares a 64-bit word of the key with the purpose."""

PURPOSES = {
    "initial": 0,
    "select": 1,
    "crossover": 2,
    "mutate": 3,
    "redraw": 4,
    "immigrate": 5,
    "operator": 6,
    "elite": 7,
    "difference": 8,
    "exchange": 9,
    "measure": 10,
    "stir": 11,
    "polish": 12,
    "null_body": 13,
    "null_gap": 14,
    "bootstrap": 15,
    "reorder": 16,
    "near": 17,
    "null_mirror": 18,
    "forecast_weights": 19,
    "forecast_batches": 20,
}
"""What a stream is drawn for; a number is part of every recorded run and is never reused.

From `null_body` to `null_mirror` they are drawn from as words, by `optimizer.evidence`; the last
two by `optimizer.forecasts`, of folds in place of generations.
"""


START = np.zeros(4, dtype=np.uint64)
"""Counter and buffer of a stream from which nothing was drawn."""

NOTHING = np.empty(0)


def stream(seed: int, generation: int, purpose: str) -> np.random.Generator:
    """Open the random stream at an address.

    Args:
        seed: Seed of the run, 0 to `MAX_SEED`.
        generation: Number of the generation, 0 to `MAX_GENERATION`.
        purpose: A name in `PURPOSES`.

    Returns:
        A generator at the start of its stream; equal addresses give equal bits.

    Raises:
        ConfigError: When the seed or the generation is out of range.
        KeyError: When the purpose is not in the table.
    """
    return np.random.Generator(np.random.Philox(key=_build_key(seed, generation, purpose)))


def restart(opened: np.random.Generator, seed: int, generation: int, purpose: str) -> None:
    """Take a stream that is no longer needed to the start of another address, as `stream` would.

    That takes a quarter of the time of opening one.

    Args:
        opened: From `stream`.
        seed: As in `stream`.
        generation: As in `stream`.
        purpose: As in `stream`.

    Raises:
        ConfigError: As in `stream`.
        KeyError: As in `stream`.
    """
    opened.bit_generator.state = {
        "bit_generator": "Philox",
        "state": {"counter": START, "key": _build_key(seed, generation, purpose)},
        "buffer": START,
        "buffer_pos": len(START),
        "has_uint32": 0,
        "uinteger": 0,
    }


Numbers = npt.NDArray[np.float64]


class Ahead:
    """A stream of which the first numbers may be drawn already.

    Args:
        opened: The stream behind these.
        drawn: [N].

    Attributes:
        n_taken: How many numbers were asked for.
    """

    def __init__(self, opened: np.random.Generator, drawn: Numbers) -> None:
        self._opened, self._left = opened, drawn
        self.n_taken = 0

    def random(self, size: tuple[int, ...]) -> Numbers:
        """The next numbers, as the stream itself would give them."""
        count = prod(size)
        self.n_taken += count
        numbers, self._left = self._left[:count], self._left[count:]
        if len(numbers) < count:
            more = self._opened.random(count - len(numbers))
            numbers = np.concatenate([numbers, more]) if len(numbers) else more
        return numbers.reshape(size)


class Draws:
    """The random streams of one generation, each opened once and then drawn from in turn.

    Args:
        seed: Of the run.
        threads: Who draws what may be drawn ahead; nothing is when None.
    """

    def __init__(self, seed: int, threads: Executor | None = None) -> None:
        self._address, self._threads = (seed, 0), threads
        self._made: dict[str, np.random.Generator] = {}
        self._open: set[str] = set()
        self._ahead: dict[str, Ahead] = {}
        self._drawn: Future[dict[str, Numbers]] | None = None

    def switch_generation(self, generation: int) -> "Draws":
        """The streams of another generation; those of the one before must no longer be used.

        From now on a thread draws what was asked for ahead of the one before, and an eighth more.
        """
        if generation == self._address[1]:
            return self
        if self._drawn is not None:
            self._drawn.result()
        self._address = (self._address[0], generation)
        self._open.clear()
        counts = {name: 9 * ahead.n_taken // 8 for name, ahead in self._ahead.items()}
        self._ahead.clear()
        if self._threads is not None:
            self._drawn = self._threads.submit(self._draw, counts)
        return self

    def __call__(self, purpose: str) -> np.random.Generator:
        """The stream of a purpose, where it was left."""
        if purpose not in self._made:
            self._made[purpose] = stream(*self._address, purpose)
        elif purpose not in self._open:
            restart(self._made[purpose], *self._address, purpose)
        self._open.add(purpose)
        return self._made[purpose]

    def ahead(self, purpose: str) -> Ahead:
        """The stream of a purpose; its numbers are taken through this alone."""
        if purpose not in self._ahead:
            drawn = {} if self._drawn is None else self._drawn.result()
            self._ahead[purpose] = Ahead(self(purpose), drawn.pop(purpose, NOTHING))
        return self._ahead[purpose]

    def _draw(self, counts: dict[str, int]) -> dict[str, Numbers]:
        return {purpose: self(purpose).random(count) for purpose, count in counts.items()}


def _build_key(seed: int, generation: int, purpose: str) -> npt.NDArray[np.uint64]:
    _check_range("seed", seed, MAX_SEED)
    _check_range("generation", generation, MAX_GENERATION)
    return np.array([seed, generation << 16 | PURPOSES[purpose]], dtype=np.uint64)


def _check_range(name: str, value: int, largest: int) -> None:
    if not 0 <= value <= largest:
        raise ConfigError(f"{name} must be a whole number from 0 to {largest}, got {value}")
