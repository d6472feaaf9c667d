"""Positions of both sides on the device: signals, and the exits of possible trades.

Most signals come while a position is open, and their exits are never needed. So a list of
signals is cut into stretches, one a lane, and each lane takes positions in order as if the account
were flat where its stretch begins. It ends at a signal that another lane has taken, because from
there on both would do the same. The account's choice among these positions follows in integers
(`trades.py`): each position knows the next. The terms of positions are data: forms, formulas and
numbers, so that all strategies share these kernels.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import REASONS
from engine.conditions.cuda.kernels import (
    canonicalize,
    evaluate_formula,
    lowest_bit,
    lowest_bits,
    lowest_half,
    popcount,
    popcount_half,
)
from engine.indicators.cuda import market
from engine.positions import exit_spec
from engine.positions.cuda.bracket_exits import (
    HIGH,
    LOW,
    NEVER,
    OPEN,
    first_touch,
    halves,
    load_two,
    moving_exit,
    read_finer_bars,
)

LEVELS = tl.constexpr(market.LEVELS)

BEYOND_BAR = tl.constexpr(exit_spec.BEYOND_BAR)
FROM_ENTRY = tl.constexpr(exit_spec.FROM_ENTRY)
SHARE = tl.constexpr(exit_spec.SHARE)
LEVEL = tl.constexpr(exit_spec.LEVEL)
R_MULTIPLE = tl.constexpr(exit_spec.R_MULTIPLE)

STOP_GAP = tl.constexpr(REASONS.index("stop_gap"))
STOP = tl.constexpr(REASONS.index("stop"))
TARGET = tl.constexpr(REASONS.index("target"))
TIME = tl.constexpr(REASONS.index("time"))
END = tl.constexpr(REASONS.index("end"))
SIGNAL = tl.constexpr(REASONS.index("signal"))
SESSION = tl.constexpr(REASONS.index("session"))

SESSION_OPEN = tl.constexpr(REASONS.index("reverse"))
"""In place of `SESSION`: left by the clock at an open. No position reverses here."""

NOT_THERE = tl.constexpr(0x3FFFFFFF)
"""In place of a bar; there is room behind it."""

REJECTED = tl.constexpr(-1)
"""In place of an exit: the signal opens no position."""

LATE_GAP, COARSE_ENTRY, COARSE_EXIT = map(tl.constexpr, (1, 2, 4))
"""Notes of signals on finer bars: the gap is not at its bar's open; bars that are touched at the
entry and at the exit are not made up of finer ones."""

NOT_ASKED = tl.constexpr(-2)
"""In place of an exit that was not looked for."""

MANY, HALVES = tl.constexpr(6), tl.constexpr(4)
"""Signals of a word, on average, from which on bits are looked at one by one, and halves of words
that are looked at together then."""

SHORTEST = tl.constexpr(4)
"""Signals of a stretch, at least."""

NUMBERS = tl.constexpr(9)
"""Numbers of an individual: of stop, target, trail and its beginning for each side, and of
break-even. Then come factors of the rows of the first three."""

AS_IT_IS, TIMES = map(tl.constexpr, (1, 2))
"""How a row is read: as it is, or times a factor. A part that reads none has 0."""

READS = tl.constexpr(3)
"""Stop, target and trailing stop read rows."""


@triton.jit(do_not_specialize=["n_windows", "n_all"])
def mark_kernel(p_size, p_longs, p_shorts, p_entries, p_bars, p_windows, p_counts, p_marks,
                p_leaves, p_most, n_windows, n_all, n_words, capacity,
                WORDS: tl.constexpr):  # fmt: skip
    """List the signals of each pair of individual and window of a series; grid (pairs).

    p_size: [1] individuals. p_longs, p_shorts: [n, n_words] conditions. p_entries: [P, 2] which of
    them, -1 for none. p_bars: [P, 3] longest hold, delay, and first bar that may signal. p_windows:
    [n_windows, 3] place among all W, start and end. p_counts: [P, W] receives how many there are,
    also where lists are too short for them. p_marks: [P, W, capacity] receives twice the bar, plus
    1 for a short, ascending, and -1 up to a whole sixteen; p_leaves, of that shape, receives
    NOT_ASKED for each of them. p_most: [1] is raised to the largest count.
    """
    i_p, i_w = tl.program_id(0) // n_windows, tl.program_id(0) % n_windows
    if i_p >= tl.load(p_size):
        return
    i_p = i_p.to(tl.int64)
    i_pair = i_p * n_all + tl.load(p_windows + i_w * 3)
    end = tl.load(p_windows + i_w * 3 + 2)
    first = tl.maximum(tl.load(p_windows + i_w * 3 + 1), tl.load(p_bars + i_p * 3 + 2))
    last = tl.maximum(end - 1 - tl.load(p_bars + i_p * 3 + 1), first)
    i_long, i_short = tl.load(p_entries + i_p * 2), tl.load(p_entries + i_p * 2 + 1)
    last_long, last_short = tl.where(i_long < 0, 0, last), tl.where(i_short < 0, 0, last)
    p_long = p_longs + tl.maximum(i_long, 0).to(tl.int64) * n_words
    p_short = p_shorts + tl.maximum(i_short, 0).to(tl.int64) * n_words
    p_list, p_leave = p_marks + i_pair * capacity, p_leaves + i_pair * capacity
    count = tl.zeros([], tl.int32)
    for begin in range(first >> 6, (last + 63) >> 6, WORDS):
        o_word = begin + tl.arange(0, WORDS)
        o_bar = o_word * 64
        longs = tl.load(p_long + o_word, mask=o_bar < last_long, other=0)
        shorts = tl.load(p_short + o_word, mask=o_bar < last_short, other=0)
        # Where both sides signal, neither does.
        before = lowest_bits(tl.maximum(first - o_bar, 0).to(tl.int64))
        word = (longs ^ shorts) & ~before & lowest_bits(tl.maximum(last - o_bar, 0).to(tl.int64))
        bits = popcount(word)
        entry = count + tl.cumsum(bits, 0) - bits
        found = tl.sum(bits, 0)
        if found > MANY * WORDS:
            # Bits side by side, so that writes are too.
            listed = count
            for part in range(0, 2 * WORDS, HALVES):
                o_half = 2 * begin + part + tl.arange(0, HALVES)
                o_first = 32 * o_half
                long_half = tl.load(p_long.to(tl.pointer_type(tl.int32)) + o_half,
                                    mask=o_first < last_long, other=0)  # fmt: skip
                short_half = tl.load(p_short.to(tl.pointer_type(tl.int32)) + o_half,
                                     mask=o_first < last_short, other=0)  # fmt: skip
                half = long_half ^ short_half
                half = half & ~lowest_half(tl.maximum(first - o_first, 0))
                half = half & lowest_half(tl.maximum(last - o_first, 0))
                in_half = popcount_half(half)
                place = listed + tl.cumsum(in_half, 0) - in_half
                listed += tl.sum(in_half, 0)
                o_bit = tl.arange(0, 32)[None, :]
                set_bits = half[:, None]
                place = place[:, None] + popcount_half(set_bits & lowest_half(o_bit))
                mark = 2 * (o_first[:, None] + o_bit) + ((short_half[:, None] >> o_bit) & 1)
                is_set = ((set_bits >> o_bit) & 1) != 0
                tl.store(p_list + place, mark, mask=is_set & (place < capacity))
            word = word * 0
        count += found
        while tl.max((word != 0).to(tl.int32), 0) > 0:
            k = lowest_bit(word)
            side = ((shorts >> (k & 63).to(tl.int64)) & 1).to(tl.int32)
            tl.store(p_list + entry, 2 * (o_bar + k) + side, mask=(word != 0) & (entry < capacity))
            entry += 1
            word = word & (word - 1)
    tl.store(p_counts + i_pair, count)
    tl.atomic_max(p_most, count)
    listed = tl.minimum(count, capacity)
    o_end = listed + tl.arange(0, 16)
    tl.store(p_list + o_end, tl.full([16], -1, tl.int32), mask=o_end < (listed + 15) // 16 * 16)
    for begin in range(0, listed, WORDS):
        o_s = begin + tl.arange(0, WORDS)
        tl.store(p_leave + o_s, tl.full([WORDS], NOT_ASKED, tl.int32), mask=o_s < listed)


@triton.jit
def first_asked(p_words, p_following, n_words, condition, t, m):
    """The first bar from t on, where m, at which a condition is true; NOT_THERE without one.

    p_following: [n, n_words + 1] the first word from there on that is not 0, n_words without one.
    """
    o_row = condition.to(tl.int64)
    o_word = t >> 6
    word = tl.load(p_words + o_row * n_words + o_word, mask=m, other=0)
    word = word & ~lowest_bits((t & 63).to(tl.int64))
    p_follow = p_following + o_row * (n_words + 1) + o_word + 1
    follow = tl.load(p_follow, mask=m & (word == 0), other=n_words)
    m_later = m & (follow < n_words)
    later = tl.load(p_words + o_row * n_words + follow, mask=m_later, other=0)
    behind = tl.where(later != 0, follow * 64 + lowest_bit(later), NOT_THERE)
    return tl.where(word != 0, o_word * 64 + lowest_bit(word), behind)


@triton.jit
def is_flat(mark, flat_long, flat_short):
    """True if a signal finds the account flat, given the bars from which sides may signal."""
    return (mark >> 1) >= tl.where((mark & 1) == 1, flat_short, flat_long)


@triton.jit
def next_flat(p_list, i, m, count, flat_long, flat_short):
    """The first signal from i on, where m, that finds the account flat; else a place behind all.

    p_list: as `mark_kernel` leaves it. flat_long, flat_short: bars from which on a side may signal.
    A lane looks at eight signals by itself, two a word.
    """
    p_pairs = p_list.to(tl.pointer_type(tl.int64))
    seeks = m & (i < count)
    while tl.max(seeks.to(tl.int32), 0) > 0:
        group, own = i >> 3, i & 7
        p_group = p_pairs + 4 * group
        marks0, marks2 = load_two(p_group, seeks, -1)
        marks4, marks6 = load_two(p_group + 2, seeks, -1)
        mark0, mark1 = halves(marks0)
        mark2, mark3 = halves(marks2)
        mark4, mark5 = halves(marks4)
        mark6, mark7 = halves(marks6)
        sub = tl.where(is_flat(mark7, flat_long, flat_short), 7, 8)
        sub = tl.where((own <= 6) & is_flat(mark6, flat_long, flat_short), 6, sub)
        sub = tl.where((own <= 5) & is_flat(mark5, flat_long, flat_short), 5, sub)
        sub = tl.where((own <= 4) & is_flat(mark4, flat_long, flat_short), 4, sub)
        sub = tl.where((own <= 3) & is_flat(mark3, flat_long, flat_short), 3, sub)
        sub = tl.where((own <= 2) & is_flat(mark2, flat_long, flat_short), 2, sub)
        sub = tl.where((own <= 1) & is_flat(mark1, flat_long, flat_short), 1, sub)
        sub = tl.where((own == 0) & is_flat(mark0, flat_long, flat_short), 0, sub)
        i = tl.where(seeks, 8 * group + sub, i)
        seeks = seeks & (sub == 8) & (i < count)
    return i


@triton.jit
def read_row(p_reads, p_rows, p_slot, p_number, read, row_stride, t, m):
    """A row at bars t of one individual, or a form of it by a number; read: its place, a lane each.

    p_reads: of each the row's place and how it is read. p_number: the individual's numbers.
    """
    place = tl.load(p_reads + 2 * read, mask=m, other=0)
    way = tl.load(p_reads + 2 * read + 1, mask=m, other=0)
    m_read = m & (way != 0)
    slot = tl.load(p_slot + place, mask=m_read, other=0).to(tl.int64)
    row = tl.load(p_rows + slot * row_stride + t, mask=m_read, other=0.0)
    factor = tl.load(p_number + NUMBERS + read, mask=m_read, other=0.0)
    return tl.where(way == TIMES, canonicalize(factor * row), row)


@triton.jit
def open_positions(p_market, p_code, p_constants, p_reads, p_forms, p_rows, p_slot, p_genome,
                   p_number, p_asked, p_exit, p_following, p_session, row_stride, n_words, hold,
                   delay, end, clock_end, min_risk, mark, m, FORMULAS: tl.constexpr,
                   SIGNALS: tl.constexpr):  # fmt: skip
    """Position of each signal, where m.

    Returns entry, first stop, target, risk, the value of the trail's formula, whether it is taken,
    the last bar that may touch stop or target, the last at whose close it may be left, where and
    why it is left without a touch, and whether at an open. Arguments as in `leave_kernel`, of one
    individual; mark: its signals. hold, delay: bars. end: of the window. clock_end: likewise, or 0
    without a clock.
    """
    side, t = mark & 1, mark >> 1
    is_short = side == 1
    e = t + 1 + delay
    entry = tl.load(p_market + e.to(tl.int64) * 4 + OPEN, mask=m, other=1.0)
    # Values of the formulas of stop, target and trail at the signal's bar.
    stop_read = tl.zeros([SIGNALS], tl.float64)
    aim_read = tl.zeros([SIGNALS], tl.float64)
    reach = tl.zeros([SIGNALS], tl.float64)
    if FORMULAS:
        for k in range(2 * READS):
            left, right = tl.load(p_reads + 2 * k), tl.load(p_reads + 2 * k + 1)
            # Values common to both sides are computed once.
            p_other = p_reads + 2 * (k ^ 1)
            is_same = (left == tl.load(p_other)) & (right == tl.load(p_other + 1))
            if (left < right) & ((k % 2 == 0) | (is_same == 0)):
                # As wide as the sides: the interpreter joins no mask with a single truth.
                m_k = m & ((side == k % 2) | (tl.zeros([SIGNALS], tl.int32) + is_same == 1))
                value = evaluate_formula(p_code, left, right, p_constants, p_genome, p_slot, p_rows,
                                         row_stride, t, m_k)  # fmt: skip
                if k < 2:
                    stop_read = tl.where(m_k, value, stop_read)
                elif k < 4:
                    aim_read = tl.where(m_k, value, aim_read)
                else:
                    reach = tl.where(m_k, value, reach)
    else:
        stop_read = read_row(p_reads, p_rows, p_slot, p_number, side, row_stride, t, m)
        aim_read = read_row(p_reads, p_rows, p_slot, p_number, 2 + side, row_stride, t, m)
        reach = read_row(p_reads, p_rows, p_slot, p_number, 4 + side, row_stride, t, m)
    # The first stop.
    form = tl.load(p_forms + side)
    number = tl.load(p_number + side)
    o_beyond = t.to(tl.int64) * 4 + tl.where(is_short, HIGH, LOW)
    beyond = tl.load(p_market + o_beyond, mask=m, other=1.0)
    away = tl.where(form == SHARE, entry * number, stop_read)
    base = tl.where(form == BEYOND_BAR, beyond, entry)
    stop = tl.where(is_short, base + away, base - away)
    stop = tl.where(form == LEVEL, stop_read, stop)
    risk = tl.where(is_short, stop - entry, entry - stop)
    # The target.
    form = tl.load(p_forms + 2 + side)
    number = tl.load(p_number + 2 + side)
    away = tl.where(form == R_MULTIPLE, number * risk, float("inf"))
    away = tl.where(form == SHARE, entry * number, away)
    away = tl.where(form == FROM_ENTRY, aim_read, away)
    target = tl.where(is_short, entry - away, entry + away)
    target = tl.where(form == LEVEL, aim_read, target)
    # NaN fails each of these.
    is_beyond = tl.where(is_short, target < entry, target > entry)
    trail = tl.load(p_forms + 4 + side)
    is_taken = m & (risk > entry * min_risk)
    is_taken = is_taken & (((form != LEVEL) & (form != FROM_ENTRY)) | is_beyond)
    is_taken = is_taken & ((trail != FROM_ENTRY) | (reach > 0.0))
    # The bar with an end by a condition or the clock at its open, and the last allowed bar.
    clock = tl.load(p_session + e, mask=is_taken & (e < clock_end), other=2 * NOT_THERE)
    is_open = (clock & 1) == 1
    clock_bar = tl.where(is_open, clock >> 1, NOT_THERE)
    condition = tl.load(p_exit + side)
    m_asked = is_taken & (condition >= 0)
    signal_exit = 1 + first_asked(p_asked, p_following, n_words, condition, e, m_asked)
    open_bar = tl.minimum(signal_exit, clock_bar)
    is_session = (is_open == 0) & ((clock >> 1) <= end - 1)
    close_bar = tl.where(is_session, clock >> 1, end - 1)
    held_until = e + hold - 1
    is_time = held_until <= close_bar
    close_bar = tl.where(is_time, held_until, close_bar)
    last = tl.minimum(open_bar - 1, close_bar)
    leaves_open = open_bar <= close_bar
    reason = tl.where(is_time, TIME, tl.where(is_session, SESSION, END))
    reason = tl.where(leaves_open, tl.where(signal_exit <= clock_bar, SIGNAL, SESSION_OPEN), reason)
    untouched = tl.where(leaves_open, open_bar, close_bar) * 8 + reason
    return entry, stop, target, risk, reach, is_taken, last, close_bar, untouched, leaves_open


@triton.jit
def find_length(count, n_lanes):
    """Signals of a stretch; each lane begins with one."""
    return tl.maximum((count + n_lanes - 1) // n_lanes, SHORTEST)


@triton.jit(do_not_specialize=["n_windows", "n_all"])
def leave_kernel(p_size, p_market, p_finer, p_finer_of, p_pyramid, p_blocks, p_charges, p_code,
                 p_constants, p_reads, p_forms, p_rows, p_slots, p_genomes, p_numbers, p_bars,
                 p_asked, p_exits, p_following, p_sessions, p_session_of, p_windows, p_counts,
                 p_marks, p_leaves, p_nexts, p_r, p_prices, p_leverages, p_notes, n_windows, n_all,
                 capacity, n_bars, row_stride, n_words, n_genes, n_rows, n_numbers,
                 MOVES: tl.constexpr, FORMULAS: tl.constexpr, KEEPS: tl.constexpr,
                 ALL: tl.constexpr, FINER: tl.constexpr, MARKETS: tl.constexpr,
                 SIGNALS: tl.constexpr, BLOCKS: tl.constexpr):  # fmt: skip
    """Exit and R of the signals that lanes take; grid (pairs times BLOCKS), SIGNALS lanes each.

    p_size: [1] individuals. p_market: [n_bars, 4] low, high, open, close. p_pyramid: [levels,
    n_bars] for each level l the groups of four blocks of 4**l bars, each group the upper halves of
    four lows and of four highs, two a word. p_blocks: as of `moving_exit`. p_charges: costs of a
    side, smallest risk, fraction at risk; in memory, because a number that is passed to a kernel
    arrives as float32. p_reads: [3, 2, 2] where the formulas of stop, target and trail begin and
    end, of longs and shorts, if FORMULAS; else as of `read_row`. p_forms: [3, 2]. p_numbers: [P,
    n_numbers] their numbers beside formulas and from which gain on the stop follows, of longs and
    shorts in turn, at which gain it moves to the entry, and factors of rows. p_bars, p_windows: as
    in `mark_kernel`. p_asked: [n, n_words] conditions of exits, p_exits: [P, 2] their places, -1
    for none, p_following: as in `first_asked`. p_sessions: [q, row_stride] by entry bar twice the
    bar at which the clock ends a position, plus 1 at its open. p_session_of: [P] which, or -1.
    p_leaves: [P, W, capacity] NOT_ASKED, receives eight times the exit bar, plus the reason or
    SESSION_OPEN, or REJECTED. p_nexts: [P, W, 2 capacity] receives the first signal after its exit
    that finds the account flat, or a place behind all, unless ALL. p_r: [P, W, capacity] receives
    R. p_prices: [P, W, capacity, 5] if KEEPS receives entry, stop, target, exit and last stop.
    MOVES: whether anybody's stop moves. ALL: every signal is walked, whatever came before it;
    p_leverages: [P, W, capacity] then receives each position's worth over the account. FINER:
    whether p_finer and p_finer_of, of `engine.indicators.cuda.market.lay_out_finer`, are read;
    p_notes: [P, W, capacity] then receives sums of LATE_GAP and the like. MARKETS: prices are those
    of several markets, one behind the other; the last of an individual's n_genes is the number of
    its own.
    """
    i_p, i_w = tl.program_id(0) // BLOCKS // n_windows, tl.program_id(0) // BLOCKS % n_windows
    if i_p >= tl.load(p_size):
        return
    i_p = i_p.to(tl.int64)
    i_pair = i_p * n_all + tl.load(p_windows + i_w * 3)
    count = tl.minimum(tl.load(p_counts + i_pair), capacity)
    end = tl.load(p_windows + i_w * 3 + 2)
    per_side, min_risk = tl.load(p_charges), tl.load(p_charges + 1)
    hold, delay = tl.load(p_bars + i_p * 3), tl.load(p_bars + i_p * 3 + 1)
    hold = tl.where(hold > 0, hold, NOT_THERE)
    session = tl.load(p_session_of + i_p)
    # No entry lies before 0.
    clock_end = tl.where(session < 0, 0, end)
    p_session = p_sessions + tl.maximum(session, 0).to(tl.int64) * row_stride
    p_genome, p_slot = p_genomes + i_p * n_genes, p_slots + i_p * n_rows
    if MARKETS:
        first_bar = tl.load(p_genome + n_genes - 1).to(tl.int64) * n_bars
        p_market += 4 * first_bar
        p_pyramid += LEVELS * first_bar
        p_blocks += 2 * (first_bar + (first_bar >> 2) + (first_bar >> 4) + (first_bar >> 6))
        p_finer_of += 2 * first_bar
    p_number, p_exit = p_numbers + i_p * n_numbers, p_exits + i_p * 2
    p_list = p_marks + i_pair * capacity
    length = find_length(count, BLOCKS * SIGNALS)
    i = ((tl.program_id(0) % BLOCKS) * SIGNALS + tl.arange(0, SIGNALS)) * length
    behind = i + length
    # Lanes with a signal, with a new signal, and with a position that still waits.
    m_s = i < count
    is_new = m_s
    waits = i < 0
    if MOVES:
        nothing = tl.zeros([SIGNALS], tl.float64)
        entry, stop, target, risk, reach = nothing, nothing, nothing, nothing, nothing
        last_stop, best = nothing, nothing
        j = tl.zeros([SIGNALS], tl.int32)
        last, close_bar, untouched = j, j, j
        is_taken, leaves_open = waits, waits
    while tl.max(m_s.to(tl.int32), 0) > 0:
        mark = tl.load(p_list + i, mask=m_s, other=0)
        side = mark & 1
        is_short = side == 1
        first = (mark >> 1) + 1 + delay
        (new_entry, new_stop, new_target, new_risk, new_reach, new_taken, new_last, new_close,
         new_untouched, new_open) = open_positions(
            p_market, p_code, p_constants, p_reads, p_forms, p_rows, p_slot, p_genome, p_number,
            p_asked, p_exit, p_following, p_session, row_stride, n_words, hold, delay, end,
            clock_end, min_risk, mark, is_new, FORMULAS, SIGNALS
        )  # fmt: skip
        if MOVES:
            entry, stop = tl.where(is_new, new_entry, entry), tl.where(is_new, new_stop, stop)
            target, risk = tl.where(is_new, new_target, target), tl.where(is_new, new_risk, risk)
            reach = tl.where(is_new, new_reach, reach)
            is_taken = tl.where(is_new, new_taken, is_taken)
            last = tl.where(is_new, new_last, last)
            close_bar = tl.where(is_new, new_close, close_bar)
            untouched = tl.where(is_new, new_untouched, untouched)
            leaves_open = tl.where(is_new, new_open, leaves_open)
            j = tl.where(is_new, first, j)
            best = tl.where(is_new, entry, best)
            last_stop = tl.where(is_new, stop, last_stop)
            waits = waits | (is_new & is_taken & (first <= last))
            # Lanes with short positions begin the next ones while long ones wait.
            enough = tl.sum(m_s.to(tl.int32), 0) // 2
            touch, last_stop, best, j, waits = moving_exit(
                p_blocks, n_bars, j, last, close_bar, waits, best, is_short, entry, last_stop,
                target, tl.load(p_forms + 4 + side), tl.load(p_number + 4 + side), reach,
                tl.load(p_number + 6 + side) * risk, tl.load(p_number + 8) * risk, enough, SIGNALS
            )  # fmt: skip
        else:
            entry, stop, target, risk = new_entry, new_stop, new_target, new_risk
            last_stop, is_taken = stop, new_taken
            untouched, leaves_open = new_untouched, new_open
            lower = tl.where(is_short, target, stop)
            upper = tl.where(is_short, stop, target)
            touch = first_touch(p_market, p_pyramid, n_bars, first, new_last,
                                is_taken & (first <= new_last), lower, upper, SIGNALS)  # fmt: skip
        # Reasons of ended positions.
        is_over = m_s & (waits == 0)
        is_taken_over = is_over & is_taken
        is_hit = touch != NEVER
        bar = tl.where(is_hit, touch, untouched >> 3)
        p_bar = p_market + bar.to(tl.int64) * 4
        opens, closes = load_two(p_bar + OPEN, is_taken_over, 1.0)
        worst = tl.load(p_bar + tl.where(is_short, HIGH, LOW), mask=is_taken_over, other=1.0)
        if FINER:
            other = tl.load(p_bar + tl.where(is_short, LOW, HIGH), mask=is_taken_over, other=1.0)
            highest, lowest = tl.where(is_short, worst, other), tl.where(is_short, other, worst)
            lower = tl.where(is_short, target, last_stop)
            upper = tl.where(is_short, last_stop, target)
            is_touched = is_taken_over & ((lowest <= lower) | (highest >= upper))
            p_of = p_finer_of + bar.to(tl.int64) * 2
            n_finer = tl.load(p_of + 1, mask=is_touched, other=0)
            n_entry = tl.load(p_finer_of + first.to(tl.int64) * 2 + 1, mask=is_over, other=0)
            note = tl.where(n_finer < 0, COARSE_EXIT, 0) + tl.where(n_entry < 0, COARSE_ENTRY, 0)
            n_finer = tl.where(is_hit, n_finer, 0)
            first_finer = tl.load(p_of, mask=n_finer > 0, other=0)
            opens, highest, lowest, is_late = read_finer_bars(
                p_finer, first_finer, n_finer, lower, upper, opens, highest, lowest
            )
            worst = tl.where(is_short, highest, lowest)
        is_stop = is_hit & tl.where(is_short, worst >= last_stop, worst <= last_stop)
        is_gap = is_stop & tl.where(is_short, opens >= last_stop, opens <= last_stop)
        price = tl.where(is_hit, target, tl.where(leaves_open, opens, closes))
        price = tl.where(is_stop, tl.where(is_gap, opens, last_stop), price)
        reason = tl.where(is_hit, TARGET, untouched & 7)
        reason = tl.where(is_stop, tl.where(is_gap, STOP_GAP, STOP), reason)
        gross = price - entry
        gross = tl.where(is_short, -gross, gross)
        r = (gross - per_side * (entry + price)) / tl.where(is_taken, risk, 1.0)
        o_list = i_pair * capacity + i
        tl.store(p_r + o_list, r, mask=is_over)
        if FINER:
            note += tl.where(is_gap & is_late, LATE_GAP, 0)
            tl.store(p_notes + o_list, note.to(tl.int8), mask=is_over)
        if KEEPS:
            p_kept = p_prices + o_list * 5
            tl.store(p_kept, entry, mask=is_over)
            tl.store(p_kept + 1, stop, mask=is_over)
            tl.store(p_kept + 2, target, mask=is_over)
            tl.store(p_kept + 3, price, mask=is_over)
            tl.store(p_kept + 4, last_stop, mask=is_over)
        tl.store(p_leaves + o_list, tl.where(is_taken, bar * 8 + reason, REJECTED), mask=is_over)
        if ALL:
            leverage = tl.load(p_charges + 2) * entry / tl.where(is_taken, risk, 1.0)
            tl.store(p_leverages + o_list, leverage, mask=is_over)
            i = tl.where(is_over, i + 1, i)
            is_new = is_over & (i < count) & (i < behind)
        else:
            # Left at an open, as was known a bar before: the other side may signal there.
            earlier = (reason == SIGNAL).to(tl.int32)
            flat_long = tl.where(is_taken, bar - tl.where(is_short, earlier, 0), 0)
            flat_short = tl.where(is_taken, bar - tl.where(is_short, 0, earlier), 0)
            following = next_flat(p_list, i + 1, is_over, count, flat_long, flat_short)
            tl.store(p_nexts + i_pair * 2 * capacity + i, following, mask=is_over)
            i = tl.where(is_over, following, i)
            is_new = is_over & (i < count)
            # Another lane may write it in this moment: then both take it, with the same bits.
            there = tl.load(
                p_leaves + i_pair * capacity + i, mask=is_new, other=REJECTED, volatile=True
            )
            is_new = is_new & (there == NOT_ASKED)
        m_s = waits | is_new
