"""From named Arrow columns to raw rows: what all file providers share."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.bars import LONGEST_SYMBOL
from data.checks import NO_TIME, VALUES, Floats, Ints, format_time
from data.errors import DataError, LimitError, SourceError, TableError
from data.files import open_ordinary
from data.providers.columns import Layout, choose_market, names_of, paired_names, recognise
from data.providers.kinds import ENDINGS
from data.providers.mixed_rows import refuse_mixed
from data.providers.numbers import POINT, find_decimal, read_numbers, refuse_thirty_seconds
from data.providers.times import named_zone, read_times
from data.table import LoadOptions, RawTable
from data.timeframe import MINUTE_NS, SECOND_NS

HEAD_BYTES = 1 << 20
"""What a file may hold beside the values that are capped."""

COMPARED_BYTES = 1 << 20

VALUE_BYTES = 8


def open_path(address: str, form: str) -> Path:
    """Check that an address is a file that can be read.

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
        with open_ordinary(path):
            return path
    except FileNotFoundError:
        raise SourceError(f"{shown}: there is no such file") from None
    except OSError as error:
        raise SourceError(f"{shown}: cannot be read ({error.strerror})") from None


@contextmanager
def unchanged(path: Path, max_bytes: int) -> Iterator[bytes]:
    """The bytes of a file, which must be the same when the context ends.

    Raises:
        LimitError: When there are far more than `max_bytes`, whatever they unpack to.
        SourceError: When the file has changed meanwhile, whatever else was wrong with it.
    """
    where = label(path)
    with open_ordinary(path) as file:
        before = _state(file, path)
        if before[0] > max_bytes + HEAD_BYTES:
            raise refuse_size(where, f"it has {before[0]} bytes", max_bytes)
        content = file.read(before[0])

        def check() -> None:
            if not _holds(file, content) or _state(file, path) != before:
                raise SourceError(
                    f"{where}: changed while it was read; wait until it is written, or name a copy"
                )

        try:
            yield content
        except DataError:
            check()
            raise
        check()


def _holds(file: BufferedReader, content: bytes) -> bool:
    """Whether a file's bytes are still these."""
    file.seek(0)
    left = memoryview(content)
    while part := file.read(COMPARED_BYTES):
        if left[: len(part)] != part:
            return False
        left = left[len(part) :]
    return not left


def _state(file: BufferedReader, path: Path) -> tuple[int, ...]:
    """Size, time and place of an open file, and of what bears its name now."""
    found = os.fstat(file.fileno())
    try:
        named = os.stat(path).st_ino
    except FileNotFoundError:
        named = 0
    return found.st_size, found.st_mtime_ns, found.st_ino, named


def label(path: Path) -> str:
    """The name of a file as errors show it: short, and safe for a terminal."""
    name = path.name if path.name.isprintable() else ascii(path.name)
    return name if len(name) <= 80 else name[:80] + "..."


