"""Plan of one individual on a series: what both sides do, as arrays."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.strategy_stakes import resolve_size
from engine.positions import exit_spec
from engine.positions.exit_spec import Bounds, Floats
from engine.positions.reference_orders import (
    AFTER,
    BARS_FROM,
    BEYOND,
    BORROW_PART,
    COUNT,
    EXPIRES,
    FIRST_LEG,
    FORM,
    FUNDING_PART,
    NOWHERE,
    NUMBER,
    ORDER_PART,
    REST,
    ROW,
    SHARE,
    SIZE_PART,
    SLIP_PART,
    STOP_PART,
    TRAIL_PART,
    World,
    add_dated_payments,
    add_payments,
)
from strategy.forms import (
    BasisPoints,
    BeyondBar,
    FromEntry,
    Ladder,
    Level,
    LimitAt,
    Payment,
    PaymentsOf,
    PositionBounds,
    PriceOf,
    RMultiple,
    Share,
    StopAt,
    Ticks,
    Trail,
    Volatility,
    find_rest,
    find_step,
    split_sides,
)
from strategy.model import Strategy
from strategy.rows import LoopRunner, Rows, resolve_value, truth

Genes = Mapping[str, int | float]
Number = TypeVar("Number", bound=np.generic)


class PartPlan(NamedTuple):
    """A part of a side."""

    form: int = 0  # of `engine.positions.exit_spec`
    number: float = 0.0  # of a form that reads no row
    row: Floats | None = None  # [T] of the others, a distance or a price
    share: float = 0.0  # of the position that leaves at a target


Parts = dict[int, PartPlan]
"""Parts of a side by their column."""


def build_world(
    spec: Strategy,
    bars: Bars,
    prices: Floats,
    rows: Rows,
    genes: Genes,
    limits: exit_spec.Limits,
    form: LoopRunner,
) -> World:
    """A series, `prices` [4, T] as the law has them, and what an individual does on it."""
    marks = np.zeros((6, len(bars)), np.bool_)
    conditions = spec.long, spec.short, spec.exit_long, spec.exit_short, *spec.cancels
    for mark, condition in zip(marks, conditions, strict=True):
        if condition is not None:
            mark[:] = truth(condition, rows, genes)
    shared = {
        FUNDING_PART: PartPlan(row=evaluate_payments(spec.funding, bars, rows, genes, form)),
        SIZE_PART: PartPlan(row=find_scales(spec, rows, genes)),
    }
    sides: tuple[Parts, Parts] = shared.copy(), shared.copy()
    for side, entry in enumerate((spec.long, spec.short)):
        if entry is not None:
            paid = evaluate_payments(split_sides(spec.borrow)[side], bars, rows, genes, form)
            sides[side][BORROW_PART] = PartPlan(row=paid)
            sides[side].update(plan_side(spec, side, rows, genes))
    written, read = write_parts(sides, len(bars))
    session, local_ns, minute = spec.session, np.empty(0, np.int64), 0
    if session is not None:
        local_ns = session.local_time(bars.timestamp)
        minute = session.last_minute(resolve_value(session.minute, genes))
    finer, spans = np.empty((4, 0)), np.empty((2, 0), np.int64)
    if bars.finer is not None:
        finer, spans = bars.finer.prices, bars.finer_spans
    return World(
        prices, read, freeze(local_ns, np.int64), marks, written, freeze(finer, np.float64),
        freeze(spans, np.int64), limits, minute * exit_spec.MINUTE_NS, int(bars.timeframe_ns),
    )  # fmt: skip


def plan_side(spec: Strategy, side: int, rows: Rows, genes: Genes) -> Parts:
    """Parts of a side that enters, longs being the first."""
    stop, target, targets, trail, order, slippage, bounds = (
        split_sides(form)[side]
        for form in (
            spec.stop, spec.target, spec.targets, spec.trail, spec.entry, spec.slippage,
            spec.exit_bounds,
        )
    )  # fmt: skip
    follows, after, expires, beyond = None, 0.0, 0, 0.0
    if isinstance(trail, Trail):
        follows, after = trail.form, resolve_value(trail.after, genes)
    if isinstance(order, StopAt | LimitAt) and order.expires is not None:
        expires = int(resolve_value(order.expires, genes))
    if isinstance(order, LimitAt):
        tick = find_step(spec.market, "tick")
        beyond = resolve_value(order.through, genes) * tick.numerator / tick.denominator
    legs: list[tuple[object, float]] = [] if target is None else [(target, 1.0)]
    if isinstance(targets, Ladder):
        legs = [(leg.target, resolve_value(leg.share, genes)) for leg in targets.legs]
    rest = find_rest(share for _, share in legs) if legs else 0.0
    numbers = {AFTER: after, EXPIRES: expires, BEYOND: beyond, REST: rest, COUNT: len(legs)}
    numbers |= enumerate(evaluate_bounds(bounds, genes), BARS_FROM)
    return {
        STOP_PART: evaluate_form(stop, rows, genes),
        TRAIL_PART: evaluate_form(follows, rows, genes),
        ORDER_PART: evaluate_order(order, rows, genes),
        SLIP_PART: evaluate_slippage(slippage, rows, genes),
        **{part: PartPlan(number=float(number)) for part, number in numbers.items()},
        **{
            FIRST_LEG + leg: evaluate_form(form, rows, genes)._replace(share=share)
            for leg, (form, share) in enumerate(legs)
        },
    }


def write_parts(sides: tuple[Parts, Parts], n_bars: int) -> tuple[Floats, Floats]:
    """Parts of both sides [2, 4, N], and the rows [R, T] that they read."""
    written = np.zeros((2, 4, max([FIRST_LEG, *(part + 1 for parts in sides for part in parts)])))
    written[:, ROW], read = NOWHERE, list[Floats]()
    for side, parts in enumerate(sides):
        for part, (form, number, row, share) in parts.items():
            written[side, [FORM, NUMBER, SHARE], part] = form, number, share
            if row is not None:
                written[side, ROW, part] = len(read)
                read.append(row)
    # Most strategies read one row, which need not be copied.
    rows = read[0][None] if len(read) == 1 else np.array(read).reshape(len(read), n_bars)
    return written, freeze(rows, np.float64)


def evaluate_form(form: object, rows: Rows, genes: Genes) -> PartPlan:
    """Where a stop or a target stands, or how far behind a trailing stop follows."""
    if form is None:
        return PartPlan()
    if isinstance(form, Share):
        return PartPlan(exit_spec.SHARE, resolve_value(form.fraction, genes))
    if isinstance(form, RMultiple):
        return PartPlan(exit_spec.R_MULTIPLE, resolve_value(form.multiple, genes))
    if isinstance(form, Level):
        return PartPlan(exit_spec.LEVEL, row=rows.values(form.price, genes))
    assert isinstance(form, BeyondBar | FromEntry)
    number = exit_spec.BEYOND_BAR if isinstance(form, BeyondBar) else exit_spec.FROM_ENTRY
    return PartPlan(number, row=rows.values(form.distance, genes))


def evaluate_limits(
    spec: Strategy, costs: Costs, genes: Genes, unit_fee: float
) -> exit_spec.Limits:
    """Limits of both sides; `unit_fee` is the fee of a side for one unit, in price."""
    return exit_spec.Limits(
        float("nan") if spec.break_even is None else resolve_value(spec.break_even, genes),
        0 if spec.max_hold is None else int(resolve_value(spec.max_hold, genes)),
        int(resolve_value(spec.delay, genes)) + int(costs.entry_delay),
        float(costs.per_side),
        float(costs.min_risk),
        0 if spec.after_leg is None else spec.after_leg.leg,
        bool(spec.reverse),
        *find_step(spec.market, "tick"),
        unit_fee,
        0 if spec.cooldown is None else int(resolve_value(spec.cooldown, genes)),
        *evaluate_offset(spec.even_offset, genes),
        bool(spec.named_stops),
        resolve_size(spec.account, genes),
    )


def evaluate_offset(offset: object, genes: Genes) -> tuple[int, float]:
    """Offset of a break-even from the entry: a form and its number."""
    if isinstance(offset, RMultiple):
        return exit_spec.R_MULTIPLE, resolve_value(offset.multiple, genes)
    if isinstance(offset, Share):
        return exit_spec.SHARE, resolve_value(offset.fraction, genes)
    return exit_spec.NONE, 0.0


def evaluate_bounds(bounds: object, genes: Genes) -> Bounds:
    """Where the exit condition of a side counts."""
    if not isinstance(bounds, PositionBounds):
        return Bounds()
    known = {legal.name: resolve_value(setting, genes) for legal, setting in bounds.settings}
    return Bounds(**known)


def evaluate_order(order: object, rows: Rows, genes: Genes) -> PartPlan:
    """How a side enters: its form, and the level of an order that rests."""
    if not isinstance(order, StopAt | LimitAt):
        return PartPlan(exit_spec.MARKET)
    form = exit_spec.LIMIT_ORDER if isinstance(order, LimitAt) else exit_spec.STOP_ORDER
    return PartPlan(form, row=rows.values(order.price, genes))


def evaluate_slippage(slippage: object, rows: Rows, genes: Genes) -> PartPlan:
    """By how much fills of a side are worse; of a row the newest known value."""
    if isinstance(slippage, Ticks):
        return PartPlan(exit_spec.TICKS, resolve_value(slippage.count, genes))
    if isinstance(slippage, BasisPoints):
        return PartPlan(exit_spec.BASIS_POINTS, resolve_value(slippage.points, genes))
    if not isinstance(slippage, PriceOf):
        return PartPlan(exit_spec.NO_SLIPPAGE)
    row = rows.values(slippage.row, genes)
    newest = np.maximum.accumulate(np.where(np.isnan(row), -1, np.arange(len(row))))
    known = np.where(newest < 0, np.nan, row[np.maximum(newest, 0)])
    return PartPlan(exit_spec.PRICE_ROW, row=known)


def evaluate_payments(
    charge: object, bars: Bars, rows: Rows, genes: Genes, form: LoopRunner
) -> Floats | None:
    """Costs of holding a position up to the open of each bar, [T] price; None of nothing."""
    if not isinstance(charge, Payment):
        return None
    if isinstance(charge.rate, PaymentsOf):
        paid = bars.payments[charge.rate.name]
        return form(add_dated_payments)(paid.find_bars(bars.timestamp), paid.rates, bars.open)
    every_ns = 0 if charge.every is None else charge.every * exit_spec.MINUTE_NS
    rates = rows.values(charge.rate, genes)
    return form(add_payments)(rates, bars.open, bars.timestamp, every_ns, charge.repeats)


def find_scales(spec: Strategy, rows: Rows, genes: Genes) -> Floats | None:
    """Row that sizes are measured by, [T]; None where they hang on cash alone."""
    if spec.account is None or not isinstance(spec.account.stake, Volatility):
        return None
    return rows.values(spec.account.stake.row, genes)


def freeze(values: npt.NDArray[np.generic], kind: type[Number]) -> npt.NDArray[Number]:
    """The same values side by side and read-only, so that compiled loops see one type."""
    flags = values.flags
    if values.dtype == kind and flags.c_contiguous and not flags.writeable:
        return cast("npt.NDArray[Number]", values)
    frozen = np.ascontiguousarray(values, kind).view()
    frozen.flags.writeable = False
    return frozen
