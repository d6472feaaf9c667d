"""Terms of open positions by the reference: legs, payments, and prices at which they leave."""

from collections.abc import Sequence

import numpy as np

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.marks import ClosingTerms
from engine.accounts.stake import list_shares
from engine.positions.exit_spec import (
    BASIS_POINTS,
    NO_SLIPPAGE,
    TICKS,
    Floats,
    SidePlan,
    SlippagePlan,
)
from engine.positions.reference_orders import TICK_SLACK
from engine.reference import Reference
from strategy.model import Strategy
from strategy.money import find_step


def has_terms(spec: Strategy, costs: Costs) -> bool:
    """Whether trades pay more than basis points, leave in parts, or not at prices of bars."""
    parts = spec.targets, spec.slippage, spec.funding, spec.borrow
    return costs.fee_unit > 0.0 or any(part is not None for part in parts)


def list_terms(
    reference: Reference, genome: Floats, windows: Sequence[Window]
) -> tuple[ClosingTerms, ...]:
    """Terms of an individual's [G] trades in windows [W]."""
    numbers = {window.series for window in windows}
    terms = {number: find_terms(reference, genome, number) for number in numbers}
    return tuple(terms[window.series] for window in windows)


def find_terms(reference: Reference, genome: Floats, series: int) -> ClosingTerms:
    """Terms of an individual's [G] trades in one series."""
    spec, genes = reference.spec, reference.spec.layout.decode(genome)
    longs, shorts = reference.find_sides(genome, series)
    closes, tick = reference.series[series].close, find_step(spec.market, "tick")
    return ClosingTerms(
        *list_shares(spec, genes),
        reference.find_limits(genome).unit_fee,
        (
            _slip_closes(longs.slippage, closes, tick, -1.0),
            _slip_closes(shorts.slippage, closes, tick, 1.0),
        ),
        reference.sum_payments(spec.funding, genes, series),
        (_list_paid(longs), _list_paid(shorts)),
    )


def _list_paid(plan: SidePlan) -> Floats | None:
    """Borrow paid by a side up to each bar's open, [T]; None where it pays nothing."""
    return plan.borrow if len(plan.borrow) else None


def _slip_closes(
    plan: SlippagePlan, closes: Floats, tick: tuple[float, float], sign: float
) -> Floats:
    """Prices [T] of what is sold at each close, sign -1, or bought back, 1."""
    over, under = tick
    if plan.form == NO_SLIPPAGE:
        return closes
    if plan.form == TICKS:
        worse = np.full(len(closes), plan.number * over / under)
    elif plan.form == BASIS_POINTS:
        worse = closes * plan.number / 10000.0
    else:
        known = np.concatenate([[np.nan], plan.row[:-1]])
        worse = np.where(known < 0.0, 0.0, known)
    moved = closes + sign * worse
    if over == 0.0:
        return moved
    steps = moved * under / over
    whole = np.ceil(steps - TICK_SLACK) if sign > 0.0 else np.floor(steps + TICK_SLACK)
    return whole * over / under
