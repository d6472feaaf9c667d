"""Limits of one account: number of positions, their size together, and who goes first."""

import math
from typing import NamedTuple

from engine.accounts.costs import Costs
from engine.errors import EngineError
from strategy.errors import StrategyError
from strategy.expressions import Expression
from strategy.forms import Notional, Units
from strategy.model import Strategy
from strategy.row_text import parse_row

NO_LIMIT = 2**31
"""In place of a number of positions."""


class AccountLimits(NamedTuple):
    """Room of one account."""

    max_positions: int  # that are open together, at most
    max_leverage: float  # their worth over the account, at most; infinity: any


def build_limits(costs: Costs) -> AccountLimits:
    """Room of an account; without end where costs limit nothing."""
    return AccountLimits(
        NO_LIMIT if costs.max_positions is None else costs.max_positions,
        math.inf if costs.max_leverage is None else float(costs.max_leverage),
    )


def check_limits(strategy: Strategy, costs: Costs) -> None:
    """Refuse limits where a signal's trade hangs on more than the signal.

    Raises:
        EngineError: When entries rest or reverse, or sizes hang on the account's cash.
    """
    if not costs.has_limits:
        return
    if strategy.entry is not None or strategy.reverse:
        raise EngineError(
            "max_positions and max_leverage need entries at the market: an order that rests or "
            "reverses needs room at its fill, and limits are not checked there yet"
        )
    stake = None if strategy.account is None else strategy.account.stake
    if isinstance(stake, Notional | Units):
        raise EngineError(
            f"max_positions and max_leverage need sizes that are shares of the account: "
            f"{stake.written}(...) hangs on its cash"
        )


def refuse_limits(costs: Costs) -> None:
    """Refuse limits for the trades of one symbol by themselves.

    Raises:
        EngineError: When costs limit anything.
    """
    if costs.has_limits:
        raise EngineError(
            "max_positions and max_leverage: whether a symbol's signal is taken hangs on all "
            "others: ask for the trades of all windows"
        )


def parse_rank(costs: Costs) -> Expression | None:
    """Row by which signals that ask together are taken, greatest first; None without one.

    Raises:
        EngineError: When the text is no row.
    """
    if costs.rank is None:
        return None
    try:
        return parse_row(costs.rank)
    except StrategyError as error:
        raise EngineError(f"rank: {error}") from None
