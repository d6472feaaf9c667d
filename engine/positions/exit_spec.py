"""Exits of positions, as numbers: words that all engines share."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from engine.accounts.stake import Size
from strategy.forms import SUM_SLACK

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
    """Where a stop or a target stands, or what a trailing stop follows."""

    form: int  # one of `engine.positions.exit_spec`
    number: float  # what `SHARE` and `R_MULTIPLE` take, above 0
    # [T] what the others read, a distance or a price: at the signal bar, or where a stop follows a
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
    rows: Floats  # [L, T] what the others read at the signal bar; [L, 0] where none does
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
    signals: Bools  # [T] bars whose close asks for an entry
    exits: Bools  # [T] bars whose close asks for an exit; [0] where no condition does
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
    even_form: int = NONE  # of what a break-even adds to the entry: `NONE`, `R_MULTIPLE`, `SHARE`
    even_number: float = 0.0  # what that form takes
    names_stops: bool = False  # whether exits at stops that moved have reasons of their own
    size: Size = Size()  # how trades are sized, which says where one costs the account


class SeriesTables(NamedTuple):
    """Rows that positions read beside prices."""

    # [T] bars whose close ends resting orders of longs, and of shorts; [0] where no condition does.
    cancels: tuple[Bools, Bools]
    funding: Floats  # [T] price that a long has paid up to each bar's open; [0]: nothing
    finer: Floats  # [4, K] open, high, low and close of finer bars; [4, 0] without any
    # [2, T] the first of those of which a bar is made up, and one past the last; the same where it
    # is made up of none. [2, 0] without finer bars.
    spans: Ints
    scales: Floats  # [T] price that sizes are measured by; [0] where they are not


@cache
def build_idle_plan(side: int, n_bars: int) -> SidePlan:
    """A side that asks for nothing."""
    return build_plan(side, np.zeros(n_bars, np.bool_), build_form())


def build_form(form: int = NONE, number: float = 0.0, row: Floats | None = None) -> ExitForm:
    """A form with everything that it does not need left empty."""
    return ExitForm(form, float(number), _freeze_array(_NO_ROW if row is None else row, np.float64))


def build_legs(targets: Sequence[tuple[ExitForm, float]] = ()) -> Legs:
    """Targets with the share that each takes, in their order; one form beside `NONE` takes all."""
    some = [(form, share) for form, share in targets if form.form != NONE]
    longest = max((len(form.row) for form, _ in some), default=0)
    rows = np.full((len(some), longest), np.nan)
    rest = 1.0
    for number, (form, share) in enumerate(some):
        rows[number, : len(form.row)] = form.row
        rest -= share
    return Legs(
        _freeze_array(np.array([form.form for form, _ in some]), np.int64),
        _freeze_array(np.array([form.number for form, _ in some]), np.float64),
        _freeze_array(rows, np.float64),
        _freeze_array(np.array([share for _, share in some]), np.float64),
        rest if rest > SUM_SLACK else 0.0,
    )


def build_order(
    form: int = MARKET, price: Floats | None = None, expires: int = 0, beyond: float = 0.0
) -> OrderPlan:
    """An entry; at the market by default."""
    level = _NO_ROW if price is None else price
    return OrderPlan(form, _freeze_array(level, np.float64), int(expires), float(beyond))


def build_slippage(
    form: int = NO_SLIPPAGE, number: float = 0.0, row: Floats | None = None
) -> SlippagePlan:
    """Slippage, none by default; of a row the newest known value."""
    known = _NO_ROW if row is None else row.copy()
    if row is not None and len(row):
        newest = np.where(np.isnan(row), -1, np.arange(len(row)))
        newest = np.maximum.accumulate(newest)
        known = np.where(newest < 0, np.nan, row[np.maximum(newest, 0)])
    return SlippagePlan(form, float(number), _freeze_array(known, np.float64))


def build_plan(  # noqa: PLR0913 - each is what a side does, given by its name
    side: int,
    signals: Bools,
    stop: ExitForm,
    *,
    exits: Bools | None = None,
    target: ExitForm | None = None,
    legs: Legs | None = None,
    trail: ExitForm | None = None,
    after: float = 0.0,
    order: OrderPlan | None = None,
    slippage: SlippagePlan | None = None,
    borrow: Floats | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008 - it holds numbers alone
) -> SidePlan:
    """A side, with everything that it does not do left empty; `target` is a ladder of one."""
    none = build_form()
    return SidePlan(
        float(side),
        _freeze_array(signals, np.bool_),
        _freeze_bars(exits),
        stop,
        legs or build_legs([] if target is None else [(target, 1.0)]),
        trail or none,
        float(after),
        order or build_order(),
        slippage or build_slippage(),
        _freeze_array(_NO_ROW if borrow is None else borrow, np.float64),
        bounds,
    )


def build_tables(
    cancels: Sequence[Bools | None] = (None, None),
    funding: Floats | None = None,
    finer: Floats | None = None,
    spans: Ints | None = None,
    scales: Floats | None = None,
) -> SeriesTables:
    """Tables of a series, with everything that is not asked for left empty."""
    return SeriesTables(
        (_freeze_bars(cancels[0]), _freeze_bars(cancels[1])),
        _freeze_array(_NO_ROW if funding is None else funding, np.float64),
        _freeze_array(_NO_PRICES if finer is None else finer, np.float64),
        _freeze_array(_NO_SPANS if spans is None else spans, np.int64),
        _freeze_array(_NO_ROW if scales is None else scales, np.float64),
    )


def build_clock(bar_ns: int, local_ns: Ints | None = None, minute: int = 0) -> SessionClock:
    """When positions are left by the clock: at a minute of the local day, or never.

    Args:
        bar_ns: A bar's duration, nanoseconds.
        local_ns: [T] when each bar opens by the session's clock, nanoseconds; None where positions
            are not left by it.
        minute: 1 to 1,440.
    """
    local = np.empty(0, np.int64) if local_ns is None else local_ns
    return SessionClock(_freeze_array(local, np.int64), minute * MINUTE_NS, int(bar_ns))


def _freeze_bars(bars: Bools | None) -> Bools:
    """Bars of a condition, none where there is no condition."""
    return _freeze_array(_NO_BARS if bars is None else bars, np.bool_)


def _freeze_array(values: npt.NDArray[np.generic], kind: type[Number]) -> npt.NDArray[Number]:
    """The same values side by side and read-only, so that compiled loops see one type."""
    flags = values.flags
    if values.dtype == kind and flags.c_contiguous and not flags.writeable:
        return cast("npt.NDArray[Number]", values)
    frozen = np.ascontiguousarray(values, kind).view()
    frozen.flags.writeable = False
    return frozen


_NO_ROW, _NO_PRICES = (_freeze_array(np.empty(shape), np.float64) for shape in (0, (4, 0)))
_NO_BARS = _freeze_array(np.empty(0, np.bool_), np.bool_)
_NO_SPANS = _freeze_array(np.empty((2, 0), np.int64), np.int64)
