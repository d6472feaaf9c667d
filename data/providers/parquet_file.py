"""Bars from a Parquet file; what its pages unpack to is known before a row is read."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.errors import SourceError
from data.providers.arrow_table import explain_damage, recognise_columns, to_raw
from data.providers.kinds import HEAD_BYTES, PARQUET, describe_other
from data.providers.markets import part_market
from data.providers.mixed_rows import Columns
from data.providers.size_caps import (
    VALUE_BYTES,
    WORD_BYTES,
    is_single,
    refuse_nested,
    refuse_rows,
    refuse_size,
)
from data.providers.source_file import label, open_path, open_unchanged
from data.statement import read_frame, with_statement
from data.table import LoadOptions, RawTable

FORM = "Parquet"

BINARY = "BYTE_ARRAY"

SMALLEST_FOOTER = 10_000_000
"""Bytes that a footer may take under any cap."""

FOOTER_GROWTH = 100
"""Bytes of memory that a byte of a footer may become, nearly."""

LONGEST_PAGE_HEADER = 1 << 16

FOOTER_END = 8
"""A file ends in the length of its footer and its mark, of four bytes each."""

ROWS, GROUPS, COLUMNS, GROUP_ROWS, DESCRIPTION = 3, 4, 1, 3, 3
N_VALUES, FIRST_PAGE, DICTIONARY_PAGE = 5, 9, 11
"""Fields of a footer, of its groups of rows, of their columns, and of what describes these."""

UNPACKED, PACKED, DICTIONARY = 2, 3, 7
VALUE_COUNTS = (5, 7, 8)
"""Fields of the header of a page; of three, one for each kind of page, the first counts values."""

FLAGS, BYTE, INTEGERS, DOUBLE, TEXT, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
"""Kinds of fields in Thrift's compact form."""

LONG_LIST, DEEPEST = 15, 8
"""Stands in place of a count that follows; records and lists within each other."""


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a Parquet file.

    `options.max_bytes` caps what the columns that are read take, decoded.
    """
    address, market = part_market(address)
    path = open_path(address, "parquet:PATH")
    with open_unchanged(path, options.max_bytes) as file:
        return _read(file, path, market, options)


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
        names, layout, market = recognise_columns(schema.names, options, market, where)
        used = [names.index(name) for name in layout.used]
        columns = _read_places(file, source, used, where, options.max_bytes)
    columns = columns.rename_columns(list(layout.used))

    def others() -> Columns:
        for place, name in enumerate(names):
            if name in layout.used or not is_single(schema.field(place).type):
                continue
            with (
                explain_damage(where, FORM),
                open_capped(source, where, options.max_bytes) as file,
            ):
                column = _read_places(file, source, [place], where, options.max_bytes).column(0)
            yield name, column

    symbol, notes = read_frame(schema.metadata)
    if layout.symbol is None and layout.market is None:
        layout = replace(layout, market=symbol)
    layout = replace(layout, notes=(*layout.notes, *notes))
    table = to_raw(columns, layout, path, options, market, others)
    return with_statement(table, schema.metadata)


def _read_places(
    file: pq.ParquetFile, source: IO[bytes], places: list[int], where: str, max_bytes: int
) -> pa.Table:
    """The columns of these places, in this order."""
    file_names = file.schema_arrow.names
    named = list(dict.fromkeys(file_names[place] for place in places))
    columns = read_capped(file, source, named, where, max_bytes)
    # By a name all columns are read that are called so.
    read_places = [
        place for name in named for place, other in enumerate(file_names) if other == name
    ]
    return columns.select([read_places.index(place) for place in places])


def open_capped(source: IO[bytes], where: str, max_bytes: int) -> pq.ParquetFile:
    """Open a Parquet file, whose text will be read as dictionaries.

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
    with pq.ParquetFile(source) as file:
        kinds = map(file.schema.column, range(file.metadata.num_columns))
        texts = [kind.path for kind in kinds if kind.physical_type == BINARY]
        whole = file.metadata
    # One long word may stand in every row, so text stays a dictionary until its size is known.
    return pq.ParquetFile(
        source,
        metadata=whole,
        read_dictionary=texts,
        pre_buffer=False,
        page_checksum_verification=True,
    )


