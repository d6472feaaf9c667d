"""Exits: where each signal's position would end, were it taken.

An exit does not depend on the position, so that many are found side by side. Where stops rest, a
pyramid of extremes lets a search step over 64 bars at a time and come down where a price may have
been touched. Where they move at a bar's close, a walk does the same with extremes in full.
"""

import triton
import triton.language as tl

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

    NEVER where there is none. p_market, p_pyramid: as in `leave_kernel`. A lane looks at its group
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
def find_block(j, level, n_bars):
    """Number of the block of 4**level bars that begins at bar j, among those of all levels."""
    before = tl.where(level > 0, n_bars, 0) + tl.where(level > 1, n_bars >> 2, 0)
    before += tl.where(level > 2, n_bars >> 4, 0)
    return before + (j >> (2 * level))


@triton.jit
def moving_exit(p_blocks, n_bars, j, last, close_bar, waits, best, is_short, entry, stop, target,
                form, share, reach, follow_gain, even_gain, enough,
                SIGNALS: tl.constexpr):  # fmt: skip
    """Walk from bar j on, where waits, until no more than `enough` lanes wait.

    p_blocks: low and high of blocks of 1, 4, 16 and 64 of n_bars, one level behind the other.
    Returns the first bar up to last that touches stop or target, NEVER without one; the stop and
    the best price there; the next bar; and who still waits.

    Stops move one way only. So a lane steps over a block where neither the stop with which it would
    leave the block nor the target is reached, and goes into it elsewhere. All prices are turned.
    """
    touch = tl.full([SIGNALS], NEVER, tl.int32)
    level = tl.zeros([SIGNALS], tl.int32)
    stop, best = turn(stop, is_short), turn(best, is_short)
    entry, target = turn(entry, is_short), turn(target, is_short)
    while tl.sum(waits.to(tl.int32), 0) > enough:
        p_block = p_blocks + 2 * find_block(j, level, n_bars).to(tl.int64)
        lowest, highest = load_two(p_block, waits, 0.0)
        ahead = turn(tl.where(is_short, lowest, highest), is_short)
        behind = turn(tl.where(is_short, highest, lowest), is_short)
        moves = j < close_bar
        best_behind = tl.where(moves & (ahead > best), ahead, best)
        gone = best_behind - entry
        candidate = best_behind - tl.where(form == SHARE, tl.abs(best_behind) * share, reach)
        is_moved = moves & (form != NONE) & (gone >= follow_gain) & (candidate > stop)
        stop_behind = tl.where(is_moved, candidate, stop)
        is_even = moves & (gone >= even_gain) & (entry > stop_behind)
        stop_behind = tl.where(is_even, entry, stop_behind)
        # A bar is looked at with the stop from before it.
        is_bar = level == 0
        least = tl.where(is_bar, stop, stop_behind)
        is_near = waits & ((behind <= least) | (ahead >= target))
        goes_on = waits & (is_near == 0)
        touch = tl.where(is_near & is_bar, j, touch)
        best = tl.where(goes_on, best_behind, best)
        stop = tl.where(goes_on, stop_behind, stop)
        j = tl.where(goes_on, j + (1 << (2 * level)), j)
        waits = waits & ((is_near & is_bar) == 0) & (j <= last)
        # Up where a larger block begins, down where a block is near or goes too far.
        begins = (j & ((4 << (2 * level)) - 1)) == 0
        level = tl.where(is_near, level - 1, level + (goes_on & begins).to(tl.int32))
        left = tl.minimum(last + 1, close_bar) - j
        fitting = (left >= 4).to(tl.int32) + (left >= 16).to(tl.int32) + (left >= 64).to(tl.int32)
        # Beyond its whole, a share takes more from a better price.
        fitting = tl.where((form == SHARE) & (share > 1.0), 0, fitting)
        level = tl.maximum(tl.minimum(level, fitting), 0)
    return touch, turn(stop, is_short), turn(best, is_short), j, waits
