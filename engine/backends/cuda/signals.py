"""Stage 2, signals: the bars that the codes leave open, as bit masks, then as lists.

Four bars are compared in one 32-bit word: codes have seven bits, so that setting each byte's top
bit before a subtraction keeps the bytes apart, and the top bit that remains is the answer.
"""

import triton
import triton.language as tl


@triton.jit
def mask_kernel(p_words, p_genes, p_pairs, p_masks, n_individuals, n_masks, word_stride,
                GREATER: tl.constexpr, N_GENES: tl.constexpr, N_PAIRS: tl.constexpr,
                ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Masks [P, M] of 32 bars each; grid (blocks of masks, blocks of individuals).

    p_words: codes as 32-bit words [slots, B / 4]. p_genes: [P, C, 2] slot and threshold's code.
    p_pairs: [P, D, 2] slots of the smaller and the larger row. GREATER: a bit for each gene.
    """
    o_p = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    o_m = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    m_p = o_p < n_individuals
    m_m = o_m < n_masks
    inside = (m_p[:, None] & m_m[None, :])[:, :, None]
    o_word = (o_m.to(tl.int64) * 8)[None, :, None] + tl.arange(0, 8)[None, None, :]
    top = tl.full([ROWS, COLUMNS, 8], 0x80808080, tl.uint32)
    ones = tl.full([ROWS, COLUMNS, 8], 0x01010101, tl.uint32)
    open_ = top
    for c in tl.static_range(N_GENES):
        p_gene = p_genes + (o_p.to(tl.int64) * N_GENES + c) * 2
        slot = tl.load(p_gene, mask=m_p, other=0).to(tl.int64)
        threshold = tl.load(p_gene + 1, mask=m_p, other=1).to(tl.uint32)[:, None, None] * ones
        word = tl.load(p_words + slot[:, None, None] * word_stride + o_word, mask=inside, other=0)
        codes = word.to(tl.uint32, bitcast=True)
        if (GREATER >> c) & 1:
            # Code 0, NaN, is below every threshold.
            open_ = open_ & ((codes | top) - threshold)
        else:
            open_ = open_ & ((threshold | top) - codes) & ((codes | top) - ones)
    for d in tl.static_range(N_PAIRS):
        p_pair = p_pairs + (o_p.to(tl.int64) * N_PAIRS + d) * 2
        small = tl.load(p_pair, mask=m_p, other=0).to(tl.int64)[:, None, None]
        large = tl.load(p_pair + 1, mask=m_p, other=0).to(tl.int64)[:, None, None]
        word = tl.load(p_words + small * word_stride + o_word, mask=inside, other=0)
        smaller = word.to(tl.uint32, bitcast=True)
        word = tl.load(p_words + large * word_stride + o_word, mask=inside, other=0)
        larger = word.to(tl.uint32, bitcast=True)
        open_ = open_ & ((larger | top) - smaller) & ((smaller | top) - ones)
    nibble = ((open_ >> 7) & 1) | ((open_ >> 14) & 2) | ((open_ >> 21) & 4) | ((open_ >> 28) & 8)
    shift = (tl.arange(0, 8) * 4).to(tl.uint32)[None, None, :]
    mask = tl.sum((nibble << shift).to(tl.int32, bitcast=True), axis=2)
    o_out = o_p.to(tl.int64)[:, None] * n_masks + o_m[None, :]
    tl.store(p_masks + o_out, mask, mask=m_p[:, None] & m_m[None, :])


@triton.jit
def popcount(v):
    """Bits set in each uint32."""
    v = v - ((v >> 1) & 0x55555555)
    v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
    v = (v + (v >> 4)) & 0x0F0F0F0F
    return ((v * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def list_kernel(p_masks, p_first, p_last, p_counts, p_bars, n_pairs, n_windows, n_masks, capacity,
                BLOCK: tl.constexpr):  # fmt: skip
    """Bars of a mask as a list; grid (pairs), a pair is an individual in a window.

    p_first, p_last: [P, W] bars that may signal, [first, last). p_counts: [P, W] receives how many
    there are, also when they are more than the list's capacity. p_bars: [capacity, P, W].
    """
    i_pair = tl.program_id(0).to(tl.int64)
    p_mask = p_masks + (i_pair // n_windows) * n_masks
    first = tl.load(p_first + i_pair).to(tl.int64)
    last = tl.load(p_last + i_pair).to(tl.int64)
    count = tl.zeros([], tl.int32)
    for begin in range(first // 32, (last + 31) // 32, BLOCK):
        o_m = begin + tl.arange(0, BLOCK)
        word = tl.load(p_mask + o_m, mask=o_m * 32 < last, other=0).to(tl.uint32, bitcast=True)
        low = tl.minimum(tl.maximum(first - o_m * 32, 0), 32)
        high = tl.minimum(tl.maximum(last - o_m * 32, 0), 32)
        one = tl.full([BLOCK], 1, tl.int64)
        inside = tl.maximum((one << high) - (one << low), 0)
        word = word & inside.to(tl.uint32)
        bits = popcount(word)
        place = count + tl.cumsum(bits, 0) - bits
        count += tl.sum(bits, 0)
        rounds = tl.max(bits, 0)
        for _ in range(rounds):
            is_set = word != 0
            lowest = word & (~word + 1)
            bar = o_m * 32 + popcount(lowest - 1)
            m_store = is_set & (place < capacity)
            tl.store(p_bars + place.to(tl.int64) * n_pairs + i_pair, bar.to(tl.int32), mask=m_store)
            place += is_set.to(tl.int32)
            word = word & (word - 1)
    tl.store(p_counts + i_pair, count)
