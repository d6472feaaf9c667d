"""Conditions on the device: a comparison decides 64 bars into a word, and words are remembered.

Rows are compared with genes and with each other by codes; a kernel that is compiled for their form
computes arithmetic (`comparisons` chooses).
"""

import triton
import triton.language as tl

from engine.conditions.cuda import expression_vm

ROW = tl.constexpr(expression_vm.ROW)
GENE = tl.constexpr(expression_vm.GENE)
CONSTANT = tl.constexpr(expression_vm.CONSTANT)
ABS = tl.constexpr(expression_vm.ABS)
ADD = tl.constexpr(expression_vm.ADD)
SUBTRACT = tl.constexpr(expression_vm.SUBTRACT)
MULTIPLY = tl.constexpr(expression_vm.MULTIPLY)
DIVIDE = tl.constexpr(expression_vm.DIVIDE)
MINIMUM = tl.constexpr(expression_vm.MINIMUM)
TURNED = tl.constexpr(expression_vm.TURNED)

SAME, FIRST, BY_SET = map(tl.constexpr, range(3))
"""Words below that a set of genes reads: its own, those of all, or those of a set of fewer."""

ALONE, BOTH_HOLD, ONE_HOLDS = map(tl.constexpr, range(3))
"""How a comparison is joined with words of another condition."""


@triton.jit
def canonicalize(x):
    """A result that is finite, its zero without a sign; NaN for any other."""
    return tl.where(tl.abs(x) < float("inf"), x + 0.0, float("nan"))


@triton.jit
def apply_operation(operation, x, y):
    """One operation on both sides, rounded once; all are computed, and one is taken."""
    is_left = tl.where(operation == MINIMUM, x < y, x > y)
    is_unknown = (x != x) | (y != y)
    outcome = tl.where(is_unknown, float("nan"), tl.where(is_left, x, y))
    outcome = tl.where(operation == ADD, x + y, outcome)
    outcome = tl.where(operation == SUBTRACT, x - y, outcome)
    outcome = tl.where(operation == MULTIPLY, x * y, outcome)
    return tl.where(operation == DIVIDE, x / y, outcome)


@triton.jit
def evaluate_formula(p_code, begin, end, p_constants, p_genome, p_slot, p_rows, row_stride, t, m):
    """A formula at bars t of one individual, where m; anything elsewhere.

    p_code: instruction and operand, in turn. p_slot: the individual's slot of each row. p_rows:
    [slots, row_stride].

    No branch: Triton 3.6 compiles one in this loop to other numbers on a device, which neither its
    interpreter nor a compiled kernel of one instruction shows.
    """
    zero = tl.zeros(t.shape, tl.float64)
    s0 = zero
    s1 = zero
    s2 = zero
    s3 = zero
    for k in range(begin, end):
        operation = tl.load(p_code + 2 * k)
        operand = tl.load(p_code + 2 * k + 1)
        is_row = operation == ROW
        is_gene = operation == GENE
        slot = tl.load(p_slot + operand, mask=is_row, other=0).to(tl.int64)
        # As wide as the bars: the interpreter joins no mask with a single truth.
        is_read = m & (tl.zeros(t.shape, tl.int32) + operation == ROW)
        row = tl.load(p_rows + slot * row_stride + t, mask=is_read, other=0.0)
        gene = tl.load(p_genome + operand, mask=is_gene, other=0.0)
        constant = tl.load(p_constants + operand, mask=operation == CONSTANT, other=0.0)
        put = tl.where(is_row, row, zero + tl.where(is_gene, gene, constant))
        left = tl.where(operand == 0, s1, s0)
        right = tl.where(operand == 0, s0, s1)
        is_abs = operation == ABS
        made = canonicalize(tl.where(is_abs, tl.abs(s0), apply_operation(operation, left, right)))
        # A value read goes on top; one operand is replaced, of two one leaves.
        is_put = operation <= CONSTANT
        fourth = tl.where(is_put, s2, s3)
        third = tl.where(is_put, s1, tl.where(is_abs, s2, s3))
        second = tl.where(is_put, s0, tl.where(is_abs, s1, s2))
        s0 = tl.where(is_put, put, made)
        s1 = second
        s2 = third
        s3 = fourth
    return s0


@triton.jit
def one_operation(x, y, OPERATION: tl.constexpr):
    """One operation on both sides, rounded once."""
    if OPERATION == ADD:
        return x + y
    elif OPERATION == SUBTRACT:
        return x - y
    elif OPERATION == MULTIPLY:
        return x * y
    elif OPERATION == DIVIDE:
        return x / y
    else:
        return apply_operation(OPERATION, x, y)


