"""Stops, targets and orders of a strategy, with the genes of one individual."""

from collections.abc import Mapping

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.stake import resolve_size
from engine.positions import exit_spec
from engine.positions.exit_spec import (
    build_form,
    build_order,
    build_slippage,
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
    find_step,
)
from strategy.model import Strategy
from strategy.rows import LoopRunner, Rows, resolve_value

Genes = Mapping[str, int | float]


def evaluate_form(form: object, rows: Rows, genes: Genes) -> exit_spec.ExitForm:
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
    """Offset of a break-even from the entry: a form, and what it takes."""
    if isinstance(offset, RMultiple):
        return exit_spec.R_MULTIPLE, resolve_value(offset.multiple, genes)
    if isinstance(offset, Share):
        return exit_spec.SHARE, resolve_value(offset.fraction, genes)
    return exit_spec.NONE, 0.0


def evaluate_bounds(bounds: object, genes: Genes) -> exit_spec.Bounds:
    """Where the exit condition of a side counts."""
    if not isinstance(bounds, PositionBounds):
        return exit_spec.Bounds()
    known = {legal.name: resolve_value(setting, genes) for legal, setting in bounds.settings}
    return exit_spec.Bounds(**known)


def evaluate_order(order: object, rows: Rows, genes: Genes, tick: StepSize) -> exit_spec.OrderPlan:
    """How a side enters."""
    if not isinstance(order, StopAt | LimitAt):
        return build_order()
    expires = 0 if order.expires is None else int(resolve_value(order.expires, genes))
    form, beyond = exit_spec.STOP_ORDER, 0.0
    if isinstance(order, LimitAt):
        form = exit_spec.LIMIT_ORDER
        beyond = resolve_value(order.through, genes) * tick.numerator / tick.denominator
    return build_order(form, rows.values(order.price, genes), expires, beyond)


def evaluate_slippage(slippage: object, rows: Rows, genes: Genes) -> exit_spec.SlippagePlan:
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
) -> exit_spec.Floats | None:
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
