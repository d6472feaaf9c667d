"""Bars from a Feather or Arrow file; its messages say what it unpacks to before it is unpacked."""

import struct
from pathlib import Path

import pyarrow as pa

from data.errors import SourceError
from data.providers.arrow_size import unpacked_bytes
from data.providers.arrow_table import (
    first_line,
    label,
    open_path,
    recognise_own,
    refuse_size,
    to_raw,
)
from data.providers.markets import part_market
from data.table import LoadOptions, RawTable

MAGIC, OLD_MAGIC = b"ARROW1", b"FEA1"


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a Feather file.

    Args:
        address: Path of the file.
        options: How to read; `max_bytes` caps what its columns take unpacked.

    Returns:
        Raw rows.

    Raises:
        DataError: When the file is damaged, too large, or cannot be read without guessing.
    """
    address, market = part_market(address)
    path = open_path(address, "feather:PATH")
    where = label(path)
    _check_kind(path, where)
    try:
        size = unpacked_bytes(path)
        if size > options.max_bytes:
            raise refuse_size(where, f"it unpacks to {size} bytes", options.max_bytes)
        with pa.memory_map(str(path)) as file:
            whole = pa.ipc.open_file(file).read_all()
        names, layout, market = recognise_own(list(whole.column_names), options, market, where)
        whole.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeError, struct.error) as error:
        reason = first_line(error)
        raise SourceError(f"{where}: is no readable Feather file ({reason})") from None
    columns = whole.select([names.index(name) for name in layout.used])
    return to_raw(columns.rename_columns(list(layout.used)), layout, path, options, market)


def _check_kind(path: Path, where: str) -> None:
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
    if head.startswith(OLD_MAGIC):
        raise SourceError(f"{where}: is a Feather file of version 1; write it anew as version 2")
    if head != MAGIC:
        raise SourceError(f"{where}: is no Feather file")
