"""Random words by address: the bits of Philox themselves, and the two readings of a word.

numpy's higher methods may change how they turn words into numbers; the words are the generator's
own. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

import numpy as np
import numpy.typing as npt

from data.checks import Floats, Ints
from optimizer.search.randomness import stream

Words = npt.NDArray[np.uint64]


def draw_words(seed: int, index: int, purpose: str, count: int) -> Words:
    """The first words [count] of the stream of a market, resample or member, by its `index`.

    Raises:
        ConfigError: When seed or index is out of range.
    """
    raw: Words = stream(seed, index, purpose).bit_generator.random_raw(count)
    return raw


def scale_to_unit(drawn: Words) -> Floats:
    """Words as numbers from 0 up to but not including 1, of the same shape: their upper 53 bits."""
    return (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53


def scale_to_index(drawn: Words, count: int) -> Ints:
    """Words as places among `count`, of the same shape."""
    indices: Ints = np.minimum(np.floor(scale_to_unit(drawn) * count), count - 1).astype(np.int64)
    return indices
