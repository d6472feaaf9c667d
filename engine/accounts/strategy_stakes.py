"""Stakes of individuals of a strategy."""

from collections.abc import Mapping

import numpy as np

from engine.accounts.costs import Costs
from engine.accounts.stake import (
    Floats,
    Size,
    Stake,
    plain_stake,
)
from engine.errors import EngineError
from strategy.forms import (
    AccountOf,
    Ladder,
    find_rest,
    find_step,
    split_sides,
)
from strategy.model import Strategy
from strategy.parts import CODES
from strategy.rows import resolve_value


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
        shares[side, : len(side_shares)] = side_shares
        rests[side] = find_rest(side_shares)
    return shares, rests