def read_capped(
    file: pq.ParquetFile, source: IO[bytes], used: list[str], where: str, max_bytes: int
) -> pa.Table:
    """Read columns of a file that `open_capped` opened, one after the other.

    Raises:
        LimitError: When they would take more than `max_bytes`.
        pa.ArrowException, OSError: When they are damaged.
    """
    schema = file.schema_arrow
    fields = [field for name in used for field in schema if field.name == name]
    refuse_nested(fields, where)
    refuse_rows(file.metadata.num_rows, len(fields), where, max_bytes)
    unpacked = _unpacked_bytes(file, source, {*used})
    if unpacked > max_bytes:
        raise refuse_size(where, f"it unpacks to {unpacked} bytes", max_bytes)
    if _has_long_numbers(file, fields):
        # A number in bytes is decoded as text first, of which each value may be as long as a page.
        few = max(1, max_bytes // max(unpacked, 1))
        return pa.Table.from_batches(file.iter_batches(few, columns=used), pa.schema(fields))
    columns = [column for name in used for column in file.read([name], use_threads=False).columns]
    for column in columns:
        # Bytes that are no text would show only where a value is looked at.
        column.validate(full=True)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _has_long_numbers(file: pq.ParquetFile, fields: Iterable[pa.Field]) -> bool:
    numbers = {field.name for field in fields if not pa.types.is_dictionary(field.type)}
    leaves = map(file.schema.column, range(file.metadata.num_columns))
    return any(leaf.path in numbers and leaf.physical_type == BINARY for leaf in leaves)


def _unpacked_bytes(file: pq.ParquetFile, source: IO[bytes], used: set[str]) -> int:
    """Bytes that columns take unpacked, by the headers of their pages; of text, each word once.

    The footer is read here, which may state less: a library that reads it column by column ends
    the process where sizes in it contradict each other.

    Raises:
        pa.ArrowInvalid: When a page, or its description in the footer, cannot be.
    """
    leaves = [file.schema.column(place) for place in range(len(file.schema))]
    total = 0
    try:
        footer, _ = _read_fields(_read_footer(source), 0)
        if footer[ROWS] != sum(group[GROUP_ROWS] for group in footer[GROUPS]):
            raise pa.ArrowInvalid("its groups have other rows than the file")
        for group in footer[GROUPS]:
            for leaf, column in zip(leaves, group[COLUMNS], strict=True):
                if leaf.path in used:
                    width, rows = max(VALUE_BYTES, leaf.length), group[GROUP_ROWS]
                    total += max(_chunk_bytes(source, column, rows, width), rows * width)
    except (LookupError, TypeError, ValueError):
        raise pa.ArrowInvalid("it describes no pages") from None
    return total


def _read_footer(source: IO[bytes]) -> bytes:
    size = source.seek(0, 2)
    source.seek(size - FOOTER_END)
    length = int.from_bytes(source.read(4), "little")
    source.seek(max(size - FOOTER_END - length, 0))
    return source.read(length)


def _chunk_bytes(source: IO[bytes], column: dict[int, Any], rows: int, width: int) -> int:
    """Bytes that the pages of a column unpack to, until all rows of a group have had a value."""
    described = column[DESCRIPTION]
    if rows < 0 or described[N_VALUES] != rows:
        raise pa.ArrowInvalid(f"{described[N_VALUES]} values stand in {rows} rows")
    at = min(described[FIRST_PAGE], described.get(DICTIONARY_PAGE) or described[FIRST_PAGE])
    size = 0
    while rows > 0:
        source.seek(at)
        fields, length = _read_fields(source.read(LONGEST_PAGE_HEADER), 0)
        counts = {kind: fields[kind][1] for kind in VALUE_COUNTS if kind in fields}
        if len(counts) != 1 or min(*counts.values(), fields[UNPACKED], fields[PACKED]) < 0:
            raise pa.ArrowInvalid("a page counts nothing, or below zero")
        size += fields[UNPACKED] + counts.get(DICTIONARY, 0) * max(WORD_BYTES, width)
        rows -= 0 if DICTIONARY in counts else sum(counts.values())
        at += length + fields[PACKED]
    return size


def _read_fields(head: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Fields by number of a record in Thrift's compact form, and where it ends."""
    if depth > DEEPEST:
        raise pa.ArrowInvalid("its records are nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while byte := head[at]:
        at += 1
        if byte >> 4:
            number += byte >> 4
        else:
            number, at = _read_integer(head, at)
        fields[number], at = _read_value(head, at, byte & 15, depth)
    return fields, at + 1


def _read_value(head: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A field's whole number, record or list, and where it ends; of others the end alone counts."""
    if kind in INTEGERS:
        return _read_integer(head, at)
    if kind == STRUCT:
        return _read_fields(head, at, depth + 1)
    if kind in LISTS:
        count, kind, at = head[at] >> 4, head[at] & 15, at + 1
        if count == LONG_LIST:
            count, at = _read_varint(head, at)
        values = []
        for _ in range(count):
            # In a list, flags take a byte each.
            value, at = _read_value(head, at, BYTE if kind in FLAGS else kind, depth + 1)
            values.append(value)
        return values, at
    if kind == TEXT:
        length, at = _read_varint(head, at)
        return None, at + length
    return None, at + {BYTE: 1, DOUBLE: 8, **dict.fromkeys(FLAGS, 0)}[kind]


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
