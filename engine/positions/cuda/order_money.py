"""Money on the device: how many units a trade has, what least fees add, and what cash becomes."""

import triton
import triton.language as tl

from engine.accounts import stake
from engine.positions.cuda.order_fills import (
    FEE,
    FEE_MIN,
    FEE_UNIT,
    FIRST_TARGET,
    LEVERAGE,
    LOT_OVER,
    LOT_SLACK,
    LOT_UNDER,
    SIZE_PART,
    STAKE,
    SUM_SLACK,
    WORTH,
    on_tick,
    read_part,
    side_sign,
)

SHARE_OF_R = tl.constexpr(stake.SHARE_OF_R)
RISK = tl.constexpr(stake.RISK)
NOTIONAL = tl.constexpr(stake.NOTIONAL)
EQUITY_SHARE = tl.constexpr(stake.EQUITY_SHARE)
VOLATILITY = tl.constexpr(stake.VOLATILITY)


@triton.jit
def find_rest(inputs, side: tl.constexpr, count, m):
    """The share that none of a side's targets takes."""
    rest = 1.0 + tl.zeros(m.shape, tl.float64)
    for leg in range(count):
        rest -= tl.load(inputs.number + FIRST_TARGET + 4 * leg + 2 + side, mask=m, other=0.0)
    slack = tl.load(inputs.charges + SUM_SLACK)
    # Without a target all of it leaves with the exit.
    return tl.where(rest > slack, rest, 0.0)


@triton.jit
def count_legs(inputs, side):
    """Targets of each lane's side."""
    return tl.where(side == 1, inputs.n_short, inputs.n_long)


@triton.jit
def share_left(inputs, side):
    """The share that no target of each lane's side takes; all of it without a target."""
    return tl.where(side == 1, inputs.rest_short, inputs.rest_long)


@triton.jit
def load_leg(inputs, scratch, at, leg, j, price, m):
    """A target: whether it is there, its share, bar and price of its exit, and when it was reached.

    -1 where it was not; then it leaves with the rest.
    """
    m_leg = m & (leg < count_legs(inputs, at.side))
    where = (2 * leg + at.side).to(tl.int64) * scratch.stride + scratch.pair
    reached = tl.load(scratch.bars + where, mask=m_leg, other=-1)
    level = tl.load(scratch.levels + where, mask=m_leg, other=0.0)
    share = tl.load(inputs.number + FIRST_TARGET + 4 * leg + 2 + at.side, mask=m_leg, other=0.0)
    is_reached = reached >= 0
    return (
        m_leg,
        share,
        tl.where(is_reached, reached, j),
        tl.where(is_reached, level, price),
        reached,
    )


@triton.jit
def charge(inputs, money, size, price):
    """Fees of fills of so many units at a price."""
    return money * (tl.load(inputs.charges + FEE) * price) + size * tl.load(
        inputs.charges + FEE_UNIT
    )


@triton.jit
def add_least_fee(inputs, short, share, money, size, price):
    """Surplus of the least fee over that of a fill, on top of what it added before."""
    lacks = tl.load(inputs.charges + FEE_MIN) - share * charge(inputs, money, size, price)
    return short + tl.where(lacks > 0.0, lacks, 0.0)


@triton.jit
def find_size(inputs, at, cash, scale, m, SIZE: tl.constexpr):
    """Units of trades, given the cash before them."""
    number = tl.load(inputs.number + STAKE, mask=m, other=0.0)
    leverage = tl.load(inputs.number + LEVERAGE, mask=m, other=0.0)
    worth = tl.load(inputs.charges + WORTH)
    lot_over, lot_under = tl.load(inputs.charges + LOT_OVER), tl.load(inputs.charges + LOT_UNDER)
    notional = at.entry * worth
    if SIZE == RISK:
        size = number * cash / (at.risk * worth)
    elif SIZE == NOTIONAL:
        size = number / notional
    elif SIZE == EQUITY_SHARE:
        size = number * cash / notional
    elif SIZE == VOLATILITY:
        size = tl.where(scale > 0.0, number * cash / (scale * worth), 0.0)
    else:
        size = number
    most = leverage * cash / notional
    size = tl.where(most < size, most, size)
    lots = tl.floor(size * lot_under / lot_over + tl.load(inputs.charges + LOT_SLACK))
    return tl.where(lot_over > 0.0, lots * lot_over / lot_under, size)


@triton.jit
def find_margin_price(inputs, entry, side, t, m, SIZE: tl.constexpr, HAS_TICK: tl.constexpr):
    """Where trades of signals at bars t have cost all cash; NaN where they have no size."""
    number = tl.load(inputs.number + STAKE, mask=m, other=1.0)
    if SIZE == EQUITY_SHARE:
        distance = entry / number
    else:
        scale = read_part(inputs, SIZE_PART, side, t, m)
        distance = tl.where(scale > 0.0, scale / number, float("nan"))
    # A smaller position loses as much farther away.
    least = entry / tl.load(inputs.number + LEVERAGE, mask=m, other=1.0)
    distance = tl.where(least > distance, least, distance)
    return on_tick(inputs, entry - side_sign(side) * distance, side == 1, HAS_TICK)


@triton.jit
def grow_cash(inputs, scratch, at, cash, scale, r, j, price, is_margin, m, SIZE: tl.constexpr):
    """Cash after trades, nothing of it where is_margin; and 1 where they had no size."""
    if SIZE == SHARE_OF_R:
        grown = cash * (1.0 + tl.load(inputs.number + STAKE, mask=m, other=0.0) * r)
        unsized = tl.zeros(r.shape, tl.int32)
    else:
        size = find_size(inputs, at, cash, scale, m, SIZE)
        money = size * tl.load(inputs.charges + WORTH)
        gain = money * (r * at.risk)
        fee_min = tl.load(inputs.charges + FEE_MIN)
        lacks = fee_min - charge(inputs, money, size, at.entry)
        short = tl.where(lacks > 0.0, lacks, 0.0)
        for leg in range(inputs.n_legs):
            m_leg, share, _, left_at, _ = load_leg(inputs, scratch, at, leg, j, price, m)
            more = add_least_fee(inputs, short, share, money, size, left_at)
            short = tl.where(m_leg, more, short)
        rest = share_left(inputs, at.side)
        more = add_least_fee(inputs, short, rest, money, size, price)
        short = tl.where(rest > 0.0, more, short)
        gain = tl.where(fee_min > 0.0, gain - short, gain)
        is_sized = size > 0.0
        grown = tl.where(is_sized, tl.where(is_margin, 0.0, cash + gain), cash)
        unsized = (is_sized == 0).to(tl.int32)
    # Ruin: unless it is then above 0 it is 0, and stays 0, whatever units are worth later.
    return tl.where((cash > 0.0) & (grown > 0.0), grown, 0.0), unsized
