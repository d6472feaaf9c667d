"""Stage 2, signals: the bars at which an individual's whole entry conjunction holds.

Comparisons of a row with a gene are decided on codes, without a branch, over blocks of bars that
stay in the nearest cache. What survives is looked at once more: exactly where a code equals the
threshold's, and for the comparisons of two rows.
"""

import numpy as np

from engine.backends.cpu.compiled import compiled
from engine.backends.cpu.rows import encode
from engine.backends.cpu.types import Codes, Entry, Floats, Market, Slots

BLOCK_BARS = 2048


@compiled
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
        first: First bar that may signal.
        last: One past the last bar that may signal.
        block: [BLOCK_BARS] scratch.
        out: [T] receives the bars, ascending.

    Returns:
        How many bars were written.
    """
    count = 0
    words = block.view(np.uint64)
    for start in range(first, last, BLOCK_BARS):
        width = min(BLOCK_BARS, last - start)
        _mask(market, entry, slots, genome, start, width, block)
        for word in range((width + 7) // 8):
            if words[word] == 0:
                continue
            for k in range(word * 8, word * 8 + 8):
                if block[k] != 0 and _holds(market, entry, slots, genome, start + k):
                    out[count] = start + k
                    count += 1
    return count


@compiled
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
    for c in range(entry.coded.shape[0]):
        threshold = encode(genome[entry.coded[c, 1]], entry.scales[c, 0], entry.scales[c, 1])
        codes = market.codes[slots[entry.coded[c, 0]], start : start + width]
        if entry.coded[c, 2] == 1:
            _keep_from(codes, np.uint8(threshold), block)
        else:
            _keep_up_to(codes, np.uint8(threshold), block)


@compiled
def _keep_from(codes: Codes, threshold: np.uint8, block: Codes) -> None:
    # NaN has code 0 and every threshold at least 1.
    for k in range(codes.size):
        block[k] &= np.uint8(codes[k] >= threshold)


@compiled
def _keep_up_to(codes: Codes, threshold: np.uint8, block: Codes) -> None:
    for k in range(codes.size):
        block[k] &= np.uint8(codes[k] <= threshold) & np.uint8(codes[k] != 0)


@compiled
def _holds(market: Market, entry: Entry, slots: Slots, genome: Floats, t: int) -> bool:
    """Whether the conjunction holds at a bar that the codes left open."""
    for d in range(entry.exact.shape[0]):
        left = market.rows[slots[entry.exact[d, 0]], t]
        right = market.rows[slots[entry.exact[d, 1]], t]
        if not (left > right if entry.exact[d, 2] == 1 else left < right):
            return False
    for c in range(entry.coded.shape[0]):
        slot = slots[entry.coded[c, 0]]
        threshold = genome[entry.coded[c, 1]]
        code = encode(threshold, entry.scales[c, 0], entry.scales[c, 1])
        if market.codes[slot, t] == code:
            value = market.rows[slot, t]
            if not (value > threshold if entry.coded[c, 2] == 1 else value < threshold):
                return False
    return True
