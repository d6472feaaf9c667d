"""Exits of positions in a bar on the device: stops, targets, clocks, and orders that reverse."""

from typing import NamedTuple

import triton
import triton.language as tl

from engine.accounts.ledger import REASONS
from engine.positions import exit_spec
from engine.positions.cuda.order_book import STOP_ORDER, WITHIN
from engine.positions.cuda.order_fills import (
    AFTER_NUMBER,
    AT_OPEN,
    BOUNDS,
    BREAK_EVEN,
    EVEN_OFFSET,
    FLAT,
    LEVEL,
    LIMIT_ORDER,
    R_MULTIPLE,
    SHARE,
    TRAIL_NUMBER,
    TRAIL_PART,
    LanePositions,
    load_form,
    on_tick,
    read_part,
    side_sign,
)
from engine.positions.cuda.order_money import (
    EQUITY_SHARE,
    VOLATILITY,
    count_legs,
    find_margin_price,
    share_left,
)
from engine.positions.cuda.order_results import MARGIN, STOP, TARGET, Leave

NONE = tl.constexpr(exit_spec.NONE)

STOP_GAP = tl.constexpr(REASONS.index("stop_gap"))
TRAIL = tl.constexpr(REASONS.index("trail"))
EVEN = tl.constexpr(REASONS.index("break_even"))
TIME = tl.constexpr(REASONS.index("time"))
END = tl.constexpr(REASONS.index("end"))
SESSION = tl.constexpr(REASONS.index("session"))
STILL_OPEN = tl.constexpr(-1)

NO_BAR = tl.constexpr(0x3FFFFFFF)
"""In place of a bar; there is room behind it."""


@triton.jit
def reach_targets(inputs, scratch, at, j, reach, beyond, m):
    """Note targets that a bar reaches, none behind a price; and the farthest of them.

    Returns the nearest that is left, how many are left, and that price, times the sign of the side.
    """
    sign = side_sign(at.side)
    count = count_legs(inputs, at.side)
    nothing = tl.full(reach.shape, float("inf"), tl.float64)
    nearest, farthest = nothing, -nothing
    left = tl.zeros(at.side.shape, tl.int32)
    for leg in range(inputs.n_legs):
        m_leg = m & (leg < count)
        where = (2 * leg + at.side).to(tl.int64) * scratch.stride + scratch.pair
        target = sign * tl.load(scratch.levels + where, mask=m_leg, other=0.0)
        m_leg = m_leg & (tl.load(scratch.bars + where, mask=m_leg, other=0) < 0)
        # An open beyond the target still fills at the target, the cautious choice.
        is_reached = m_leg & (sign * reach >= target) & (target <= beyond)
        tl.store(scratch.bars + where, tl.zeros(left.shape, tl.int32) + j, mask=is_reached)
        farthest = tl.where(is_reached, tl.maximum(farthest, target), farthest)
        is_left = m_leg & (is_reached == 0)
        nearest = tl.where(is_left, tl.minimum(nearest, target), nearest)
        left += is_left.to(tl.int32)
    return tl.where(m, nearest, at.nearest), tl.where(m, left, at.left), farthest


@triton.jit
def with_targets(at, nearest, left):
    """The same positions with other targets left."""
    return LanePositions(at.side, at.signal_bar, at.entry_bar, at.clock, at.entry, at.first_stop,
                    at.risk, at.reach, at.stop, at.best, nearest, left, at.mover)  # fmt: skip


@triton.jit
def with_stop(at, stop, best, mover):
    """The same positions with other stops in force."""
    return LanePositions(at.side, at.signal_bar, at.entry_bar, at.clock, at.entry, at.first_stop,
                    at.risk, at.reach, stop, best, at.nearest, at.left, mover)  # fmt: skip


@triton.jit
def is_all_out(inputs, at, m, LADDERS: tl.constexpr):
    """Whether targets have taken all of positions."""
    count = count_legs(inputs, at.side)
    is_out = m & (at.left == 0) & (count > 0)
    if LADDERS:
        is_out = is_out & (share_left(inputs, at.side) == 0.0)
    return is_out


