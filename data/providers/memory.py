"""Rows that were no file: sources while they are held, and the file that a run keeps of them."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from data.checks import COLUMNS, NO_TIME
from data.errors import SourceError
from data.providers import HELD
from data.providers.columns import list_names
from data.providers.numbers import to_array
from data.providers.times import find_column_zone
from data.table import LoadOptions, RawTable

DIGITS = 16
"""Digits of a digest that name rows."""

META = b"exhaustion-optimizer rows"
"""Name of the symbol and notes of rows in the metadata of their file."""


@contextmanager
def holding(tables: Mapping[str, RawTable]) -> Iterator[None]:
    """Rows by the specs that are their sources within the block, in every thread."""
    for spec, table in tables.items():
        # Equal rows, which several threads may hold, have one name.
        HELD.setdefault(spec, []).append(table)
    try:
        yield
    finally:
        for spec in tables:
            HELD[spec].pop()


def digest_rows(table: RawTable) -> str:
    """Digits that name rows by all that their file holds."""
    digest = hashlib.sha256(f"{table.symbol!r} {table.notes} {table.zone}".encode())
    for name, column in chain([("timestamp", table.timestamp)], table.values.items()):
        digest.update(f"\0{name}\0".encode())
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()[:DIGITS]


def encode_rows(table: RawTable) -> bytes:
    """The Parquet file of rows: times in their zone, values by name, symbol and notes stated."""
    stamps = pa.array(table.timestamp).view(pa.timestamp("ns", tz=table.zone))
    values = {name: pa.array(column) for name, column in table.values.items()}
    columns = pa.table({"timestamp": stamps, **values})
    stated = {"symbol": table.symbol, "notes": list(table.notes)}
    file = BytesIO()
    # The reader finds damage by the sums of pages.
    pq.write_table(
        columns.replace_schema_metadata({META: json.dumps(stated)}),
        file,
        use_dictionary=False,
        write_page_checksum=True,
    )
    return file.getvalue()


def is_encoded(schema: pa.Schema) -> bool:
    """True if a file has the columns of `encode_rows`, and states their owner."""
    first, *others = schema.types or [pa.null()]
    return bool(
        _read_stated(schema) is not None
        and tuple(schema.names[: len(COLUMNS)]) == COLUMNS
        and pa.types.is_timestamp(first)
        and (first.unit, others) == ("ns", [pa.float64()] * len(others))
    )


def list_columns(schema: pa.Schema, options: LoadOptions, where: str) -> list[str]:
    """Columns of encoded rows that are read with these options."""
    for name in options.aligned:
        if name not in schema.names:
            raise SourceError(
                f"{where}: --aligned-column {name}: the rows that were kept of a frame have no "
                f"such column; columns are {list_names(schema.names)}"
            )
    return [*COLUMNS, *options.aligned]


def decode_rows(columns: pa.Table, where: str) -> RawTable:
    """Rows as they were encoded; no option names a column or reads a value anew."""
    symbol, notes = _read_stated(columns.schema) or ("", ())
    stamps, *others = (column.combine_chunks() for column in columns.columns)
    values = (to_array(column, np.nan) for column in others)
    return RawTable(
        to_array(stamps.cast(pa.int64()), NO_TIME),
        dict(zip(columns.column_names[1:], values, strict=True)),
        symbol,
        where,
        notes=notes,
        zone=find_column_zone(stamps) or "UTC",
    )


def _read_stated(schema: pa.Schema) -> tuple[str, tuple[str, ...]] | None:
    """The symbol and the notes that a file states; None without any."""
    try:
        stated = json.loads((schema.metadata or {})[META])
        symbol, notes = stated["symbol"], stated["notes"]
        lines = tuple(note for note in notes if isinstance(note, str) and note.isprintable())
    except (LookupError, TypeError, ValueError, RecursionError):
        return None
    return (symbol, lines) if isinstance(symbol, str) else None
