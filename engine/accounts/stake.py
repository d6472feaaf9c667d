"""Stake of an account in a trade, as numbers: words that all engines share."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accounts.costs import Costs
from engine.errors import EngineError
from strategy.forms import SUM_SLACK, AccountOf, Ladder, find_step, split_sides
from strategy.model import Strategy
from strategy.parts import CODES
from strategy.rows import resolve_value

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SHARE_OF_R, RISK, NOTIONAL, EQUITY_SHARE, UNITS, VOLATILITY = range(6)
"""How a trade is sized: as a share of equity that one R is worth, or from cash by `CODES`."""


class Size(NamedTuple):
    """How a trade is sized."""

    form: int = SHARE_OF_R
    number: float = 0.0  # what the form takes
    leverage: float = np.inf  # worth of a position over the cash, at most


class Stake(NamedTuple):
    """How one individual's trades are sized and what fills cost at least."""

    form: int  # how a trade is sized
    number: float  # what the form takes; for `SHARE_OF_R` the share of equity that one R is worth
    cash: float  # at the beginning; 1 for `SHARE_OF_R`
    leverage: float  # worth of a position over the cash, at most; infinity: any
    worth: float  # money that one unit gains when the price rises by 1
    lot_over: float  # numerator of the lot; 0: any size
    lot_under: float  # its denominator
    fee: float  # fee of a side, fraction of notional
    fee_unit: float  # fee of a side for one unit, money
    fee_min: float  # least fee of a fill, money
    shares: Floats  # [2, L] of each target, of longs and shorts
    rests: Floats  # [2] share that no target takes
    at_market: Flags  # [2] whether longs and shorts enter at the market


def build_stake(strategy: Strategy, costs: Costs, genes: Mapping[str, float]) -> Stake:
    """The stake of an individual, given the value of each gene by name.

    Raises:
        EngineError: When a least fee is charged and there is no cash to know sizes from.
    """
    account, market = strategy.account, strategy.market
    at_market = np.array([order is None for order in split_sides(strategy.entry)])
    if account is None:
        if costs.fee_min > 0.0:
            raise EngineError(
                "fee_min needs account=account(cash, size): a fee in money has a size"
            )
        return plain_stake(costs.risk_fraction)._replace(at_market=at_market)
    shares, rests = list_shares(strategy, genes)
    size = resolve_size(account, genes)
    multiplier = 1.0 if market is None else resolve_value(market.multiplier, genes)
    return Stake(
        size.form,
        size.number,
        resolve_value(account.cash, genes),
        size.leverage,
        multiplier,
        *find_step(market, "lot"),
        costs.fee_bp / 10000,
        costs.fee_unit,
        costs.fee_min,
        shares,
        rests,
        at_market,
    )


def resolve_size(account: AccountOf | None, genes: Mapping[str, float]) -> Size:
    """The size of an account's trades, given the value of each gene by name."""
    if account is None:
        return Size()
    setting = next(setting for _, setting in account.stake.settings)
    leverage = np.inf if account.leverage is None else resolve_value(account.leverage, genes)
    return Size(CODES[type(account.stake)], resolve_value(setting, genes), leverage)


def build_stakes(strategy: Strategy, costs: Costs, genomes: Floats) -> list[Stake]:
    """The stakes of individuals [P, G]."""
    decode = strategy.layout.decode
    return [build_stake(strategy, costs, decode(genome)) for genome in genomes]


def plain_stake(risk_fraction: float) -> Stake:
    """The stake of trades that each risk a share of equity."""
    none = np.zeros((2, 0)), np.zeros(2), np.ones(2, np.bool_)
    return Stake(SHARE_OF_R, float(risk_fraction), 1.0, np.inf, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, *none)


def list_shares(strategy: Strategy, genes: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Shares [2, L] of targets by side, and what each side's leave [2]; one target takes all."""
    sides = [
        [resolve_value(leg.share, genes) for leg in ladder.legs]
        if isinstance(ladder, Ladder)
        else [1.0]
        for ladder in split_sides(strategy.targets)
    ]
    shares, rests = np.zeros((2, max(map(len, sides)))), np.zeros(2)
    for side, side_shares in enumerate(sides):
        rest = 1.0
        for leg, share in enumerate(side_shares):
            shares[side, leg] = share
            rest -= share
        rests[side] = rest if rest > SUM_SLACK else 0.0
    return shares, rests
