"""Duration of a source's bars, and times at which they open: as stated, or as their steps show."""

import numpy as np

from data.checks import Flags, Ints, format_time, wrong_unit
from data.errors import TimeframeError
from data.table import LoadOptions, RawTable
from data.timeframe import (
    DAY_NS,
    MINUTE_NS,
    SECOND_NS,
    UNITS_NS,
    find_lead,
    format_timeframe,
    parse_timeframe,
)
from data.zones import earliest_moments, to_local

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

SESSION_BREAK_NS = 30 * MINUTE_NS
"""Bars further apart belong to two sessions; shorter bars alone show at which end they are
stamped."""

NEW_YORK_OPEN_NS, NEW_YORK_CLOSE_NS, FRIDAY = 570 * MINUTE_NS, 960 * MINUTE_NS, 1
"""Times of day, and the remainder of days since 1970 by seven."""

LEAST_SESSIONS, MOST_SESSIONS_FRAC, MOST_CLOSES_FRAC = 3, 2 / 3, 0.8

BLOCK = 1 << 20
"""Bars whose steps are counted in one go."""


def decide_timeframe(
    table: RawTable, timestamp: Ints, options: LoadOptions, wanted_ns: int | None
) -> tuple[int, tuple[str, ...]]:
    """Duration of the source's own bars in nanoseconds, with a note where it was assumed.

    A source states it, or a person does with ``--source-timeframe``; else steps between bars show
    it, and where they do not, ``--timeframe`` is read as the duration of the source's own bars.

    Raises:
        TimeframeError: When it is unknown, or statements and steps contradict each other.
    """
    where = table.where
    if options.source_timeframe is not None:
        stated_ns = parse_timeframe(options.source_timeframe, "--source-timeframe")
        return stated_ns, _check_stated(table, timestamp, stated_ns)
    if table.timeframe_ns is not None:
        return table.timeframe_ns, ()
    inferred_ns = wanted_ns
    try:
        inferred_ns = timeframe_ns = infer_timeframe(timestamp)
        _refuse_parts_of_seconds(where, timestamp, timeframe_ns)
        check_spacing(timestamp, timeframe_ns)
    except _NoDurationError as error:
        if wanted_ns is None or wanted_ns != inferred_ns:
            raise TimeframeError(f"{where}: {error}") from None
        return _trust(where, timestamp, wanted_ns, error)
    return timeframe_ns, _note_shorter(timestamp, timeframe_ns)


def infer_timeframe(timestamp: Ints) -> int:
    """The most common step of ascending times [T], in nanoseconds.

    Raises:
        TimeframeError: When there are fewer than two bars, when they are months, when no step makes
            up half of all, or when more than one in a hundred steps is shorter than the most common
            one for no reason.

    Source: house rule; a wrong duration would scale every length of a strategy wrongly.
    """
    if len(timestamp) < 2:
        raise _NoDurationError(
            f"{len(timestamp)} bar does not show how long a bar lasts; say it with "
            "--source-timeframe (a strategy also needs at least two bars more than its longest "
            "window)"
        )
    steps, counts = _count_steps(timestamp)
    most = int(np.argmax(counts))
    common, total = int(steps[most]), len(timestamp) - 1
    if (period := _find_period(timestamp, steps)) is not None:
        apart = " to ".join(dict.fromkeys(f"{steps[at] // DAY_NS}" for at in (0, -1)))
        raise _NoDurationError(
            f"bars are {period}, {apart} days apart, which have no fixed length; "
            "load the days or weeks that they are made of"
        )
    if 2 * int(counts[most]) >= total and _have_room(timestamp, steps, counts, common):
        return common
    raise _NoDurationError(_describe_unclear(timestamp, steps, counts))


