"""Bars from a Parquet file; the size of its unpacked pages is known before a row is read.

Rows that were no file are sources while they are held, and a run keeps them as such a file.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from data.checks import COLUMNS, NO_TIME
from data.errors import SourceError, refuse_size
from data.providers import HELD
from data.providers.arrow_table import explain_damage, read_schema
from data.providers.columns import list_names
from data.providers.kinds import HEAD_BYTES, PARQUET, describe_other
from data.providers.markets import part_market
from data.providers.numbers import to_array
from data.providers.source_file import (
    VALUE_BYTES,
    WORD_BYTES,
    label,
    open_path,
    open_unchanged,
    refuse_nested,
    refuse_rows,
)
from data.providers.times import find_column_zone
from data.table import LoadOptions, RawTable, with_statement

DIGITS = 16
"""Digits of a digest that name rows."""

META = b"exhaustion-optimizer rows"
"""Name of the symbol and notes of rows in the metadata of their file."""

FORM = "Parquet"

BINARY = "BYTE_ARRAY"

SMALLEST_FOOTER = 10_000_000
"""Bytes that a footer may take under any cap."""

FOOTER_GROWTH = 100
"""Bytes of memory that a byte of a footer may become, nearly."""

FOOTER_END = 8
"""A file ends in the length of its footer and its mark, of four bytes each."""

UNPACKED, PACKED, DICTIONARY = 2, 3, 7
VALUE_COUNTS = (5, 7, 8)
"""Fields of the header of a page; of three, one for each kind of page, the first counts values."""

INTEGERS, INTEGER, TEXT, STRUCT = (4, 5, 6), 5, 8, 12
WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8}
"""Kinds of fields in Thrift's compact form; of flags, bytes and doubles their width."""


class _Pages(io.RawIOBase):
    """A file that pyarrow reads by whole columns of a group; its pages are counted before."""

    def __init__(self, source: IO[bytes], where: str, max_bytes: int) -> None:
        self._source, self._where, self._max_bytes = source, where, max_bytes
        self.size, self.width = 0, VALUE_BYTES

    def readable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place of the file."""
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        """The place in the file."""
        return self._source.tell()

    def read(self, size: int = -1, /) -> bytes:
        """The pages of a column, unless they unpack to too much."""
        pages, at = self._source.read(size), 0
        try:
            while at < len(pages):
                fields, at = _read_fields(pages, at)
                counts = {kind: fields[kind][1] for kind in VALUE_COUNTS if kind in fields}
                if len(counts) != 1 or min(*counts.values(), fields[UNPACKED], fields[PACKED]) < 0:
                    raise pa.ArrowInvalid("a page counts nothing, or below zero")
                words = counts.get(DICTIONARY, 0)
                values = sum(counts.values()) - words
                self.size += words * max(WORD_BYTES, self.width)
                self.size += max(fields[UNPACKED], values * self.width)
                at += fields[PACKED]
        except (LookupError, TypeError, RecursionError):
            raise pa.ArrowInvalid("it describes no pages") from None
        if self.size > self._max_bytes:
            raise refuse_size(self._where, f"it unpacks to {self.size} bytes", self._max_bytes)
        return pages


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


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a Parquet file; `options.max_bytes` caps the columns to read, decoded."""
    address, market = part_market(address)
    path = open_path(address, "parquet:PATH")
    with open_unchanged(path, options.max_bytes) as file:
        return _read(file, path, market, options)


def open_capped(source: IO[bytes], where: str, max_bytes: int) -> pq.ParquetFile:
    """Open a Parquet file.

    Raises:
        LimitError: When its footer alone may take more than `max_bytes`.
        pa.ArrowException, OSError: When it is none.
    """
    size = source.seek(0, 2)
    source.seek(max(size - FOOTER_END, 0))
    end = source.read(FOOTER_END)
    footer = min(int.from_bytes(end[:4], "little"), size) * FOOTER_GROWTH
    if end.endswith(PARQUET) and footer > max(max_bytes, SMALLEST_FOOTER):
        raise refuse_size(where, f"its footer takes {footer} bytes", max_bytes)
    return pq.ParquetFile(source, pre_buffer=False)


