"""The duration of a bar, as text such as '15m' and as nanoseconds, and the end of a bar."""

import re

import numpy as np
import numpy.typing as npt

from data.checks import NO_TIME, Ints
from data.errors import TimeframeError

SECOND_NS = 10**9
MOMENTS = ((SECOND_NS, "second"), (10**6, "ms"), (1000, "us"), (1, "ns"))
"""Leads of times over the end of the bar that they stand for, in nanoseconds, with their names."""
MINUTE_NS, DAY_NS = 60 * SECOND_NS, 86_400 * SECOND_NS
UNITS_NS = {"w": 7 * DAY_NS, "d": DAY_NS, "h": 60 * MINUTE_NS, "m": MINUTE_NS, "s": SECOND_NS}
"""Units of fixed length, longest first; months have none."""

LONGEST_NS = (2**63 - 1) // DAY_NS * DAY_NS
"""Longest duration that times hold, 292 years."""

FORM = re.compile(r"([1-9][0-9]*)([smhdw])")

MOST_DIGITS = 6
"""Digits of a number of units."""


def find_lead(time_ns: npt.NDArray[np.int64]) -> tuple[int, str]:
    """Nanoseconds by which all times [N] lie before a whole minute, as 23:59:59.999; else 0.

    Missing ones do not count.
    """
    known = time_ns[time_ns != NO_TIME]
    for moment_ns, name in MOMENTS:
        # The first time rules out most, of however many.
        is_first = len(known) and (known[0] + moment_ns) % MINUTE_NS == 0
        if is_first and not ((known + moment_ns) % MINUTE_NS).any():
            return moment_ns, name
    return 0, ""


def parse_timeframe(text: str, option: str = "--timeframe") -> int:
    """Nanoseconds of a duration such as ``15m``; `option` begins an error.

    Raises:
        TimeframeError: When the text is anything else.

    >>> parse_timeframe("15m")
    900000000000
    """
    match = FORM.fullmatch(text.strip())
    if match is None:
        raise TimeframeError(
            f"{option} {text!r} is not a duration; write a whole number and one of "
            "s, m, h, d, w, such as 15m, 1h or 1d"
        )
    too_large = 10**MOST_DIGITS
    count = int(match[1]) if len(match[1]) <= MOST_DIGITS else too_large
    if count == too_large or count * UNITS_NS[match[2]] > LONGEST_NS:
        raise TimeframeError(
            f"{option} {text!r} is too long; write up to {MOST_DIGITS} digits, and at most "
            f"{format_timeframe(LONGEST_NS)}"
        )
    return count * UNITS_NS[match[2]]


def format_timeframe(timeframe_ns: int) -> str:
    """Write nanoseconds in the longest unit that divides them; ``250000000ns`` where none does.

    >>> format_timeframe(900_000_000_000)
    '15m'
    """
    for unit, length_ns in UNITS_NS.items():
        if timeframe_ns % length_ns == 0:
            return f"{timeframe_ns // length_ns}{unit}"
    return f"{timeframe_ns}ns"


def find_bar_ends(timestamp: Ints, timeframe_ns: int) -> Ints:
    """When each bar is over, [T] nanoseconds UTC: after its duration, or once the next one opens.

    A day on which the clock is put forward is over an hour early.

    Args:
        timestamp: [T] when bars open, nanoseconds UTC, ascending.
        timeframe_ns: Duration of a bar.
    """
    ends: Ints = timestamp + timeframe_ns
    ends[:-1] = np.minimum(ends[:-1], timestamp[1:])
    return ends