def first_line(error: Exception) -> str:
    """What a library says went wrong: one line, at most 160 characters, safe for a terminal."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= 160 else text[:160] + "..."


def refuse_size(where: str, size: str, max_bytes: int) -> LimitError:
    """The error for a source that would take `size`, in words."""
    return LimitError(f"{where}: {size}, above the cap of {max_bytes}; --max-bytes raises it")


def recognise_own(
    own: list[str], options: LoadOptions, market: str | None, where: str
) -> tuple[list[str], Layout, str | None]:
    """Recognise the columns of a file in which a column may have two names, price and market.

    Returns names as recognised, in the file's order, the layout in these names, and the market
    that is still to be looked for in a column of symbols.
    """
    pairs = paired_names(own)
    if pairs is None:
        return own, recognise(own, where, options.columns, options.aligned), market
    names, found = names_of(pairs, market, where)
    layout = recognise(names, where, options.columns, options.aligned)
    return names, replace(layout, market=found), None


def to_raw(
    columns: pa.Table,
    layout: Layout,
    path: Path,
    options: LoadOptions,
    market: str | None = None,
    others: Callable[[], pa.Table] | None = None,
) -> RawTable:
    """Read times, numbers and the symbol out of Arrow columns.

    `columns` are those that `layout` names, [N] each. The stem of `path` names the market
    unless a column does; `market` says which rows are meant where a column names several.
    `others` reads the columns that `layout` does not name, to find one that parts the rows where
    their times are those of several markets.

    Raises:
        TableError: When a value has no single reading.
    """
    where = label(path)
    refuse_expanded(columns, where, options.max_bytes)
    arrays = {name: _flat(columns.column(name), name, where) for name in layout.used}
    named = layout.market
    if layout.symbol is not None:
        arrays, named = _of_market(arrays, layout.symbol, market, where)
    timestamp, time_notes = _read_alike(arrays, layout, options, where)
    _refuse_closes(timestamp, layout, options, where)
    if layout.symbol is None and others is not None:
        refuse_mixed(timestamp, others, where)
    aligned = dict(layout.aligned)
    numbers = {name: arrays[name] for name in (*layout.values, *aligned.values()) if name}
    prices = {name: arrays[name] for name in layout.values[:-1]}
    refuse_thirty_seconds(prices, options.decimal, where)
    decimal = find_decimal(numbers, options.decimal, where)
    values = {
        meaning: read_numbers(arrays[name], name, where, decimal)
        for meaning, name in zip(VALUES, layout.values, strict=True)
        if name
    }
    volume, volume_notes = _read_volume(arrays, layout, values, named, where, decimal)
    notes = (*layout.notes, *time_notes, *volume_notes)
    if decimal != POINT:
        notes = (*notes, "numbers are read with a decimal comma")
    values = {**values, "volume": volume}
    for meaning, name in aligned.items():
        values[meaning] = _read_aligned(arrays[name], name, where, decimal)
    zone = next(filter(None, (named_zone(arrays[name]) for name in layout.times)), "UTC")
    return RawTable(timestamp, values, named or _stem(path), where, notes=notes, zone=zone)


def _read_aligned(column: pa.Array, name: str, where: str, decimal: str) -> Floats:
    """An aligned column, finite or NaN."""
    found = read_numbers(column, name, where, decimal)
    infinite = np.flatnonzero(np.isinf(found))
    if len(infinite):
        raise TableError(
            f"{where}: column {name!r} is infinite in row {infinite[0]}; leave a cell empty where "
            "its number is not known"
        )
    return found


def _read_alike(
    arrays: dict[str, pa.Array], layout: Layout, options: LoadOptions, where: str
) -> tuple[Ints, tuple[str, ...]]:
    """Times, which all columns that say when a bar opens must agree on."""

    def read(names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
        return read_times(
            {name: arrays[name] for name in names}, options.zone, where, options.time_format
        )

    if not layout.same_times:
        return read(layout.times)
    columns = (layout.times, *layout.same_times)
    found = [read(names) for names in columns]
    opens = [names for names, each in zip(columns, found, strict=True) if not are_closes(each[0])]
    if 0 < len(opens) < len(columns):
        closes = " and ".join(repr(names[0]) for names in columns if names not in opens)
        bare = replace(layout, times=opens[0], same_times=tuple(opens[1:]))
        time_ns, notes = _read_alike(arrays, bare, options, where)
        return time_ns, (*notes, f"column {closes} is not read: it says when bars close")
    for names, (other, _) in zip(layout.same_times, found[1:], strict=True):
        differs = np.flatnonzero(other != found[0][0])
        if len(differs):
            i = int(differs[0])
            one, two = (format_time(times[i]) for times in (found[0][0], other))
            raise TableError(
                f"{where}: columns {layout.times[0]!r} and {names[0]!r} could both be the time of "
                f"a bar, and differ: row {i} has {one} and {two}; say which with "
                f"--column timestamp={layout.times[0]}"
            )
    # The column that needs fewest words leaves least to doubt.
    return min(found, key=lambda one: len(one[1]))


def _read_volume(
    arrays: dict[str, pa.Array],
    layout: Layout,
    values: dict[str, Floats],
    symbol: str | None,
    where: str,
    decimal: str,
) -> tuple[Floats, tuple[str, ...]]:
    """Volumes, from the column that holds those of this market."""
    if not layout.values[4]:
        return np.zeros(len(values["close"])), ("there is no volume: it is read as zero",)
    if layout.volumes:
        column = _base_volume(layout.volumes, symbol, where)
        note = f"volume is read from column {column!r}"
        return read_numbers(arrays[column], column, where, decimal), (note,)
    if layout.tick_volume in (None, layout.values[4]) or values["volume"].any():
        _refuse_no_volume(values["volume"], layout.values[4], where)
        return values["volume"], ()
    ticks = read_numbers(arrays[layout.tick_volume], layout.tick_volume, where, decimal)
    return ticks, (
        f"column {layout.values[4]!r} is zero throughout, volume is read from "
        f"{layout.tick_volume!r}, which counts ticks",
    )


def are_closes(time_ns: Ints) -> bool:
    """Whether all times [N] lie a moment before a whole minute, as 23:59:59.999 does."""
    known = time_ns[time_ns != NO_TIME]
    moments = (SECOND_NS, SECOND_NS // 1000, SECOND_NS // 10**6, 1)
    return len(known) > 1 and any(not ((known + moment) % MINUTE_NS).any() for moment in moments)


def _refuse_closes(time_ns: Ints, layout: Layout, options: LoadOptions, where: str) -> None:
    if options.stamped == "open" and are_closes(time_ns):
        raise TableError(
            f"{where}: column {layout.times[-1]!r} holds times such as {format_time(time_ns[0])}, "
            "a moment before a whole minute, at which bars close; --stamped close reads them"
        )


def _refuse_no_volume(volume: Floats, name: str, where: str) -> None:
    """Refuse a column in which no bar has a volume, but a sign that there is none."""
    if len(volume) and not (volume >= 0).any():
        what = "is empty" if np.isnan(volume).all() else f"holds {volume[0]:g} or nothing"
        raise TableError(
            f"{where}: column {name!r} {what} in every row: there is no volume; "
            "--column volume=none reads such a file"
        )


def _base_volume(volumes: tuple[tuple[str, str], ...], symbol: str | None, where: str) -> str:
    """The volume in the asset that is traded: the one with which the symbol begins."""
    bare = "" if symbol is None else re.sub(r"[^a-z0-9]", "", symbol.lower())
    found = [column for asset, column in volumes if bare.startswith(asset)]
    if len(found) == 1:
        return found[0]
    shown = " and ".join(repr(column) for _, column in volumes)
    raise TableError(
        f"{where}: columns {shown} could both be volume; say which with "
        f"--column 'volume={volumes[0][1]}'"
    )


def refuse_nested(kinds: Mapping[str, pa.DataType], where: str) -> None:
    """Refuse columns whose rows hold more than a value, or values that stand for more rows.

    Raises:
        TableError: Naming the first.
    """
    for name, kind in kinds.items():
        bare = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_packed = pa.types.is_run_end_encoded(bare) or pa.types.is_dictionary(bare)
        if is_packed or pa.types.is_nested(bare) or isinstance(bare, pa.BaseExtensionType):
            raise TableError(f"{where}: column {name!r} holds {kind}, which is no single value")


def refuse_expanded(columns: pa.Table, where: str, max_bytes: int) -> None:
    """Refuse columns of which rows share their bytes, and which are too large once they do not.

    Raises:
        LimitError: When they would take more than `max_bytes`.
        TableError: When one holds no single values.
    """
    refuse_nested(dict(zip(columns.column_names, columns.schema.types, strict=True)), where)
    size = sum(_text_bytes(column) for column in columns.columns)
    if size > max_bytes:
        raise refuse_size(where, f"its text takes {size} bytes", max_bytes)


def refuse_rows(rows: int, columns: int, where: str, max_bytes: int) -> None:
    """Refuse a file whose numbers alone would take too much.

    Raises:
        LimitError: When they would take more than `max_bytes`.
    """
    size = rows * columns * VALUE_BYTES
    if size > max_bytes:
        raise refuse_size(where, f"{rows} rows of {columns} columns take {size} bytes", max_bytes)


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Bytes that text takes written out; 0 of columns whose rows share none."""
    if pa.types.is_dictionary(column.type) and _is_binary(column.type.value_type):
        taken = (pc.binary_length(one.dictionary).take(one.indices) for one in column.chunks)
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


def _flat(column: pa.ChunkedArray, name: str, where: str) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        parts = [pc.take(_as_text(chunk.dictionary), chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(parts, None if parts else column.type.value_type)
    whole = column.combine_chunks()
    flat = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    return _as_text(flat)


def _as_text(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if _is_text(column.type) else column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _of_market(
    arrays: dict[str, pa.Array], name: str, market: str | None, where: str
) -> tuple[dict[str, pa.Array], str | None]:
    """The rows of one market, and its name."""
    column = arrays[name].cast(pa.string())
    markets = [one for one in column.unique().to_pylist() if one]
    chosen = choose_market(markets, market, where)
    if market is None or len(markets) < 2:
        return arrays, chosen
    rows = pc.fill_null(pc.equal(column, market), False)
    return {one: array.filter(rows) for one, array in arrays.items()}, chosen


def _stem(path: Path) -> str:
    name = path.name
    for ending in ENDINGS:
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name if len(name) <= LONGEST_SYMBOL else name[: LONGEST_SYMBOL - 3] + "..."
