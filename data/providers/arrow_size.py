"""What an Arrow file will take once unpacked, read from its messages before any of it is unpacked.

Layout of the messages: Apache Arrow columnar format, "Encapsulated message format" and
Message.fbs; a table of FlatBuffers begins with the distance back to its list of field places.
"""

import struct
from pathlib import Path

import pyarrow as pa

MAGIC_BYTES = 8
RECORD_BATCH, HEADER = 3, 2
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3


def unpacked_bytes(path: Path) -> int:
    """The size of all columns of an Arrow file in memory.

    Args:
        path: The file.

    Returns:
        Bytes; for packed columns what they say that they unpack to.

    Raises:
        pa.ArrowException: When the file is damaged.
        struct.error: When a message is.
    """
    size = 0
    with pa.memory_map(str(path)) as file:
        file.seek(MAGIC_BYTES)
        for message in pa.ipc.MessageReader.open_stream(file):
            size += _message_bytes(message)
    return size


def _message_bytes(message: pa.ipc.Message) -> int:
    meta = message.metadata.to_pybytes()
    (root,) = struct.unpack_from("<I", meta, 0)
    kind, header = _field(meta, root, 1), _field(meta, root, HEADER)
    body = 0 if message.body is None else message.body.size
    if kind is None or header is None or meta[kind] != RECORD_BATCH:
        return body
    batch = header + _number(meta, header)
    if _field(meta, batch, COMPRESSION) is None:
        return body
    buffers = _field(meta, batch, BUFFERS)
    if buffers is None:
        return body
    start = buffers + _number(meta, buffers)
    size = 0
    for place in range(_number(meta, start)):
        offset, length = struct.unpack_from("<qq", meta, start + 4 + 16 * place)
        if length:
            (unpacked,) = struct.unpack("<q", message.body.slice(offset, 8).to_pybytes())
            size += length if unpacked < 0 else unpacked
    return size


def _field(meta: bytes, table: int, place: int) -> int | None:
    """Where a field of a table lies; None where it has its default."""
    (back,) = struct.unpack_from("<i", meta, table)
    places = table - back
    (length,) = struct.unpack_from("<H", meta, places)
    at = 4 + 2 * place
    if at >= length:
        return None
    (distance,) = struct.unpack_from("<H", meta, places + at)
    return table + distance if distance else None


def _number(meta: bytes, at: int) -> int:
    (value,) = struct.unpack_from("<I", meta, at)
    return int(value)
