"""Bars from a Feather or Arrow file; its messages state their size before they are unpacked."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from data.errors import SourceError, refuse_size
from data.providers.arrow_table import explain_damage, read_schema
from data.providers.kinds import ARROW, ARROW_STREAM, OLD_FEATHER, describe_other
from data.providers.markets import part_market
from data.providers.source_file import (
    label,
    open_path,
    open_unchanged,
    refuse_nested,
    refuse_rows,
)
from data.table import LoadOptions, RawTable

FORM = "Feather"

DICTIONARY_BATCH, RECORD_BATCH, HEADER, WORDS = 2, 3, 2, 1
BUFFERS, COMPRESSION = 2, 3
FOOTER_DICTIONARIES, FOOTER_BATCHES = 2, 3
BLOCK = struct.Struct("<qi4xq")
"""Position of a message in a file: its offset, the bytes of its head, those of its body."""


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a Feather file; `options.max_bytes` caps its columns unpacked."""
    address, market = part_market(address)
    path = open_path(address, "feather:PATH")
    with open_unchanged(path, options.max_bytes) as file:
        return _read(file.read(), path, market, options)


def _read(content: bytes, path: Path, market: str | None, options: LoadOptions) -> RawTable:
    where = label(path)
    _check_kind(content, where)
    with explain_damage(where, FORM):
        size = unpacked_bytes(content)
        if size > options.max_bytes:
            raise refuse_size(where, f"it unpacks to {size} bytes", options.max_bytes)
        with _open_arrow(content) as file:
            schema = file.schema

    def read_places(places: list[int]) -> pa.Table:
        with explain_damage(where, FORM):
            return _read_used(content, places, where, options)

    return read_schema(schema, read_places, path, options, market)


def _open_arrow(
    content: bytes, options: pa.ipc.IpcReadOptions | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    is_stream = content.startswith(ARROW_STREAM)
    return (pa.ipc.open_stream if is_stream else pa.ipc.open_file)(
        pa.BufferReader(content), options=options
    )


def _read_used(content: bytes, used: list[int], where: str, options: LoadOptions) -> pa.Table:
    """The columns of these places, in this order."""
    order = sorted(set(used))
    chosen = pa.ipc.IpcReadOptions(included_fields=order)
    with _open_arrow(content, chosen) as file:
        refuse_nested(file.schema, where)
        whole = file.read_all()
    refuse_rows(whole.num_rows, len(used), where, options.max_bytes)
    whole.validate(full=True)
    return whole.select([order.index(index) for index in used])


def unpacked_bytes(content: bytes) -> int:
    """Bytes of all columns of an Arrow file; of packed ones, the size that they state."""
    if content.startswith(ARROW_STREAM):
        messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(content))
        return sum(_message_bytes(message) for message in messages)
    return sum(_message_bytes(message) for message in _list_messages(content))


def _check_kind(content: bytes, where: str) -> None:
    if content.startswith(OLD_FEATHER):
        raise SourceError(f"{where}: is a Feather file of version 1; write it anew as version 2")
    if not content.startswith((ARROW, ARROW_STREAM)):
        raise SourceError(f"{where}: is no Feather or Arrow file; {describe_other(content)}")


def _list_messages(content: bytes) -> Iterator[pa.ipc.Message]:
    """Messages that the footer names: what lies between them is nowhere defined."""
    end = len(content) - len(ARROW) - 4
    if end < 0 or not content.endswith(ARROW):
        raise pa.ArrowInvalid("the file has no end")
    length = _number(content, end)
    footer = content[max(end - length, 0) : end]
    root = _number(footer, 0)
    for part in (FOOTER_DICTIONARIES, FOOTER_BATCHES):
        at = _field(footer, root, part)
        if at is None:
            continue
        start = at + _number(footer, at)
        for block in range(_number(footer, start)):
            offset, head, body = BLOCK.unpack_from(footer, start + 4 + BLOCK.size * block)
            if min(offset, head, body) < 0:
                raise pa.ArrowInvalid("the footer names no part of the file")
            yield pa.ipc.read_message(pa.py_buffer(content).slice(offset, head + body))


def _message_bytes(message: pa.ipc.Message) -> int:
    meta = message.metadata.to_pybytes()
    (root,) = struct.unpack_from("<I", meta, 0)
    kind, header = _field(meta, root, 1), _field(meta, root, HEADER)
    body = 0 if message.body is None else message.body.size
    if kind is None or header is None or meta[kind] not in (DICTIONARY_BATCH, RECORD_BATCH):
        return body
    batch = header + _number(meta, header)
    if meta[kind] == DICTIONARY_BATCH:
        words = _field(meta, batch, WORDS)
        if words is None:
            return body
        batch = words + _number(meta, words)
    if _field(meta, batch, COMPRESSION) is None:
        return body
    buffers = _field(meta, batch, BUFFERS)
    if buffers is None:
        return body
    start = buffers + _number(meta, buffers)
    # A packed buffer begins with its size unpacked, below zero if it is plain after all.
    size = 0
    for k in range(_number(meta, start)):
        offset, length = struct.unpack_from("<qq", meta, start + 4 + 16 * k)
        if length:
            (unpacked,) = struct.unpack("<q", message.body.slice(offset, 8).to_pybytes())
            size += length if unpacked < 0 else unpacked
    return size


def _field(meta: bytes, table: int, field: int) -> int | None:
    """Position of a field of a table; None for its default."""
    # A table begins with its distance from its vtable: that holds its length, then fields' offsets.
    (back,) = struct.unpack_from("<i", meta, table)
    vtable = table - back
    (length,) = struct.unpack_from("<H", meta, vtable)
    at = 4 + 2 * field
    if at >= length:
        return None
    (distance,) = struct.unpack_from("<H", meta, vtable + at)
    return table + distance if distance else None


def _number(meta: bytes, at: int) -> int:
    (value,) = struct.unpack_from("<I", meta, at)
    return int(value)
