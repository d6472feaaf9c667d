"""Fills of orders on the device: prices on the tick, slippage, and the levels of a position.

A lane is a pair of individual and window, and all lanes of a program are at one bar. Sides are
numbered, 0 for longs and 1 for shorts; `side_sign` is 1 or -1, to multiply by which is exact.
"""

from typing import NamedTuple

import triton
import triton.language as tl

from engine.conditions.cuda.kernels import (
    ABS,
    CONSTANT,
    GENE,
    ROW,
    apply_operation,
    canonicalize,
)
from engine.positions import exit_spec

BEYOND_BAR = tl.constexpr(exit_spec.BEYOND_BAR)
FROM_ENTRY = tl.constexpr(exit_spec.FROM_ENTRY)
SHARE = tl.constexpr(exit_spec.SHARE)
LEVEL = tl.constexpr(exit_spec.LEVEL)
R_MULTIPLE = tl.constexpr(exit_spec.R_MULTIPLE)
LIMIT_ORDER = tl.constexpr(exit_spec.LIMIT_ORDER)
NO_SLIPPAGE = tl.constexpr(exit_spec.NO_SLIPPAGE)
TICKS = tl.constexpr(exit_spec.TICKS)
BASIS_POINTS = tl.constexpr(exit_spec.BASIS_POINTS)

AT_OPEN = tl.constexpr(1)
"""How a bar meets an order: 0 not at all, 1 at its open, 2 within it."""

FLAT = tl.constexpr(-1)
"""In place of the side of a position."""

STOP_PART, TRAIL_PART, ORDER_PART, SIZE_PART, SLIP_PART, FIRST_LEG = map(tl.constexpr, range(6))
"""Rows of forms and of formulas; targets from the last one on. Slippage has a form alone."""

(STOP_NUMBER, TRAIL_NUMBER, AFTER_NUMBER, EXPIRES_NUMBER, THROUGH_NUMBER, SLIP_NUMBER,
 BOTH_NUMBERS) = map(tl.constexpr, range(7))  # fmt: skip
"""Pairs of an individual's numbers, of longs and shorts each; the last pair is of both sides:
gain at which the stop moves to the entry, and what the size takes. Behind it the leverage, bars of
a cooldown, what a break-even adds to the entry, four bounds of exits of longs and of shorts, and of
each target its number and its share, of longs and shorts each."""

BREAK_EVEN = tl.constexpr(12)
STAKE = tl.constexpr(13)
LEVERAGE = tl.constexpr(14)
COOLDOWN = tl.constexpr(15)
EVEN_OFFSET = tl.constexpr(16)
BOUNDS = tl.constexpr(17)
FIRST_TARGET = tl.constexpr(25)

(PER_SIDE, MIN_RISK, UNIT_FEE, TICK_OVER, TICK_UNDER, TICK_SLACK, SUM_SLACK, CASH, WORTH, LOT_OVER,
 LOT_UNDER, LOT_SLACK, FEE, FEE_UNIT, FEE_MIN) = map(tl.constexpr, range(15))  # fmt: skip
"""Numbers that all individuals share."""

SLIPPED, BORROWED, FUNDED = map(tl.constexpr, (0, 2, 4))
"""Rows that were carried along time: two by side, and one."""


class LaneInputs(NamedTuple):
    """Orders of a program's individuals, as pointers; those below are of each lane."""

    code: object  # instruction and operand of all formulas, in turn
    constants: object  # numbers that they read
    reads: object  # [parts, 2, 2] where the formulas begin and end, of longs and shorts
    forms: object  # [parts, 2]
    rows: object  # [slots, T]
    carried: object  # [n, T] newest known slippage, and what was paid
    charges: object  # numbers that all share
    n_long: object  # targets of longs
    n_short: object  # of shorts
    n_legs: object  # the larger of both
    n_bars: object  # T
    genome: object  # [G]
    slot: object  # slot of each row
    number: object  # numbers, as above
    carried_of: object  # [5] which carried row, -1: none
    rest_long: object  # share that no target takes
    rest_short: object


class Scratch(NamedTuple):
    """Targets of each lane's positions, [legs, 2, pairs]."""

    levels: object  # prices
    bars: object  # bar in which each was reached, or -1
    stride: object  # pairs
    pair: object  # of each lane


class LanePositions(NamedTuple):
    """Open positions, of each lane; none where side is -1."""

    side: tl.tensor  # 0 for a long, 1 for a short
    signal_bar: tl.tensor
    entry_bar: tl.tensor
    clock: tl.tensor  # twice the bar at which the clock ends it, plus 1 at its open
    entry: tl.tensor
    first_stop: tl.tensor
    risk: tl.tensor
    reach: tl.tensor  # distance at which the stop follows
    stop: tl.tensor  # in force
    best: tl.tensor  # largest high since the entry, or for a short the smallest low
    nearest: tl.tensor  # nearest target that was not reached, times the sign of the side
    left: tl.tensor  # targets that were not reached
    mover: tl.tensor  # what put the stop there: a reason


