"""Results of trades folded into sums, in their order, and trades sized from cash."""

from typing import NamedTuple

import numpy as np

from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.stake import EQUITY_SHARE, NOTIONAL, RISK, SHARE_OF_R, VOLATILITY, Stake
from engine.runtime.compiling.loops import compiled_loop, compiled_part, compiled_uncounted
from engine.runtime.cpu.simd8 import round_down
from engine.runtime.cpu.types import Floats, Ints

(
    TRADES, WINS, SUM_R, SUM_R2, GAIN_R, LOSS_R, PEAK_R, MAX_DRAWDOWN_R, EQUITY, PEAK_EQUITY,
    MAX_DRAWDOWN, BARS_IN_MARKET, REJECTED, FIRST_REASON,
) = range(14)  # fmt: skip
LOSS_R2 = ACCUMULATOR_INDEX["loss_r2"]
SUM_R_SHORT = ACCUMULATOR_INDEX["sum_r_short"]


@compiled_loop
def begin(out: Floats) -> None:
    """Accumulators [A] before any trade."""
    out[:] = 0.0
    out[EQUITY] = 1.0
    out[PEAK_EQUITY] = 1.0


@compiled_loop
def fold(out: Floats, r: float, risk_fraction: float) -> None:
    """Step of the sums that depend on a trade's result."""
    fold_r(out, r)
    fold_worth(out, out[EQUITY] * (1.0 + risk_fraction * r))


@compiled_part
def fold_r(out: Floats, r: float) -> None:
    """Step of the sums in units of risk by one trade."""
    out[SUM_R] += r
    out[SUM_R2] += r * r
    if r > 0.0:
        out[WINS] += 1.0
        out[GAIN_R] += r
    else:
        out[LOSS_R] += -r
        out[LOSS_R2] += r * r
    out[PEAK_R] = max(out[PEAK_R], out[SUM_R])
    out[MAX_DRAWDOWN_R] = max(out[MAX_DRAWDOWN_R], out[PEAK_R] - out[SUM_R])


@compiled_part
def fold_worth(out: Floats, equity: float) -> None:
    """Step of the account's own sums by its worth after a trade; ruin is for ever."""
    out[EQUITY] = equity if out[EQUITY] > 0.0 and equity > 0.0 else 0.0
    out[PEAK_EQUITY] = max(out[PEAK_EQUITY], out[EQUITY])
    drawdown = (out[PEAK_EQUITY] - out[EQUITY]) / out[PEAK_EQUITY]
    out[MAX_DRAWDOWN] = max(out[MAX_DRAWDOWN], drawdown)


UNSIZED = ACCUMULATOR_INDEX["unsized"]

LOT_SLACK = 1e-9
"""Fraction of a lot by which a size may miss it and still have it."""


class Purse(NamedTuple):
    """Stake of all individuals of a strategy, as `engine.accounts.stake.Stake` has it."""

    form: int
    cash: float
    worth: float
    lot_over: float
    lot_under: float
    fee: float
    fee_unit: float
    fee_min: float
    risk_fraction: float  # of equity that one R is worth, for `SHARE_OF_R`


class TradeLegs(NamedTuple):
    """Targets of a trade."""

    shares: Floats  # [n, L] of each
    row: int  # in which those of the trade stand
    rest: float  # share that none takes
    number: int  # of targets
    marks: Ints  # bars in which they were reached, -1: never
    first_mark: int
    figures: Floats  # their prices
    first_figure: int


class SizedTrade(NamedTuple):
    """Figures of a trade for its gain by size."""

    entry: float
    risk: float
    scale: float  # as `VOLATILITY` reads it
    leave: float
    r: float
    is_margin: bool  # whether it costs the account


def build_purse(stake: Stake) -> Purse:
    """Terms of a stake that all individuals share."""
    return Purse(
        stake.form, stake.cash, stake.worth, stake.lot_over, stake.lot_under, stake.fee,
        stake.fee_unit, stake.fee_min, stake.number,
    )  # fmt: skip


@compiled_uncounted
def begin_money(purse: Purse, out: Floats) -> None:
    """Worth of an account before any trade, and its peak: in money until `end_money`."""
    out[EQUITY] = out[PEAK_EQUITY] = purse.cash


@compiled_uncounted
def end_money(purse: Purse, out: Floats) -> None:
    """Worth in the end over that at the beginning."""
    out[EQUITY] = out[EQUITY] / purse.cash
    out[PEAK_EQUITY] = out[PEAK_EQUITY] / purse.cash


