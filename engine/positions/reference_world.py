"""A series and what one individual asks of it, as the readable law reads them.

Few arrays hold all of it: compiled functions that hand on many take long to compile. Sides are
numbered, 0 for longs and 1 for shorts.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.positions.exit_spec import Limits, SeriesTables, SessionClock, SidePlan

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

OPEN, HIGH, LOW, CLOSE = range(4)
"""Rows of prices."""

ENTRIES, EXITS, CANCELS = 0, 2, 4
"""Rows of marks: entries, exits and ends of orders of longs, the row behind each of shorts."""

(
    STOP_PART, TRAIL_PART, ORDER_PART, SLIP_PART, BORROW_PART, FUNDING_PART, SIZE_PART, AFTER,
    EXPIRES, BEYOND, REST, COUNT, BARS_FROM, BARS_TO, PROFIT_FROM, PROFIT_TO, FIRST_LEG,
) = range(17)  # fmt: skip
"""Columns of what a side does: parts that have a form or read a row, then numbers alone, then its
targets."""

FORM, NUMBER, ROW, SHARE = range(4)
"""Rows of it: form, of `engine.positions.exit_spec`; what a form takes that reads no row; row that
is read, or `NOWHERE`; share of a target."""

NOWHERE = -1
"""In place of a row that is not there."""


class BarPart(NamedTuple):
    """Prices of a bar of the series, or of one of the finer bars of which it is made up."""

    number: int  # of the bar of the series
    is_first: bool  # whether it opens with that bar
    is_last: bool  # whether it closes with it
    open: float
    high: float
    low: float
    close: float


class World(NamedTuple):
    """A series and what one individual asks of it."""

    prices: Floats  # [4, T] of the series
    rows: Floats  # [R, T] read-only, what stops, targets, orders and charges read
    local_ns: Ints  # [T] when each bar opens by the session's clock; [0] without a session
    marks: Bools  # [6, T] bars whose close asks for something
    parts: Floats  # [2, 4, N] what each side does
    finer: Floats  # [4, K] prices of finer bars
    spans: Ints  # [2, T] first finer bar of each bar, and one past its last; [2, 0] without any
    limits: Limits
    minute_ns: int  # of a day, from which on a bar's close leaves
    bar_ns: int  # a bar's duration


def build_world(
    prices: Floats,
    clock: SessionClock,
    longs: SidePlan,
    shorts: SidePlan,
    limits: Limits,
    tables: SeriesTables,
) -> World:
    """Series of the law, `prices` [4, T], and the plans of both sides."""
    sides, n_bars = (longs, shorts), prices.shape[1]
    marks = np.zeros((6, n_bars), np.bool_)
    rows: list[Floats] = []
    legs = max(len(plan.legs.forms) for plan in sides)
    parts = np.zeros((2, 4, FIRST_LEG + legs))
    parts[:, ROW] = NOWHERE
    for side, plan in enumerate(sides):
        marks[ENTRIES + side] = plan.signals
        if len(plan.exits):
            marks[EXITS + side] = plan.exits
        if len(tables.cancels[side]):
            marks[CANCELS + side] = tables.cancels[side]
        read = {
            STOP_PART: plan.stop.row, TRAIL_PART: plan.trail.row, ORDER_PART: plan.order.price,
            SLIP_PART: plan.slippage.row, BORROW_PART: plan.borrow, FUNDING_PART: tables.funding,
            SIZE_PART: tables.scales,
            **{FIRST_LEG + leg: row for leg, row in enumerate(plan.legs.rows)},
        }  # fmt: skip
        for part, row in read.items():
            if len(row):
                parts[side, ROW, part] = len(rows)
                rows.append(row)
        _write_numbers(parts[side], plan)
    # Most strategies read one row, which need not be copied.
    read_rows = rows[0][None] if len(rows) == 1 else np.array(rows).reshape(len(rows), n_bars)
    read_rows.flags.writeable = False
    return World(
        prices, read_rows, clock.local_ns, marks, parts,
        tables.finer, tables.spans, limits, clock.minute_ns, clock.bar_ns,
    )  # fmt: skip


def _write_numbers(part: Floats, plan: SidePlan) -> None:
    """Forms and numbers of a side into its part [4, N]."""
    forms = plan.stop.form, plan.trail.form, plan.order.form, plan.slippage.form
    part[FORM, : len(forms)] = forms
    part[NUMBER, STOP_PART], part[NUMBER, TRAIL_PART] = plan.stop.number, plan.trail.number
    part[NUMBER, SLIP_PART], part[NUMBER, AFTER] = plan.slippage.number, plan.after
    part[NUMBER, EXPIRES], part[NUMBER, BEYOND] = plan.order.expires, plan.order.beyond
    part[NUMBER, BARS_FROM:FIRST_LEG] = plan.bounds
    legs = plan.legs
    count = part[NUMBER, COUNT] = len(legs.forms)
    part[NUMBER, REST] = legs.rest if count else 0.0
    targets = slice(FIRST_LEG, FIRST_LEG + count)
    part[FORM, targets], part[NUMBER, targets] = legs.forms, legs.numbers
    part[SHARE, targets] = legs.shares


def read_bar(world: World, j: int) -> BarPart:
    """A bar of the series as a whole."""
    prices = world.prices
    return BarPart(
        j, True, True, prices[OPEN, j], prices[HIGH, j], prices[LOW, j], prices[CLOSE, j]
    )


def count_finer(world: World, j: int) -> int:
    """How many finer bars a bar is made up of; 0 where it is read as a whole."""
    if world.spans.shape[1] == 0:
        return 0
    return int(world.spans[1, j] - world.spans[0, j])


def read_finer_bar(world: World, j: int, side: int) -> BarPart:
    """One of the finer bars of which a bar is made up, from 0 on."""
    k, is_last, prices = world.spans[0, j] + side, side == count_finer(world, j) - 1, world.finer
    return BarPart(
        j, side == 0, is_last, prices[OPEN, k], prices[HIGH, k], prices[LOW, k], prices[CLOSE, k]
    )


def count_targets(world: World, side: int) -> int:
    """How many targets a side has."""
    return int(world.parts[side, NUMBER, COUNT])


def read_row(world: World, side: int, part: int, t: int) -> float:
    """Value of a side's part at a bar; NaN where it reads nothing."""
    row = int(world.parts[side, ROW, part])
    read: float = world.rows[row, t] if row != NOWHERE else np.nan
    return read


def find_sign(side: int) -> float:
    """1 for longs, -1 for shorts: to multiply by it is exact, so that one formula serves both."""
    return 1.0 - 2.0 * side
