"""Bars from a Parquet file; what its pages unpack to is known before a row is read."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data.errors import SourceError
from data.providers.arrow_table import explain_damage, recognise_columns, to_raw
from data.providers.kinds import PARQUET, describe_other
from data.providers.markets import part_market
from data.providers.mixed_rows import Columns
from data.providers.parquet_pages import decoded_bytes, footer_bytes
from data.providers.size_caps import is_single, refuse_nested, refuse_rows, refuse_size
from data.providers.source_file import label, open_path, open_unchanged
from data.statement import read_frame, with_statement
from data.table import LoadOptions, RawTable

FORM = "Parquet"

BINARY = "BYTE_ARRAY"

SMALLEST_FOOTER = 10_000_000
"""Bytes that a footer may take under any cap."""


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a Parquet file.

    `options.max_bytes` caps what the columns that are read take, decoded.
    """
    address, market = part_market(address)
    path = open_path(address, "parquet:PATH")
    with open_unchanged(path, options.max_bytes) as file:
        return _read(file.read(), path, market, options)


def _read(content: bytes, path: Path, market: str | None, options: LoadOptions) -> RawTable:
    where = label(path)
    if not content.startswith(PARQUET):
        raise SourceError(f"{where}: is no readable Parquet file; {describe_other(content)}")
    with (
        explain_damage(where, FORM),
        open_capped(content, where, options.max_bytes) as file,
    ):
        schema = file.schema_arrow
        names, layout, market = recognise_columns(schema.names, options, market, where)
        used = [names.index(name) for name in layout.used]
        columns = _read_places(file, content, used, where, options.max_bytes)
    columns = columns.rename_columns(list(layout.used))

    def others() -> Columns:
        for place, name in enumerate(names):
            if name in layout.used or not is_single(schema.field(place).type):
                continue
            with (
                explain_damage(where, FORM),
                open_capped(content, where, options.max_bytes) as file,
            ):
                column = _read_places(file, content, [place], where, options.max_bytes).column(0)
            yield name, column

    symbol, notes = read_frame(schema.metadata)
    if layout.symbol is None and layout.market is None:
        layout = replace(layout, market=symbol)
    layout = replace(layout, notes=(*layout.notes, *notes))
    table = to_raw(columns, layout, path, options, market, others)
    return with_statement(table, schema.metadata)


def _read_places(
    file: pq.ParquetFile, content: bytes, places: list[int], where: str, max_bytes: int
) -> pa.Table:
    """The columns of these places, in this order."""
    file_names = file.schema_arrow.names
    named = list(dict.fromkeys(file_names[place] for place in places))
    columns = read_capped(file, content, named, where, max_bytes)
    # By a name all columns are read that are called so.
    read_places = [
        place for name in named for place, other in enumerate(file_names) if other == name
    ]
    return columns.select([read_places.index(place) for place in places])


def open_capped(content: bytes, where: str, max_bytes: int) -> pq.ParquetFile:
    """Open the content of a Parquet file, whose text will be read as dictionaries.

    Raises:
        LimitError: When its footer alone may take more than `max_bytes`.
        pa.ArrowException, OSError: When it is none.
    """
    if footer_bytes(content) > max(max_bytes, SMALLEST_FOOTER):
        raise refuse_size(where, f"its footer takes {footer_bytes(content)} bytes", max_bytes)
    source = pa.BufferReader(content)
    with pq.ParquetFile(source) as file:
        kinds = map(file.schema.column, range(file.metadata.num_columns))
        texts = [kind.path for kind in kinds if kind.physical_type == BINARY]
        whole = file.metadata
    # One long word may stand in every row, so text stays a dictionary until its size is known.
    return pq.ParquetFile(
        source, metadata=whole, read_dictionary=texts, page_checksum_verification=True
    )


def read_capped(
    file: pq.ParquetFile, content: bytes, used: list[str], where: str, max_bytes: int
) -> pa.Table:
    """Read columns that `open_capped` opened.

    Raises:
        LimitError: When they would take more than `max_bytes`.
        PageError, pa.ArrowException, OSError: When they are damaged.
    """
    schema = list(file.schema_arrow)
    fields = [field for name in used for field in schema if field.name == name]
    refuse_nested(fields, where)
    refuse_rows(file.metadata.num_rows, len(fields), where, max_bytes)
    unpacked = decoded_bytes(content, file.metadata.schema, set(used))
    if unpacked > max_bytes:
        raise refuse_size(where, f"it unpacks to {unpacked} bytes", max_bytes)
    if not _has_long_numbers(file, fields):
        columns = file.read(columns=used)
        # Bytes that are no text would show only where a value is looked at.
        columns.validate(full=True)
        return columns
    # A number in bytes is decoded as text first, of which each value may be as long as a page.
    few = max(1, max_bytes // max(unpacked, 1))
    return pa.Table.from_batches(file.iter_batches(few, columns=used), pa.schema(fields))


def _has_long_numbers(file: pq.ParquetFile, fields: Sequence[pa.Field]) -> bool:
    numbers = {field.name for field in fields if not pa.types.is_dictionary(field.type)}
    leaves = map(file.schema.column, range(file.metadata.num_columns))
    return any(leaf.path in numbers and leaf.physical_type == BINARY for leaf in leaves)
