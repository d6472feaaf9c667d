"""The duration of a bar: as text such as '15m', as nanoseconds, and as the steps of a file show."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.checks import NO_TIME, Ints
from data.errors import NoDurationError, TimeframeError

SECOND_NS = 10**9
MOMENTS = ((SECOND_NS, "second"), (10**6, "ms"), (1000, "us"), (1, "ns"))
"""Leads of times over the end of the bar that they stand for, in nanoseconds, with their names."""
MINUTE_NS, HOUR_NS, DAY_NS = 60 * SECOND_NS, 3600 * SECOND_NS, 86_400 * SECOND_NS
MS_NS, WEEK_NS = 10**6, 7 * DAY_NS
UNITS_NS = {"w": WEEK_NS, "d": DAY_NS, "h": HOUR_NS, "m": MINUTE_NS, "s": SECOND_NS}
"""Units of fixed length, longest first; months have none."""

LONGEST_NS = 2**62 // DAY_NS * DAY_NS
"""Longest duration, 146 years: a bar of it is over before int64 ends."""

FORM, MOST_DIGITS = re.compile(r"([1-9][0-9]*)([smhdw])"), 6
"""Form of a duration, and digits of its number of units."""

MOST_SHORT_STEPS_FRAC, LARGEST_LEAD = 0.01, 0.375
"""Share of steps that may be shorter than a bar for no reason, and share of a bar by which a stamp
may lie beside the usual one: two trading days of a week, hours by which exchanges close early."""

PERIODS = {1: "months", 3: "quarters", 6: "half years", 12: "years"}
SHORTEST_MONTH_NS, MOST_PERIODS_FRAC = 28 * DAY_NS, 0.9
"""Bars that are mostly so many months apart, and never two in a month, have no fixed length."""

LEAST_SHORTEST_FRAC, MOST_SESSIONS = 0.05, 3
"""Share of steps that are one bar, of bars shorter than a minute in a market that trades seldom;
times a day that a market may pause alike: at night, at noon, for a break."""

BLOCK = 1 << 17
"""Bars whose steps are counted in one go."""


@dataclass(frozen=True, eq=False)
class BarSteps:
    """Steps between ascending times [T]: their lengths, ascending, and how many have each."""

    timestamp: Ints
    lengths: Ints  # [S] nanoseconds
    counts: Ints  # [S]

    @property
    def common(self) -> int:
        """The length that most have, nanoseconds."""
        return int(self.lengths[np.argmax(self.counts)])

    def count_shorter(self, timeframe_ns: int) -> int:
        """How many are shorter than a bar."""
        return int(self.counts[self.lengths < timeframe_ns].sum())

    def have_room(self, timeframe_ns: int) -> bool:
        """True if hardly any step is shorter than a bar without a reason.

        Reasons are clocks put forward, a first or last bar of a session that is cut short, and
        stamps beside the usual ones, as of weeks by their last trading day.
        """
        shorter = self.count_shorter(timeframe_ns)
        if timeframe_ns % DAY_NS == 0:
            shorter -= int(self.counts[self.lengths == timeframe_ns - UNITS_NS["h"]].sum())
        most = MOST_SHORT_STEPS_FRAC * (len(self.timestamp) - 1)
        if shorter <= most:
            return True
        moments, times = np.unique(self.timestamp % timeframe_ns, return_counts=True)
        half = timeframe_ns // 2
        usual = moments[np.argmax(times)]
        numbers, lead = np.divmod(self.timestamp - usual + half, timeframe_ns)
        is_near = np.abs(lead - half) <= LARGEST_LEAD * timeframe_ns
        if (~is_near).sum() <= most and (np.diff(numbers) > 0).all():
            return True
        taken = np.pad(np.diff(self.timestamp), 1, constant_values=2 * timeframe_ns)
        is_inside = np.maximum(taken[:-2], taken[2:]) < 2 * timeframe_ns
        return int((is_inside & (taken[1:-1] < timeframe_ns)).sum()) <= most


def find_lead(time_ns: npt.NDArray[np.int64]) -> tuple[int, str]:
    """Nanoseconds by which all times [N] lie before a whole minute, as 23:59:59.999; else 0.

    Missing ones do not count.
    """
    is_known = time_ns != NO_TIME
    if not is_known.any():
        return 0, ""
    first_ns = int(time_ns[np.argmax(is_known)])
    for moment_ns, name in MOMENTS:
        # The first time rules out most, of however many.
        is_first = (first_ns + moment_ns) % MINUTE_NS == 0
        if is_first and not ((time_ns[is_known] + moment_ns) % MINUTE_NS).any():
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
    count = int(match[1][: MOST_DIGITS + 1])
    if count >= 10**MOST_DIGITS or count * UNITS_NS[match[2]] > LONGEST_NS:
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


def count_steps(timestamp: Ints) -> BarSteps:
    """Steps between ascending times [T], in blocks: a series may be as large as memory."""
    blocks = [
        np.unique(np.diff(timestamp[at : at + BLOCK + 1]), return_counts=True)
        for at in range(0, max(len(timestamp) - 1, 1), BLOCK)
    ]
    lengths, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    every, place = np.unique(lengths, return_inverse=True)
    return BarSteps(timestamp, every, np.bincount(place, weights=counts).astype(np.int64))


def infer_timeframe(timestamp: Ints, steps: BarSteps | None = None) -> int:
    """The most common step of ascending times [T], in nanoseconds; `steps` if already counted.

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
    steps = steps or count_steps(timestamp)
    if (period := _find_period(steps)) is not None:
        apart = " to ".join(dict.fromkeys(f"{steps.lengths[at] // DAY_NS}" for at in (0, -1)))
        raise NoDurationError(
            f"bars are {period}, {apart} days apart, which have no fixed length; "
            "load their days or weeks"
        )
    if 2 * steps.counts.max() >= steps.counts.sum() and steps.have_room(steps.common):
        return steps.common
    raise NoDurationError(_describe_unclear(steps))


