"""Raw columns of a provider, in the file's own order, times already in UTC."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from data.checks import COLUMNS
from data.errors import LimitError, TableError
from data.plain import fit_fields
from data.zones import Ambiguous, LocalZone

LARGEST_SOURCE_BYTES = 200_000_000
"""Cap unless ``--max-bytes`` sets another: room for four million bars."""

META = b"exhaustion-optimizer bars"
"""Name, in the metadata of a file, of the statement about its bars: their duration and zone, and
how many there were from when to when."""

Stamped = Literal["open", "close"]
"""The end of a bar at which its time lies."""


@dataclass(frozen=True)
class FetchOptions:
    """Range to fetch from a vendor, and the cache to keep it in; files have no use for it.

    Args:
        start: ISO time of the first bar wanted; None for the first that is cached.
        end: ISO time after the last bar wanted; None for the last that is cached.
        cache: Folder of fetched bars; None for the user's own.
        may_fetch: Whether a vendor is asked, and its bars are kept; False reads what is there.
    """

    start: str | None = None
    end: str | None = None
    adjusted: bool = True
    accept_missing: bool = False
    cache: str | None = None
    may_fetch: bool = True

    def __post_init__(self) -> None:
        fit_fields(self, TableError)


@dataclass(frozen=True)
class LoadOptions:
    """Rules of reading and repairing a source; nothing is repaired without an option.

    Args:
        timeframe: Duration of the bars wanted, such as ``1h``; None for that of the source.
        source_timeframe: Duration of the source's own bars, where its steps do not show it;
            None for what the source states or its steps show.
        stamped: At which end of a bar its time lies, ``open`` or ``close``.
        tz: IANA zone of times that name none, also with a shift such as ``America/New_York+7h``;
            None reads them as UTC, with a note.
        ambiguous: Reading of local times that a clock shows twice where the order of rows does not
            tell them apart, ``earlier`` or ``later``; None refuses them.
        dedupe: Drop rows that repeat the row before them in every value.
        drop_bad_bars: Drop rows that are no legal bar.
        sort: Put rows in the order of time.
        columns: Meaning to column name, for columns that are not recognised.
        aligned_columns: Further columns of the file to read, each as ``NAME``, or ``NAME=COLUMN``
            where it has another name there. Who asks for one states that value t was known at the
            close of bar t.
        time_format: How times are written, such as ``%d/%m/%Y``; None to find out.
        decimal: Mark that begins decimals, ``.`` or ``,``; None to find out.
        tick: Raise highs and lower lows that miss open or close by no more than this.
        price_offset: Added to every price, so that a market which fell below zero can be traded.
        calendar: Code of the exchange, such as ``XNYS``, whose closed hours are no gaps; None for
            those that the rhythm of the weeks shows.
        max_bytes: Refuse sources that would take more memory, decoded.
        fetch: Range and cache, for sources that are no files.

    Raises:
        LimitError: When `max_bytes` is below 1.
        TableError: When another value makes no sense.
    """

    timeframe: str | None = None
    source_timeframe: str | None = None
    stamped: Stamped = "open"
    tz: str | None = None
    ambiguous: Ambiguous | None = None
    dedupe: bool = False
    drop_bad_bars: bool = False
    sort: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    aligned_columns: str | Sequence[str] = ()
    time_format: str | None = None
    decimal: Literal[".", ","] | None = None
    tick: float = 0.0
    price_offset: float = 0.0
    calendar: str | None = None
    max_bytes: int = LARGEST_SOURCE_BYTES
    fetch: FetchOptions = FetchOptions()

    def __post_init__(self) -> None:
        fit_fields(self, TableError)
        if self.tick < 0:
            raise TableError(f"--tick must be a number of at least 0, got {self.tick!r}")
        if self.max_bytes < 1:
            raise LimitError(f"--max-bytes must be at least 1, got {self.max_bytes!r}")
        _ = self.aligned

    @cached_property
    def zone(self) -> LocalZone | None:
        """The zone of times that name none."""
        return None if self.tz is None else LocalZone(self.tz, self.ambiguous)

    @cached_property
    def aligned(self) -> dict[str, str]:
        """Name to column of the file, of each aligned column."""
        columns: dict[str, str] = {}
        listed = self.aligned_columns
        for text in (listed,) if isinstance(listed, str) else listed:
            name, sign, column = text.partition("=")
            if not name.isidentifier() or (sign and not column):
                raise TableError(
                    f"--aligned-column {text!r} must look like NAME, or NAME=COLUMN of the file; a "
                    "name is letters, digits and _"
                )
            if name in columns:
                raise TableError(f"--aligned-column: two columns are named '{name}'")
            if name in (*COLUMNS, "symbol"):
                raise TableError(f"--aligned-column {text!r}: all bars have '{name}' already")
            columns[name] = column or name
        return columns


@dataclass(frozen=True)
class RawTable:
    """Rows as a source holds them: not sorted, not repaired, not yet bars."""

    timestamp: npt.NDArray[np.int64]  # [N], int64 nanoseconds UTC, `NO_TIME` where a row has none
    # open, high, low, close, volume, then aligned columns that were asked for; [N] float64
    # each, NaN where missing.
    values: Mapping[str, npt.NDArray[np.float64]]
    symbol: str
    where: str  # beginning of errors about a row, such as the name of the file
    is_simulated: bool = False
    notes: tuple[str, ...] = ()  # one line for each assumption made while reading
    # Duration of a bar where the source states it, which then stamps bars at their open; None
    # where steps must show it.
    timeframe_ns: int | None = None
    zone: str = "UTC"  # IANA zone of the times, as far as the source names one


def state_bars(
    timestamp: npt.NDArray[np.int64], timeframe_ns: int, zone: str
) -> dict[bytes, bytes]:
    """The statement of bars that open at times [T], as metadata of their file."""
    stated = {
        "timeframe_ns": timeframe_ns,
        "zone": zone,
        "bars": len(timestamp),
        "first_ns": int(timestamp[0]),
        "last_ns": int(timestamp[-1]),
    }
    return {META: json.dumps(stated).encode()}


def with_statement(table: RawTable, metadata: Mapping[bytes, bytes] | None) -> RawTable:
    """Rows of a file with what its metadata states, if it is of these rows.

    Programs that change rows may hand the metadata of the file on as it was: then it is not
    used, with a note.
    """
    text = (metadata or {}).get(META)
    if text is None:
        return table
    rows = [len(table.timestamp), *table.timestamp[[0, -1] if len(table.timestamp) else []]]
    try:
        stated = json.loads(text)
        timeframe_ns, zone = stated["timeframe_ns"], str(stated["zone"])
        is_same = rows == [stated[name] for name in ("bars", "first_ns", "last_ns")]
    except (LookupError, TypeError, ValueError, RecursionError):
        is_same = False
    if is_same and isinstance(timeframe_ns, int) and timeframe_ns > 0:
        return replace(table, timeframe_ns=timeframe_ns, zone=zone)
    note = "the duration that this file states was stated of other bars, and is not used"
    return replace(table, notes=(*table.notes, note))
