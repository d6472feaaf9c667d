"""Stage 2a, candidates: the bars at which any individual within the genes' bounds could signal.

Rows that share a length are compared with genes of known bounds, so that for each length
most bars are ruled out once for the whole search. The rest is kept as a list of bars and, for
each, one word with the codes of up to four rows.
"""

import triton
import triton.language as tl


@triton.jit
def candidate_kernel(p_rows, p_codes, p_slots, p_limits, p_index, p_counts, p_bars, p_words,
                     first_bar, n_bars, n_blocks, WRITES: tl.constexpr, GREATER: tl.constexpr,
                     N_PACKED: tl.constexpr, HIGHEST: tl.constexpr,
                     BLOCK: tl.constexpr):  # fmt: skip
    """Count or write candidates; grid (blocks of BLOCK bars, lists).

    p_slots: [L, N_PACKED] slots of each list's rows. p_limits: [L, N_PACKED] limits that a value
    must pass. p_counts: [L, n_blocks] receives counts by block. p_index: [L, n_blocks + 1] where a
    block's candidates go. Rows are present from first_bar on, for n_bars. GREATER: a bit for each
    comparison; without it the code's complement is kept, so that every byte must reach
    its threshold.
    """
    i_list = tl.program_id(1).to(tl.int64)
    o_bar = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    holds = o_bar < n_bars
    word = tl.zeros([BLOCK], tl.int32)
    for k in tl.static_range(N_PACKED):
        at = tl.load(p_slots + i_list * N_PACKED + k).to(tl.int64) * n_bars + o_bar
        limit = tl.load(p_limits + i_list * N_PACKED + k)
        code = tl.load(p_codes + at, mask=holds, other=0).to(tl.int32)
        value = tl.load(p_rows + at, mask=holds, other=0.0)
        if (GREATER >> k) & 1:
            holds = holds & (code != 0) & (value > limit)
            word = word | (code << (8 * k))
        else:
            holds = holds & (code != 0) & (value < limit)
            word = word | ((HIGHEST + 1 - code) << (8 * k))
    bits = holds.to(tl.int32)
    if WRITES:
        first = tl.load(p_index + i_list * (n_blocks + 1) + tl.program_id(0))
        entry = (first + tl.cumsum(bits, 0) - bits).to(tl.int64)
        tl.store(p_bars + entry, first_bar + o_bar, mask=holds)
        tl.store(p_words + entry, word, mask=holds)
    else:
        tl.store(p_counts + i_list * n_blocks + tl.program_id(0), tl.sum(bits, 0))