class Bar(NamedTuple):
    """A bar of the series, or one of the finer bars of which it is made up."""

    j: object  # of the bar of the series
    open: object
    high: object
    low: object
    close: object
    is_first: tl.tensor  # whether it opens with that bar, in each lane
    is_last: tl.tensor  # whether it closes with it


class Fill(NamedTuple):
    """Position that an order opens."""

    entry: tl.tensor
    stop: tl.tensor
    risk: tl.tensor
    reach: tl.tensor  # distance at which the stop follows
    nearest: tl.tensor  # its nearest target, times the sign of the side
    is_worth: tl.tensor


@triton.jit
def side_sign(side):
    """1 for longs, -1 for shorts."""
    return 1.0 - 2.0 * side.to(tl.float64)


@triton.jit
def load_form(inputs, part, side):
    """The form of a part of each lane's side."""
    long, short = tl.load(inputs.forms + 2 * part), tl.load(inputs.forms + 2 * part + 1)
    return tl.where(side == 1, short, long)


@triton.jit
def evaluate_lanes(inputs, begin, end, t, m):
    """A formula at bars t, where m, each of another individual; see `evaluate_formula`."""
    zero = tl.zeros(t.shape, tl.float64)
    whole = tl.zeros(t.shape, tl.int32)
    s0 = zero
    s1 = zero
    s2 = zero
    s3 = zero
    for k in range(begin, end):
        operation = tl.load(inputs.code + 2 * k)
        operand = tl.load(inputs.code + 2 * k + 1)
        # As wide as the lanes: the interpreter joins no mask with a single truth.
        kind = whole + operation
        is_row = m & (kind == ROW)
        slot = tl.load(inputs.slot + operand, mask=is_row, other=0).to(tl.int64)
        row = tl.load(inputs.rows + slot * inputs.n_bars + t, mask=is_row, other=0.0)
        gene = tl.load(inputs.genome + operand, mask=m & (kind == GENE), other=0.0)
        constant = tl.load(inputs.constants + operand, mask=operation == CONSTANT, other=0.0)
        put = tl.where(kind == ROW, row, tl.where(kind == GENE, gene, zero + constant))
        is_turned = whole + operand == 1
        left = tl.where(is_turned, s0, s1)
        right = tl.where(is_turned, s1, s0)
        is_abs = kind == ABS
        made = canonicalize(tl.where(is_abs, tl.abs(s0), apply_operation(kind, left, right)))
        is_put = kind <= CONSTANT
        fourth = tl.where(is_put, s2, s3)
        third = tl.where(is_put, s1, tl.where(is_abs, s2, s3))
        second = tl.where(is_put, s0, tl.where(is_abs, s1, s2))
        s0 = tl.where(is_put, put, made)
        s1 = second
        s2 = third
        s3 = fourth
    return s0


@triton.jit
def read_part(inputs, part, side, t, m):
    """Values of a part of each lane's side at bars t, where m; 0 where it reads nothing."""
    value = tl.zeros(t.shape, tl.float64)
    for each in range(2):
        span = inputs.reads + (2 * part + each) * 2
        is_side = m & (side == each)
        read = evaluate_lanes(inputs, tl.load(span), tl.load(span + 1), t, is_side)
        value = tl.where(is_side, read, value)
    return value


@triton.jit
def load_carried(inputs, column, bar, m):
    """A carried row at bars, where m, and whether there is one; column: of each lane."""
    row = tl.load(inputs.carried_of + column, mask=m, other=-1)
    is_there = m & (row >= 0)
    where = tl.maximum(row, 0).to(tl.int64) * inputs.n_bars + bar
    return tl.load(inputs.carried + where, mask=is_there, other=0.0), is_there


@triton.jit
def on_tick(inputs, price, is_up, HAS_TICK: tl.constexpr):
    """Prices on the tick, rounded up or down; as they are where they have no tick."""
    if HAS_TICK:
        over, under = tl.load(inputs.charges + TICK_OVER), tl.load(inputs.charges + TICK_UNDER)
        slack = tl.load(inputs.charges + TICK_SLACK)
        steps = price * under / over
        whole = tl.where(is_up, tl.ceil(steps - slack), tl.floor(steps + slack))
        return tl.where(tl.abs(price) < float("inf"), whole * over / under, price)
    else:
        return price


