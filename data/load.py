"""From a spec such as 'csv:bars.csv' to checked bars."""

import time
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath

import numpy as np
import numpy.typing as npt

from data.bars import Bars, check_symbol
from data.checks import (
    NO_TIME,
    PRICES,
    Floats,
    Ints,
    check_bars,
    faults,
    format_time,
    keeps_law,
    repeats,
    wrong_unit,
)
from data.errors import BarsError, NoDurationError, SourceError, TimeframeError, count_nouns
from data.hours import find_open_gaps, gap_lines
from data.plain import takes_plain
from data.providers import find_provider
from data.resample import resample
from data.table import LoadOptions, RawTable
from data.timeframe import (
    DAY_NS,
    LONGEST_NS,
    MINUTE_NS,
    SECOND_NS,
    UNITS_NS,
    BarSteps,
    check_spacing,
    count_steps,
    find_lead,
    format_timeframe,
    infer_timeframe,
    parse_timeframe,
)
from data.zones import (
    AS_UTC,
    clock_that_repeats,
    clock_that_skips,
    earliest_moments,
    find_steps,
    find_zone,
    to_local,
)

SESSION_BREAK_NS = 30 * MINUTE_NS
"""Bars further apart belong to two sessions; shorter bars alone show at which end they are
stamped."""

NEW_YORK_OPEN_NS, NEW_YORK_CLOSE_NS, FRIDAY = 570 * MINUTE_NS, 960 * MINUTE_NS, 1
"""Times of day, and the remainder of days since 1970 by seven."""

LEAST_SESSIONS, MOST_SESSIONS_FRAC, MOST_CLOSES_FRAC = 3, 2 / 3, 0.8

ROUNDING_ULPS = 4
"""Units in the last place by which a high or low may miss open or close: prices that were adjusted
by a factor are rounded one by one."""

DEFAULTS = LoadOptions()


def decide_timeframe(
    table: RawTable, timestamp: Ints, options: LoadOptions, wanted_ns: int | None
) -> tuple[int, tuple[str, ...]]:
    """Duration of the source's own bars in nanoseconds, with a note where it was assumed.

    A source states it, or ``--source-timeframe``. Else steps between bars show it, and where they
    do not, ``--timeframe`` is read as the duration of the source's own bars.
    """
    if options.source_timeframe is not None:
        stated_ns = parse_timeframe(options.source_timeframe, "--source-timeframe")
        return stated_ns, _check_stated(table, timestamp, stated_ns)
    if table.timeframe_ns is not None:
        return table.timeframe_ns, ()
    steps, inferred_ns = count_steps(timestamp), wanted_ns
    try:
        inferred_ns = timeframe_ns = infer_timeframe(timestamp, steps)
        _refuse_parts_of_seconds(table.where, timestamp, timeframe_ns)
        check_spacing(steps, timeframe_ns)
    except NoDurationError as error:
        if wanted_ns is None or wanted_ns != inferred_ns:
            raise TimeframeError(f"{table.where}: {error}") from None
        wanted = format_timeframe(wanted_ns)
        if len(timestamp) > 1 and wanted_ns > steps.common:
            raise TimeframeError(
                f"{table.where}: --timeframe {wanted} is longer than the most common step, "
                f"{format_timeframe(steps.common)}, and {error}"
            ) from None
        return wanted_ns, (f"bars read as {wanted} because --timeframe says so",)
    return timeframe_ns, _note_shorter(steps, timeframe_ns)


def open_times(
    table: RawTable, timestamp: Ints, timeframe_ns: int, options: LoadOptions
) -> tuple[Ints, tuple[str, ...]]:
    """Times at which bars open, [T], of those at which a source stamps them.

    A bar that is stamped at its close opens a duration earlier, or at the close before it where
    that is later; whole days are counted by the zone's own clock.
    """
    is_stated = table.timeframe_ns is not None
    if options.stamped == "open":
        hint = _hint_closes if timeframe_ns < DAY_NS else _hint_last_days
        return timestamp, () if is_stated else hint(timestamp, timeframe_ns, table.zone)
    if is_stated:
        raise TimeframeError(
            f"{table.where}: states that its bars are stamped at their open; leave --stamped out"
        )
    moment_ns, name = find_lead(timestamp)
    closes = timestamp + moment_ns
    opens = closes - timeframe_ns
    if timeframe_ns % DAY_NS == 0 and table.zone != "UTC":
        opens = earliest_moments(to_local(closes, table.zone) - timeframe_ns, table.zone)
    opens[1:] = np.maximum(opens[1:], closes[:-1])
    added = (f"closes end a {name} before the minute: it is added",) if moment_ns else ()
    return opens, (*added, "bars are stamped at their close because --stamped says so")


