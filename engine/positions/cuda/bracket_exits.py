"""Stage 3, exits: where each signal's position would end, were it taken.

An exit does not depend on the position, so that many are found side by side. Where stops rest, a
pyramid of extremes lets a search step over 64 bars at a time and come down where a price may have
been touched. Where they move at a bar's close, a walk takes one bar after another.
"""

import triton
import triton.language as tl

from engine.conditions.cuda.signals import find_window
from engine.positions import exit_spec

NONE = tl.constexpr(exit_spec.NONE)
SHARE = tl.constexpr(exit_spec.SHARE)

NEVER = tl.constexpr(0x7FFFFFFF)
TOP_LEVEL = tl.constexpr(3)

LOW, HIGH, OPEN, CLOSE = map(tl.constexpr, range(4))
"""Prices of a bar on a device, two of which are read at once."""


@triton.jit
def upper_half(price):
    """The upper 32 bits of a number; for positive numbers they rise with it."""
    return (price.to(tl.int64, bitcast=True) >> 32).to(tl.int32)


@triton.jit
def halves(words):
    """The lower and the upper 32 bits of words."""
    return words.to(tl.int32), (words >> 32).to(tl.int32)


@triton.jit
def load_two(p, m, other):
    """Two numbers from each lane's place on, where m; one instruction reads both.

    Lanes read far from each other, so that each instruction costs as much as 32 others.
    """
    o_k = tl.arange(0, 2)[None, :]
    return tl.split(tl.load(p[:, None] + o_k, mask=m[:, None], other=other))


@triton.jit
def first_touch(p_market, p_pyramid, n_bars, j, last, waits, lower, upper,
                SIGNALS: tl.constexpr):  # fmt: skip
    """The first bar from j to last, where waits, that reaches down to lower or up to upper.

    NEVER where there is none. p_market and p_pyramid as in `exit_kernel`. A lane looks at its group
    of four blocks by itself: tiles of lanes and blocks would go through shared memory.
    """
    lower_word, upper_word = upper_half(lower), upper_half(upper)
    touch = tl.full([SIGNALS], NEVER, tl.int32)
    level = tl.zeros([SIGNALS], tl.int32)
    while tl.max(waits.to(tl.int32), 0) > 0:
        walks = waits
        while tl.max(walks.to(tl.int32), 0) > 0:
            shift = 2 * level
            block = j >> shift
            group, own = block >> 2, block & 3
            p_group = p_pyramid + (level * n_bars + group * 4)
            lows, later_lows = load_two(p_group, walks, 0)
            highs, later_highs = load_two(p_group + 2, walks, 0)
            low0, low1 = halves(lows)
            low2, low3 = halves(later_lows)
            high0, high1 = halves(highs)
            high2, high3 = halves(later_highs)
            is_near0 = (own == 0) & ((low0 <= lower_word) | (high0 >= upper_word))
            is_near1 = (own <= 1) & ((low1 <= lower_word) | (high1 >= upper_word))
            is_near2 = (own <= 2) & ((low2 <= lower_word) | (high2 >= upper_word))
            is_near3 = (low3 <= lower_word) | (high3 >= upper_word)
            sub = tl.where(is_near2, 2, tl.where(is_near3, 3, 4))
            sub = tl.where(is_near0, 0, tl.where(is_near1, 1, sub))
            down = sub < 4
            at_bottom = level == 0
            ahead = tl.maximum(j, ((group << 2) + sub) << shift)
            ahead = tl.where(down, ahead, (group + 1) << (shift + 2))
            j = tl.where(walks, ahead, j)
            other = tl.where(down, tl.maximum(level - 1, 0), tl.minimum(level + 1, TOP_LEVEL))
            level = tl.where(walks, other, level)
            walks = walks & ((down & at_bottom) == 0) & (j <= last)
        # Words find where a price may have been touched, the price itself decides.
        near = waits & (j <= last)
        lowest, highest = load_two(p_market + j.to(tl.int64) * 4 + LOW, near, 0.0)
        is_touched = (lowest <= lower) | (highest >= upper)
        touch = tl.where(near & is_touched, j, touch)
        waits = near & (is_touched == 0)
        j = j + 1
        waits = waits & (j <= last)
    return touch