@triton.jit
def slip_price(inputs, price, side, is_buy, bar, m, SLIPS: tl.constexpr, HAS_TICK: tl.constexpr):
    """Prices of fills at the market or at a stop in a bar: worse, and on the tick."""
    if SLIPS:
        form = load_form(inputs, SLIP_PART, side)
        number = tl.load(inputs.number + 2 * SLIP_NUMBER + side, mask=m, other=0.0)
        # The newest value that was known at the close before; NaN where none was.
        worse, _ = load_carried(inputs, SLIPPED + side, bar - 1, m)
        worse = tl.where(worse < 0.0, 0.0, worse)
        over, under = tl.load(inputs.charges + TICK_OVER), tl.load(inputs.charges + TICK_UNDER)
        worse = tl.where(form == TICKS, number * over / under, worse)
        worse = tl.where(form == BASIS_POINTS, price * number / 10000.0, worse)
        moved = tl.where(is_buy, price + worse, price - worse)
        return tl.where(form == NO_SLIPPAGE, price, on_tick(inputs, moved, is_buy, HAS_TICK))
    else:
        return price


@triton.jit
def find_first_stop(inputs, bars, side, t, entry, m):
    """The stops of signals at bars t, before they are put on the tick."""
    sign = side_sign(side)
    form = load_form(inputs, STOP_PART, side)
    number = tl.load(inputs.number + 2 * STOP_NUMBER + side, mask=m, other=0.0)
    read = read_part(inputs, STOP_PART, side, t, m)
    beyond = tl.load(bars + t.to(tl.int64) * 4 + tl.where(side == 1, 1, 2), mask=m, other=1.0)
    away = tl.where(form == SHARE, entry * number, read)
    base = tl.where(form == BEYOND_BAR, beyond, entry)
    return tl.where(form == LEVEL, read, base - sign * away)


@triton.jit
def place_targets(inputs, scratch, side, t, entry, risk, m, HAS_TICK: tl.constexpr):
    """Write the targets of signals at bars t, where m, none of them reached.

    Returns the nearest, times the sign of the side, and whether all that were read lie beyond the
    entry.
    """
    sign = side_sign(side)
    nearest = tl.full(t.shape, float("inf"), tl.float64)
    is_beyond = m
    count = tl.where(side == 1, inputs.n_short, inputs.n_long)
    for leg in range(inputs.n_legs):
        m_leg = m & (leg < count)
        form = load_form(inputs, FIRST_LEG + leg, side)
        number = tl.load(inputs.number + FIRST_TARGET + 4 * leg + side, mask=m_leg, other=0.0)
        read = read_part(inputs, FIRST_LEG + leg, side, t, m_leg)
        away = tl.where(form == R_MULTIPLE, number * risk, read)
        away = tl.where(form == SHARE, entry * number, away)
        level = tl.where(form == LEVEL, read, entry + sign * away)
        level = on_tick(inputs, level, side == 0, HAS_TICK)
        lies_there = sign * level > sign * entry
        is_number = (form == R_MULTIPLE) | (form == SHARE)
        # What is NaN does not lie there.
        is_beyond = is_beyond & ((m_leg == 0) | is_number | lies_there)
        nearest = tl.where(m_leg, tl.minimum(nearest, sign * level), nearest)
        where = (2 * leg + side).to(tl.int64) * scratch.stride + scratch.pair
        tl.store(scratch.levels + where, level, mask=m_leg)
        tl.store(scratch.bars + where, tl.full(t.shape, -1, tl.int32), mask=m_leg)
    return nearest, is_beyond


@triton.jit
def fill_orders(inputs, scratch, bars, bar, side, t, how, price, m, LONG_ORDER: tl.constexpr,
                SHORT_ORDER: tl.constexpr, SLIPS: tl.constexpr,
                HAS_TICK: tl.constexpr):  # fmt: skip
    """Positions that orders of signals at bars t open in a bar that touches them, where m.

    bars: [B, 4] prices of the series. how: at the open, or within. price: of resting orders.
    """
    sign = side_sign(side)
    order = tl.where(side == 1, SHORT_ORDER, LONG_ORDER)
    entry = tl.where(how == AT_OPEN, bar.open, price)
    slipped = slip_price(inputs, entry, side, side == 0, bar.j, m, SLIPS, HAS_TICK)
    # A limit is filled at its level or better, once it is known by how much its exit may slip.
    entry = tl.where((order == LIMIT_ORDER) & (slipped == slipped), entry, slipped)
    # A stop of a long sells worse on the tick, a target better.
    stop = on_tick(inputs, find_first_stop(inputs, bars, side, t, entry, m), side == 1, HAS_TICK)
    risk = sign * (entry - stop)
    nearest, is_beyond = place_targets(inputs, scratch, side, t, entry, risk, m, HAS_TICK)
    follows = load_form(inputs, TRAIL_PART, side)
    reach = read_part(inputs, TRAIL_PART, side, t, m & (follows == FROM_ENTRY))
    is_worth = m & is_beyond & (entry > 0.0)
    is_worth = is_worth & (risk > entry * tl.load(inputs.charges + MIN_RISK))
    is_worth = is_worth & ((follows != FROM_ENTRY) | (reach > 0.0))
    return Fill(entry, stop, risk, reach, nearest, is_worth)
