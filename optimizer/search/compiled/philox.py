"""Random numbers by address, with the bits of numpy's Philox4x64-10, for loops without Python.

Block b of an address is Philox of the counter b + 1, four words of 64 bits; a number is the upper
53 bits of a word. So any number of a stream is drawn without those before it.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

import numpy as np

from engine.runtime.compiling.loops import compiled_part, compiled_unlocked
from optimizer.search.compiled.fronts import ONE, TWO, ZERO, Unsigned
from optimizer.search.compiled.sorting import Floats

BLOCK = 4
"""Numbers of a block."""

FILL = 5
"""Columns of a fill: both words of a key, first block, blocks, and where they begin."""

HALF, LOW_HALF = np.uint64(32), np.uint64(2**32 - 1)
FIRST, SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
"""Multipliers of the first and of the third word of a counter."""

FIRST_STEP, SECOND_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
"""What either word of the key grows by from round to round."""

ROUNDS = 10
UNUSED_BITS, THREE = np.uint64(11), np.uint64(3)
UNIT = 2.0**-53


@compiled_part
def upper_half(multiplier: np.uint64, word: np.uint64) -> np.uint64:
    """The upper 64 bits of a product of 128."""
    low, high = multiplier & LOW_HALF, multiplier >> HALF
    word_low, word_high = word & LOW_HALF, word >> HALF
    crossed = high * word_low + (low * word_low >> HALF)
    other = low * word_high + (crossed & LOW_HALF)
    return high * word_high + (crossed >> HALF) + (other >> HALF)


@compiled_unlocked
def draw(fills: Unsigned, n_rounds: int, out: Floats) -> None:
    """Draw whole blocks of several addresses.

    Args:
        fills: [N, `FILL`].
        n_rounds: `ROUNDS`; as an argument, because a loop that is laid out whole takes longer.
        out: [M] receives numbers from 0 up to but not including 1.
    """
    for n in range(fills.shape[0]):
        to = fills[n, 4]
        for block in range(fills[n, 3]):
            a, b, c, d = fills[n, 2] + np.uint64(block) + ONE, ZERO, ZERO, ZERO
            key, other = fills[n, 0], fills[n, 1]
            for _ in range(n_rounds):
                a_above, c_above = upper_half(FIRST, a), upper_half(SECOND, c)
                a, b, c, d = c_above ^ b ^ key, SECOND * c, a_above ^ d ^ other, FIRST * a
                key, other = key + FIRST_STEP, other + SECOND_STEP
            out[to] = np.float64(a >> UNUSED_BITS) * UNIT
            out[to + ONE] = np.float64(b >> UNUSED_BITS) * UNIT
            out[to + TWO] = np.float64(c >> UNUSED_BITS) * UNIT
            out[to + THREE] = np.float64(d >> UNUSED_BITS) * UNIT
            to += np.uint64(BLOCK)