@triton.jit
def find_even_price(inputs, at, m, EVEN_FORM: tl.constexpr, HAS_TICK: tl.constexpr):
    """Where a break-even puts stops, on the tick."""
    even = at.entry
    if EVEN_FORM != NONE:
        number = tl.load(inputs.number + EVEN_OFFSET, mask=m, other=0.0)
        away = number * at.risk if EVEN_FORM == R_MULTIPLE else at.entry * number
        even = even + side_sign(at.side) * away
    return on_tick(inputs, even, at.side == 1, HAS_TICK)


@triton.jit
def follow_prices(inputs, at, j, m, LEVELS: tl.constexpr, EVEN_FORM: tl.constexpr,
                  HAS_TICK: tl.constexpr):  # fmt: skip
    """The stops from the bar after j on, given the best prices so far; they are never loosened."""
    sign, stop, best = side_sign(at.side), at.stop, at.best
    form = load_form(inputs, TRAIL_PART, at.side)
    share = tl.load(inputs.number + 2 * TRAIL_NUMBER + at.side, mask=m, other=0.0)
    after = tl.load(inputs.number + 2 * AFTER_NUMBER + at.side, mask=m, other=0.0)
    gone = sign * (best - at.entry)
    behind = tl.where(form == SHARE, best * share, at.reach)
    candidate = best - sign * behind
    if LEVELS:
        is_level = m & (form == LEVEL)
        t = tl.zeros(at.side.shape, tl.int32) + j
        level = read_part(inputs, TRAIL_PART, at.side, t, is_level)
        # What is unknown, infinite or no price moves nothing.
        is_price = (level > 0.0) & (level < float("inf"))
        candidate = tl.where(is_level, tl.where(is_price, level, stop), candidate)
    candidate = on_tick(inputs, candidate, at.side == 1, HAS_TICK)
    follows = (form != NONE) & (gone >= after * at.risk)
    follows = follows & (sign * candidate > sign * stop)
    stop, mover = tl.where(follows, candidate, stop), tl.where(follows, TRAIL, at.mover)
    # Once so much is gained it stands at the entry, or beyond it.
    even = find_even_price(inputs, at, m, EVEN_FORM, HAS_TICK)
    is_even = gone >= tl.load(inputs.number + BREAK_EVEN, mask=m, other=0.0) * at.risk
    is_even = is_even & (sign * even > sign * stop)
    return tl.where(is_even, even, stop), tl.where(is_even, EVEN, mover)


@triton.jit
def fold_best(at, bar, is_late_fill, m):
    """Positions whose best prices take in a bar or a finer one, where m."""
    is_short = at.side == 1
    # The high of the bar may be older than the fill of a limit.
    late = tl.where(is_short, tl.minimum(at.entry, bar.close), tl.maximum(at.entry, bar.close))
    reach = tl.where(is_late_fill, late, tl.where(is_short, bar.low, bar.high))
    best = tl.where(is_short, tl.minimum(at.best, reach), tl.maximum(at.best, reach))
    return with_stop(at, at.stop, tl.where(m, best, at.best), at.mover)


@triton.jit
def move_stops(inputs, scratch, at, j, even_leg, m, MOVES: tl.constexpr, EVEN_LEG: tl.constexpr,
               LEVELS: tl.constexpr, EVEN_FORM: tl.constexpr, HAS_TICK: tl.constexpr):  # fmt: skip
    """Positions at the close of a bar, with the stops of the bars to come, where m."""
    sign = side_sign(at.side)
    stop, mover = at.stop, at.mover
    if MOVES:
        stop, mover = follow_prices(inputs, at, j, m, LEVELS, EVEN_FORM, HAS_TICK)
    if EVEN_LEG:
        count = count_legs(inputs, at.side)
        m_leg = m & (even_leg <= count)
        where = (2 * (even_leg - 1) + at.side).to(tl.int64) * scratch.stride + scratch.pair
        is_even = m_leg & (tl.load(scratch.bars + where, mask=m_leg, other=-1) >= 0)
        even = find_even_price(inputs, at, m, EVEN_FORM, HAS_TICK)
        is_even = is_even & (sign * even > sign * stop)
        stop, mover = tl.where(is_even, even, stop), tl.where(is_even, EVEN, mover)
    return with_stop(at, tl.where(m, stop, at.stop), at.best, tl.where(m, mover, at.mover))


class ExitRules(NamedTuple):
    """Exits beside stops and targets."""

    hold: tl.tensor  # bars, of each lane; `NO_BAR`: any
    last_bar: object  # of the window
    sessions: object  # by entry bar, of each lane, as `leave_kernel` takes them
    has_session: tl.tensor  # of each lane


