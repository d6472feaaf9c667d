"""Results of positions on the device: what a trade comes to, and what it does to all sums.

A lane folds its trades in their order, and lists them where a ledger is wanted.
"""

from typing import NamedTuple

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.positions.cuda.order_fills import (
    BORROWED,
    CASH,
    FUNDED,
    PER_SIDE,
    SIZE_PART,
    UNIT_FEE,
    load_carried,
    read_part,
    side_sign,
    slip_price,
)
from engine.positions.cuda.order_money import (
    VOLATILITY,
    count_legs,
    grow_cash,
    load_leg,
    share_left,
)

STOP = tl.constexpr(REASONS.index("stop"))
TARGET = tl.constexpr(REASONS.index("target"))
REVERSE = tl.constexpr(REASONS.index("reverse"))
MARGIN = tl.constexpr(REASONS.index("margin"))

(TRADES, WINS, SUM_R, SUM_R2, GAIN_R, LOSS_R, PEAK_R, MAX_DRAWDOWN_R, EQUITY, PEAK_EQUITY,
 MAX_DRAWDOWN, BARS_IN_MARKET, LOSS_R2, SHORTS, WINS_SHORT, SUM_R_SHORT, PARTIALS, UNSIZED) = (
    tl.constexpr(ACCUMULATOR_INDEX[name])
    for name in (
        "trades", "wins", "sum_r", "sum_r2", "gain_r", "loss_r", "peak_r", "max_drawdown_r",
        "equity", "peak_equity", "max_drawdown", "bars_in_market", "loss_r2", "shorts",
        "wins_short", "sum_r_short", "partials", "unsized",
    )
)  # fmt: skip

WHOLE = tl.constexpr(6)
FIGURES = tl.constexpr(7)
"""Numbers that a ledger's list holds of a trade, before its targets."""


class LaneSums(NamedTuple):
    """Sums of the trades so far, of each lane; names as in `ACCUMULATORS`."""

    trades: tl.tensor
    wins: tl.tensor
    shorts: tl.tensor
    wins_short: tl.tensor
    bars_in_market: tl.tensor
    partials: tl.tensor
    unsized: tl.tensor
    sum_r: tl.tensor
    sum_r2: tl.tensor
    gain_r: tl.tensor
    loss_r: tl.tensor
    loss_r2: tl.tensor
    sum_r_short: tl.tensor
    peak_r: tl.tensor
    max_drawdown_r: tl.tensor
    equity: tl.tensor  # cash, and so the peak: money until `store_sums`
    peak_equity: tl.tensor
    max_drawdown: tl.tensor


class Leave(NamedTuple):
    """How positions are left."""

    reason: tl.tensor
    price: tl.tensor  # before slippage
    is_at_open: tl.tensor


class LaneLists(NamedTuple):
    """Where trades are listed."""

    whole: object  # [pairs, capacity, 6 + legs]
    figures: object  # [pairs, capacity, 7 + legs]
    capacity: object  # 0 where sums alone are wanted
    legs: object  # targets that are listed


@triton.jit
def compute_net(inputs, at, x, leave, m, CARRIES: tl.constexpr):
    """Gain of one unit that leaves in bars x: both sides pay on traded notional."""
    sign = side_sign(at.side)
    unit_fee = tl.load(inputs.charges + UNIT_FEE)
    net = sign * (leave - at.entry) - tl.load(inputs.charges + PER_SIDE) * (at.entry + leave)
    net = net - (unit_fee + unit_fee)
    if CARRIES:
        for column in tl.static_range(2):
            which = BORROWED + at.side
            if column == 0:
                which = tl.zeros(x.shape, tl.int32) + FUNDED
            until, is_paid = load_carried(inputs, which, x, m)
            since, _ = load_carried(inputs, which, at.entry_bar, m)
            paid = until - since
            if column == 0:
                paid = sign * paid
            net = tl.where(is_paid, net - paid, net)
    return net


@triton.jit
def compute_net_r(inputs, scratch, at, j, price, m, LADDERS: tl.constexpr, CARRIES: tl.constexpr):
    """R of trades, net: of each target that was reached and of what was left."""
    risk = tl.where(m, at.risk, 1.0)
    exit_bar = tl.zeros(price.shape, tl.int32) + j
    whole = compute_net(inputs, at, exit_bar, price, m, CARRIES) / risk
    if LADDERS:
        r = tl.zeros(price.shape, tl.float64)
        for leg in range(inputs.n_legs):
            m_leg, share, x, left_at, _ = load_leg(inputs, scratch, at, leg, j, price, m)
            net = compute_net(inputs, at, x, left_at, m_leg, CARRIES)
            r = tl.where(m_leg, r + share * (net / risk), r)
        rest = share_left(inputs, at.side)
        r = tl.where(rest > 0.0, r + rest * whole, r)
        count = count_legs(inputs, at.side)
        # One target that takes all is the exit.
        return tl.where((count == 0) | ((count == 1) & (rest == 0.0)), whole, r)
    else:
        return whole


