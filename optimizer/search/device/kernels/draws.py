"""Random numbers by address and place: those of `randomness.stream`, each without the ones before.

A number is a function of the address and of its place in the stream, so that a kernel works out the
ones that it needs where it needs them, and no array of them is ever made.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; Philox4x64-10, as in
numpy, whose counter begins at 1.
"""

import triton
import triton.language as tl

from optimizer.search.device.told import Told

SEED = tl.constexpr(int(Told.SEED))
GENERATION = tl.constexpr(int(Told.GENERATION))

FACTOR_0 = tl.constexpr(0xD2E7470EE14C6C93)
FACTOR_1 = tl.constexpr(0xCA5A826395121157)
STEP_0 = tl.constexpr(0x9E3779B97F4A7C15)
STEP_1 = tl.constexpr(0xBB67AE8584CAA73B)
UNIT = tl.constexpr(2.0**-53)


@triton.jit
def address_of(p_told, purpose: tl.constexpr):
    """The two words of a stream's key, uint64."""
    seed = tl.load(p_told + SEED)
    address = (tl.load(p_told + GENERATION) << 16) | purpose
    return seed.to(tl.uint64, bitcast=True), address.to(tl.uint64, bitcast=True)


@triton.jit
def block_of(key, address, block):
    """The four words of blocks [.] of a stream, int64 from 0 on."""
    x0 = (block + 1).to(tl.uint64, bitcast=True)
    x1 = x0 ^ x0
    x2 = x1
    x3 = x1
    # Keys as wide as the counters: what is computed for one is computed for all.
    k0 = x1 + key
    k1 = x1 + address
    factor_0 = x1 + FACTOR_0
    factor_1 = x1 + FACTOR_1
    for _ in tl.static_range(10):
        high_0 = tl.umulhi(factor_0, x0)
        high_1 = tl.umulhi(factor_1, x2)
        low_0 = factor_0 * x0
        low_1 = factor_1 * x2
        x0 = high_1 ^ x1 ^ k0
        x1 = low_1
        x2 = high_0 ^ x3 ^ k1
        x3 = low_0
        k0 = k0 + STEP_0
        k1 = k1 + STEP_1
    return x0, x1, x2, x3


@triton.jit
def whole(word):
    """The 53 bits of a word that make a number, int64."""
    return (word >> 11).to(tl.int64, bitcast=True)


@triton.jit
def drawn(key, address, place):
    """Numbers from 0 to below 1 at places [.] of a stream, float64."""
    at = place.to(tl.int64)
    x0, x1, x2, x3 = block_of(key, address, at >> 2)
    word = at & 3
    x01 = tl.where(word == 0, x0, x1)
    x23 = tl.where(word == 2, x2, x3)
    return whole(tl.where(word < 2, x01, x23)).to(tl.float64) * UNIT