def clock_notes(timestamp: Ints, timeframe_ns: int, now_ns: int) -> tuple[str, ...]:
    """Notes about bars [T] that have not closed at `now_ns`: in the making, or ahead of it."""
    opened = int(np.searchsorted(timestamp, now_ns, side="right"))
    ahead = len(timestamp) - opened
    notes = []
    if opened and timestamp[opened - 1] + timeframe_ns > now_ns:
        notes.append(note_open_bar(timestamp[opened - 1], timeframe_ns))
    if ahead:
        notes.append(f"{count_nouns(ahead, 'bar')} ahead of the clock of this machine")
    return tuple(notes)


def note_open_bar(open_ns: int | np.int64, timeframe_ns: int) -> str:
    """The note about a bar that has not closed yet, by the time at which it opens."""
    opened, closes = (format_time(open_ns + shift) for shift in (0, timeframe_ns))
    return (
        f"the bar of {opened} is still open until {closes}: its high, low, close and volume may "
        f"change, --to {opened} trades without it"
    )


def repair_rows(
    table: RawTable, options: LoadOptions, now_ns: int
) -> tuple[Ints, Mapping[str, Floats], tuple[str, ...]]:
    """Times and values of legal bars, [T] each, with a note for each repair."""
    timestamp, values, notes = table.timestamp, table.values, []
    if options.price_offset:
        with np.errstate(over="ignore"):
            raised = {name: values[name] + options.price_offset for name in PRICES}
        values = {**values, **raised}
        notes.append(f"{options.price_offset:g} was added to every price")
    if len(timestamp) and keeps_law(timestamp, values, now_ns):
        return timestamp, values, tuple(notes)
    rows = np.arange(len(timestamp), dtype=np.int64)
    values, rounded = widen_roundings(values)
    missed = f"a rounding ({ROUNDING_ULPS} units in the last place or less)"
    notes += _note_repairs(
        rounded, "bar", f" widened to open and close, which high or low missed by {missed}"
    )
    if options.tick:
        values, widened = _widen(values, options.tick)
        words = f" widened to open and close, by {options.tick:g} or less"
        notes += _note_repairs(widened, "bar", words)
    if options.drop_bad_bars:
        good = np.ones(len(timestamp), dtype=np.bool_)
        for _, bad in faults(timestamp, values, now_ns):
            good &= ~bad
        notes += _note_repairs(int((~good).sum()), "bad row", begin="dropped ")
        timestamp, values, rows = _select_rows(timestamp, values, rows, good)
    if options.sort:
        order = np.argsort(timestamp, kind="stable")
        late = int((timestamp[1:] < timestamp[:-1]).sum())
        notes += _note_repairs(late, "row", " earlier than the one before, sorted by time")
        timestamp, values, rows = _select_rows(timestamp, values, rows, order)
    if options.dedupe:
        _, same_row = repeats(timestamp, values)
        notes += _note_repairs(int(same_row.sum()), "repeated row", begin="dropped ")
        timestamp, values, rows = _select_rows(timestamp, values, rows, ~same_row)
    if len(timestamp) == 0:
        left = "" if len(table.timestamp) == 0 else " left after dropping bad rows"
        raise BarsError(f"{table.where}: there are no bars{left}")
    try:
        check_bars(timestamp, values, rows, table.where, now_ns)
    except BarsError as error:
        raise BarsError(f"{error}{_name_clock(table, timestamp)}") from None
    return timestamp, values, tuple(notes)


def widen_roundings(values: Mapping[str, Floats]) -> tuple[Mapping[str, Floats], int]:
    """Highs and lows [N] that miss open or close by a rounding put right, and in how many rows."""
    is_missed = any(
        (values["high"] < values[name]).any() or (values["low"] > values[name]).any()
        for name in ("open", "close")
    )
    if not is_missed:
        return values, 0
    top = np.maximum(np.abs(values["open"]), np.abs(values["close"]))
    return _widen(values, ROUNDING_ULPS * np.spacing(top))