@triton.jit
def raise_peak(peak, largest, value, IS_SHARE: tl.constexpr):
    """A peak raised to a value, and the largest fall from it, as a share of the peak or not."""
    peak = tl.where(value > peak, value, peak)
    fall = peak - value
    if IS_SHARE:
        fall = fall / peak
    return peak, tl.where(fall > largest, fall, largest)


@triton.jit
def count_exits(exits, scratch, reason, m):
    """Count trades by their reasons."""
    # Exits at a stop that moved are counted with the others there.
    counted = tl.where(reason > REVERSE, STOP, reason)
    count = exits + tl.where(m, counted, 0) * scratch.stride + scratch.pair
    tl.store(count, tl.load(count, mask=m, other=0) + 1, mask=m)


@triton.jit
def count_partials(inputs, scratch, at, leave, j, m, LADDERS: tl.constexpr):
    """Targets that were reached, but for those with which a trade ended."""
    reached = tl.zeros(at.side.shape, tl.int32)
    if LADDERS:
        ends = tl.zeros(at.side.shape, tl.int32)
        for leg in range(inputs.n_legs):
            m_leg, _, _, _, bar = load_leg(inputs, scratch, at, leg, j, leave.price, m)
            reached += (m_leg & (bar >= 0)).to(tl.int32)
            ends = ends | (m_leg & (bar == j) & (leave.reason == TARGET)).to(tl.int32)
        reached -= ends
    return reached


@triton.jit
def list_trades(inputs, scratch, at, leave, lists, k, held, j, price, r, scale, m):
    """Write trades behind those of each lane before, where there is room."""
    m_list = m & (k < lists.capacity)
    trade = scratch.pair * lists.capacity + k
    direction = 1 - 2 * at.side
    exit_bar = tl.zeros(direction.shape, tl.int32) + j
    whole = lists.whole + trade * (WHOLE + lists.legs)
    tl.store(whole, at.signal_bar, mask=m_list)
    tl.store(whole + 1, at.entry_bar, mask=m_list)
    tl.store(whole + 2, exit_bar, mask=m_list)
    tl.store(whole + 3, leave.reason, mask=m_list)
    tl.store(whole + 4, direction, mask=m_list)
    tl.store(whole + 5, held, mask=m_list)
    figures = lists.figures + trade * (FIGURES + lists.legs)
    sign = side_sign(at.side)
    count = count_legs(inputs, at.side)
    nothing = tl.full(r.shape, float("inf"), tl.float64)
    farthest = tl.where(count > 0, -nothing, nothing)
    for leg in range(inputs.n_legs):
        m_leg, _, _, _, bar = load_leg(inputs, scratch, at, leg, j, price, m)
        where = (2 * leg + at.side).to(tl.int64) * scratch.stride + scratch.pair
        level = tl.load(scratch.levels + where, mask=m_leg, other=0.0)
        farthest = tl.where(m_leg, tl.maximum(farthest, sign * level), farthest)
        m_leg_list = m_list & (tl.zeros(direction.shape, tl.int32) + leg < lists.legs)
        reached = tl.where(m_leg & (bar >= 0), level, float("nan"))
        tl.store(whole + WHOLE + leg, tl.where(m_leg, bar, -1), mask=m_leg_list)
        tl.store(figures + FIGURES + leg, reached, mask=m_leg_list)
    tl.store(figures, at.entry, mask=m_list)
    tl.store(figures + 1, at.first_stop, mask=m_list)
    tl.store(figures + 2, sign * farthest, mask=m_list)
    tl.store(figures + 3, price, mask=m_list)
    tl.store(figures + 4, r, mask=m_list)
    tl.store(figures + 5, at.stop, mask=m_list)
    tl.store(figures + 6, scale, mask=m_list)


@triton.jit
def fold_trades(sums, r, is_short, held, partials, unsized, grown, m):
    """LaneSums behind trades, where m: their R, and what the account is worth."""
    gain = m & (r > 0.0)
    # A result of exactly 0 is a loss of 0.
    loss = m & (gain == 0)
    short = m & is_short
    sum_r = tl.where(m, sums.sum_r + r, sums.sum_r)
    peak_r, max_drawdown_r = raise_peak(sums.peak_r, sums.max_drawdown_r, sum_r, False)
    equity = tl.where(m, grown, sums.equity)
    peak_equity, max_drawdown = raise_peak(sums.peak_equity, sums.max_drawdown, equity, True)
    return LaneSums(
        sums.trades + m.to(tl.int32), sums.wins + gain.to(tl.int32),
        sums.shorts + short.to(tl.int32), sums.wins_short + (short & gain).to(tl.int32),
        sums.bars_in_market + tl.where(m, held, 0), sums.partials + tl.where(m, partials, 0),
        sums.unsized + tl.where(m, unsized, 0), sum_r,
        tl.where(m, sums.sum_r2 + r * r, sums.sum_r2), tl.where(gain, sums.gain_r + r, sums.gain_r),
        tl.where(loss, sums.loss_r + -r, sums.loss_r),
        tl.where(loss, sums.loss_r2 + r * r, sums.loss_r2),
        tl.where(short, sums.sum_r_short + r, sums.sum_r_short), peak_r, max_drawdown_r, equity,
        peak_equity, max_drawdown,
    )  # fmt: skip


