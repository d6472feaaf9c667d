"""Random numbers by address, with the bits of numpy's Philox4x64-10, for loops without Python.

Block b of an address is Philox of the counter b + 1, four words of 64 bits; a number is the upper
53 bits of a word. So any number of a stream is drawn without those before it.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

import numpy as np

from engine.runtime.compiling.loops import compiled_unlocked
from engine.runtime.cpu.wide_product import multiply_wide
from optimizer.search.compiled.fronts import ONE, TWO, Unsigned
from optimizer.search.compiled.sorting import Floats

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


@compiled_unlocked
def draw(fills: Unsigned, n_rounds: int, out: Floats) -> None:
    """Draw whole blocks of several addresses.

    Args:
        fills: [N, `FILL`].
        n_rounds: `ROUNDS` less two, which are laid out because most of a counter is 0; as an
            argument, because a loop that is laid out whole takes longer.
        out: [M] receives numbers from 0 up to but not including 1.
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