@triton.jit
def pick(m, left, right):
    """Positions of left where m, else of right."""
    return LanePositions(
        tl.where(m, left.side, right.side), tl.where(m, left.signal_bar, right.signal_bar),
        tl.where(m, left.entry_bar, right.entry_bar), tl.where(m, left.clock, right.clock),
        tl.where(m, left.entry, right.entry), tl.where(m, left.first_stop, right.first_stop),
        tl.where(m, left.risk, right.risk), tl.where(m, left.reach, right.reach),
        tl.where(m, left.stop, right.stop), tl.where(m, left.best, right.best),
        tl.where(m, left.nearest, right.nearest), tl.where(m, left.left, right.left),
        tl.where(m, left.mover, right.mover),
    )  # fmt: skip


@triton.jit
def without(at, m):
    """Positions that are left but where m."""
    side = tl.where(m, FLAT, at.side)
    return LanePositions(side, at.signal_bar, at.entry_bar, at.clock, at.entry, at.first_stop,
                         at.risk, at.reach, at.stop, at.best, at.nearest, at.left,
                         at.mover)  # fmt: skip


@triton.jit
def stay_out(zero):
    """No position in any lane; zero: [LANES] int32."""
    nothing = zero.to(tl.float64)
    return LanePositions(zero + FLAT, zero, zero, zero, nothing, nothing, nothing, nothing,
                         nothing, nothing, nothing, zero, zero + STOP)  # fmt: skip


@triton.jit
def enter(inputs, rules, fill, side, t, j, m, SIZE: tl.constexpr, HAS_TICK: tl.constexpr):
    """Positions that orders of signals at bars t opened in a bar, where m."""
    entry_bar = tl.zeros(t.shape, tl.int32) + j
    clock = tl.load(rules.sessions + j, mask=m & rules.has_session, other=2 * NO_BAR)
    best = -side_sign(side) * tl.full(t.shape, float("inf"), tl.float64)
    left = count_legs(inputs, side)
    stop, mover = fill.stop, side * 0 + STOP
    # Of other sizes the own stop is nearer, or it hangs on the cash.
    if (SIZE == EQUITY_SHARE) or (SIZE == VOLATILITY):  # noqa: SIM109 - kernels compare one by one
        gone = find_margin_price(inputs, fill.entry, side, t, m, SIZE, HAS_TICK)
        is_nearer = side_sign(side) * gone > side_sign(side) * stop
        stop, mover = tl.where(is_nearer, gone, stop), tl.where(is_nearer, MARGIN, mover)
    return LanePositions(side, t, entry_bar, clock, fill.entry, fill.stop, fill.risk, fill.reach,
                    stop, best, fill.nearest, left, mover)  # fmt: skip


@triton.jit
def keep_between(inputs, p_market, at, j, m):
    """Where positions lie between the bounds of their exits at the close before bar j, of m."""
    bounds = inputs.number + BOUNDS + 4 * at.side
    held = (j - at.entry_bar).to(tl.float64)
    close = tl.load(p_market + tl.maximum(j - 1, 0) * 4 + 3)
    gain = side_sign(at.side) * (close - at.entry)
    m = m & (tl.load(bounds, mask=m, other=0.0) <= held)
    m = m & (held <= tl.load(bounds + 1, mask=m, other=0.0))
    m = m & (tl.load(bounds + 2, mask=m, other=0.0) * at.risk <= gain)
    return m & (gain <= tl.load(bounds + 3, mask=m, other=0.0) * at.risk)


