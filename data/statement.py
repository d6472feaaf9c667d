"""Statement of a kept Parquet file about its bars beside their columns: duration, zone, notes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from data.bars import Bars
from data.table import RawTable

META = b"exhaustion-optimizer bars"
"""Name of the statement in the metadata of a file."""

ROWS = b"exhaustion-optimizer rows"
"""Name of the symbol and notes of rows that were read before they were kept."""


@dataclass(frozen=True)
class Statement:
    """Duration and zone of the bars of a file, and the bars that these were stated of."""

    timeframe_ns: int  # duration of a bar, nanoseconds
    zone: str  # IANA zone for the days and weeks of the bars
    bars: int  # how many bars there were
    first_ns: int  # when the first opens, nanoseconds UTC
    last_ns: int  # when the last opens


def state_bars(bars: Bars) -> dict[bytes, bytes]:
    """The statement of bars, as metadata of their file."""
    first_ns, last_ns = (int(bars.timestamp[bar]) for bar in (0, -1))
    statement = Statement(bars.timeframe_ns, bars.zone, len(bars), first_ns, last_ns)
    return {META: json.dumps(asdict(statement)).encode()}


def state_rows(symbol: str, notes: Sequence[str]) -> dict[bytes, bytes]:
    """The symbol of rows and notes about how they were read, as metadata of their file."""
    return {ROWS: json.dumps({"symbol": symbol, "notes": list(notes)}).encode()}


def read_rows(metadata: Mapping[bytes, bytes] | None) -> tuple[str, tuple[str, ...]] | None:
    """The symbol and the notes that the metadata of a file states; None without any."""
    try:
        stated = json.loads((metadata or {})[ROWS])
        symbol, notes = stated["symbol"], stated["notes"]
        lines = tuple(note for note in notes if isinstance(note, str) and note.isprintable())
    except (LookupError, TypeError, ValueError, RecursionError):
        return None
    return (symbol, lines) if isinstance(symbol, str) else None


def with_statement(table: RawTable, metadata: Mapping[bytes, bytes] | None) -> RawTable:
    """Rows of a file with what its metadata states, if it is of these rows.

    Programs that change rows may hand the metadata of the file on as it was: then it is not
    used, with a note.
    """
    text = (metadata or {}).get(META)
    if text is None:
        return table
    try:
        statement = Statement(**json.loads(text))
    except (TypeError, ValueError, RecursionError):
        return _without(table)
    first_last = [int(time) for time in table.timestamp[[0, -1]]] if len(table.timestamp) else []
    if [len(table.timestamp), *first_last] != [
        statement.bars,
        statement.first_ns,
        statement.last_ns,
    ] or not (isinstance(statement.timeframe_ns, int) and statement.timeframe_ns > 0):
        return _without(table)
    return replace(table, timeframe_ns=statement.timeframe_ns, zone=str(statement.zone))


def _without(table: RawTable) -> RawTable:
    note = "the duration that this file states was stated of other bars, and is not used"
    return replace(table, notes=(*table.notes, note))
