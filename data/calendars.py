"""Sessions of an exchange, as the package exchange_calendars knows them."""

from typing import NamedTuple

import numpy as np

from data.checks import Ints
from data.errors import SourceError, near_match
from data.timeframe import DAY_NS

try:
    import exchange_calendars
except ImportError:
    raise SourceError(
        "--calendar needs the package exchange_calendars, which is not installed; install it with: "
        "pip install 'exhaustion-optimizer[calendars]', or leave --calendar out: the rhythm of the "
        "weeks shows closed hours too"
    ) from None

NO_BREAK = np.iinfo(np.int64).min


class Sessions(NamedTuple):
    """Sessions of an exchange, oldest first; one with a break counts as two."""

    opens: Ints  # [S], nanoseconds UTC
    closes: Ints  # [S], nanoseconds UTC
    days: Ints  # [D] days since 1970 that have a session
    short_days: Ints  # [E] early closes
    zone: str  # IANA zone of the exchange


def find_sessions(name: str, start_ns: int, end_ns: int) -> Sessions:
    """Sessions from the day of one time to that of another."""
    known = exchange_calendars.get_calendar_names()
    if name not in known:
        raise SourceError(
            f"--calendar {name[:24]!r} is no exchange; write its code, such as XNYS, XLON or CMES"
            f"{near_match(name, known)}"
        )
    first, last = (str(np.datetime64(time // DAY_NS, "D")) for time in (start_ns, end_ns))
    try:
        calendar = exchange_calendars.get_calendar(name, start=first, end=last)
    except (exchange_calendars.errors.CalendarError, ValueError) as error:
        raise SourceError(
            f"--calendar {name}: it does not know {first} to {last} "
            f"({' '.join(str(error).split())}); leave it out"
        ) from None
    breaks, returns = calendar.break_starts_nanos, calendar.break_ends_nanos
    has_break = breaks != NO_BREAK
    return Sessions(
        np.sort(np.concatenate((calendar.opens_nanos, returns[has_break]))),
        np.sort(np.concatenate((calendar.closes_nanos, breaks[has_break]))),
        calendar.sessions.to_numpy().astype("datetime64[D]").astype(np.int64),
        calendar.early_closes.to_numpy().astype("datetime64[D]").astype(np.int64),
        str(calendar.tz),
    )