def check_spacing(timestamp: Ints, timeframe_ns: int) -> None:
    """Refuse bars [T] of which more than one in a hundred are spaced otherwise than by a bar.

    Steps that are longer are gaps and sessions where they stand alone: between bars, once a day,
    or the rarer the longer. A step is a spacing where it is the shortest for a while, or comes
    many times a day and more often than shorter ones.

    Raises:
        TimeframeError: With how many bars each spacing holds.

    Source: house rule; such a file is two files, and lengths of a strategy fit one of them.
    """
    values, counts = _count_steps(timestamp)
    least, spacings = MOST_SHORT_STEPS_FRAC * len(timestamp), {}
    is_often = (values > timeframe_ns) & (counts > least)
    steps = np.diff(timestamp) if is_often.any() else values[:0]
    for k in np.flatnonzero(is_often):
        n_bars = _count_sustained_steps(steps, int(values[k]))
        between = counts[(values > timeframe_ns) & (values < values[k])]
        days = np.unique(timestamp[1:][steps == values[k]] // DAY_NS)
        is_daily = counts[k] > MOST_SESSIONS * len(days)
        if values[k] > 2 * timeframe_ns and is_daily and counts[k] > 2 * between.sum():
            n_bars = int(counts[k])
        if n_bars > least:
            spacings[int(values[k])] = n_bars
    if spacings:
        have = {timeframe_ns: int((steps == timeframe_ns).sum()), **spacings}
        named = ", ".join(f"{count} of {format_timeframe(step)}" for step, count in have.items())
        raise _NoDurationError(
            f"bars are spaced in more than one way ({named}, and {len(steps) - sum(have.values())} "
            "other steps, sessions and gaps); part the file by its spacings, or state the duration "
            "with --source-timeframe where the longer ones are gaps"
        )


def open_times(
    table: RawTable, timestamp: Ints, timeframe_ns: int, options: LoadOptions
) -> tuple[Ints, tuple[str, ...]]:
    """Times at which bars open, [T], of those at which a source stamps them.

    A bar that is stamped at its close opens a duration earlier, or at the close before it where
    that is later; whole days are counted by the zone's own clock.

    Raises:
        TimeframeError: When the source states that its bars are stamped at their open.
    """
    is_stated = table.timeframe_ns is not None
    if options.stamped == "open":
        return timestamp, () if is_stated else _hint_closes(timestamp, timeframe_ns, table.zone)
    if is_stated:
        raise TimeframeError(
            f"{table.where}: states that its bars are stamped at their open; leave --stamped out"
        )
    closes, notes = _whole_closes(timestamp)
    if timeframe_ns % DAY_NS == 0 and table.zone != "UTC":
        opens = earliest_moments(to_local(closes, table.zone) - timeframe_ns, table.zone)
    else:
        opens = closes - timeframe_ns
    opens[1:] = np.maximum(opens[1:], closes[:-1])
    return opens, (*notes, "bars are stamped at their close because --stamped says so")


def clock_notes(timestamp: Ints, timeframe_ns: int, now_ns: int) -> tuple[str, ...]:
    """Notes about bars [T] that have not closed at `now_ns`: in the making, or ahead of it."""
    opened = int(np.searchsorted(timestamp, now_ns, side="right"))
    ahead = len(timestamp) - opened
    notes = [f"{ahead} bar{'' if ahead == 1 else 's'} ahead of the clock of this machine"]
    is_open = opened > 0 and timestamp[opened - 1] + timeframe_ns > now_ns
    open_bar = [note_open_bar(timestamp[opened - 1], timeframe_ns)] if is_open else []
    return (*open_bar, *(notes if ahead else []))


def note_open_bar(open_ns: int | np.int64, timeframe_ns: int) -> str:
    """The note about a bar that has not closed yet, by the time at which it opens."""
    opened, closes = (format_time(open_ns + shift) for shift in (0, timeframe_ns))
    return (
        f"the bar of {opened} is still open until {closes}: its high, low, close and volume may "
        f"change, --to {opened} trades without it"
    )


class _NoDurationError(TimeframeError):
    """Steps that do not show a duration; a person may state one."""


def _count_steps(timestamp: Ints) -> tuple[Ints, Ints]:
    """Steps between times [T], ascending, and how many there are of each."""
    blocks = [
        np.unique(np.diff(timestamp[at : at + BLOCK + 1]), return_counts=True)
        for at in range(0, max(len(timestamp) - 1, 1), BLOCK)
    ]
    steps, place = np.unique(np.concatenate([values for values, _ in blocks]), return_inverse=True)
    counts = np.bincount(place, weights=np.concatenate([counts for _, counts in blocks]))
    return steps, counts.astype(np.int64)


def _count_sustained_steps(steps: Ints, step: int) -> int:
    """Number of times that a step occurs where, for a while, no step is shorter."""
    width = min(max(len(steps) // 50, 12), 32)
    shorter = np.flatnonzero(np.concatenate(([True], steps < step, [True])))
    # Stretches between two shorter steps count where they are long.
    long = np.diff(shorter) > width
    spans = zip(shorter[:-1][long].tolist(), shorter[1:][long].tolist(), strict=True)
    return sum(int((steps[start : end - 1] == step).sum()) for start, end in spans)


def _have_room(timestamp: Ints, steps: Ints, counts: Ints, timeframe_ns: int) -> bool:
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
        return (
            f"{told}say it with --source-timeframe, such as --source-timeframe "
            f"{format_timeframe(shortest)}"
        )
    usual = int(np.median(np.diff(timestamp)))
    for unit_ns in UNITS_NS.values():
        nearest = max(round(usual / unit_ns), 1) * unit_ns
        if nearest >= MINUTE_NS and _have_room(timestamp, steps, counts, nearest):
            about = (np.abs(steps - nearest) <= LARGEST_LEAD * nearest) @ counts
            if 2 * about >= counts.sum():
                name = format_timeframe(nearest)
                return f"{told}where they are about {name}, say it with --source-timeframe {name}"
    return (
        f"{told}bars of trades, volume or range have no duration, and a strategy needs one: load "
        "bars of time"
    )


def _check_stated(table: RawTable, timestamp: Ints, stated_ns: int) -> tuple[str, ...]:
    """The note about a duration that a person states, which source and steps must allow."""
    stated = format_timeframe(stated_ns)
    if table.timeframe_ns not in (None, stated_ns):
        source_duration = format_timeframe(table.timeframe_ns or 0)
        raise TimeframeError(
            f"{table.where}: --source-timeframe {stated}, but the source states that its bars last "
            f"{source_duration}; leave it out"
        )
    steps, counts = _count_steps(timestamp)
    if not _have_room(timestamp, steps, counts, stated_ns):
        shorter = int(counts[steps < stated_ns].sum())
        common = format_timeframe(int(steps[np.argmax(counts)]))
        raise TimeframeError(
            f"{table.where}: --source-timeframe {stated}, but {shorter} of {counts.sum()} bars "
            f"open sooner after the bar before, most of them {common}; name the duration of the "
            "source's own bars"
        )
    if table.timeframe_ns is not None:
        return ()
    return (
        f"bars read as {stated} because --source-timeframe says so",
        *_note_shorter(timestamp, stated_ns),
    )


def _refuse_parts_of_seconds(where: str, timestamp: Ints, timeframe_ns: int) -> None:
    if timeframe_ns % SECOND_NS == 0:
        return
    larger = next(n for n in (1000, 1000**2, 1000**3) if timeframe_ns * n % SECOND_NS == 0)
    fitting = wrong_unit(timestamp) or (
        f"; {larger:,} times as far apart they last {format_timeframe(timeframe_ns * larger)}"
    )
    seconds = f"{timeframe_ns / SECOND_NS:g} s"
    raise TimeframeError(f"{where}: bars of {seconds} do not last whole seconds{fitting}")


def _note_shorter(timestamp: Ints, timeframe_ns: int) -> tuple[str, ...]:
    steps, counts = _count_steps(timestamp)
    shorter = int(counts[steps < timeframe_ns].sum())
    if shorter == 0:
        return ()
    named = "step is" if shorter == 1 else "steps are"
    return (f"{shorter} {named} shorter than {format_timeframe(timeframe_ns)}",)


def _trust(
    where: str, timestamp: Ints, wanted_ns: int, error: TimeframeError
) -> tuple[int, tuple[str, ...]]:
    """Read the duration that is wanted as that of the source, unless its bars would overlap."""
    wanted = format_timeframe(wanted_ns)
    if len(timestamp) > 1:
        steps, counts = _count_steps(timestamp)
        common_ns = int(steps[np.argmax(counts)])
        if wanted_ns > common_ns:
            raise TimeframeError(
                f"{where}: --timeframe {wanted} is longer than the most common step, "
                f"{format_timeframe(common_ns)}, and {error}"
            )
    return wanted_ns, (f"bars read as {wanted} because --timeframe says so",)


def _whole_closes(timestamp: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Times of closes [T]; those that name the last moment inside a bar are put at its end."""
    moment_ns, name = find_lead(timestamp)
    notes = (f"closes end a {name} before the minute: it is added",) if moment_ns else ()
    return timestamp + moment_ns, notes


def _hint_closes(timestamp: Ints, timeframe_ns: int, zone: str) -> tuple[str, ...]:
    """A note where stamps look like closes, as New York's 09:35 to 16:00 of bars of five minutes.

    Sessions begin a bar late and end on the half hour, or end with a bar that is cut short.
    """
    if timeframe_ns >= DAY_NS:
        return _hint_last_days(timestamp, timeframe_ns, zone)
    breaks = np.flatnonzero(np.diff(timestamp) > max(SESSION_BREAK_NS, 2 * timeframe_ns))
    firsts, lasts = timestamp[breaks[:-1] + 1], timestamp[breaks[1:]]
    is_late = lasts % SESSION_BREAK_NS == 0
    if timeframe_ns < SESSION_BREAK_NS:
        is_late &= firsts % SESSION_BREAK_NS == timeframe_ns
    else:
        is_late &= lasts - timestamp[breaks[1:] - 1] < timeframe_ns
        is_late &= to_local(firsts, "America/New_York") % DAY_NS != NEW_YORK_OPEN_NS
        is_late &= firsts % DAY_NS != NEW_YORK_OPEN_NS
    if len(firsts) < LEAST_SESSIONS or is_late.mean() < MOST_SESSIONS_FRAC:
        return ()
    first, last = (format_time(times[is_late][0]) for times in (firsts, lasts))
    return (
        f"sessions such as that from {first} to {last} look as if bars were stamped at their "
        "close: --stamped close reads them so",
    )


def _hint_last_days(timestamp: Ints, timeframe_ns: int, zone: str) -> tuple[str, ...]:
    """A note on days stamped 16:00, as GOOGLEFINANCE does, and on weeks by their last day."""
    local_ns = to_local(timestamp, zone)
    days = local_ns // DAY_NS
    if timeframe_ns == DAY_NS:
        is_close, told = (
            local_ns % DAY_NS == NEW_YORK_CLOSE_NS,
            ("days are stamped 16:00, when exchanges of New York close"),
        )
        # Those of half a session close early.
        is_last = (local_ns % DAY_NS <= NEW_YORK_CLOSE_NS) & np.is_busday(
            days.astype("datetime64[D]")
        )
    else:
        is_close, told = days % 7 == FRIDAY, "weeks are stamped on their last trading day"
        is_last = (days - FRIDAY) % 7 >= 3
        is_last |= is_close
    if timeframe_ns not in (DAY_NS, UNITS_NS["w"]) or not is_last.all():
        return ()
    if is_close.mean() < MOST_CLOSES_FRAC:
        return ()
    return (f"{told}: --stamped close reads them so",)
