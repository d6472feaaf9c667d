"""Stage 2b, signals: the candidates at which an individual's whole entry conjunction holds.

Up to four comparisons are decided in one 32-bit subtraction: codes have seven bits, so that setting
each byte's top bit first keeps the bytes apart, and the top bit that remains is the answer. What
survives is compared row with row, and in float64 wherever two codes are equal.
"""

import triton
import triton.language as tl

from engine.conditions.cuda.kernels import encode


@triton.jit
def find_window(p_met, i_pair, n_windows, MEETS_OWN: tl.constexpr):
    """Number of a pair's window: one of its individual's own, or of the windows of all."""
    if MEETS_OWN:
        return tl.load(p_met + i_pair).to(tl.int64)
    return i_pair % n_windows


@triton.jit
def find_signal_span(
    p_slot, p_warm, p_windows, i_window, WARM_ROWS: tl.constexpr, DELAY: tl.constexpr
):
    """First bar that may signal and one past the last, on the common axis."""
    series = tl.load(p_windows + i_window * 3)
    first = tl.load(p_windows + i_window * 3 + 1)
    for r in tl.static_range(len(WARM_ROWS)):
        first = tl.maximum(first, series + tl.load(p_warm + tl.load(p_slot + WARM_ROWS[r])))
    last = tl.load(p_windows + i_window * 3 + 2) - 1 - DELAY
    return first, tl.maximum(last, first)


@triton.jit
def encode_threshold(value, p_scales, c, HIGHEST: tl.constexpr):
    """Code of a threshold, by the arithmetic that made the rows' codes."""
    return encode(value, tl.load(p_scales + c * 2), tl.load(p_scales + c * 2 + 1), HIGHEST)


