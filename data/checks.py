"""The law of bars as checks over whole columns, each with the words for the rows that break it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.errors import BarsError, count_nouns, list_some

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PRICES = ("open", "high", "low", "close")
VALUES = (*PRICES, "volume")
COLUMNS = ("timestamp", *VALUES)

NO_TIME = np.iinfo(np.int64).min
"""Stands where a row has no time; the same bits as numpy's NaT."""

EARLIEST_NS = int(np.datetime64("1900-01-01", "ns").astype(np.int64))
LATEST_NS = int(np.datetime64("2100-01-01", "ns").astype(np.int64))
"""Times outside are a unit read wrongly; inside, every difference fits in 64 bits."""

FIRST_NS, YEAR_NS = 86_400 * 10**9, 366 * 86_400 * 10**9
"""Times of a source lie from 1970-01-02 to a year from now: zero is no time, nor is a year that is
still to come."""

UNITS: tuple[tuple[str, int], ...] = (("s", 10**9), ("ms", 10**6), ("us", 1000), ("ns", 1))
"""Units of whole-number times, with their length in nanoseconds."""

FIRST_S, LAST_S = 315_532_800, 4_102_444_800
"""1980 and 2100 in seconds: within them, a number has one reading, and 20240101 has none."""

SHOWN = 5

LEAST_RUN, MOST_BETWEEN_FRAC = 10, 0.01
"""Rows of a series that was joined to others, and share of bars that come between others by
chance."""

PART_ROWS = 1 << 14
"""Rows whose columns fit into the cache of a core."""

LOW_PRICE, HIGH_LOW = "with a price that is not above zero", "with a high that is not above zero"
LOW_MISSES, HIGH_MISSES = "with a low above open or close", "with a high below open or close"
REMEDIES = {
    LOW_PRICE: ", --price-offset lifts a market that fell below zero",
    HIGH_LOW: ", --price-offset lifts a market that fell below zero",
    LOW_MISSES: ", --tick widens those that miss by no more than a tick",
    HIGH_MISSES: ", --tick widens those that miss by no more than a tick",
}
"""Options against faults, beside dropping their rows."""


def check_bars(
    timestamp: Ints,
    values: Mapping[str, Floats],
    rows: Ints | None = None,
    where: str = "",
    now_ns: int | None = None,
) -> None:
    """Refuse rows that break the law of bars.

    `values` holds the columns of `VALUES`, [T] each; `rows` [T] are the numbers that a message
    shows, which starts with `where`; `now_ns` is as for `faults`.

    Raises:
        BarsError: With the first five offending rows and the option that repairs them.
    """
    if keeps_law(timestamp, values, now_ns):
        return
    shown = np.arange(len(timestamp)) if rows is None else rows
    table = _Rows(f"{where}: " if where else "", shown, timestamp, values)
    for what, bad in faults(timestamp, values, now_ns):
        _refuse_values(table, what, bad)
    _refuse_backward(table)
    _refuse_repeats(table)


def keeps_law(timestamp: Ints, values: Mapping[str, Floats], now_ns: int | None = None) -> bool:
    """True if rows are bars by `check_bars`, looked at in parts that a cache holds."""
    for start in range(0, len(timestamp), PART_ROWS):
        part = slice(start, start + PART_ROWS)
        columns = {name: values[name][part] for name in VALUES}
        if any(bad.any() for _, bad in faults(timestamp[part], columns, now_ns)):
            return False
        # Times of a part ascend from the last of the part before.
        times = timestamp[max(start - 1, 0) : start + PART_ROWS]
        if not (times[1:] > times[:-1]).all():
            return False
    return True


