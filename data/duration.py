"""Duration of a source's bars, and times at which they open: as stated, or as their steps show."""

import numpy as np

from data.checks import Ints, format_time, wrong_unit
from data.errors import NoDurationError, TimeframeError
from data.table import LoadOptions, RawTable
from data.timeframe import (
    DAY_NS,
    MINUTE_NS,
    SECOND_NS,
    UNITS_NS,
    check_spacing,
    count_steps,
    find_lead,
    format_timeframe,
    have_room,
    infer_timeframe,
    parse_timeframe,
)
from data.zones import earliest_moments, to_local

SESSION_BREAK_NS = 30 * MINUTE_NS
"""Bars further apart belong to two sessions; shorter bars alone show at which end they are
stamped."""

NEW_YORK_OPEN_NS, NEW_YORK_CLOSE_NS, FRIDAY = 570 * MINUTE_NS, 960 * MINUTE_NS, 1
"""Times of day, and the remainder of days since 1970 by seven."""

LEAST_SESSIONS, MOST_SESSIONS_FRAC, MOST_CLOSES_FRAC = 3, 2 / 3, 0.8


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
    except NoDurationError as error:
        if wanted_ns is None or wanted_ns != inferred_ns:
            raise TimeframeError(f"{where}: {error}") from None
        return _trust(where, timestamp, wanted_ns, error)
    return timeframe_ns, _note_shorter(timestamp, timeframe_ns)


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


def _check_stated(table: RawTable, timestamp: Ints, stated_ns: int) -> tuple[str, ...]:
    """The note about a duration that a person states, which source and steps must allow."""
    stated = format_timeframe(stated_ns)
    if table.timeframe_ns not in (None, stated_ns):
        source_duration = format_timeframe(table.timeframe_ns or 0)
        raise TimeframeError(
            f"{table.where}: --source-timeframe {stated}, but the source states that its bars last "
            f"{source_duration}; leave it out"
        )
    steps, counts = count_steps(timestamp)
    if not have_room(timestamp, steps, counts, stated_ns):
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
    steps, counts = count_steps(timestamp)
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
        steps, counts = count_steps(timestamp)
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
