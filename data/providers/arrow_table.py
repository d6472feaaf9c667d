"""From named Arrow columns to raw rows: what all file providers share."""

from pathlib import Path
from stat import S_ISREG

import pyarrow as pa

from data.bars import LONGEST_SYMBOL
from data.checks import VALUES
from data.errors import LimitError, SourceError, TableError
from data.providers.columns import Layout
from data.providers.numbers import read_numbers
from data.providers.times import read_times
from data.table import LoadOptions, RawTable


def open_path(address: str, form: str) -> Path:
    """Check that an address is a file that can be read.

    Args:
        address: Path of the file, `~` allowed.
        form: How the spec is written, for messages.

    Returns:
        The path.

    Raises:
        SourceError: When it is empty, missing, no ordinary file, or closed to us.
    """
    if not address:
        raise SourceError(f"{form.partition(':')[0]} needs a path; write {form}")
    if "\0" in address:
        raise SourceError("a path cannot hold a zero byte")
    path = Path(address).expanduser()
    shown = address if address.isprintable() else ascii(address)
    try:
        if not S_ISREG(path.stat().st_mode):
            raise SourceError(f"{shown}: is no file; name a single file as {form}")
        with path.open("rb"):
            return path
    except FileNotFoundError:
        raise SourceError(f"{shown}: there is no such file") from None
    except OSError as error:
        raise SourceError(f"{shown}: cannot be read ({error.strerror})") from None


def label(path: Path) -> str:
    """The name of a file as errors show it: short, and safe for a terminal.

    Args:
        path: The file.

    Returns:
        Its name, cut and escaped where needed.
    """
    name = path.name if path.name.isprintable() else ascii(path.name)
    return name if len(name) <= 80 else name[:80] + "..."


def first_line(error: Exception) -> str:
    """What a library says went wrong, on one line.

    Args:
        error: The library's error.

    Returns:
        At most 160 characters, all of them safe for a terminal.
    """
    text = " ".join(str(error).split()) or type(error).__name__
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= 160 else text[:160] + "..."


def refuse_size(where: str, size: str, max_bytes: int) -> LimitError:
    """The error for a source that is too large.

    Args:
        where: Name of the file.
        size: What it would take, in words.
        max_bytes: The cap.

    Returns:
        The error, to be raised.
    """
    return LimitError(f"{where}: {size}, above the cap of {max_bytes}; --max-bytes raises it")


def to_raw(columns: pa.Table, layout: Layout, path: Path, options: LoadOptions) -> RawTable:
    """Read times, numbers and the symbol out of Arrow columns.

    Args:
        columns: The columns that `layout` names, [N] each.
        layout: Which column holds what.
        path: The file; its stem names the market unless a column does.
        options: The zone of times that name none.

    Returns:
        Raw rows.

    Raises:
        TableError: When a value has no single reading.
    """
    where = label(path)
    arrays = {name: _flat(columns.column(name), name, where) for name in layout.used}
    times = {name: arrays[name] for name in layout.times}
    timestamp, notes = read_times(times, options.tz, where)
    values = {
        meaning: read_numbers(arrays[name], name, where)
        for meaning, name in zip(VALUES, layout.values, strict=True)
    }
    named = None if layout.symbol is None else _symbol(arrays[layout.symbol], layout.symbol, where)
    return RawTable(timestamp, values, named or _stem(path), where, notes=notes)


def _flat(column: pa.ChunkedArray, name: str, where: str) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type):
        raise TableError(f"{where}: column {name!r} holds {column.type}, which is no single value")
    whole = column.combine_chunks()
    flat = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    return flat.cast(pa.string()) if _is_text(flat.type) else flat


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _symbol(column: pa.Array, name: str, where: str) -> str | None:
    markets = column.cast(pa.string()).unique().to_pylist()
    if len(markets) > 1:
        shown = ", ".join(repr(market)[:24] for market in markets[:5])
        raise TableError(
            f"{where}: column {name!r} names {len(markets)} markets ({shown}); "
            "a file holds the bars of one"
        )
    return next((market for market in markets if market), None)


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", ".csv", ".parquet", ".txt", ".tsv"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name if len(name) <= LONGEST_SYMBOL else name[: LONGEST_SYMBOL - 3] + "..."
