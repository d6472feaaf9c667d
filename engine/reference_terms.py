"""Terms of trades by the reference: legs, payments, targets, and prices at which they leave."""

from collections.abc import Sequence

import numpy as np

from data.bars import Window
from engine.accounts.ledger import Ledger
from engine.accounts.strategy_stakes import list_shares
from engine.accounts.valuation import TradeTerms, plain_terms
from engine.positions.exit_spec import (
    BASIS_POINTS,
    NO_SLIPPAGE,
    TICKS,
    Floats,
    SidePlan,
    SlippagePlan,
)
from engine.positions.reference_exits import find_target
from engine.positions.reference_orders import TICK_SLACK, count_targets, on_tick
from engine.reference import Reference
from strategy.forms import find_step


def list_terms(
    reference: Reference, genome: Floats, windows: Sequence[Window]
) -> tuple[TradeTerms, ...]:
    """Terms of an individual's [G] trades in windows [W]."""
    numbers = {window.series for window in windows}
    terms = {number: find_terms(reference, genome, number) for number in numbers}
    return tuple(terms[window.series] for window in windows)


def find_terms(reference: Reference, genome: Floats, series: int) -> TradeTerms:
    """Terms of an individual's [G] trades in one series."""
    spec, closes = reference.spec, reference.series[series].close
    parts = spec.targets, spec.slippage, spec.funding, spec.borrow
    if not reference.costs.fee_unit > 0.0 and all(part is None for part in parts):
        return plain_terms(closes)
    genes, tick = spec.layout.decode(genome), find_step(spec.market, "tick")
    longs, shorts = reference.find_sides(genome, series)
    return TradeTerms(
        *list_shares(spec, genes),
        reference.find_limits(genome).unit_fee,
        (
            _slip_closes(longs.slippage, closes, tick, -1.0),
            _slip_closes(shorts.slippage, closes, tick, 1.0),
        ),
        reference.sum_payments(spec.funding, genes, series),
        (_list_paid(longs), _list_paid(shorts)),
    )


def find_targets(reference: Reference, genome: Floats, series: int, ledger: Ledger) -> Floats:
    """Price of each target [K, L] of the trades of a ledger, reached or not, as the law places it.

    Infinite where a side has fewer targets, and 1 column at least.
    """
    world = reference.find_world(genome, series)
    counts = [count_targets(world, side) for side in range(2)]
    prices = np.empty((len(ledger), max(1, reference.n_legs)))
    prices[:] = np.where(ledger.side > 0, np.inf, -np.inf)[:, None]
    for k in range(len(ledger)):
        trade = ledger.trade(k)
        side, risk = (0 if trade.side > 0 else 1), trade.side * (trade.entry - trade.stop)
        for leg in range(counts[side]):
            target = find_target(world, side, leg, trade.signal_bar, trade.entry, risk)
            prices[k, leg] = on_tick(world.limits, target, trade.side > 0)
    return prices


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