def faults(
    timestamp: Ints, values: Mapping[str, Floats], now_ns: int | None = None
) -> Iterator[tuple[str, Flags]]:
    """The rows that are no bar, by reason, in the order in which they are reported.

    Times [T] are `NO_TIME` where missing; those of a source are measured by the clock, `now_ns`
    since 1970 UTC, None for bars that have been measured. Yields each reason and flags of its
    rows [T].
    """
    opening, high, low, close = (values[name] for name in PRICES)
    yield "without a time", timestamp == NO_TIME
    yield "with a time outside 1900 to 2100", (timestamp < EARLIEST_NS) | (timestamp >= LATEST_NS)
    if now_ns is not None:
        yield "with a time before 1970-01-02", (timestamp < FIRST_NS) & (timestamp >= EARLIEST_NS)
        clock = format_time(now_ns // FIRST_NS * FIRST_NS)[:10]
        ahead = timestamp >= now_ns + YEAR_NS
        yield f"with a time a year or more ahead of the clock, which says {clock}", ahead
    finite = np.ones(len(timestamp), dtype=np.bool_)
    for name in VALUES:
        finite &= np.isfinite(values[name])
    yield "with a value that is missing or not finite", ~finite
    yield LOW_PRICE, (np.minimum(low, np.minimum(opening, close)) <= 0)
    yield HIGH_LOW, high <= 0
    yield "with a negative volume", values["volume"] < 0
    yield LOW_MISSES, low > np.minimum(opening, close)
    yield HIGH_MISSES, high < np.maximum(opening, close)


def repeats(timestamp: Ints, values: Mapping[str, Floats]) -> tuple[Flags, Flags]:
    """Flags of rows [T] that repeat the time before them, and of those [T] that repeat every value.

    `values` may hold aligned columns beside those of `VALUES`; there, two NaN are equal.
    """
    same_time = np.zeros(len(timestamp), dtype=np.bool_)
    same_time[1:] = timestamp[1:] == timestamp[:-1]
    same_row = same_time.copy()
    for name, column in values.items():
        now, before = column[1:], column[:-1]
        same = now == before
        same_row[1:] &= same if name in VALUES else same | (np.isnan(now) & np.isnan(before))
    return same_time, same_row


def wrong_unit(timestamp: Ints) -> str:
    """The end of an error about times [T] that were counted in too short a unit, else empty."""
    first, last = int(timestamp.min()), int(timestamp.max())
    for steps in range(1, len(UNITS)):
        larger = 1000**steps
        if first * larger >= FIRST_S * 10**9 and last * larger < LAST_S * 10**9:
            names = [name for name, _ in UNITS]
            pairs = zip(names, names[steps:], strict=False)
            taken = " or ".join(f"{unit} for {shorter}" for unit, shorter in pairs)
            return (
                f"; {larger:,} times as large they lie from {format_time(first * larger)} to "
                f"{format_time(last * larger)}: {taken} was taken, so write them in their own unit"
            )
    return ""


def format_time(time_ns: int | np.int64) -> str:
    """Nanoseconds UTC as ISO 8601 without a zone, no longer than needed.

    >>> format_time(1_704_067_200_000_000_000)
    '2024-01-01T00:00'
    """
    if time_ns == NO_TIME:
        return "no time"
    unit = next(u for u, ns in (("m", 60 * 10**9), ("s", 10**9), ("ns", 1)) if time_ns % ns == 0)
    return str(np.datetime64(int(time_ns), "ns").astype(f"datetime64[{unit}]"))


@dataclass(frozen=True)
class _Rows:
    prefix: str
    rows: Ints
    timestamp: Ints
    values: Mapping[str, Floats]

    def describe(self, i: int) -> str:
        numbers = " ".join(f"{name}={float(column[i])!r}" for name, column in self.values.items())
        return f"row {self.rows[i]} ({format_time(self.timestamp[i])} {numbers})"


def _refuse_values(table: _Rows, what: str, bad: Flags) -> None:
    n_bad = int(np.count_nonzero(bad))
    if n_bad == 0:
        return
    shown = list_some(map(table.describe, np.flatnonzero(bad)[:SHOWN]), n_bad)
    hint = wrong_unit(table.timestamp[bad]) if what.startswith("with a time") else ""
    raise BarsError(
        f"{table.prefix}{count_nouns(n_bad, 'row')} {what}: {shown}"
        f"{hint or '; --drop-bad-bars drops them'}{REMEDIES.get(what, '')}"
    )


def _refuse_backward(table: _Rows) -> None:
    backward = np.flatnonzero(table.timestamp[1:] < table.timestamp[:-1]) + 1
    if len(backward) == 0:
        return
    i = int(backward[0])
    now, before = (format_time(table.timestamp[k]) for k in (i, i - 1))
    remedy = (
        "the rows seem to be of two series, as bars would stand between others in order of time; "
        "part the file"
        if _are_joined(table.timestamp)
        else "sort the file by time, oldest first, or let --sort do it"
    )
    raise BarsError(
        f"{table.prefix}timestamps are not ascending at row {table.rows[i]}: {now} comes after "
        f"{before}; {remedy}"
    )


def _are_joined(timestamp: Ints) -> bool:
    """Sign of joined series: long runs of ascending times [T] that lie between each other's."""
    steps = np.diff(timestamp)
    if LEAST_RUN * (1 + (steps < 0).sum()) > len(timestamp):
        return False
    apart = np.diff(np.sort(timestamp))
    return bool(((apart > 0) & (apart < steps[steps > 0].min())).mean() > MOST_BETWEEN_FRAC)


def _refuse_repeats(table: _Rows) -> None:
    same_time, same_row = repeats(table.timestamp, table.values)
    differs = np.flatnonzero(same_time & ~same_row)
    equal = np.flatnonzero(same_row)
    if len(differs):
        pairs = "; ".join(
            f"{table.describe(i - 1)} and {table.describe(i)}" for i in differs[:SHOWN]
        )
        raise BarsError(
            f"{table.prefix}{count_nouns(len(differs), 'row')} with the time of the row before, "
            f"but other values: {pairs}; --dedupe drops equal rows only, so correct the file"
        )
    if len(equal):
        first = (f"row {table.rows[i]} ({format_time(table.timestamp[i])})" for i in equal[:SHOWN])
        shown = list_some(first, len(equal))
        raise BarsError(
            f"{table.prefix}{count_nouns(len(equal), 'row')} equal to the row before: {shown}; "
            "--dedupe drops them"
        )
