"""Stake of an account in a trade, as numbers: words that all engines share."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SHARE_OF_R, RISK, NOTIONAL, EQUITY_SHARE, UNITS, VOLATILITY = range(6)
"""How a trade is sized: as a share of equity that one R is worth, or from cash by
`strategy.parts.CODES`."""


class Size(NamedTuple):
    """How a trade is sized."""

    form: int = SHARE_OF_R
    number: float = 0.0  # argument of the form
    leverage: float = np.inf  # worth of a position over the cash, at most


class Stake(NamedTuple):
    """How one individual's trades are sized and what fills cost at least."""

    form: int  # how a trade is sized
    number: float  # argument of the form; for `SHARE_OF_R` the worth of one R as a share of equity
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


def plain_stake(risk_fraction: float) -> Stake:
    """The stake of trades that each risk a share of equity."""
    none = np.zeros((2, 0)), np.zeros(2), np.ones(2, np.bool_)
    return Stake(SHARE_OF_R, float(risk_fraction), 1.0, np.inf, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, *none)
