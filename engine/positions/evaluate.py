"""Stops, targets and orders of a strategy, with the genes of one individual."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.strategy_stakes import resolve_size
from engine.positions import exit_spec
from engine.positions.exit_spec import (
    MARKET,
    MINUTE_NS,
    NO_SLIPPAGE,
    NONE,
    Bools,
    Bounds,
    ExitForm,
    Floats,
    Ints,
    Legs,
    OrderPlan,
    SeriesTables,
    SessionClock,
    SidePlan,
    SlippagePlan,
)
from engine.positions.reference_orders import add_dated_payments, add_payments
from strategy.forms import (
    BasisPoints,
    BeyondBar,
    FromEntry,
    Level,
    LimitAt,
    Payment,
    PaymentsOf,
    PositionBounds,
    PriceOf,
    RMultiple,
    Share,
    StepSize,
    StopAt,
    Ticks,
    Trail,
    find_rest,
    find_step,
)
from strategy.model import Strategy
from strategy.rows import LoopRunner, Rows, resolve_value

Genes = Mapping[str, int | float]
Number = TypeVar("Number", bound=np.generic)


def evaluate_form(form: object, rows: Rows, genes: Genes) -> ExitForm:
    """Where a stop or a target stands, or how far behind a trailing stop follows."""
    if form is None:
        return build_form()
    if isinstance(form, Share):
        return build_form(exit_spec.SHARE, resolve_value(form.fraction, genes))
    if isinstance(form, RMultiple):
        return build_form(exit_spec.R_MULTIPLE, resolve_value(form.multiple, genes))
    if isinstance(form, Level):
        return build_form(exit_spec.LEVEL, row=rows.values(form.price, genes))
    assert isinstance(form, BeyondBar | FromEntry)
    number = exit_spec.BEYOND_BAR if isinstance(form, BeyondBar) else exit_spec.FROM_ENTRY
    return build_form(number, row=rows.values(form.distance, genes))


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


def evaluate_order(order: object, rows: Rows, genes: Genes, tick: StepSize) -> OrderPlan:
    """How a side enters."""
    if not isinstance(order, StopAt | LimitAt):
        return build_order()
    expires = 0 if order.expires is None else int(resolve_value(order.expires, genes))
    form, beyond = exit_spec.STOP_ORDER, 0.0
    if isinstance(order, LimitAt):
        form = exit_spec.LIMIT_ORDER
        beyond = resolve_value(order.through, genes) * tick.numerator / tick.denominator
    return build_order(form, rows.values(order.price, genes), expires, beyond)


def evaluate_slippage(slippage: object, rows: Rows, genes: Genes) -> SlippagePlan:
    """By how much fills of a side are worse."""
    if isinstance(slippage, Ticks):
        return build_slippage(exit_spec.TICKS, resolve_value(slippage.count, genes))
    if isinstance(slippage, BasisPoints):
        return build_slippage(exit_spec.BASIS_POINTS, resolve_value(slippage.points, genes))
    if isinstance(slippage, PriceOf):
        return build_slippage(exit_spec.PRICE_ROW, row=rows.values(slippage.row, genes))
    return build_slippage()


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


def find_trail_form(trail: object) -> object:
    """How far behind a trailing stop follows; None where there is none."""
    return trail.form if isinstance(trail, Trail) else None


def find_trail_start(trail: object, genes: Genes) -> float:
    """Gain in units of risk from which on a stop follows."""
    return resolve_value(trail.after, genes) if isinstance(trail, Trail) else 0.0


@cache
def build_idle_plan(side: int, n_bars: int) -> SidePlan:
    """A side without signals."""
    none, signals = build_form(), freeze_bars(np.zeros(n_bars, np.bool_))
    return SidePlan(
        float(side), signals, _NO_BARS, none, build_legs(), none, 0.0, build_order(),
        build_slippage(), _NO_ROW,
    )  # fmt: skip


def build_form(form: int = NONE, number: float = 0.0, row: Floats | None = None) -> ExitForm:
    """A form with everything that it does not need left empty."""
    return ExitForm(form, float(number), freeze_row(row))


def build_legs(targets: Sequence[tuple[ExitForm, float]] = ()) -> Legs:
    """Targets with the share that each takes, in their order; one form beside `NONE` takes all."""
    some = [(form, share) for form, share in targets if form.form != NONE]
    longest = max((len(form.row) for form, _ in some), default=0)
    rows = np.full((len(some), longest), np.nan)
    for number, (form, _) in enumerate(some):
        rows[number, : len(form.row)] = form.row
    return Legs(
        _freeze_array(np.array([form.form for form, _ in some]), np.int64),
        _freeze_array(np.array([form.number for form, _ in some]), np.float64),
        _freeze_array(rows, np.float64),
        _freeze_array(np.array([share for _, share in some]), np.float64),
        find_rest(share for _, share in some),
    )


def build_order(
    form: int = MARKET, price: Floats | None = None, expires: int = 0, beyond: float = 0.0
) -> OrderPlan:
    """An entry; at the market by default."""
    return OrderPlan(form, freeze_row(price), int(expires), float(beyond))


def build_slippage(
    form: int = NO_SLIPPAGE, number: float = 0.0, row: Floats | None = None
) -> SlippagePlan:
    """Slippage, none by default; of a row the newest known value."""
    known = _NO_ROW if row is None else row.copy()
    if row is not None and len(row):
        newest = np.where(np.isnan(row), -1, np.arange(len(row)))
        newest = np.maximum.accumulate(newest)
        known = np.where(newest < 0, np.nan, row[np.maximum(newest, 0)])
    return SlippagePlan(form, float(number), _freeze_array(known, np.float64))


def build_tables(
    cancels: Sequence[Bools | None] = (None, None),
    funding: Floats | None = None,
    finer: Floats | None = None,
    spans: Ints | None = None,
    scales: Floats | None = None,
) -> SeriesTables:
    """Tables of a series, with unneeded ones left empty."""
    return SeriesTables(
        (freeze_bars(cancels[0]), freeze_bars(cancels[1])),
        freeze_row(funding),
        _freeze_array(_NO_PRICES if finer is None else finer, np.float64),
        _freeze_array(_NO_SPANS if spans is None else spans, np.int64),
        freeze_row(scales),
    )


def build_clock(bar_ns: int, local_ns: Ints | None = None, minute: int = 0) -> SessionClock:
    """When positions are left by the clock: at a minute of the local day, or never.

    Args:
        bar_ns: A bar's duration, nanoseconds.
        local_ns: [T] when each bar opens by the session's clock, nanoseconds; None where positions
            are not left by it.
        minute: 1 to 1,440.
    """
    local = np.empty(0, np.int64) if local_ns is None else local_ns
    return SessionClock(_freeze_array(local, np.int64), minute * MINUTE_NS, int(bar_ns))


def freeze_row(row: Floats | None) -> Floats:
    """A row [T]; [0] where there is none."""
    return _freeze_array(_NO_ROW if row is None else row, np.float64)


def freeze_bars(bars: Bools | None) -> Bools:
    """Bars of a condition, none where there is no condition."""
    return _freeze_array(_NO_BARS if bars is None else bars, np.bool_)


def _freeze_array(values: npt.NDArray[np.generic], kind: type[Number]) -> npt.NDArray[Number]:
    """The same values side by side and read-only, so that compiled loops see one type."""
    flags = values.flags
    if values.dtype == kind and flags.c_contiguous and not flags.writeable:
        return cast("npt.NDArray[Number]", values)
    frozen = np.ascontiguousarray(values, kind).view()
    frozen.flags.writeable = False
    return frozen


_NO_ROW, _NO_PRICES = (_freeze_array(np.empty(shape), np.float64) for shape in (0, (4, 0)))
_NO_BARS = _freeze_array(np.empty(0, np.bool_), np.bool_)
_NO_SPANS = _freeze_array(np.empty((2, 0), np.int64), np.int64)