@triton.jit
def value_in_form(p_code, begin, p_constants, p_genome, p_slot, p_rows, row_stride, t, m,
                  FORM: tl.constexpr):  # fmt: skip
    """Value by `evaluate_formula` of a formula with the operations FORM."""
    zero = tl.zeros(t.shape, tl.float64)
    s0 = zero
    s1 = zero
    s2 = zero
    s3 = zero
    for k in tl.static_range(len(FORM)):
        operand = tl.load(p_code + 2 * (begin + k) + 1)
        if FORM[k] <= CONSTANT:
            s3 = s2
            s2 = s1
            s1 = s0
            if FORM[k] == ROW:
                slot = tl.load(p_slot + operand).to(tl.int64)
                s0 = tl.load(p_rows + slot * row_stride + t, mask=m, other=0.0)
            elif FORM[k] == GENE:
                s0 = zero + tl.load(p_genome + operand)
            else:
                s0 = zero + tl.load(p_constants + operand)
        elif FORM[k] == ABS:
            s0 = canonicalize(tl.abs(s0))
        else:
            if FORM[k] >= TURNED:
                s0 = canonicalize(one_operation(s0, s1, FORM[k] - TURNED))
            else:
                s0 = canonicalize(one_operation(s1, s0, FORM[k]))
            s1 = s2
            s2 = s3
    return s0


@triton.jit
def lowest_bits(count):
    """A word of so many lowest bits, 64 where count is larger."""
    few = (tl.full(count.shape, 1, tl.int64) << (count & 63)) - 1
    return tl.where(count > 63, -1, few)


@triton.jit
def lowest_bit(word):
    """Number of the lowest bit that is set; there is one."""
    alone = (word & -word).to(tl.float64)
    return ((alone.to(tl.int64, bitcast=True) >> 52) & 0x7FF).to(tl.int32) - 1023


