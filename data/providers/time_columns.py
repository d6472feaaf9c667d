"""Times at which bars open, or close where a person states so, of all columns that hold them."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import pyarrow as pa

from data.checks import NO_TIME, Ints, format_time
from data.errors import TableError
from data.providers.column_names import SAYS_OPEN, find_role, plain, write_option
from data.providers.columns import Layout
from data.providers.times import read_times
from data.table import LoadOptions
from data.timeframe import DAY_NS, MINUTE_NS, SECOND_NS, find_lead, format_timeframe

Names = tuple[str, ...]
"""A column of times, or one of dates and one of times of day."""

Read = tuple[Ints, tuple[str, ...]]
"""Times [N], and notes about how they were read."""

End = Literal["open", "close"]

MOST = 0.5
"""Share of bars whose close shows at which end their times lie."""

FEWEST = 4
"""Bars whose steps show a rhythm or none."""


def read_alike(
    arrays: dict[str, pa.Array], layout: Layout, options: LoadOptions, where: str
) -> Read:
    """Times at the end of bars that is wanted [N], on which all columns that hold them agree.

    Raises:
        TableError: When columns differ, or all hold times of the other end.
    """

    def read(names: Names) -> Read:
        return read_times(
            {name: arrays[name] for name in names}, options.zone, where, options.time_format
        )

    times = _read_each(read, (layout.times, *layout.same_times))
    closes = _read_closes(read, layout.closes)
    ends = {
        names: _find_end(names, time_ns, closes, options, where)
        for names, (time_ns, _) in times.items()
    }
    wanted = {
        names: read for names, read in times.items() if ends[names] in (None, options.stamped)
    }
    if not wanted:
        raise _refuse_end(layout.times, times[layout.times][0], closes, options, where)
    others = " and ".join(repr(names[0]) for names in times if names not in wanted)
    time_ns, notes = _agree(wanted, where)
    if not others:
        return time_ns, notes
    end = "close" if options.stamped == "open" else "open"
    return time_ns, (*notes, f"column {others} is not read: it says when bars {end}")


def _read_each(read: Callable[[Names], Read], columns: tuple[Names, ...]) -> dict[Names, Read]:
    """Times of each column that may hold them; of one that does not, the error names the others."""
    times = {}
    for names in columns:
        try:
            times[names] = read(names)
        except TableError as error:
            others = " or ".join(_options(other) for other in columns if other != names)
            if not others:
                raise
            raise TableError(f"{error}; {others} reads times without it") from None
    return times


def _read_closes(read: Callable[[Names], Read], names: Names) -> dict[str, Ints]:
    """Times at which bars close [N], by column, on whole minutes where they lie a moment before."""
    closes = {}
    for name in names:
        try:
            time_ns, _ = read((name,))
        except TableError:
            # A column that is called so may hold something else.
            continue
        moment_ns, _ = find_lead(time_ns)
        closes[name] = np.where(time_ns == NO_TIME, NO_TIME, time_ns + moment_ns)
    return closes


def _find_end(
    names: Names, time_ns: Ints, closes: Mapping[str, Ints], options: LoadOptions, where: str
) -> End | None:
    """The end of bars at which times [N] lie, by what they hold, a column of closes, or a name."""
    if find_role(names[0]) == "close_time" or (len(time_ns) > 1 and find_lead(time_ns)[0]):
        return "close"
    is_stated = bool({"timestamp", "date", "time"} & options.columns.keys())
    says_open = not is_stated and SAYS_OPEN.search(plain(names[0])) is not None
    for name, close_ns in closes.items():
        _refuse_misfit(names, name, time_ns, close_ns, where)
        if options.source_timeframe is None:
            _refuse_short(names, name, time_ns, close_ns, where)
        both = (time_ns != NO_TIME) & (close_ns != NO_TIME)
        if both.any() and not says_open:
            return "close" if (close_ns <= time_ns)[both].mean() >= MOST else "open"
    return "open" if says_open else None


def _agree(times: Mapping[Names, Read], where: str) -> Read:
    """The times of columns [N] that could each be those of bars."""
    (first, (time_ns, _)), *others = times.items()
    for names, (other_ns, _) in others:
        differs = np.flatnonzero(other_ns != time_ns)
        if len(differs):
            i = int(differs[0])
            raise TableError(
                f"{where}: columns {first[0]!r} and {names[0]!r} could both be the time of a bar, "
                f"and differ: row {i} has {format_time(time_ns[i])} and "
                f"{format_time(other_ns[i])}; say which with {_options(first)} or {_options(names)}"
            )
    # The column that needs fewest words leaves least to doubt.
    return min(times.values(), key=lambda read: len(read[1]))


def _refuse_end(
    names: Names, time_ns: Ints, closes: Mapping[str, Ints], options: LoadOptions, where: str
) -> TableError:
    """The error about times of the other end of bars than the wanted one."""
    column = f"{where}: column {names[-1]!r}"
    if options.stamped == "close":
        return TableError(
            f"{column} says when bars open; leave --stamped out, or {_options(names)} lets it be "
            "closes"
        )
    if find_role(names[0]) == "close_time":
        return TableError(f"{column} says when bars close; --stamped close reads it so")
    if not find_lead(time_ns)[0]:
        return TableError(
            f"{column} holds the times of column {next(iter(closes))!r}, at which bars close; "
            f"--stamped close reads them so, and {_options(names)} as opens"
        )
    return TableError(
        f"{column} holds times such as {format_time(time_ns[0])}, a moment before a whole minute, "
        "at which bars close; --stamped close reads them"
    )


def _refuse_misfit(names: Names, name: str, time_ns: Ints, close_ns: Ints, where: str) -> None:
    """Refuse times [N] that are no opens of bars which close at the times of another column.

    Raises:
        TableError: When most bars would close before they open or after the next opens, or begin
            and end at trades, whose times follow no step.
    """
    rows = np.flatnonzero((time_ns != NO_TIME) & (close_ns != NO_TIME))
    if len(rows) == 0:
        return
    opens, ends = time_ns[rows], close_ns[rows]
    starts = np.unique(opens)
    has_next = opens < starts[-1]
    nexts = starts[np.minimum(np.searchsorted(starts, opens, "right"), len(starts) - 1)]
    trades = np.full(len(rows), _are_of_trades(starts, ends - opens))
    for is_wrong, what in (
        (ends < opens, "bars would close before they open"),
        (has_next & (ends > nexts), "bars would close after the next one opens"),
        (trades, "bars would begin and end at their trades, in no regular step"),
    ):
        if is_wrong.mean() >= MOST:
            i = rows[np.flatnonzero(is_wrong)[0]]
            raise TableError(
                f"{where}: {what}: row {i} has {format_time(time_ns[i])} in column {names[-1]!r} "
                f"and {format_time(close_ns[i])} in column {name!r}; {_options(names)} reads it "
                "without the other"
            )


def _refuse_short(names: Names, name: str, time_ns: Ints, close_ns: Ints, where: str) -> None:
    """Refuse bars whose closes [N] show that they last half of the step between them or less.

    A day's bar may close with its session.

    Raises:
        TableError: Naming the duration that closes show.
    """
    is_known = (time_ns != NO_TIME) & (close_ns != NO_TIME)
    steps = np.diff(np.unique(time_ns[time_ns != NO_TIME]))
    if not len(steps) or not is_known.any():
        return
    step_ns = int(np.median(steps))
    longest_ns = int(np.quantile((close_ns - time_ns)[is_known], 0.99, method="higher"))
    unit_ns = MINUTE_NS if longest_ns > MINUTE_NS else SECOND_NS
    longest_ns = -(-longest_ns // unit_ns) * unit_ns
    if step_ns == DAY_NS or not 0 < 2 * longest_ns <= step_ns:
        return
    longest, step = format_timeframe(longest_ns), format_timeframe(step_ns)
    raise TableError(
        f"{where}: bars close {longest} after they open by column {name!r}, or sooner, and {step} "
        f"lie between them; --source-timeframe {longest} reads bars with gaps, and "
        f"{_options(names)} reads them without their closes"
    )


def _are_of_trades(starts: Ints, left_ns: Ints) -> bool:
    """Whether bars that begin at times in order [M], and last so long [N], follow no step."""
    if len(starts) < FEWEST or not (starts % MINUTE_NS).any():
        return False
    steps = np.diff(starts)
    _, counts = np.unique(left_ns, return_counts=True)
    return bool((steps % steps.min() != 0).mean() >= MOST and counts.max() < MOST * len(left_ns))


def _options(names: Names) -> str:
    """The options that name the column, or the two columns, of the time."""
    meanings = ("timestamp",) if len(names) == 1 else ("date", "time")
    return " ".join(map(write_option, meanings, names))
