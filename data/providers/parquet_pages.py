"""What the pages of a Parquet file unpack to, by their own headers, which alone a decoder obeys."""

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq

FOOTER_END = 8
"""A file ends in the length of its footer and its mark, of four bytes each."""

MARK = b"PAR1"

FOOTER_GROWTH = 100
"""Bytes of memory that a byte of a footer may become, nearly."""

WORD_BYTES = 16
"""What a decoder keeps of each word of a dictionary, beside its text."""

VALUE_BYTES = 8

UNPACKED, PACKED = 2, 3
VALUE_COUNTS = (5, 7, 8)
"""Fields of a header, one for each kind of page, whose first field counts values."""

DICTIONARY = 7

BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
DEEPEST = 8


class PageError(ValueError):
    """Pages that contradict themselves or their file."""


def decoded_bytes(content: bytes, footer: pq.FileMetaData, used: set[str]) -> int:
    """Bytes that the used columns of a file take unpacked; of repeated text, each word once.

    Raises:
        PageError: When a page, or what the footer says of it, cannot be.
    """
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    if rows != footer.num_rows or any(group.num_rows < 0 for group in groups):
        raise PageError(f"{footer.num_rows} rows are {rows} in its groups")
    return sum(
        _chunk_bytes(content, group.column(i), group.num_rows, footer.schema.column(i).length)
        for group in groups
        for i in range(group.num_columns)
        if group.column(i).path_in_schema in used
    )


def footer_bytes(content: bytes) -> int:
    """Bytes that the footer of a file may take in memory, before anything of it is read."""
    length = int.from_bytes(content[-FOOTER_END : -FOOTER_END // 2], "little")
    return min(length, len(content)) * FOOTER_GROWTH if content.endswith(MARK) else 0


def _chunk_bytes(content: bytes, chunk: pq.ColumnChunkMetaData, rows: int, width: int) -> int:
    """Of one column in one group of rows; what its pages unpack to, and its values."""
    if chunk.num_values != rows:
        raise PageError(f"{chunk.num_values} values stand in {rows} rows")
    try:
        return _unpacked_bytes(content, chunk, rows, width)
    except (LookupError, TypeError):
        raise PageError("a page has no header of one") from None


def _unpacked_bytes(content: bytes, chunk: pq.ColumnChunkMetaData, rows: int, width: int) -> int:
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset]
    unpacked = 0
    for size, words in _pages(content, min(starts), rows):
        unpacked += size + words * max(WORD_BYTES, width)
    return max(unpacked, rows * max(VALUE_BYTES, width))


def _pages(content: bytes, at: int, rows: int) -> Iterator[tuple[int, int]]:
    """Bytes unpacked, and words of a dictionary, of each page until all rows have had a value."""
    while rows > 0:
        header, at = _struct(content, at)
        counts = {kind: header[kind][1] for kind in VALUE_COUNTS if kind in header}
        unpacked, packed = header[UNPACKED], header[PACKED]
        if len(counts) != 1 or min(*counts.values(), unpacked, packed) < 0:
            raise PageError("a page counts nothing, or below zero")
        at += packed
        yield unpacked, counts.get(DICTIONARY, 0)
        rows -= sum(count for kind, count in counts.items() if kind != DICTIONARY)


def _struct(content: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Fields by number of a record in Thrift's compact form, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while True:
        if not 0 <= at < len(content) or depth > DEEPEST:
            raise PageError("a page lies outside of the file")
        head = content[at]
        at += 1
        if not head:
            return fields, at
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(content, at)
        fields[number], at = _value(content, at, head & 15, depth)


def _value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in BOOLEANS:
        return kind == BOOLEANS[0], at
    if kind in INTEGERS:
        return _integer(content, at)
    if kind in (BYTE, DOUBLE):
        return None, at + (1 if kind == BYTE else 8)
    if kind == BINARY:
        length, at = _varint(content, at)
        return None, at + length
    if kind == STRUCT:
        return _struct(content, at, depth + 1)
    raise PageError(f"a page holds a field of kind {kind}")


def _integer(content: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(content, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(content[at : at + 10]):
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    raise PageError("a page is cut")