def check_spacing(steps: BarSteps, timeframe_ns: int) -> None:
    """Refuse bars with more than one in a hundred at another spacing than a bar.

    Longer steps are gaps and sessions where they stand alone: between bars, once a day, or the
    rarer the longer. A step is a spacing where it is the shortest for a while, or comes many times
    a day and more often than shorter ones.

    Raises:
        TimeframeError: With how many bars each spacing holds.

    Source: house rule; such a file is two files, and lengths of a strategy fit one of them.
    """
    values, counts = steps.lengths, steps.counts
    least, spacings = MOST_SHORT_STEPS_FRAC * len(steps.timestamp), {}
    is_longer = values > timeframe_ns
    is_often = is_longer & (counts > least)
    every = np.diff(steps.timestamp) if is_often.any() else values[:0]
    sustained: int | None = 0
    for k in np.flatnonzero(is_often):
        # Where shorter steps than one stand everywhere, shorter than a longer one do.
        sustained = None if sustained is None else _count_sustained_steps(every, int(values[k]))
        n_bars = sustained or 0
        if values[k] > 2 * timeframe_ns and counts[k] > 2 * counts[:k][is_longer[:k]].sum():
            days = steps.timestamp[1:][every == values[k]] // DAY_NS
            is_daily = counts[k] > MOST_SESSIONS * (1 + np.count_nonzero(np.diff(days)))
            n_bars = int(counts[k]) if is_daily else n_bars
        if n_bars > least:
            spacings[int(values[k])] = n_bars
    if spacings:
        have = {timeframe_ns: int(counts[values == timeframe_ns].sum()), **spacings}
        named = ", ".join(f"{count} of {format_timeframe(step)}" for step, count in have.items())
        raise NoDurationError(
            f"bars are spaced in more than one way ({named}, and {len(every) - sum(have.values())} "
            "other steps, sessions and gaps); part the file by its spacings, or state the duration "
            "with --source-timeframe where the longer ones are gaps"
        )


def _count_sustained_steps(steps: Ints, step: int) -> int | None:
    """How often a step occurs where, for a while, no step [N] is shorter; None nowhere."""
    width = min(max(len(steps) // 50, 12), 32)
    edges = np.concatenate(([0], np.flatnonzero(steps < step) + 1, [len(steps) + 1]))
    is_long = np.diff(edges) > width
    if not is_long.any():
        return None
    until = np.concatenate(([0], np.cumsum(steps == step)))
    return int((until[edges[1:] - 1] - until[edges[:-1]])[is_long].sum())


def _find_period(steps: BarSteps) -> str | None:
    """Name of the calendar's period by which bars follow each other; None without one."""
    if steps.lengths[0] < SHORTEST_MONTH_NS or not (steps.lengths % UNITS_NS["w"]).any():
        return None
    # Half a day more: months that begin at a midnight east of Greenwich.
    dates = (steps.timestamp + DAY_NS // 2).astype("datetime64[ns]").astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    apart, counts = np.unique(np.diff(months).astype(np.int64), return_counts=True)
    most = int(np.argmax(counts))
    is_steady = len(steps.lengths) > 1 or len(np.unique(dates - months)) == 1
    if apart[0] < 1 or counts[most] < MOST_PERIODS_FRAC * counts.sum() or not is_steady:
        return None
    return PERIODS.get(int(apart[most]))


def _describe_unclear(steps: BarSteps) -> str:
    """Words about steps that do not show a duration, with the one that they allow."""
    lengths, counts = steps.lengths, steps.counts
    order = np.argsort(-counts, kind="stable")[:3]
    named = ", ".join(f"{counts[i]} of {format_timeframe(int(lengths[i]))}" for i in order)
    told = f"steps between bars do not show how long a bar lasts ({named}); "
    shortest, say_it = int(lengths[0]), "say it with --source-timeframe"
    is_often = counts[0] >= LEAST_SHORTEST_FRAC * counts.sum()
    if not (lengths % shortest).any() and (shortest % MINUTE_NS == 0 or is_often):
        # Bars of one duration behind those of another are not read as the shorter.
        check_spacing(steps, shortest)
        return f"{told}{say_it}, such as --source-timeframe {format_timeframe(shortest)}"
    usual = int(np.median(np.diff(steps.timestamp)))
    for unit_ns in UNITS_NS.values():
        nearest = max(round(usual / unit_ns), 1) * unit_ns
        about = (np.abs(lengths - nearest) <= LARGEST_LEAD * nearest) @ counts
        if nearest >= MINUTE_NS and 2 * about >= counts.sum() and steps.have_room(nearest):
            name = format_timeframe(nearest)
            return f"{told}where they are about {name}, {say_it} {name}"
    return (
        f"{told}bars of trades, volume or range have no duration, and a strategy needs one: load "
        "bars of time"
    )