@takes_plain(SourceError)
def load_bars(
    spec: str | PathLike[str], options: LoadOptions = DEFAULTS, *, now_ns: int | None = None
) -> Bars:
    """Read bars from a source.

    Args:
        spec: ``sample``, ``csv:PATH``, ``parquet:PATH``, ``feather:PATH``, or the path of such a
            file; ``PATH#MARKET`` for one of several markets in it.
        options: Rules of reading and repairs; none is made unless asked for.
        now_ns: The time by which bars have closed, nanoseconds UTC; None for now.

    Returns:
        Checked bars with a note for each repair and assumption.

    Raises:
        DataError: When the source cannot be read without guessing, or breaks the law of bars.

    >>> bars = load_bars("sample")
    >>> bars.symbol, len(bars), bars.timeframe
    ('SIMULATED', 35040, '15m')
    """
    spec = fspath(spec)
    wanted_ns = None if options.timeframe is None else parse_timeframe(options.timeframe)
    provider, address = find_provider(spec)
    if options.aligned and not provider.endings:
        raise SourceError(
            f"--aligned-column {next(iter(options.aligned))}: '{provider.name}' is no file, and "
            "has no further columns"
        )
    table = provider.read(address, options)
    now_ns = time.time_ns() if now_ns is None else now_ns
    if options.tz is not None:
        table = replace(table, zone=find_zone(options.tz).key)
    stamps, values, repairs = repair_rows(table, options, now_ns)
    timeframe_ns, assumed = decide_timeframe(table, stamps, options, wanted_ns)
    timestamp, stamped = open_times(table, stamps, timeframe_ns, options)
    is_merged = wanted_ns not in (None, timeframe_ns)
    notes = (*table.notes, *repairs, *assumed, *stamped)
    if not values["volume"].any():
        notes = (*notes, "volume is zero in every bar: volume rules can never fire")
    if AS_UTC in notes and (zone := clock_that_skips(timestamp, timeframe_ns)) is not None:
        notes = (
            *notes,
            f"times skip the hour that clocks such as that of {zone} skip in spring: --tz {zone} "
            "reads them so",
        )
    open_gaps = find_open_gaps(timestamp, timeframe_ns, table.zone, options.calendar)
    if not is_merged:
        gaps = gap_lines(timestamp, timeframe_ns, open_gaps)
        notes = (*notes, *gaps, *clock_notes(timestamp, timeframe_ns, now_ns))
    bars = Bars.adopt(
        {"timestamp": timestamp, **values},
        symbol=check_symbol(table.symbol),
        timeframe_ns=timeframe_ns,
        source=spec,
        is_simulated=table.is_simulated,
        notes=notes,
        zone=table.zone,
        open_gaps=open_gaps,
    )
    if wanted_ns is None or not is_merged:
        return bars
    merged = resample(bars, wanted_ns, options.calendar)
    late = clock_notes(merged.timestamp, wanted_ns, now_ns)
    return replace(merged, notes=(*merged.notes, *late))


def _check_stated(table: RawTable, timestamp: Ints, stated_ns: int) -> tuple[str, ...]:
    """The note about a duration that a person states, which source and steps must allow."""
    about = f"{table.where}: --source-timeframe {format_timeframe(stated_ns)}, but"
    if table.timeframe_ns not in (None, stated_ns):
        raise TimeframeError(
            f"{about} the source states that its bars last "
            f"{format_timeframe(table.timeframe_ns or 0)}; leave it out"
        )
    steps = count_steps(timestamp)
    if not steps.have_room(stated_ns):
        raise TimeframeError(
            f"{about} {steps.count_shorter(stated_ns)} of {len(timestamp) - 1} bars open sooner "
            f"after the bar before, most of them {format_timeframe(steps.common)}; name the "
            "duration of the source's own bars"
        )
    if table.timeframe_ns is not None:
        return ()
    read = f"bars read as {format_timeframe(stated_ns)} because --source-timeframe says so"
    return (read, *_note_shorter(steps, stated_ns))


def _refuse_parts_of_seconds(where: str, timestamp: Ints, timeframe_ns: int) -> None:
    if timeframe_ns % SECOND_NS == 0:
        return
    larger = next(n for n in (1000, 1000**2, 1000**3) if timeframe_ns * n % SECOND_NS == 0)
    fitting = wrong_unit(timestamp) or (
        f"; {larger:,} times as far apart they last {format_timeframe(timeframe_ns * larger)}"
    )
    raise TimeframeError(
        f"{where}: bars of {timeframe_ns / SECOND_NS:g} s do not last whole seconds{fitting}"
    )


