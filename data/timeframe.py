"""The duration of a bar: as text such as '15m', as nanoseconds, and as the steps of a file show."""

import re

import numpy as np
import numpy.typing as npt

from data.checks import NO_TIME, Flags, Ints
from data.errors import NoDurationError, TimeframeError

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
"""Share of steps that may be shorter than a bar for no reason."""

LARGEST_LEAD = 0.375
"""Share of a bar by which a stamp may lie beside the usual one: two trading days of a week, the
hours by which an exchange closes early."""

PERIODS = {1: "months", 3: "quarters", 6: "half years", 12: "years"}
SHORTEST_MONTH_NS, MOST_PERIODS_FRAC = 28 * DAY_NS, 0.9
"""Bars that are mostly so many months apart, and never two in a month, have no fixed length."""

LEAST_SHORTEST_FRAC = 0.05
"""Share of steps that are one bar, of bars shorter than a minute in a market that trades seldom."""

MOST_SESSIONS = 3
"""Times a day that a market may pause alike: at night, at noon, for a break."""

BLOCK = 1 << 20
"""Bars whose steps are counted in one go."""


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


def infer_timeframe(timestamp: Ints) -> int:
    """The most common step of ascending times [T], in nanoseconds.

    Raises:
        TimeframeError: When there are fewer than two bars, when they are months, when no step makes
            up half of all, or when more than one in a hundred steps is shorter than the most common
            one for no reason.

    Source: house rule; a wrong duration would scale every length of a strategy wrongly.
    """
    if len(timestamp) < 2:
        raise NoDurationError(
            f"{len(timestamp)} bar does not show how long a bar lasts; say it with "
            "--source-timeframe (a strategy also needs at least two bars more than its longest "
            "window)"
        )
    steps, counts = count_steps(timestamp)
    most = int(np.argmax(counts))
    common, total = int(steps[most]), len(timestamp) - 1
    if (period := _find_period(timestamp, steps)) is not None:
        apart = " to ".join(dict.fromkeys(f"{steps[at] // DAY_NS}" for at in (0, -1)))
        raise NoDurationError(
            f"bars are {period}, {apart} days apart, which have no fixed length; "
            "load the days or weeks that they are made of"
        )
    if 2 * int(counts[most]) >= total and have_room(timestamp, steps, counts, common):
        return common
    raise NoDurationError(_describe_unclear(timestamp, steps, counts))


def check_spacing(timestamp: Ints, timeframe_ns: int) -> None:
    """Refuse bars [T] of which more than one in a hundred are spaced otherwise than by a bar.

    Steps that are longer are gaps and sessions where they stand alone: between bars, once a day,
    or the rarer the longer. A step is a spacing where it is the shortest for a while, or comes
    many times a day and more often than shorter ones.

    Raises:
        TimeframeError: With how many bars each spacing holds.

    Source: house rule; such a file is two files, and lengths of a strategy fit one of them.
    """
    values, counts = count_steps(timestamp)
    least, spacings = MOST_SHORT_STEPS_FRAC * len(timestamp), {}
    is_often = (values > timeframe_ns) & (counts > least)
    steps = np.diff(timestamp) if is_often.any() else values[:0]
    sustained: int | None = 0
    for k in np.flatnonzero(is_often):
        # Where shorter steps than one stand everywhere, shorter than a longer one do.
        sustained = None if sustained is None else _count_sustained_steps(steps, int(values[k]))
        n_bars = sustained or 0
        between = counts[(values > timeframe_ns) & (values < values[k])]
        days = timestamp[1:][steps == values[k]] // DAY_NS
        is_daily = counts[k] > MOST_SESSIONS * (1 + np.count_nonzero(np.diff(days)))
        if values[k] > 2 * timeframe_ns and is_daily and counts[k] > 2 * between.sum():
            n_bars = int(counts[k])
        if n_bars > least:
            spacings[int(values[k])] = n_bars
    if spacings:
        have = {timeframe_ns: int((steps == timeframe_ns).sum()), **spacings}
        named = ", ".join(f"{count} of {format_timeframe(step)}" for step, count in have.items())
        raise NoDurationError(
            f"bars are spaced in more than one way ({named}, and {len(steps) - sum(have.values())} "
            "other steps, sessions and gaps); part the file by its spacings, or state the duration "
            "with --source-timeframe where the longer ones are gaps"
        )


def count_steps(timestamp: Ints) -> tuple[Ints, Ints]:
    """Steps between times [T], ascending, and how many there are of each."""
    blocks = [
        np.unique(np.diff(timestamp[at : at + BLOCK + 1]), return_counts=True)
        for at in range(0, max(len(timestamp) - 1, 1), BLOCK)
    ]
    steps, place = np.unique(np.concatenate([values for values, _ in blocks]), return_inverse=True)
    counts = np.bincount(place, weights=np.concatenate([counts for _, counts in blocks]))
    return steps, counts.astype(np.int64)


