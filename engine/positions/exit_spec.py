"""Exits of positions, as numbers: words that all engines share."""

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from engine.accounts.stake import Size

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

NONE, BEYOND_BAR, FROM_ENTRY, SHARE, LEVEL, R_MULTIPLE = range(6)
"""Forms of a stop (`BEYOND_BAR` to `LEVEL`), of a target (`NONE`, `FROM_ENTRY` to `R_MULTIPLE`) and
of a trailing stop (`NONE`, `FROM_ENTRY` to `LEVEL`)."""

MARKET, STOP_ORDER, LIMIT_ORDER = range(3)
"""Forms of an entry."""

NO_SLIPPAGE, TICKS, BASIS_POINTS, PRICE_ROW = range(4)
"""Forms of slippage."""

DAY_NS = 24 * 3600 * 10**9

MINUTE_NS = 60 * 10**9


class SessionClock(NamedTuple):
    """When positions are left by the clock."""

    # [T] when each bar opens by the session's clock, nanoseconds; [0] where no position is
    # left by the clock.
    local_ns: Ints
    minute_ns: int  # nanoseconds of a day from which on a bar's close leaves
    bar_ns: int  # a bar's duration


class ExitForm(NamedTuple):
    """Place of a stop or a target, or the guide of a trailing stop."""

    form: int  # one of `engine.positions.exit_spec`
    number: float  # what `SHARE` and `R_MULTIPLE` take, above 0
    # [T] row of the others, a distance or a price: at the signal bar, or if a stop follows a
    # level at every close; [0] else.
    row: Floats


class OrderPlan(NamedTuple):
    """How one side enters."""

    form: int  # `MARKET`, `STOP_ORDER` or `LIMIT_ORDER`
    price: Floats  # [T] level, on the tick, read at the signal bar; [0] at the market
    expires: int  # bars in which it stands; 0: without end
    beyond: float  # price by which prices must pass a limit's level before it is touched


class Legs(NamedTuple):
    """Targets of one side, L of them: none, one, or a ladder."""

    forms: Ints  # [L]
    numbers: Floats  # [L] what `SHARE` and `R_MULTIPLE` take
    rows: Floats  # [L, T] rows of the others, read at the signal bar; [L, 0] if none does
    shares: Floats  # [L] of the position, above 0
    rest: float  # share that no target takes


class SlippagePlan(NamedTuple):
    """By how much fills at the market and at stops are worse, on one side."""

    form: int  # one of the forms of slippage
    number: float  # ticks or basis points
    row: Floats  # [T] newest known price by which a fill in the next bar is worse; [0] else


class Bounds(NamedTuple):
    """Bounds of a position between which its exit condition counts, both among them."""

    bars_from: float = -np.inf  # bars in the trade, its entry's being the first
    bars_to: float = np.inf
    profit_from: float = -np.inf  # open profit at the close, units of risk
    profit_to: float = np.inf


class SidePlan(NamedTuple):
    """Plan of one side."""

    side: float  # 1.0 for longs, -1.0 for shorts
    signals: Bools  # [T] bars with an entry signal at the close
    exits: Bools  # [T] bars with an exit signal at the close; [0] without a condition
    stop: ExitForm  # where the first stop stands
    legs: Legs  # where targets stand
    trail: ExitForm  # how far the stop follows
    after: float  # gain in units of risk from which on it follows
    order: OrderPlan  # how it enters
    slippage: SlippagePlan  # what fills lose
    borrow: Floats  # [T] price paid up to each bar's open to hold a position; [0]: nothing
    bounds: Bounds = Bounds()  # where its exit condition counts


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


class SeriesTables(NamedTuple):
    """Rows that positions read beside prices."""

    # [T] bars whose close ends resting orders of longs, and of shorts; [0] without a condition.
    cancels: tuple[Bools, Bools]
    funding: Floats  # [T] price that a long has paid up to each bar's open; [0]: nothing
    finer: Floats  # [4, K] open, high, low and close of finer bars; [4, 0] without any
    # [2, T] the first of a bar's finer bars, and one past the last; the same if
    # there are none. [2, 0] without finer bars.
    spans: Ints
    scales: Floats  # [T] price that sizes are measured by; [0] where they are not