def _note_shorter(steps: BarSteps, timeframe_ns: int) -> tuple[str, ...]:
    shorter = steps.count_shorter(timeframe_ns)
    named = "step is" if shorter == 1 else "steps are"
    note = f"{shorter} {named} shorter than {format_timeframe(timeframe_ns)}"
    return (note,) if shorter else ()


def _hint_closes(timestamp: Ints, timeframe_ns: int, zone: str) -> tuple[str, ...]:
    """A note where stamps look like closes, as New York's 09:35 to 16:00 of bars of five minutes.

    Sessions begin a bar late and end on the half hour, or end with a bar that is cut short.
    """
    breaks = find_steps(timestamp, max(SESSION_BREAK_NS, 2 * timeframe_ns) + 1, LONGEST_NS)
    firsts, lasts = timestamp[breaks[:-1] + 1], timestamp[breaks[1:]]
    is_late = lasts % SESSION_BREAK_NS == 0
    if timeframe_ns < SESSION_BREAK_NS:
        is_late &= firsts % SESSION_BREAK_NS == timeframe_ns
    else:
        is_late &= lasts - timestamp[breaks[1:] - 1] < timeframe_ns
        for clock in ("UTC", "America/New_York"):
            is_late &= to_local(firsts, clock) % DAY_NS != NEW_YORK_OPEN_NS
    if len(firsts) < LEAST_SESSIONS or is_late.mean() < MOST_SESSIONS_FRAC:
        return ()
    first, last = (format_time(times[is_late][0]) for times in (firsts, lasts))
    return (
        f"sessions such as that from {first} to {last} look as if bars were stamped at their "
        "close: --stamped close reads them so",
    )


def _hint_last_days(timestamp: Ints, timeframe_ns: int, zone: str) -> tuple[str, ...]:
    """A note on days stamped 16:00, as GOOGLEFINANCE does, and on weeks by their last day."""
    days, times = np.divmod(to_local(timestamp, zone), DAY_NS)
    if timeframe_ns == DAY_NS:
        told = "days are stamped 16:00, when exchanges of New York close"
        is_close = times == NEW_YORK_CLOSE_NS
        # Half sessions close early.
        is_last = (times <= NEW_YORK_CLOSE_NS) & np.is_busday(days.astype("datetime64[D]"))
    else:
        told = "weeks are stamped on their last trading day"
        is_close = days % 7 == FRIDAY
        is_last = is_close | ((days - FRIDAY) % 7 >= 3)
    is_known = timeframe_ns in (DAY_NS, UNITS_NS["w"]) and is_last.all()
    if not is_known or is_close.mean() < MOST_CLOSES_FRAC:
        return ()
    return (f"{told}: --stamped close reads them so",)


def _widen(values: Mapping[str, Floats], reach: float | Floats) -> tuple[Mapping[str, Floats], int]:
    """Highs and lows that miss open or close by `reach` or less, put right, and how many bars."""
    top = np.maximum(values["open"], values["close"])
    bottom = np.minimum(values["open"], values["close"])
    # The difference of two prices is rounded: one part in 10^9 decides nothing else.
    most = reach * (1 + 1e-9)
    is_low = (values["high"] < top) & (top - values["high"] <= most)
    is_high = (values["low"] > bottom) & (values["low"] - bottom <= most)
    high = np.where(is_low, top, values["high"])
    low = np.where(is_high, bottom, values["low"])
    return {**values, "high": high, "low": low}, int((is_low | is_high).sum())


def _name_clock(table: RawTable, timestamp: Ints) -> str:
    """The end of an error about times that step back where a clock does, and name no zone."""
    back = np.flatnonzero(timestamp[1:] <= timestamp[:-1])
    if AS_UTC not in table.notes or not len(back) or (timestamp == NO_TIME).any():
        return ""
    zone = clock_that_repeats(int(timestamp[back[0] + 1]))
    if zone is None:
        return ""
    return f"; clocks such as that of {zone} showed this hour twice: --tz {zone} reads it so"


def _select_rows(
    timestamp: Ints, values: Mapping[str, Floats], rows: Ints, which: npt.NDArray[np.generic]
) -> tuple[Ints, Mapping[str, Floats], Ints]:
    return timestamp[which], {name: column[which] for name, column in values.items()}, rows[which]


def _note_repairs(count: int, noun: str, words: str = "", begin: str = "") -> list[str]:
    return [f"{begin}{count_nouns(count, noun)}{words}"] if count else []
