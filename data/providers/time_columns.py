"""When bars open, from the columns of a file that say so, which must agree."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from data.checks import NO_TIME, Ints, format_time
from data.errors import TableError
from data.providers.columns import Layout
from data.providers.times import read_times
from data.table import LoadOptions
from data.timeframe import MINUTE_NS, SECOND_NS


def read_alike(
    arrays: dict[str, pa.Array], layout: Layout, options: LoadOptions, where: str
) -> tuple[Ints, tuple[str, ...]]:
    """Times, which all columns that say when a bar opens must agree on."""

    def read(names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
        return read_times(
            {name: arrays[name] for name in names}, options.zone, where, options.time_format
        )

    if not layout.same_times:
        return read(layout.times)
    columns = (layout.times, *layout.same_times)
    found = [read(names) for names in columns]
    opens = [names for names, each in zip(columns, found, strict=True) if not are_closes(each[0])]
    if 0 < len(opens) < len(columns):
        closes = " and ".join(repr(names[0]) for names in columns if names not in opens)
        bare = replace(layout, times=opens[0], same_times=tuple(opens[1:]))
        time_ns, notes = read_alike(arrays, bare, options, where)
        return time_ns, (*notes, f"column {closes} is not read: it says when bars close")
    for names, (other, _) in zip(layout.same_times, found[1:], strict=True):
        differs = np.flatnonzero(other != found[0][0])
        if len(differs):
            i = int(differs[0])
            one, two = (format_time(times[i]) for times in (found[0][0], other))
            raise TableError(
                f"{where}: columns {layout.times[0]!r} and {names[0]!r} could both be the time of "
                f"a bar, and differ: row {i} has {one} and {two}; say which with "
                f"--column timestamp={layout.times[0]}"
            )
    # The column that needs fewest words leaves least to doubt.
    return min(found, key=lambda one: len(one[1]))


def are_closes(time_ns: Ints) -> bool:
    """Whether all times [N] lie a moment before a whole minute, as 23:59:59.999 does."""
    known = time_ns[time_ns != NO_TIME]
    moments = (SECOND_NS, SECOND_NS // 1000, SECOND_NS // 10**6, 1)
    return len(known) > 1 and any(not ((known + moment) % MINUTE_NS).any() for moment in moments)


def refuse_closes(time_ns: Ints, layout: Layout, options: LoadOptions, where: str) -> None:
    """Refuse times [N] at which bars close, unless a person says that they do."""
    if options.stamped == "open" and are_closes(time_ns):
        raise TableError(
            f"{where}: column {layout.times[-1]!r} holds times such as {format_time(time_ns[0])}, "
            "a moment before a whole minute, at which bars close; --stamped close reads them"
        )
