"""What is asked of positions beside their signals, as numbers: words that all engines share."""

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

NONE, BEYOND_BAR, FROM_ENTRY, SHARE, LEVEL, R_MULTIPLE = range(6)
"""Forms of a stop (`BEYOND_BAR` to `LEVEL`), of a target (`NONE`, `FROM_ENTRY` to `R_MULTIPLE`) and
of a trailing stop (`NONE`, `FROM_ENTRY`, `SHARE`)."""

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
    """Where a stop or a target stands, or how far behind a trailing stop follows."""

    form: int  # one of `engine.positions.exit_spec`
    number: float  # what `SHARE` and `R_MULTIPLE` take, above 0
    row: Floats  # [T] what the others read at the signal bar, a distance or a price; [0] else


class SidePlan(NamedTuple):
    """What one side does."""

    side: float  # 1.0 for longs, -1.0 for shorts
    signals: Bools  # [T] bars whose close asks for an entry
    exits: Bools  # [T] bars whose close asks for an exit; [0] where no condition does
    stop: ExitForm  # where the first stop stands
    target: ExitForm  # where the target stands
    trail: ExitForm  # how far the stop follows
    after: float  # gain in units of risk from which on it follows


class Limits(NamedTuple):
    """The same for both sides."""

    break_even: float  # gain in units of risk at which the stop moves to the entry; NaN: never
    max_hold: int  # bars; 0: no limit
    delay: int  # bars by which an entry is later than the bar after its signal
    per_side: float  # cost of a side as a fraction of notional
    min_risk: float  # smallest risk as a fraction of the entry price


def build_form(form: int = NONE, number: float = 0.0, row: Floats | None = None) -> ExitForm:
    """A form with everything that it does not need left empty."""
    return ExitForm(
        form, float(number), _freeze_array(np.empty(0) if row is None else row, np.float64)
    )


def build_plan(
    side: int,
    signals: Bools,
    stop: ExitForm,
    *,
    exits: Bools | None = None,
    target: ExitForm | None = None,
    trail: ExitForm | None = None,
    after: float = 0.0,
) -> SidePlan:
    """A side, with everything that it does not do left empty."""
    none = build_form()
    exit_bars = np.empty(0, np.bool_) if exits is None else exits
    return SidePlan(
        float(side),
        _freeze_array(signals, np.bool_),
        _freeze_array(exit_bars, np.bool_),
        stop,
        target or none,
        trail or none,
        float(after),
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


def _freeze_array(values: npt.NDArray[np.generic], kind: type[Number]) -> npt.NDArray[Number]:
    """The same values side by side and read-only, so that compiled loops see one type."""
    frozen = np.ascontiguousarray(values, kind).view()
    frozen.flags.writeable = False
    return frozen
