"""Random numbers and words by address: an independent stream per (seed, generation, purpose).

The numbers come from Philox4x64-10, a counter-based generator. Its key is the address and nothing
else, so a stream can be opened again at any time, in any process, without replaying earlier draws.
A search that is resumed at generation 40 draws the numbers of an unbroken one. numpy's higher
methods may change the way from words to numbers; words are the generator's own.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

import numpy as np
import numpy.typing as npt

from data.checks import Floats, Ints
from optimizer.errors import ConfigError

Words = npt.NDArray[np.uint64]

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
    "look_ahead": 21,
    "planted": 22,
}
"""Purposes of streams; a number is part of every recorded run and is never reused.

From `null_body` to `null_mirror` they are drawn from as words, by `optimizer.evidence`, and so is
`look_ahead`; the two before it by `optimizer.forecasts`, of folds in place of generations;
`planted` by `optimizer.evidence.power_searches`, of markets.
"""


def stream(seed: int, generation: int, purpose: str) -> np.random.Generator:
    """Open the random stream at an address, at its start; equal addresses give equal bits.

    Raises:
        ConfigError: When the seed or the generation is out of range.
        KeyError: When the purpose is none of `PURPOSES`.
    """
    _check_range("seed", seed, MAX_SEED)
    _check_range("generation", generation, MAX_GENERATION)
    key = np.array([seed, generation << 16 | PURPOSES[purpose]], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def draw_words(seed: int, index: int, purpose: str, count: int) -> Words:
    """The first words [count] of the stream of a market, resample or member, by its `index`."""
    raw: Words = stream(seed, index, purpose).bit_generator.random_raw(count)
    return raw


def scale_to_unit(drawn: Words) -> Floats:
    """Words as numbers from 0 up to but not including 1, of the same shape: their upper 53 bits."""
    return (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53


def scale_to_index(drawn: Words, count: int) -> Ints:
    """Words as places among `count`, of the same shape."""
    indices: Ints = np.minimum(np.floor(scale_to_unit(drawn) * count), count - 1).astype(np.int64)
    return indices


def _check_range(name: str, value: int, largest: int) -> None:
    if not 0 <= value <= largest:
        raise ConfigError(f"{name} must be a whole number from 0 to {largest}, got {value}")


class Draws:
    """The random streams of one generation, each opened once and then drawn from in turn."""

    def __init__(self, seed: int, generation: int) -> None:
        self._address = seed, generation
        self._streams: dict[str, np.random.Generator] = {}

    def __call__(self, purpose: str) -> np.random.Generator:
        """The stream of a purpose, at its last position."""
        if purpose not in self._streams:
            self._streams[purpose] = stream(*self._address, purpose)
        return self._streams[purpose]