@triton.jit
def popcount(word):
    """How many bits are set."""
    pairs = word - ((word >> 1) & 0x5555555555555555)
    fours = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    eights = (fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((eights * 0x0101010101010101) >> 56).to(tl.int32)


@triton.jit
def lowest_half(count):
    """So many lowest bits of 32, all where there are more."""
    return tl.where(count > 31, -1, (1 << (count & 31)) - 1)


@triton.jit
def popcount_half(word):
    """How many of 32 bits are set."""
    pairs = word - ((word >> 1) & 0x55555555)
    fours = (pairs & 0x33333333) + ((pairs >> 2) & 0x33333333)
    eights = (fours + (fours >> 4)) & 0x0F0F0F0F
    return (eights * 0x01010101) >> 24


@triton.jit
def encode(value, low, scale, HIGHEST: tl.constexpr):
    """Codes of values, from 1 on; monotone, because each step of it is."""
    position = (value - low) * scale
    return 1 + tl.minimum(tl.maximum(position, 0.0), HIGHEST - 1.0).to(tl.int32)


@triton.jit
def plane_kernel(p_rows, p_slots, p_low, p_scale, p_halves, row_stride, n_bars, n_halves, n_markets,
                 MOVES: tl.constexpr, HIGHEST: tl.constexpr, BITS: tl.constexpr,
                 HALVES: tl.constexpr):  # fmt: skip
    """Codes of rows, bit by bit; grid (blocks of bars, rows).

    p_slots: [n] slots of p_rows [slots, n_markets, row_stride], whose rows stand one behind the
    other. p_low, p_scale: where code 1 begins and codes per unit, of each bar of each market if
    MOVES. p_halves: [n, n_markets, BITS + 1, n_halves] receives one bit of the codes after another,
    the lowest first, then whether values are known; a bit a bar, 0 behind the last one.
    """
    i_row = tl.program_id(1).to(tl.int64)
    market = i_row % n_markets
    row = tl.load(p_slots + i_row // n_markets).to(tl.int64) * n_markets + market
    o_half = tl.program_id(0) * HALVES + tl.arange(0, HALVES)
    o_bit = tl.arange(0, 32)[None, :]
    t = (o_half * 32)[:, None] + o_bit
    m = t < n_bars
    value = tl.load(p_rows + row * row_stride + t, mask=m, other=float("nan"))
    if MOVES:
        o_map = market * n_bars + t
        low = tl.load(p_low + o_map, mask=m, other=0.0)
        scale = tl.load(p_scale + o_map, mask=m, other=1.0)
    else:
        low, scale = tl.load(p_low), tl.load(p_scale)
    is_known = value == value
    code = encode(tl.where(is_known, value, 0.0), low, scale, HIGHEST)
    p_row = p_halves + i_row * (BITS + 1) * n_halves + o_half
    for k in tl.static_range(BITS):
        halves = tl.sum(tl.where(is_known, (code >> k) & 1, 0) << o_bit, 1)
        tl.store(p_row + k * n_halves, halves, mask=o_half < n_halves)
    halves = tl.sum(is_known.to(tl.int32) << o_bit, 1)
    tl.store(p_row + BITS * n_halves, halves, mask=o_half < n_halves)


@triton.jit
def holds(a, b, RELATION: tl.constexpr):
    """Truth of a comparison: 0 is ``>``, 1 ``<``, 2 ``>=``, 3 ``<=``; with NaN false."""
    if RELATION % 2 == 0:
        return a > b if RELATION == 0 else a >= b
    else:
        return a < b if RELATION == 1 else a <= b


@triton.jit
def load_words(p_words, o_word, n_words, ago, m, IS_NOW: tl.constexpr):
    """Words o_word of bits some bars before, where m; 0 before bar 0. p_words: [n_words]."""
    if IS_NOW:
        return tl.load(p_words + o_word, mask=m, other=0)
    o_late = o_word - (ago >> 6)
    bits = (ago & 63).to(tl.int64)
    late = tl.load(p_words + o_late, mask=m & (o_late >= 0), other=0)
    early = tl.load(p_words + o_late - 1, mask=m & (o_late > 0), other=0)
    # The sign must not come down with the highest bits.
    return (late << bits) | ((early >> ((64 - bits) & 63)) & lowest_bits(bits))


@triton.jit(do_not_specialize=["n_genes", "n_rows", "n_bars", "n_words", "left", "right", "ago"])
def compare_codes_kernel(p_planes, p_rows, p_low, p_scale, p_genomes, p_slots, p_members, p_given,
                         p_sets, p_words, n_genes, n_rows, n_bars, n_words, left, right, ago,
                         RELATION: tl.constexpr, BOTH: tl.constexpr, IS_NOW: tl.constexpr,
                         JOIN: tl.constexpr, FROM: tl.constexpr, HIGHEST: tl.constexpr,
                         BITS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Bars at which a row was above or below a gene, or another row; grid (blocks, shares).

    p_planes: [slots, BITS + 1, n_words] as `plane_kernel` makes them of p_rows [slots, n_bars].
    left: place of the row among an individual's slots; right: place of the other, if BOTH, or
    column of the gene. p_low, p_scale: map of the gene. p_members: how many sets of the genes that
    it reads there are, and an individual of each. ago: bars, none if IS_NOW. p_given: words of
    another condition, unless JOIN is ALONE, and FROM, p_sets as of `join_kernel`. p_words:
    [n, n_words] receives where it holds as well (BOTH_HOLD), or where it or the other holds.

    A lane decides 64 bars at once, from the highest bit of their codes on. What is decided is not
    read further; where codes are equal the values are looked at.
    """
    n_members = tl.load(p_members)
    o_word = tl.program_id(0) * LANES + tl.arange(0, LANES)
    o_bar = 64 * o_word
    inside = o_word < n_words
    keep = tl.where(inside, lowest_bits(tl.maximum(n_bars - o_bar, 0).to(tl.int64)), 0)
    for k in range(tl.program_id(1), n_members, tl.num_programs(1)):
        i_p = tl.load(p_members + 1 + k).to(tl.int64)
        slot = tl.load(p_slots + i_p * n_rows + left).to(tl.int64)
        other = slot
        equal = keep
        found = tl.zeros([LANES], tl.int64)
        o_k = tl.zeros([], tl.int64) + k
        if JOIN != ALONE:
            p_there = p_given + find_row(p_sets, o_k, FROM) * n_words
            given = tl.load(p_there + o_word, mask=inside, other=0)
            if JOIN == BOTH_HOLD:
                equal = equal & given
            else:
                equal = equal & ~given
                found = given
        p_plane = p_planes + slot * (BITS + 1) * n_words
        p_other = p_plane
        code = tl.zeros([], tl.int32)
        gene = tl.zeros([], tl.float64)
        if BOTH:
            other = tl.load(p_slots + i_p * n_rows + right).to(tl.int64)
            p_other = p_planes + other * (BITS + 1) * n_words
        else:
            gene = tl.load(p_genomes + i_p * n_genes + right)
            code = encode(gene, tl.load(p_low), tl.load(p_scale), HIGHEST)
        known = load_words(p_plane + BITS * n_words, o_word, n_words, ago, equal != 0, IS_NOW)
        if BOTH:
            known = known & load_words(p_other + BITS * n_words, o_word, n_words, ago, equal != 0,
                                       IS_NOW)  # fmt: skip
        equal = equal & known
        for above in tl.static_range(0, BITS, 4):
            # Four bits are on their way together.
            waits = equal != 0
            for j in tl.static_range(4):
                bit = BITS - 1 - above - j
                x = load_words(p_plane + bit * n_words, o_word, n_words, ago, waits, IS_NOW)
                if BOTH:
                    y = load_words(p_other + bit * n_words, o_word, n_words, ago, waits, IS_NOW)
                else:
                    y = tl.zeros([LANES], tl.int64) - ((code >> bit) & 1).to(tl.int64)
                is_so = x & ~y if RELATION % 2 == 0 else y & ~x
                found = found | (equal & is_so)
                equal = equal & ~(x ^ y)
        p_row, p_against = p_rows + slot * n_bars - ago, p_rows + other * n_bars - ago
        while tl.max((equal != 0).to(tl.int32), 0) > 0:
            m = equal != 0
            t = o_bar + lowest_bit(equal)
            a = tl.load(p_row + t, mask=m, other=0.0)
            if BOTH:
                is_met = holds(a, tl.load(p_against + t, mask=m, other=0.0), RELATION)
            else:
                is_met = holds(a, gene, RELATION)
            found = tl.where(m & is_met, found | (equal & -equal), found)
            equal = equal & (equal - 1)
        tl.store(p_words + o_k * n_words + o_word, found, mask=inside)


@triton.jit(do_not_specialize=["n_genes", "n_rows", "row_stride", "n_bars", "n_halves"])
def compare_form_kernel(p_code, p_constants, p_asked, p_genomes, p_slots, p_rows, p_members,
                        p_halves, n_genes, n_rows, row_stride, n_bars, n_halves,
                        LEFT: tl.constexpr, RIGHT: tl.constexpr, RELATION: tl.constexpr,
                        HALVES: tl.constexpr):  # fmt: skip
    """The bars at which a comparison held some bars ago; grid (blocks of words, shares of members).

    A program decides its bars for one member after another: what all of them read stays at hand.

    p_asked: where the formulas of its left and of its right side begin and end, and how many bars
    ago. LEFT, RIGHT: their operations. RELATION: as of `holds`. p_members: how many sets of the
    genes that it reads there are, and an individual of each. p_halves: [n, n_halves] receives a bit
    a bar, words as 32 bits, the lower half of each first.
    """
    n_members = tl.load(p_members)
    left, right, ago = tl.load(p_asked), tl.load(p_asked + 2), tl.load(p_asked + 4)
    o_half = tl.program_id(0) * HALVES + tl.arange(0, HALVES)
    o_bit = tl.arange(0, 32)[None, :]
    o_bar = (o_half * 32)[:, None] + o_bit
    t = o_bar - ago
    m = (o_bar < n_bars) & (t >= 0)
    for k in range(tl.program_id(1), n_members, tl.num_programs(1)):
        i_p = tl.load(p_members + 1 + k).to(tl.int64)
        p_genome = p_genomes + i_p * n_genes
        p_slot = p_slots + i_p * n_rows
        a = value_in_form(p_code, left, p_constants, p_genome, p_slot, p_rows, row_stride, t, m,
                          LEFT)  # fmt: skip
        b = value_in_form(p_code, right, p_constants, p_genome, p_slot, p_rows, row_stride, t, m,
                          RIGHT)  # fmt: skip
        halves = tl.sum((holds(a, b, RELATION) & m).to(tl.int32) << o_bit, 1)
        o_row = tl.zeros([HALVES], tl.int64) + k
        tl.store(p_halves + o_row * n_halves + o_half, halves, mask=o_half < n_halves)


@triton.jit
def following_kernel(p_words, p_members, p_following, n_words, WORDS: tl.constexpr):
    """The first word from each on that is not 0; grid (rows of words).

    p_words: [n, n_words]. p_members: as `compare_form_kernel` has it. p_following: [n, n_words + 1]
    receives it, n_words where there is none.
    """
    i_row = tl.program_id(0).to(tl.int64)
    if i_row >= tl.load(p_members):
        return
    p_row, p_out = p_words + i_row * n_words, p_following + i_row * (n_words + 1)
    behind = n_words
    # From the last block back to the first; behind the last word there is none.
    for step in range(0, n_words + 1, WORDS):
        o_word = n_words - step - tl.arange(0, WORDS)
        word = tl.load(p_row + o_word, mask=(o_word >= 0) & (o_word < n_words), other=0)
        word_number = tl.where(word != 0, o_word, n_words)
        following = tl.minimum(tl.associative_scan(word_number, 0, smaller), behind)
        tl.store(p_out + o_word, following, mask=o_word >= 0)
        behind = tl.minimum(tl.min(word_number, 0), behind)


@triton.jit
def smaller(a, b):
    """The smaller of two numbers."""
    return tl.minimum(a, b)


@triton.jit
def find_row(p_sets, i_row, FROM: tl.constexpr):
    """Row of words below that row i_row of a condition reads."""
    if FROM == SAME:
        return i_row
    elif FROM == FIRST:
        return i_row * 0
    else:
        return tl.load(p_sets + i_row).to(tl.int64)


@triton.jit
def join_kernel(p_members, p_words, p_sets, p_others, p_other_sets, p_out, n_words,
                FROM: tl.constexpr, OTHERS_FROM: tl.constexpr, ALL: tl.constexpr,
                WORDS: tl.constexpr):  # fmt: skip
    """Where both of two conditions hold, or either; grid (rows of words, blocks of words).

    p_members: as `compare_form_kernel` has it. p_words, p_others: words of both. FROM, OTHERS_FROM:
    row of them that each set of genes reads: its own, the first, or that which p_sets or
    p_other_sets say. p_out: [n, n_words]. ALL: both.
    """
    i_row = tl.program_id(0).to(tl.int64)
    if i_row >= tl.load(p_members):
        return
    o_word = tl.program_id(1) * WORDS + tl.arange(0, WORDS)
    inside = o_word < n_words
    row, other = find_row(p_sets, i_row, FROM), find_row(p_other_sets, i_row, OTHERS_FROM)
    words = tl.load(p_words + row * n_words + o_word, mask=inside, other=0)
    others = tl.load(p_others + other * n_words + o_word, mask=inside, other=0)
    joined = words & others if ALL else words | others
    tl.store(p_out + i_row * n_words + o_word, joined, mask=inside)


@triton.jit(do_not_specialize=["covered"])
def remember_kernel(p_members, p_words, p_sets, p_bars, p_out, n_bars, n_words, covered,
                    FROM: tl.constexpr, HELD: tl.constexpr,
                    WORDS: tl.constexpr):  # fmt: skip
    """Words of a condition that holds now and held some bars ago, or either; grid (rows, blocks).

    p_members: as `compare_form_kernel` has it. p_words: words of truths at all of the
    last covered bars, or at one of them, if p_bars has so many. FROM, p_sets: as in
    `join_kernel`. p_bars: [n] number of bars of each set of genes. p_out: [n, n_words]
    receives truths over twice as many bars as covered, or over as many as p_bars has. HELD: at all.
    """
    i_row = tl.program_id(0).to(tl.int64)
    if i_row >= tl.load(p_members):
        return
    o_word = tl.program_id(1) * WORDS + tl.arange(0, WORDS)
    inside = o_word < n_words
    step = tl.maximum(tl.minimum(tl.load(p_bars + i_row) - covered, covered), 0)
    whole = step >> 6
    bits = (step & 63).to(tl.int64)
    p_row = p_words + find_row(p_sets, i_row, FROM) * n_words
    word = tl.load(p_row + o_word, mask=inside, other=0)
    low = tl.load(p_row + o_word - whole, mask=inside & (o_word >= whole), other=0)
    m_below = inside & (o_word > whole)
    below = tl.load(p_row + o_word - whole - 1, mask=m_below, other=0)
    # The sign must not come down with the highest bits.
    moved = (low << bits) | ((below >> ((64 - bits) & 63)) & lowest_bits(bits))
    if HELD:
        remembered = word & moved
    else:
        remembered = (word | moved) & lowest_bits((n_bars - o_word * 64).to(tl.int64))
    tl.store(p_out + i_row * n_words + o_word, remembered, mask=inside)