@compiled_uncounted
def find_units(
    purse: Purse,
    number: float,
    leverage: float,
    cash: float,
    entry: float,
    risk: float,
    scale: float,
) -> float:
    """Units of a trade, given the cash before it; `scale` is what `VOLATILITY` reads."""
    form, units = purse.form, number
    if form == RISK:
        units = number * cash / (risk * purse.worth)
    elif form == NOTIONAL:
        units = number / (entry * purse.worth)
    elif form == EQUITY_SHARE:
        units = number * cash / (entry * purse.worth)
    elif form == VOLATILITY:
        units = number * cash / (scale * purse.worth) if scale > 0.0 else 0.0
    units = min(units, leverage * cash / (entry * purse.worth))
    if purse.lot_over > 0.0:
        lots = round_down(units * purse.lot_under / purse.lot_over + LOT_SLACK)
        units = lots * purse.lot_over / purse.lot_under
    return units


@compiled_uncounted
def find_leverage(form: int, share: float, entry: float, risk: float, scale: float) -> float:
    """Worth of a position over the account at its entry; 0 without a size.

    `share` is the number of its stake.
    """
    if form == EQUITY_SHARE:
        return share
    if form == VOLATILITY:
        return share * entry / scale if scale > 0.0 else 0.0
    return share * entry / risk


@compiled_uncounted
def find_margin_distance(
    form: int, number: float, leverage: float, entry: float, scale: float
) -> float:
    """How far prices go until a trade has cost all cash; NaN where no signal tells."""
    distance = np.nan
    if form == EQUITY_SHARE:
        distance = entry / number
    elif form == VOLATILITY and scale > 0.0:
        distance = scale / number
    least = entry / leverage
    return least if least > distance else distance


@compiled_uncounted
def charge(purse: Purse, money: float, units: float, price: float) -> float:
    """Fee of a fill of so many units at a price."""
    return money * (purse.fee * price) + units * purse.fee_unit


@compiled_uncounted
def add_least_fees(
    purse: Purse, money: float, units: float, entry: float, leave: float, legs: TradeLegs
) -> float:
    """Surplus of least fees over those of a trade's fills: its entry, its targets, the rest."""
    short = max(0.0, purse.fee_min - charge(purse, money, units, entry))
    if legs.number == 0:
        fee = charge(purse, money, units, leave)
        return short + max(0.0, purse.fee_min - fee)
    for leg in range(legs.number):
        is_reached = legs.marks[legs.first_mark + leg] >= 0
        price = legs.figures[legs.first_figure + leg] if is_reached else leave
        fee = legs.shares[legs.row, leg] * charge(purse, money, units, price)
        short = short + max(0.0, purse.fee_min - fee)
    if legs.rest > 0.0:
        fee = legs.rest * charge(purse, money, units, leave)
        short = short + max(0.0, purse.fee_min - fee)
    return short


@compiled_uncounted
def fold_money(
    purse: Purse,
    out: Floats,
    r: float,
    risk: float,
    units: float,
    least_fees: float,
    is_margin: bool,
) -> None:
    """Step of all sums by one trade; `least_fees` is what these add, `is_margin` costs all."""
    fold_r(out, r)
    if purse.form == SHARE_OF_R:
        fold_worth(out, out[EQUITY] * (1.0 + purse.risk_fraction * r))
    elif units > 0.0 and is_margin:
        fold_worth(out, 0.0)
    elif units > 0.0:
        gain = units * purse.worth * (r * risk)
        fold_worth(out, out[EQUITY] + (gain - least_fees))
    else:
        out[UNSIZED] += 1.0
        fold_worth(out, out[EQUITY])


@compiled_uncounted
def fold_sized(
    purse: Purse,
    number: float,
    leverage: float,
    cash: float,
    trade: SizedTrade,
    legs: TradeLegs,
    sums: Floats,
) -> float:
    """Size a trade from the cash before it and fold it; returns its gain, in money."""
    units = find_units(purse, number, leverage, cash, trade.entry, trade.risk, trade.scale)
    least_fees, gain = 0.0, 0.0
    if units > 0.0:
        money = units * purse.worth
        if purse.fee_min > 0.0:
            least_fees = add_least_fees(purse, money, units, trade.entry, trade.leave, legs)
        gain = -np.inf if trade.is_margin else money * (trade.r * trade.risk) - least_fees
    fold_money(purse, sums, trade.r, trade.risk, units, least_fees, trade.is_margin)
    return gain


@compiled_uncounted
def count_shares(shares: Floats, row: int, most: int) -> int:
    """Targets of a side, up to so many; missing ones have no share.

    A size that is a share of R has no shares of targets at all.
    """
    count: int = min(most, shares.shape[1])
    while count > 0 and shares[row, count - 1] == 0.0:
        count -= 1
    return count