@triton.jit
def want_reversal(inputs, scratch, at, longs, shorts, bar, m, LONG_ORDER: tl.constexpr,
                  SHORT_ORDER: tl.constexpr, LADDERS: tl.constexpr):  # fmt: skip
    """Where the other side's order is touched before anything ends the position, of those in m.

    Returns that, positions with targets that a bar reaches before a limit, and the farthest of
    these, times the sign of the side.
    """
    sign, is_short = side_sign(at.side), at.side == 1
    form = tl.where(is_short, LONG_ORDER, SHORT_ORDER)
    how = tl.where(is_short, longs.how, shorts.how)
    price = tl.where(is_short, longs.price, shorts.price)
    worst = tl.where(is_short, bar.high, bar.low)
    reach = tl.where(is_short, bar.low, bar.high)
    is_gap = sign * bar.open <= sign * at.stop
    is_met = m & (how == WITHIN) & (is_gap == 0)
    # 2r at the open, 4r a stop order no farther than the stop, 5r a limit order.
    wants = (m & (how == AT_OPEN)) | (
        is_met & (form == STOP_ORDER) & (sign * price >= sign * at.stop)
    )
    is_limit = is_met & (form == LIMIT_ORDER) & (sign * worst > sign * at.stop)
    farthest = -tl.full(price.shape, float("inf"), tl.float64)
    if (LONG_ORDER == LIMIT_ORDER) or (SHORT_ORDER == LIMIT_ORDER):
        reaches = is_limit & (sign * reach >= at.nearest)
        if tl.max(reaches.to(tl.int32), 0) > 0:
            nearest, left, farthest = reach_targets(
                inputs, scratch, at, bar.j, reach, sign * price, reaches
            )
            at = with_targets(at, nearest, left)
        is_limit = is_limit & (is_all_out(inputs, at, is_limit, LADDERS) == 0)
    return wants | is_limit, at, farthest


@triton.jit
def leave_positions(inputs, scratch, rules, at, bar, is_new, is_inside, is_late_fill, farthest, m,
                    LADDERS: tl.constexpr, NAMES: tl.constexpr,
                    FINER: tl.constexpr):  # fmt: skip
    """Step of positions by a bar or a finer one, where m: the first rule that applies.

    is_new: whether they were entered in it. is_inside: within it, not at its open. is_late_fill: by
    a limit. farthest: of the targets that it reached before, times the sign of the side.
    """
    sign, is_short = side_sign(at.side), at.side == 1
    worst = tl.where(is_short, bar.high, bar.low)
    reach = tl.where(is_short, bar.low, bar.high)
    # What was reached may be older than the fill of a limit, unless the close lies there.
    reach = tl.where(is_late_fill, bar.close, reach)
    clock_bar, is_clock_open = at.clock >> 1, (at.clock & 1) == 1
    is_session = m & (is_new == 0) & is_clock_open & (clock_bar == bar.j)
    is_gap = m & (is_inside == 0) & (sign * bar.open <= sign * at.stop) & (is_session == 0)
    is_over = is_session | is_gap
    is_stop = m & (is_over == 0) & (sign * worst <= sign * at.stop)
    is_over = is_over | is_stop
    reaches = m & (is_over == 0) & (sign * reach >= at.nearest)
    if tl.max(reaches.to(tl.int32), 0) > 0:
        nothing = tl.full(reach.shape, float("inf"), tl.float64)
        nearest, left, further = reach_targets(inputs, scratch, at, bar.j, reach, nothing, reaches)
        at = with_targets(at, nearest, left)
        farthest = tl.maximum(farthest, further)
    is_target = is_all_out(inputs, at, m & (is_over == 0), LADDERS)
    is_time = bar.j - at.entry_bar + 1 == rules.hold
    is_late = (is_clock_open == 0) & (clock_bar == bar.j)
    is_end = tl.zeros(at.side.shape, tl.int32) + bar.j == rules.last_bar
    reason = tl.where(is_end, END, STILL_OPEN)
    reason = tl.where(is_late, SESSION, reason)
    reason = tl.where(is_time, TIME, reason)
    is_at_open = is_session | is_gap
    if FINER:
        # The close is that of the last finer bar, the open that of the first.
        reason = tl.where(bar.is_last, reason, STILL_OPEN)
        is_at_open = is_at_open & bar.is_first
    price = tl.where(is_target, sign * farthest, bar.close)
    reason = tl.where(is_target, TARGET, reason)
    price = tl.where(is_stop, at.stop, price)
    is_margin = at.mover == MARGIN
    named = at.mover if NAMES else tl.where(is_margin, MARGIN, STOP)
    reason = tl.where(is_stop, named, reason)
    price = tl.where(is_session | is_gap, bar.open, price)
    gap = tl.where(is_margin, MARGIN, STOP_GAP)
    reason = tl.where(is_gap, gap, tl.where(is_session, SESSION, reason))
    return at, Leave(tl.where(m, reason, STILL_OPEN), price, is_at_open)