def read_capped(
    file: pq.ParquetFile, source: IO[bytes], used: list[str], where: str, max_bytes: int
) -> pa.Table:
    """Read columns of a file that `open_capped` opened, one after the other.

    Raises:
        LimitError: When they would take more than `max_bytes`.
        pa.ArrowException, OSError: When they are damaged.
    """
    schema, rows = file.schema_arrow, file.metadata.num_rows
    fields = [field for name in used for field in schema if field.name == name]
    refuse_nested(fields, where)
    refuse_rows(rows, len(fields), where, max_bytes)
    leaves = [file.schema.column(place) for place in range(len(file.schema))]
    pages, columns = _Pages(source, where, max_bytes), []
    # One long word may stand in every row, so text stays a dictionary until its size is known.
    texts = [leaf.path for leaf in leaves if leaf.physical_type == BINARY]
    counted = pq.ParquetFile(
        pages,
        metadata=file.metadata,
        read_dictionary=texts,
        pre_buffer=False,
        page_checksum_verification=True,
    )
    for name in used:
        mine = [leaf for leaf in leaves if leaf.path == name]
        pages.width = max(VALUE_BYTES, *(leaf.length for leaf in mine))
        # A footer may promise rows without end: no more are made room for than it has.
        few = max(rows, 1)
        named = [field for field in counted.schema_arrow if field.name == name]
        if name in texts and not all(pa.types.is_dictionary(field.type) for field in named):
            # Each number in bytes is decoded as text first, and may be as long as a page.
            before = pages.size
            for group in range(counted.num_row_groups):
                next(counted.iter_batches(1, [group], [name], use_threads=False), None)
            few, pages.size = max(1, max_bytes // max(pages.size, 1)), before
        batches = list(counted.iter_batches(few, columns=[name], use_threads=False))
        columns += pa.Table.from_batches(batches, pa.schema(named)).columns
    for column in columns:
        # Bytes that are no text would show only where a value is looked at.
        column.validate(full=True)
    if any(len(column) != rows for column in columns):
        raise pa.ArrowInvalid("its columns have other rows than the file")
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])


def _read_stated(schema: pa.Schema) -> tuple[str, tuple[str, ...]] | None:
    """The symbol and the notes that a file states; None without any."""
    try:
        stated = json.loads((schema.metadata or {})[META])
        symbol, notes = stated["symbol"], stated["notes"]
        lines = tuple(note for note in notes if isinstance(note, str) and note.isprintable())
    except (LookupError, TypeError, ValueError, RecursionError):
        return None
    return (symbol, lines) if isinstance(symbol, str) else None


def _read(source: IO[bytes], path: Path, market: str | None, options: LoadOptions) -> RawTable:
    where = label(path)
    head = source.read(HEAD_BYTES)
    if not head.startswith(PARQUET):
        kind = describe_other(head + source.read())
        raise SourceError(f"{where}: is no readable Parquet file; {kind}")
    with (
        explain_damage(where, FORM),
        open_capped(source, where, options.max_bytes) as file,
    ):
        schema = file.schema_arrow
        if is_encoded(schema):
            kept = list_columns(schema, options, where)
            columns = read_capped(file, source, kept, where, options.max_bytes)
            return decode_rows(columns.replace_schema_metadata(schema.metadata), where)

    def read_places(places: list[int]) -> pa.Table:
        named = list(dict.fromkeys(schema.names[place] for place in places))
        with (
            explain_damage(where, FORM),
            open_capped(source, where, options.max_bytes) as file,
        ):
            columns = read_capped(file, source, named, where, options.max_bytes)
        # By a name all columns are read that are called so.
        came = [at for name in named for at, other in enumerate(schema.names) if other == name]
        return columns.select([came.index(place) for place in places])

    table = read_schema(schema, read_places, path, options, market)
    return with_statement(table, schema.metadata)


def _read_fields(head: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Whole numbers and records in a record of Thrift's compact form, and its end."""
    fields: dict[int, Any] = {}
    number = 0
    while byte := head[at]:
        kind, at = byte & 15, at + 1
        if byte >> 4:
            number += byte >> 4
        else:
            number, at = _read_integer(head, at)
        if kind == STRUCT:
            fields[number], at = _read_fields(head, at)
        elif kind in INTEGERS:
            value, at = _read_integer(head, at)
            # A field of another width is passed over, as pyarrow does.
            fields |= {number: value} if kind == INTEGER else {}
        elif kind == TEXT:
            length, at = _read_varint(head, at)
            at += length
        else:
            at += WIDTHS[kind]
    return fields, at + 1


def _read_integer(head: bytes, at: int) -> tuple[int, int]:
    # Zigzag: 0, -1, 1, -2 ... are written as 0, 1, 2, 3 ...
    value, at = _read_varint(head, at)
    return (value >> 1) ^ -(value & 1), at


def _read_varint(head: bytes, at: int) -> tuple[int, int]:
    # Seven bits a byte, lowest first; the eighth is set where another byte follows.
    value = shift = 0
    while (byte := head[at]) >= 128 and shift < 63:
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
    return value | byte << shift, at + 1