def have_room(timestamp: Ints, steps: Ints, counts: Ints, timeframe_ns: int) -> bool:
    """Whether hardly a step of times [T] is shorter than a bar for no reason.

    Reasons are clocks that are put forward; a first or last bar of a session that is cut short; and
    stamps beside the usual ones, as of weeks by their last trading day.
    """
    is_shorter = (steps < timeframe_ns) & ~_is_short_day(steps, timeframe_ns)
    most = MOST_SHORT_STEPS_FRAC * (len(timestamp) - 1)
    if counts[is_shorter].sum() <= most:
        return True
    inside = timestamp % timeframe_ns
    moments, times = np.unique(inside, return_counts=True)
    half = timeframe_ns // 2
    numbers, lead = np.divmod(timestamp - moments[np.argmax(times)] + half, timeframe_ns)
    is_near = np.abs(lead - half) <= LARGEST_LEAD * timeframe_ns
    if (~is_near).sum() <= most and (np.diff(numbers) > 0).all():
        return True
    taken = np.concatenate(([2 * timeframe_ns], np.diff(timestamp), [2 * timeframe_ns]))
    is_edge = (taken[:-2] >= 2 * timeframe_ns) | (taken[2:] >= 2 * timeframe_ns)
    return int(((taken[1:-1] < timeframe_ns) & ~is_edge).sum()) <= most


def _count_sustained_steps(steps: Ints, step: int) -> int | None:
    """Number of times that a step occurs where, for a while, no step is shorter; None nowhere."""
    width = min(max(len(steps) // 50, 12), 32)
    shorter = np.flatnonzero(np.concatenate(([True], steps < step, [True])))
    # Stretches between two shorter steps count where they are long.
    long = np.diff(shorter) > width
    spans = zip(shorter[:-1][long].tolist(), shorter[1:][long].tolist(), strict=True)
    count = sum(int((steps[start : end - 1] == step).sum()) for start, end in spans)
    return count if long.any() else None


def _is_short_day(steps: Ints, timeframe_ns: int) -> Flags:
    """Flags of steps [N] of whole days but for the hour by which clocks are put forward."""
    is_short: Flags = steps == timeframe_ns - UNITS_NS["h"]
    return is_short & (timeframe_ns % DAY_NS == 0)


def _find_period(timestamp: Ints, steps: Ints) -> str | None:
    """Name of the period of calendars by which bars follow each other; None where it is none."""
    if steps[0] < SHORTEST_MONTH_NS or not (steps % UNITS_NS["w"]).any():
        return None
    # Half a day more: months that begin at a midnight east of Greenwich.
    dates = (timestamp + DAY_NS // 2).astype("datetime64[ns]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    days = (dates.astype("datetime64[D]") - dates.astype("datetime64[M]")).astype(np.int64)
    apart, counts = np.unique(np.diff(months), return_counts=True)
    most = int(np.argmax(counts))
    is_steady = len(steps) > 1 or len(set(days.tolist())) == 1
    if apart[0] < 1 or counts[most] < MOST_PERIODS_FRAC * counts.sum() or not is_steady:
        return None
    return PERIODS.get(int(apart[most]))


def _describe_unclear(timestamp: Ints, steps: Ints, counts: Ints) -> str:
    """Words about steps that do not show a duration, with the one that they allow."""
    order = np.argsort(-counts, kind="stable")[:3]
    named = ", ".join(f"{counts[i]} of {format_timeframe(int(steps[i]))}" for i in order)
    told = f"steps between bars do not show how long a bar lasts ({named}); "
    shortest = int(steps[0])
    is_often = counts[0] >= LEAST_SHORTEST_FRAC * counts.sum()
    if not (steps % shortest).any() and (shortest % MINUTE_NS == 0 or is_often):
        # Bars of one duration behind those of another are not read as the shorter.
        check_spacing(timestamp, shortest)
        return (
            f"{told}say it with --source-timeframe, such as --source-timeframe "
            f"{format_timeframe(shortest)}"
        )
    usual = int(np.median(np.diff(timestamp)))
    for unit_ns in UNITS_NS.values():
        nearest = max(round(usual / unit_ns), 1) * unit_ns
        if nearest >= MINUTE_NS and have_room(timestamp, steps, counts, nearest):
            about = (np.abs(steps - nearest) <= LARGEST_LEAD * nearest) @ counts
            if 2 * about >= counts.sum():
                name = format_timeframe(nearest)
                return f"{told}where they are about {name}, say it with --source-timeframe {name}"
    return (
        f"{told}bars of trades, volume or range have no duration, and a strategy needs one: load "
        "bars of time"
    )
