"""Unpacked size of the pages of a Parquet file, by their own headers, which a decoder obeys."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

FOOTER_END = 8
"""A file ends in the length of its footer and its mark, of four bytes each."""

MARK = b"PAR1"

FOOTER_GROWTH = 100
"""Bytes of memory that a byte of a footer may become, nearly."""

WORD_BYTES = 16
"""Bytes that a decoder keeps of each word of a dictionary, beside its text."""

VALUE_BYTES = 8

UNPACKED, PACKED = 2, 3
VALUE_COUNTS = (5, 7, 8)
"""Fields of a header, one for each kind of page, whose first field counts values."""

DICTIONARY = 7

ROWS, GROUPS = 3, 4
COLUMNS, GROUP_ROWS = 1, 3
DESCRIPTION = 3
PATH, N_VALUES, FIRST_PAGE, DICTIONARY_PAGE = 3, 5, 9, 11
"""Fields of a footer, of its groups of rows, of their columns, and of what describes these."""

LONGEST_NAME = 10_000
"""Bytes of a text that are kept; names of columns are shorter."""

LONG_LIST = 15
"""Stands in place of a count that follows."""

BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
DEEPEST = 8


class PageError(ValueError):
    """Pages that contradict themselves or their file."""


@dataclass(frozen=True)
class Chunk:
    """One column in one group of rows, as the footer describes it."""

    path: str  # name of the column; parts of a nested one joined by dots
    n_values: int  # number of its values
    start: int  # where its first page begins in the file, in bytes


def decoded_bytes(content: bytes, schema: pq.ParquetSchema, used: set[str]) -> int:
    """Bytes that the used columns of a file take unpacked; of repeated text, each word once.

    The footer is read here: a library ends the process where sizes in it contradict each other.

    Raises:
        PageError: When a page, or its description in the footer, cannot be.
    """
    try:
        groups, rows = _read_groups(content)
        if rows != sum(count for _, count in groups) or any(count < 0 for _, count in groups):
            raise PageError(f"{rows} rows are {sum(count for _, count in groups)} in its groups")
        return sum(
            _chunk_bytes(content, chunk, count, schema.column(i).length)
            for chunks, count in groups
            for i, chunk in enumerate(chunks)
            if chunk.path in used
        )
    except PageError:
        raise
    except (LookupError, TypeError, ValueError):
        raise PageError("it describes no pages") from None


def _read_groups(content: bytes) -> tuple[list[tuple[list[Chunk], int]], int]:
    """Columns and number of rows of each group of rows, and the rows of the whole file."""
    footer, _ = _struct(content, len(content) - FOOTER_END - _footer_length(content))
    groups = [
        (list(map(_read_chunk, group[COLUMNS])), group[GROUP_ROWS]) for group in footer[GROUPS]
    ]
    return groups, footer[ROWS]


def _read_chunk(column: dict[int, Any]) -> Chunk:
    described = column[DESCRIPTION]
    path = b".".join(described[PATH]).decode()
    first = described[FIRST_PAGE]
    return Chunk(path, described[N_VALUES], min(first, described.get(DICTIONARY_PAGE) or first))


def footer_bytes(content: bytes) -> int:
    """Bytes that the footer of a file may take in memory, before anything of it is read."""
    length = min(_footer_length(content), len(content))
    return length * FOOTER_GROWTH if content.endswith(MARK) else 0


def _footer_length(content: bytes) -> int:
    return int.from_bytes(content[-FOOTER_END : -FOOTER_END // 2], "little")


def _chunk_bytes(content: bytes, chunk: Chunk, rows: int, width: int) -> int:
    """Bytes of one column in one group of rows: what its pages unpack to, or its values."""
    if chunk.n_values != rows:
        raise PageError(f"{chunk.n_values} values stand in {rows} rows")
    unpacked = 0
    for size, words in _pages(content, chunk.start, rows):
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
        return content[at : at + min(length, LONGEST_NAME)], at + length
    if kind == STRUCT:
        return _struct(content, at, depth + 1)
    if kind in LISTS:
        return _list(content, at, depth + 1)
    raise PageError(f"a page holds a field of kind {kind}")


def _list(content: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    """Values of a list or a set, and where it ends."""
    if not 0 <= at < len(content):
        raise PageError("a list lies outside of the file")
    count, kind = content[at] >> 4, content[at] & 15
    at += 1
    if count == LONG_LIST:
        count, at = _varint(content, at)
    if count > len(content) - at:
        raise PageError("a list is longer than the file")
    values = []
    for _ in range(count):
        if kind in BOOLEANS:
            # In a list, a byte each.
            value, at = content[at] == BOOLEANS[0], at + 1
        else:
            value, at = _value(content, at, kind, depth)
        values.append(value)
    return values, at


def _integer(content: bytes, at: int) -> tuple[int, int]:
    # Zigzag: 0, -1, 1, -2 ... are written as 0, 1, 2, 3 ...
    value, at = _varint(content, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    # Seven bits a byte, lowest first; the eighth is set where another byte follows.
    value = 0
    for n_before, byte in enumerate(content[at : at + 10]):
        value |= (byte & 127) << (7 * n_before)
        if byte < 128:
            return value, at + n_before + 1
    raise PageError("a page is cut")