@triton.jit(do_not_specialize=["n_windows"])
def signal_kernel(p_size, p_index, p_cand_bars, p_cand_words, p_rows, p_codes, p_genomes,
                  p_slots, p_warm, p_scales, p_windows, p_met, p_counts, p_bars, p_scratch_bars,
                  p_scratch_words, p_most, n_windows, capacity, first_bar, n_bars, n_blocks,
                  GENES: tl.constexpr, N_PACKED: tl.constexpr, PAIRS: tl.constexpr,
                  EXACT: tl.constexpr, WARM_ROWS: tl.constexpr, N_COLUMNS: tl.constexpr,
                  N_ROWS: tl.constexpr, HIGHEST: tl.constexpr, INDEX_BARS: tl.constexpr,
                  DELAY: tl.constexpr, IS_PART: tl.constexpr, MEETS_OWN: tl.constexpr,
                  BLOCK: tl.constexpr, DENSE: tl.constexpr):  # fmt: skip
    """List the signals of each pair of individual and window; grid (pairs).

    p_size: [1] individuals. p_slots: [P, N_ROWS] slots, and last the list of candidates. p_warm:
    [slots] bars before the first that may signal; WARM_ROWS: rows that have some. GENES: row, gene,
    and 1 for ``>`` or 0 for ``<``, three numbers a comparison, the packed ones first. PAIRS and
    EXACT: row that must be smaller, row that must be larger; the first are decided on codes.
    p_met: [P, W] numbers of the windows that each individual meets, if MEETS_OWN; else all do.
    p_counts: [P, W] receives the number of signals. p_bars: [P, W, capacity] receives them,
    and -1 up to a whole sixteen. p_scratch_bars, p_scratch_words: the same shape, for signals that
    pass the packed comparisons. p_most: [1] is raised to the length that a list lacked.

    Rows and lists of candidates are present from first_bar on, for n_bars; if not IS_PART, for all.

    The decision by words, nearly everything, is made for all candidates; the lookup row by row is
    made for the few that are left, side by side.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    i_p = i_pair // n_windows
    if i_p >= tl.load(p_size):
        return
    p_genome = p_genomes + i_p * N_COLUMNS
    p_slot = p_slots + i_p * N_ROWS
    i_window = find_window(p_met, i_pair, n_windows, MEETS_OWN)
    first, last = find_signal_span(p_slot, p_warm, p_windows, i_window, WARM_ROWS, DELAY)
    if IS_PART:
        first = tl.minimum(tl.maximum(first, first_bar), first_bar + n_bars)
        last = tl.maximum(tl.minimum(last, first_bar + n_bars), first)
    p_blocks = p_index + tl.load(p_slot + N_ROWS - 1).to(tl.int64) * (n_blocks + 1)
    begin = tl.load(p_blocks + (first - first_bar) // INDEX_BARS)
    end = tl.load(p_blocks + (last - first_bar + INDEX_BARS - 1) // INDEX_BARS)
    limits = tl.zeros([], tl.int32)
    for k in tl.static_range(N_PACKED):
        code = encode_threshold(tl.load(p_genome + GENES[3 * k + 1]), p_scales, k, HIGHEST)
        if GENES[3 * k + 2]:
            limits = limits | (code << (8 * k))
        else:
            limits = limits | ((HIGHEST + 1 - code) << (8 * k))
    top = tl.full([BLOCK], 0x80808080, tl.uint32)
    survivors = tl.zeros([], tl.int32)
    p_survivor = p_scratch_bars + i_pair * capacity
    p_apart = p_scratch_words + i_pair * capacity
    for start in range(begin, end, BLOCK):
        o_c = start + tl.arange(0, BLOCK)
        inside = o_c < end
        t = tl.load(p_cand_bars + o_c, mask=inside, other=0)
        word = tl.load(p_cand_words + o_c, mask=inside, other=0).to(tl.uint32, bitcast=True)
        apart = (word | top) - limits.to(tl.uint32, bitcast=True)
        passes = inside & (t >= first) & (t < last) & ((apart & top) == top)
        bits = passes.to(tl.int32)
        entry = survivors + tl.cumsum(bits, 0) - bits
        m_store = passes & (entry < capacity)
        tl.store(p_survivor + entry, t, mask=m_store)
        tl.store(p_apart + entry, apart.to(tl.int32, bitcast=True), mask=m_store)
        survivors += tl.sum(bits, 0)
    if survivors > capacity:
        tl.atomic_max(p_most, survivors)
    tl.debug_barrier()
    count = tl.zeros([], tl.int32)
    p_list = p_bars + i_pair * capacity
    for start in range(0, tl.minimum(survivors, capacity), DENSE):
        o_s = start + tl.arange(0, DENSE)
        holds = o_s < tl.minimum(survivors, capacity)
        bar = tl.load(p_survivor + o_s, mask=holds, other=0)
        parted = tl.load(p_apart + o_s, mask=holds, other=0)
        o_bar = bar
        if IS_PART:
            o_bar = tl.where(holds, bar - first_bar, 0)
        for d in tl.static_range(len(PAIRS) // 2):
            small = tl.load(p_slot + PAIRS[2 * d]).to(tl.int64) * n_bars + o_bar
            large = tl.load(p_slot + PAIRS[2 * d + 1]).to(tl.int64) * n_bars + o_bar
            smaller = tl.load(p_codes + small, mask=holds, other=0)
            larger = tl.load(p_codes + large, mask=holds, other=0)
            holds = holds & (smaller <= larger) & (smaller != 0)
            equal = holds & (smaller == larger)
            is_less = tl.load(p_rows + small, mask=equal, other=0.0) < tl.load(
                p_rows + large, mask=equal, other=1.0
            )
            holds = holds & is_less
        for k in tl.static_range(len(GENES) // 3):
            at = tl.load(p_slot + GENES[3 * k]).to(tl.int64) * n_bars + o_bar
            threshold = tl.load(p_genome + GENES[3 * k + 1])
            if k < N_PACKED:
                equal = holds & (((parted >> (8 * k)) & 255) == 128)
            else:
                row_code = tl.load(p_codes + at, mask=holds, other=0).to(tl.int32)
                limit = encode_threshold(threshold, p_scales, k, HIGHEST)
                if GENES[3 * k + 2]:
                    holds = holds & (row_code >= limit)
                else:
                    holds = holds & (row_code <= limit) & (row_code != 0)
                equal = holds & (row_code == limit)
            value = tl.load(p_rows + at, mask=equal, other=0.0)
            if GENES[3 * k + 2]:
                holds = holds & ((value > threshold) | (equal == 0))
            else:
                holds = holds & ((value < threshold) | (equal == 0))
        for e in tl.static_range(len(EXACT) // 2):
            small = tl.load(p_slot + EXACT[2 * e]).to(tl.int64) * n_bars + o_bar
            large = tl.load(p_slot + EXACT[2 * e + 1]).to(tl.int64) * n_bars + o_bar
            smaller = tl.load(p_rows + small, mask=holds, other=0.0)
            larger = tl.load(p_rows + large, mask=holds, other=0.0)
            holds = holds & (smaller < larger)
        bits = holds.to(tl.int32)
        entry = count + tl.cumsum(bits, 0) - bits
        tl.store(p_list + entry, bar, mask=holds)
        count += tl.sum(bits, 0)
    tl.store(p_counts + i_pair, count)
    # The chain reads whole sixteens; no bar before the first is ever free to trade.
    o_end = count + tl.arange(0, 16)
    tl.store(p_list + o_end, tl.full([16], -1, tl.int32), mask=o_end < (count + 15) // 16 * 16)
