"""Columns that would take more memory than a person allows, refused before they do."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import Ints
from data.errors import LimitError, TableError

VALUE_BYTES = 8

WORD_BYTES = 16
"""Bytes that a decoder keeps of each word of a dictionary, beside its text."""


def refuse_size(where: str, size: str, max_bytes: int) -> LimitError:
    """The error for a source that would take `size`, in words."""
    return LimitError(f"{where}: {size}, above the cap of {max_bytes}; --max-bytes raises it")


def refuse_nested(fields: Iterable[pa.Field], where: str) -> None:
    """Refuse columns with rows of more than one value, or values that stand for more rows.

    Raises:
        TableError: Naming the first.
    """
    for field in fields:
        if not is_single(field.type):
            raise TableError(
                f"{where}: column {field.name!r} holds {field.type}, which is no single value"
            )


def is_single(kind: pa.DataType) -> bool:
    """True if each row of a column holds one value, which stands for no other row."""
    bare = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_packed = pa.types.is_run_end_encoded(bare) or pa.types.is_dictionary(bare)
    return not (is_packed or pa.types.is_nested(bare) or isinstance(bare, pa.BaseExtensionType))


def refuse_expanded(columns: pa.Table, where: str, max_bytes: int) -> None:
    """Refuse columns with rows that share their bytes, if they are too large without sharing.

    Raises:
        LimitError: When they would take more than `max_bytes`.
        TableError: When one holds no single values.
    """
    refuse_nested(columns.schema, where)
    size = sum(_text_bytes(column) for column in columns.columns)
    if size > max_bytes:
        raise refuse_size(where, f"its text takes {size} bytes", max_bytes)


def refuse_rows(rows: int, columns: int, where: str, max_bytes: int) -> None:
    """Refuse a file with numbers that alone would take too much.

    Raises:
        LimitError: When they would take more than `max_bytes`.
    """
    size = rows * columns * VALUE_BYTES
    if size > max_bytes:
        raise refuse_size(where, f"{rows} rows of {columns} columns take {size} bytes", max_bytes)


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of written text; 0 for columns with rows that share none."""
    if pa.types.is_dictionary(column.type) and _is_binary(column.type.value_type):
        taken = (pc.binary_length(part.dictionary).take(part.indices) for part in column.chunks)
        return sum(pc.sum(lengths).as_py() or 0 for lengths in taken)
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        return sum(int(_view_lengths(chunk).sum()) for chunk in column.chunks if len(chunk))
    return 0


def _view_lengths(views: pa.Array) -> Ints:
    """Bytes of each text, which is the first of the four numbers of its view; of a null none."""
    numbers = np.frombuffer(views.buffers()[1], np.int32).reshape(-1, 4)
    lengths = numbers[views.offset : views.offset + len(views), 0].astype(np.int64)
    return np.where(np.asarray(views.is_valid()), lengths, 0)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )
