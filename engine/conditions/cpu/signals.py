"""Stage 2, signals: the bars at which an individual's whole entry conjunction holds.

Comparisons are decided on codes, without a branch, over blocks of bars that stay in the nearest
cache. What survives is looked at once more, in float64, wherever two codes were equal.
"""

import numpy as np

from engine.conditions.encode import Entry
from engine.indicators.cpu.codes import encode
from engine.runtime.compiling.loops import compiled_inline, compiled_part
from engine.runtime.cpu.types import Codes, Floats, Market, Slots

BLOCK_BARS = 2048


@compiled_part
def signals(
    market: Market,
    entry: Entry,
    slots: Slots,
    genome: Floats,
    first: int,
    last: int,
    block: Codes,
    out: Slots,
) -> int:
    """List the signal bars of one individual.

    Args:
        market: The series and its rows.
        entry: The conjunction.
        slots: [R] slot of each row of the spec.
        genome: [G].
        first: First bar that may signal once the longest row is known.
        last: One past the last bar that may signal.
        block: [BLOCK_BARS] scratch.
        out: [T + 8] receives the bars, ascending; what lies behind them is scratch.

    Returns:
        How many bars were written.
    """
    for row in entry.warm_rows:
        first = max(first, market.warm_ups[slots[row]])
    count = 0
    words = block.view(np.uint64)
    for start in range(first, last, BLOCK_BARS):
        width = min(BLOCK_BARS, last - start)
        _mask(market, entry, slots, genome, start, width, block)
        for word in range((width + 7) // 8):
            if words[word] != 0:
                for k in range(word * 8, word * 8 + 8):
                    # Every place is written, the marked ones are kept.
                    out[count] = start + k
                    count += block[k]
    return _refine(market, entry, slots, genome, count, out)


@compiled_inline
def _mask(
    market: Market,
    entry: Entry,
    slots: Slots,
    genome: Floats,
    start: int,
    width: int,
    block: Codes,
) -> None:
    """Mark the bars of a block that no code rules out; bars past `width` are never marked."""
    block[:width] = 1
    block[width:] = 0
    for c in range(entry.genes.shape[0]):
        threshold = encode(genome[entry.genes[c, 1]], entry.scales[c, 0], entry.scales[c, 1])
        codes = market.codes[slots[entry.genes[c, 0]], start : start + width]
        if entry.genes[c, 2] == 1:
            _keep_at_least(codes, np.uint8(threshold), block)
        else:
            _keep_at_most(codes, np.uint8(threshold), block)
    for d in range(entry.pairs.shape[0]):
        left = market.codes[slots[entry.pairs[d, 0]], start : start + width]
        right = market.codes[slots[entry.pairs[d, 1]], start : start + width]
        if entry.pairs[d, 2] == 1:
            _keep_ordered(right, left, block)
        else:
            _keep_ordered(left, right, block)


@compiled_inline
def _keep_at_least(codes: Codes, threshold: np.uint8, block: Codes) -> None:
    # NaN has code 0 and every threshold at least 1.
    for k in range(codes.size):
        block[k] &= np.uint8(codes[k] >= threshold)


@compiled_inline
def _keep_at_most(codes: Codes, threshold: np.uint8, block: Codes) -> None:
    for k in range(codes.size):
        block[k] &= np.uint8(codes[k] <= threshold) & np.uint8(codes[k] != 0)


@compiled_inline
def _keep_ordered(smaller: Codes, larger: Codes, block: Codes) -> None:
    for k in range(smaller.size):
        block[k] &= np.uint8(smaller[k] <= larger[k]) & np.uint8(smaller[k] != 0)


@compiled_inline
def _refine(
    market: Market, entry: Entry, slots: Slots, genome: Floats, count: int, out: Slots
) -> int:
    """Drop the bars with equal codes that hid a false comparison."""
    for c in range(entry.genes.shape[0]):
        slot, threshold = slots[entry.genes[c, 0]], genome[entry.genes[c, 1]]
        code = encode(threshold, entry.scales[c, 0], entry.scales[c, 1])
        kept = 0
        for i in range(count):
            t = out[i]
            is_kept = market.codes[slot, t] != code or _is_ordered(
                market.rows[slot, t], threshold, entry.genes[c, 2]
            )
            out[kept] = t
            kept += is_kept
        count = kept
    for d in range(entry.pairs.shape[0]):
        left, right = slots[entry.pairs[d, 0]], slots[entry.pairs[d, 1]]
        kept = 0
        for i in range(count):
            t = out[i]
            is_kept = market.codes[left, t] != market.codes[right, t] or _is_ordered(
                market.rows[left, t], market.rows[right, t], entry.pairs[d, 2]
            )
            out[kept] = t
            kept += is_kept
        count = kept
    for e in range(entry.exact.shape[0]):
        left, right = slots[entry.exact[e, 0]], slots[entry.exact[e, 1]]
        kept = 0
        for i in range(count):
            t = out[i]
            out[kept] = t
            kept += _is_ordered(market.rows[left, t], market.rows[right, t], entry.exact[e, 2])
        count = kept
    return count


@compiled_inline
def _is_ordered(left: float, right: float, is_greater: int) -> bool:
    return left > right if is_greater == 1 else left < right