@triton.jit
def end_trades(inputs, scratch, sums, exits, lists, at, leave, j, m, LADDERS: tl.constexpr,
               SLIPS: tl.constexpr, HAS_TICK: tl.constexpr, CARRIES: tl.constexpr,
               SIZE: tl.constexpr):  # fmt: skip
    """LaneSums behind trades that end in a bar, where m; they are listed, too."""
    is_short = at.side == 1
    # Targets, and entries of the other side, are prices of their own; all others may slip.
    is_own = (leave.reason == TARGET) | (leave.reason == REVERSE)
    slipped = slip_price(inputs, leave.price, at.side, is_short, j, m, SLIPS, HAS_TICK)
    price = tl.where(is_own, leave.price, slipped)
    r = compute_net_r(inputs, scratch, at, j, price, m, LADDERS, CARRIES)
    scale = tl.zeros(r.shape, tl.float64)
    if SIZE == VOLATILITY:
        scale = read_part(inputs, SIZE_PART, at.side, at.signal_bar, m)
    is_margin = leave.reason == MARGIN
    grown, unsized = grow_cash(inputs, scratch, at, sums.equity, scale, r, j, price, is_margin, m,
                               SIZE)  # fmt: skip
    held = j - at.entry_bar + 1 - leave.is_at_open.to(tl.int32)
    partials = count_partials(inputs, scratch, at, leave, j, m, LADDERS)
    count_exits(exits, scratch, leave.reason, m)
    if lists.capacity > 0:
        list_trades(inputs, scratch, at, leave, lists, sums.trades, held, j, price, r, scale, m)
    return fold_trades(sums, r, is_short, held, partials, unsized, grown, m)


@triton.jit
def begin_sums(inputs, m):
    """No trades: the account is worth its cash."""
    zero = tl.zeros(m.shape, tl.int32)
    nothing = tl.zeros(m.shape, tl.float64)
    cash = nothing + tl.load(inputs.charges + CASH)
    return LaneSums(zero, zero, zero, zero, zero, zero, zero, nothing, nothing, nothing, nothing,
                nothing, nothing, nothing, nothing, cash, cash, nothing)  # fmt: skip


@triton.jit
def store_sums(inputs, sums, scratch, p_out, m):
    """Write accumulators [A, pairs], but those of reasons; worths over the first cash."""
    cash, stride = tl.load(inputs.charges + CASH), scratch.stride
    out = p_out + scratch.pair
    tl.store(out + TRADES * stride, sums.trades.to(tl.float64), mask=m)
    tl.store(out + WINS * stride, sums.wins.to(tl.float64), mask=m)
    tl.store(out + SHORTS * stride, sums.shorts.to(tl.float64), mask=m)
    tl.store(out + WINS_SHORT * stride, sums.wins_short.to(tl.float64), mask=m)
    tl.store(out + BARS_IN_MARKET * stride, sums.bars_in_market.to(tl.float64), mask=m)
    tl.store(out + PARTIALS * stride, sums.partials.to(tl.float64), mask=m)
    tl.store(out + UNSIZED * stride, sums.unsized.to(tl.float64), mask=m)
    tl.store(out + SUM_R * stride, sums.sum_r, mask=m)
    tl.store(out + SUM_R2 * stride, sums.sum_r2, mask=m)
    tl.store(out + GAIN_R * stride, sums.gain_r, mask=m)
    tl.store(out + LOSS_R * stride, sums.loss_r, mask=m)
    tl.store(out + LOSS_R2 * stride, sums.loss_r2, mask=m)
    tl.store(out + SUM_R_SHORT * stride, sums.sum_r_short, mask=m)
    tl.store(out + PEAK_R * stride, sums.peak_r, mask=m)
    tl.store(out + MAX_DRAWDOWN_R * stride, sums.max_drawdown_r, mask=m)
    tl.store(out + EQUITY * stride, sums.equity / cash, mask=m)
    tl.store(out + PEAK_EQUITY * stride, sums.peak_equity / cash, mask=m)
    tl.store(out + MAX_DRAWDOWN * stride, sums.max_drawdown, mask=m)