@triton.jit
def read_finer_bars(p_finer, first, count, lower, upper, opened, highest, lowest):
    """Open, high and low of the first of finer bars that reaches down to lower or up to upper.

    Prices of the whole bar if it has no finer ones; and True unless it is the bar's first.
    """
    seeks = count > 0
    is_late = count < count
    k = tl.zeros([], tl.int32)
    while tl.max(seeks.to(tl.int32), 0) > 0:
        p_bar = p_finer + (first + k).to(tl.int64) * 4
        high = tl.load(p_bar + 1, mask=seeks, other=0.0)
        low = tl.load(p_bar + 2, mask=seeks, other=0.0)
        is_touched = seeks & ((low <= lower) | (high >= upper))
        opened = tl.where(is_touched, tl.load(p_bar, mask=is_touched, other=0.0), opened)
        highest, lowest = tl.where(is_touched, high, highest), tl.where(is_touched, low, lowest)
        is_late = tl.where(is_touched, count * 0 + k > 0, is_late)
        seeks = seeks & (is_touched == 0) & (k + 1 < count)
        k += 1
    return opened, highest, lowest, is_late


@triton.jit
def turn(price, is_short):
    """A price as a long sees it: below 0 for a short, so that its worst price is the lowest too."""
    return tl.where(is_short, -price, price)


@triton.jit
def load_turned(p_bar, m, is_short):
    """The best and the worst price of each lane's bar, where m, turned."""
    lowest, highest = load_two(p_bar + LOW, m, 0.0)
    ahead, behind = tl.where(is_short, lowest, highest), tl.where(is_short, highest, lowest)
    return turn(ahead, is_short), turn(behind, is_short)


@triton.jit
def walk_bar(stop, best, found, waits, j, last, close_bar, ahead, behind, entry, target, form,
             share, reach, follow_gain, even_gain):  # fmt: skip
    """One bar of positions with a stop that moves at its close; returns the changes.

    All prices are turned; ahead and behind are the bar's best and worst.
    """
    here = waits & (j <= last)
    is_touched = here & ((behind <= stop) | (ahead >= target))
    found = tl.where(is_touched, j, found)
    waits = here & (is_touched == 0)
    moves = waits & (j < close_bar)
    best = tl.where(moves & (ahead > best), ahead, best)
    gone = best - entry
    candidate = best - tl.where(form == SHARE, tl.abs(best) * share, reach)
    is_moved = moves & (form != NONE) & (gone >= follow_gain) & (candidate > stop)
    stop = tl.where(is_moved, candidate, stop)
    is_even = moves & (gone >= even_gain) & (entry > stop)
    return tl.where(is_even, entry, stop), best, found, waits


@triton.jit
def moving_exit(p_market, j, last, close_bar, waits, best, is_short, entry, stop, target, form,
                share, reach, follow_gain, even_gain, enough, SIGNALS: tl.constexpr):  # fmt: skip
    """Walk from bar j on, where waits, until no more than `enough` lanes wait.

    Returns the first bar up to last that touches stop or target, NEVER without one; the stop and
    the best price there; the next bar; and who still waits. Prices do not depend on what is
    decided: those of four bars are in flight.
    """
    touch = tl.full([SIGNALS], NEVER, tl.int32)
    stop, best = turn(stop, is_short), turn(best, is_short)
    entry, target = turn(entry, is_short), turn(target, is_short)
    while tl.sum(waits.to(tl.int32), 0) > enough:
        p_bar = p_market + j.to(tl.int64) * 4
        m1, m2, m3 = waits & (j < last), waits & (j + 1 < last), waits & (j + 2 < last)
        a0, b0 = load_turned(p_bar, waits, is_short)
        a1, b1 = load_turned(p_bar + 4, m1, is_short)
        a2, b2 = load_turned(p_bar + 8, m2, is_short)
        a3, b3 = load_turned(p_bar + 12, m3, is_short)
        stop, best, touch, waits = walk_bar(
            stop, best, touch, waits, j, last, close_bar, a0, b0, entry, target, form, share,
            reach, follow_gain, even_gain
        )  # fmt: skip
        stop, best, touch, waits = walk_bar(
            stop, best, touch, waits, j + 1, last, close_bar, a1, b1, entry, target, form, share,
            reach, follow_gain, even_gain
        )  # fmt: skip
        stop, best, touch, waits = walk_bar(
            stop, best, touch, waits, j + 2, last, close_bar, a2, b2, entry, target, form, share,
            reach, follow_gain, even_gain
        )  # fmt: skip
        stop, best, touch, waits = walk_bar(
            stop, best, touch, waits, j + 3, last, close_bar, a3, b3, entry, target, form, share,
            reach, follow_gain, even_gain
        )  # fmt: skip
        j = j + 4
        waits = waits & (j <= last)
    return touch, turn(stop, is_short), turn(best, is_short), j, waits


