"""The first launch: are individuals legal, and where are their rows and lists.

A refused individual stops the whole launch: the stages behind it find no individual to work on, and
the host tries again in its own way, computes the missing rows, or names the error.
"""

import triton
import triton.language as tl


@triton.jit
def find_row_slot(p_genome, p_places, row: tl.constexpr, width, asks, LENGTHS: tl.constexpr):
    """Slot of a row of each individual, -1 if absent."""
    if LENGTHS[row] < 0:
        always = tl.zeros_like(asks.to(tl.int32)) - 1 - LENGTHS[row]
        return tl.load(p_places + row * width + always, mask=asks, other=-1)
    length = tl.load(p_genome + LENGTHS[row], mask=asks, other=0.0)
    inside = asks & (length >= 0.0) & (length < width)
    index = tl.where(inside, length, 0.0).to(tl.int32)
    return tl.load(p_places + row * width + index, mask=inside, other=-1)


@triton.jit
def admission_kernel(p_asked, p_told, p_genomes, p_limits, p_places, p_lists, p_bounds, p_table,
                     width, N_COLUMNS: tl.constexpr, N_ROWS: tl.constexpr, WHOLE: tl.constexpr,
                     ORDERED: tl.constexpr, LENGTHS: tl.constexpr, LEAD: tl.constexpr,
                     PACKED: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Check individuals and look up their slots and lists; grid (P / LANES).

    p_asked: [4] individuals, number of the launch. p_told: [4], its second becomes that
    number, and the first of p_asked 0, when one is refused. p_limits: [2, N_COLUMNS] least and
    most legal values. p_places: [rows, width] slot by length. p_lists: [slots, 2] list by slot, for
    individuals within their bounds and for others. p_bounds: the bounds. p_table: [P, N_ROWS]
    receives slots, and last the list. WHOLE: columns of whole genes. ORDERED: columns, of each two
    the first must be below the second. LENGTHS: gene of each row, -1 - k for the constant k, -1 for
    none. LEAD: row with the list's slot, -1 for one list. PACKED: gene, and 1 for ``>`` or 0
    for ``<``, two numbers a comparison.
    """
    o_p = (tl.program_id(0) * LANES + tl.arange(0, LANES)).to(tl.int64)
    asks = o_p < tl.load(p_asked)
    passes = asks
    p_genome = p_genomes + o_p * N_COLUMNS
    for g in tl.static_range(N_COLUMNS):
        value = tl.load(p_genome + g, mask=asks, other=0.0)
        # A comparison with NaN does not hold.
        passes = passes & (value >= tl.load(p_limits + g))
        passes = passes & (value <= tl.load(p_limits + N_COLUMNS + g))
    for w in tl.static_range(len(WHOLE)):
        value = tl.load(p_genome + WHOLE[w], mask=passes, other=0.0)
        passes = passes & (value.to(tl.int64).to(tl.float64) == value)
    for n in tl.static_range(len(ORDERED) // 2):
        left = tl.load(p_genome + ORDERED[2 * n], mask=passes, other=0.0)
        right = tl.load(p_genome + ORDERED[2 * n + 1], mask=passes, other=1.0)
        passes = passes & (left < right)
    for r in tl.static_range(len(LENGTHS)):
        slot = find_row_slot(p_genome, p_places, r, width, passes, LENGTHS)
        passes = passes & (slot >= 0)
        tl.store(p_table + o_p * N_ROWS + r, slot, mask=passes)
    weaker = tl.zeros([LANES], tl.int32)
    for k in tl.static_range(len(PACKED) // 2):
        threshold = tl.load(p_genome + PACKED[2 * k], mask=passes, other=0.0)
        if PACKED[2 * k + 1]:
            weaker = weaker | (threshold < tl.load(p_bounds + k)).to(tl.int32)
        else:
            weaker = weaker | (threshold > tl.load(p_bounds + k)).to(tl.int32)
    if LEAD >= 0:
        lead = find_row_slot(p_genome, p_places, LEAD, width, passes, LENGTHS)
    else:
        lead = tl.zeros([LANES], tl.int32)
    o_list = lead.to(tl.int64) * 2 + weaker
    list_number = tl.load(p_lists + o_list, mask=passes, other=-1)
    passes = passes & (list_number >= 0)
    tl.store(p_table + o_p * N_ROWS + N_ROWS - 1, list_number, mask=passes)
    if tl.sum((asks & (passes == 0)).to(tl.int32), 0) > 0:
        tl.store(p_told + 1, tl.load(p_asked + 1))
        tl.store(p_asked, 0)
