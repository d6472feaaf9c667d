"""Exits of positions, as numbers: words that all engines share."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accounts.stake import Size

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NONE, BEYOND_BAR, FROM_ENTRY, SHARE, LEVEL, R_MULTIPLE = range(6)
"""Forms of a stop (`BEYOND_BAR` to `LEVEL`), of a target (`NONE`, `FROM_ENTRY` to `R_MULTIPLE`) and
of a trailing stop (`NONE`, `FROM_ENTRY` to `LEVEL`)."""

MARKET, STOP_ORDER, LIMIT_ORDER = range(3)
"""Forms of an entry."""

NO_SLIPPAGE, TICKS, BASIS_POINTS, PRICE_ROW = range(4)
"""Forms of slippage."""

DAY_NS = 24 * 3600 * 10**9

MINUTE_NS = 60 * 10**9


class Bounds(NamedTuple):
    """Bounds of a position between which its exit condition counts, both among them."""

    bars_from: float = -np.inf  # bars in the trade, its entry's being the first
    bars_to: float = np.inf
    profit_from: float = -np.inf  # open profit at the close, units of risk
    profit_to: float = np.inf


class Limits(NamedTuple):
    """The same for both sides."""

    break_even: float  # gain in units of risk at which the stop moves to the entry; NaN: never
    max_hold: int  # bars; 0: no limit
    delay: int  # bars by which an entry is later than the bar after its signal
    per_side: float  # cost of a side as a fraction of notional
    min_risk: float  # smallest risk as a fraction of the entry price
    even_leg: int = 0  # target, from 1, after which the stop moves to the entry; 0: none
    reverses: bool = False  # whether an entry of the other side ends a position
    tick_over: float = 0.0  # numerator of the tick; 0: prices are as they come
    tick_under: float = 1.0  # its denominator
    unit_fee: float = 0.0  # price that each side of a trade pays for a unit
    cooldown: int = 0  # bars after a stop in which no signal counts
    even_form: int = NONE  # of a break-even's addition to the entry: `NONE`, `R_MULTIPLE`, `SHARE`
    even_number: float = 0.0  # what that form takes
    names_stops: bool = False  # whether exits at stops that moved have reasons of their own
    size: Size = Size()  # how trades are sized, which says where one costs the account