@triton.jit(do_not_specialize=["n_windows"])
def exit_kernel(p_size, p_market, p_pyramid, p_rows, p_genomes, p_slots, p_windows, p_met,
                p_costs, p_counts, p_bars, p_exits, p_leverages, n_windows, capacity, first_bar,
                row_stride, n_bars, N_COLUMNS: tl.constexpr, N_ROWS: tl.constexpr,
                STOP_ROW: tl.constexpr, STOP_MULT: tl.constexpr, REWARD: tl.constexpr,
                MAX_HOLD: tl.constexpr, DELAY: tl.constexpr, MEETS_OWN: tl.constexpr,
                LEVERS: tl.constexpr, SIGNALS: tl.constexpr,
                BLOCKS: tl.constexpr):  # fmt: skip
    """Exit bars of a pair's signals, SIGNALS at a time; grid (pairs times BLOCKS).

    p_market: [B, 4] low, high, open, close. p_pyramid: [levels, B] for each level l the groups of
    four blocks of 4**l bars, each group the upper halves of four lows and of four highs, two a
    word. p_costs:
    per_side, min_risk, risk_fraction; in memory, because a number that is passed to a kernel
    arrives as float32. p_met: as in `signal_kernel`. DELAY: bars by which an entry is later than
    the bar after its signal. p_exits: [P, W, capacity] receives the exit bar, or the signal's own
    where the trade would risk too little. p_leverages: [P, W, capacity] receives its worth over the
    account, if LEVERS.
    """
    i_pair = tl.program_id(0).to(tl.int64) // BLOCKS
    i_p = i_pair // n_windows
    if i_p >= tl.load(p_size):
        return
    count = tl.minimum(tl.load(p_counts + i_pair), capacity)
    p_genome = p_genomes + i_p * N_COLUMNS
    min_risk = tl.load(p_costs + 1)
    stop_mult = tl.load(p_genome + STOP_MULT)
    reward = tl.load(p_genome + REWARD)
    hold = tl.load(p_genome + MAX_HOLD).to(tl.int32)
    end = tl.load(p_windows + find_window(p_met, i_pair, n_windows, MEETS_OWN) * 3 + 2)
    p_reach = p_rows + tl.load(p_slots + i_p * N_ROWS + STOP_ROW).to(tl.int64) * row_stride
    for begin in range((tl.program_id(0) % BLOCKS) * SIGNALS, count, BLOCKS * SIGNALS):
        o_s = begin + tl.arange(0, SIGNALS)
        m_s = o_s < count
        t = tl.load(p_bars + i_pair * capacity + o_s, mask=m_s, other=0)
        o_bar = t.to(tl.int64) * 4
        entry = tl.load(p_market + o_bar + 4 * (1 + DELAY) + OPEN, mask=m_s, other=1.0)
        low = tl.load(p_market + o_bar + LOW, mask=m_s, other=1.0)
        stop = low - stop_mult * tl.load(p_reach + t - first_bar, mask=m_s, other=0.0)
        risk = entry - stop
        is_taken = m_s & (risk > entry * min_risk)
        target = entry + reward * risk
        last = tl.minimum(t + 1 + DELAY + hold, end) - 1
        j = t + 1 + DELAY
        touch = first_touch(
            p_market, p_pyramid, n_bars, j, last, is_taken & (j <= last), stop, target, SIGNALS
        )
        exit_bar = tl.where(is_taken, tl.where(touch == NEVER, last, touch), t)
        tl.store(p_exits + i_pair * capacity + o_s, exit_bar, mask=m_s)
        if LEVERS:
            leverage = tl.load(p_costs + 2) * entry / tl.where(is_taken, risk, 1.0)
            tl.store(p_leverages + i_pair * capacity + o_s, leverage, mask=m_s)
