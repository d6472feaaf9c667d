"""Bars from a Parquet file; its size is judged by the footer before a row is read."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.errors import SourceError
from data.providers.arrow_table import (
    first_line,
    label,
    open_path,
    recognise_own,
    refuse_size,
    to_raw,
    unchanged,
)
from data.providers.columns import part_market
from data.statement import with_statement
from data.table import LoadOptions, RawTable

VALUE_BYTES = 8


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a Parquet file.

    `options.max_bytes` caps rows x columns x 8 as the footer states them.
    """
    address, market = part_market(address)
    path = open_path(address, "parquet:PATH")
    with unchanged(path, options.max_bytes) as content:
        return _read(content, path, market, options)


def _read(content: bytes, path: Path, market: str | None, options: LoadOptions) -> RawTable:
    where = label(path)
    try:
        with _opened(content) as file:
            schema = file.schema_arrow
            own = list(schema.names)
            kinds = dict(zip(own, schema.types, strict=True))
            names, layout, market = recognise_own(own, options, market, where)
            used = [own[names.index(name)] for name in layout.used]
            texts = [name for name in used if _is_text(kinds[name])]
            _check_size(file.metadata, where, options.max_bytes)
            columns = _read_texts(content, used, texts) if texts else file.read(columns=used)
        size = sum(_text_bytes(columns.column(name)) for name in texts)
        if size > options.max_bytes:
            raise refuse_size(where, f"its text takes {size} bytes", options.max_bytes)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        reason = first_line(error)
        raise SourceError(f"{where}: is no readable Parquet file ({reason})") from None
    named = columns.rename_columns(list(layout.used))
    return with_statement(to_raw(named, layout, path, options, market), schema.metadata)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _check_size(footer: pq.FileMetaData, where: str, max_bytes: int) -> None:
    size = footer.num_rows * footer.num_columns * VALUE_BYTES
    if size > max_bytes:
        rows = f"{footer.num_rows} rows of {footer.num_columns} columns"
        raise refuse_size(where, f"{rows} take {size} bytes", max_bytes)
    unpacked = sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups))
    if unpacked > max_bytes:
        raise refuse_size(where, f"it unpacks to {unpacked} bytes", max_bytes)


def _opened(content: bytes, texts: Sequence[str] = ()) -> pq.ParquetFile:
    return pq.ParquetFile(
        pa.BufferReader(content), read_dictionary=texts, page_checksum_verification=True
    )


def _read_texts(content: bytes, used: list[str], texts: list[str]) -> pa.Table:
    # text is kept as a dictionary until its size is known: one long word may stand in every row
    with _opened(content, texts) as file:
        return file.read(columns=used)


def _text_bytes(column: pa.ChunkedArray) -> int:
    size = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
        size += pc.sum(lengths).as_py() or 0
    return size
