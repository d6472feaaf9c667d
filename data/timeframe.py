"""The duration of a bar: as text such as '15m', as nanoseconds, and as the steps of a file show."""

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

MOST_SHORT_STEPS_FRAC = 0.01
"""Share of steps that may be shorter than a bar."""

MOST_SESSIONS = 3
"""Times a day that a market may pause alike: at night, at noon, for a break."""


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


def infer_timeframe(timestamp: npt.NDArray[np.int64]) -> int:
    """The most common step of ascending times [T], in nanoseconds.

    Raises:
        TimeframeError: When there are fewer than two bars, when no step makes up half of all, or
            when more than one in a hundred steps is shorter than the most common one (days of 23
            hours are none).

    Source: house rule; a wrong duration would scale every length of a strategy wrongly.
    """
    if len(timestamp) < 2:
        raise TimeframeError(
            f"{len(timestamp)} bar does not show how long a bar lasts; say it with "
            "--source-timeframe, such as --source-timeframe 1h (a strategy "
            "also needs at least two bars more than its longest window)"
        )
    steps, counts = np.unique(np.diff(timestamp), return_counts=True)
    most = int(np.argmax(counts))
    shorter = int(counts[:most][~is_short_day(steps[:most], int(steps[most]))].sum())
    total = len(timestamp) - 1
    if 2 * int(counts[most]) < total or shorter > MOST_SHORT_STEPS_FRAC * total:
        raise TimeframeError(
            f"steps between bars do not show how long a bar lasts ({_common(steps, counts)}); "
            "say it with --source-timeframe, such as --source-timeframe "
            f"{format_timeframe(int(steps[0]))}"
        )
    return int(steps[most])


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


def is_short_day(steps: npt.NDArray[np.int64], timeframe_ns: int) -> npt.NDArray[np.bool_]:
    """Flags of steps [N] of whole days but for the hour by which clocks are put forward."""
    hour_ns = UNITS_NS["h"]
    is_short: npt.NDArray[np.bool_] = steps == timeframe_ns - hour_ns
    return is_short & (timeframe_ns % DAY_NS == 0)


def check_spacing(timestamp: npt.NDArray[np.int64], timeframe_ns: int) -> None:
    """Refuse bars [T] of which more than one in a hundred are spaced otherwise than by a bar.

    Steps that are longer are gaps and sessions where they stand alone: between bars, once a day,
    or the rarer the longer. A step is a spacing where it is the shortest for a while, or comes
    many times a day and more often than shorter ones.

    Raises:
        TimeframeError: With how many bars each spacing holds.

    Source: house rule; such a file is two files, and lengths of a strategy fit one of them.
    """
    steps = np.diff(timestamp)
    values, counts = np.unique(steps, return_counts=True)
    least = MOST_SHORT_STEPS_FRAC * len(timestamp)
    spacings = {}
    for k in np.flatnonzero((values > timeframe_ns) & (counts > least)):
        n_bars = _count_sustained_steps(steps, int(values[k]))
        between = counts[(values > timeframe_ns) & (values < values[k])]
        days = np.unique(timestamp[1:][steps == values[k]] // DAY_NS)
        is_often = counts[k] > MOST_SESSIONS * len(days)
        if values[k] > 2 * timeframe_ns and is_often and counts[k] > 2 * between.sum():
            n_bars = int(counts[k])
        if n_bars > least:
            spacings[int(values[k])] = n_bars
    if spacings:
        have = {timeframe_ns: int((steps == timeframe_ns).sum()), **spacings}
        named = ", ".join(f"{count} of {format_timeframe(step)}" for step, count in have.items())
        raise TimeframeError(
            f"bars are spaced in more than one way ({named}, and {len(steps) - sum(have.values())} "
            "other steps, sessions and gaps); part the file by its spacings, or say "
            "--source-timeframe "
            f"{format_timeframe(timeframe_ns)} where the longer ones are gaps"
        )


def _count_sustained_steps(steps: npt.NDArray[np.int64], step: int) -> int:
    """Number of times that a step occurs where, for a while, no step is shorter."""
    width = min(max(len(steps) // 50, 12), 32)
    shorter = np.flatnonzero(np.concatenate(([True], steps < step, [True])))
    # Stretches between two shorter steps count where they are long.
    long = np.diff(shorter) > width
    spans = zip(shorter[:-1][long].tolist(), shorter[1:][long].tolist(), strict=True)
    return sum(int((steps[start : end - 1] == step).sum()) for start, end in spans)


def _common(steps: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> str:
    order = np.argsort(-counts, kind="stable")[:3]
    named = [f"{counts[i]} of {format_timeframe(int(steps[i]))}" for i in order]
    return ", ".join(named)
