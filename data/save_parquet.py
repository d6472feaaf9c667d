"""Bars as a Parquet file of ours: one form, whatever they were read from, and read back exactly."""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data.bars import Bars
from data.checks import PRICES, VALUES, Floats
from data.errors import DataError, SourceError, describe_unwritten
from data.files import drafting, remove_drafts, taking_turns
from data.load import load_bars
from data.statement import state_bars
from data.table import LoadOptions
from data.timeframe import SECOND_NS

if TYPE_CHECKING:
    import pyarrow as pa

MILLISECOND_NS = SECOND_NS // 1000

ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
HASH_DIGITS = 8


@dataclass(frozen=True)
class Form:
    """Form of a file of bars."""

    name_file: Callable[[Bars], str]
    write: Callable[[Bars, Path], None]


def write_foreign(bars: Bars, folder: Path, form: str) -> Path:
    """Write bars in a form of `FORMS` into a folder, which is made if need be.

    Raises:
        SourceError: When they cannot be written.
    """
    path = folder / FORMS[form].name_file(bars)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        FORMS[form].write(bars, path)
    except OSError as error:
        raise SourceError(describe_unwritten(path, error)) from error
    return path


def file_name(symbol: str) -> str:
    """A name for the file of a market that is safe on every system: a plain symbol stays as it is.

    >>> file_name("BTC-USD"), file_name("../BRK/B")
    ('BTC-USD.parquet', 'BRK_B-d32836ad.parquet')
    """
    if ALLOWED.fullmatch(symbol):
        return f"{symbol}.parquet"
    bare = re.sub(r"[^A-Za-z0-9]+", "_", symbol).strip("_")[:40]
    piece = hashlib.sha256(symbol.encode()).hexdigest()[:HASH_DIGITS]
    return f"{bare or 'market'}-{piece}.parquet"


def keep_bars(bars: Bars, folder: Path, *, may_replace: bool = False) -> tuple[Path, bool]:
    """Write bars into a folder, whole or not at all, and read them back.

    Extra columns stand beside the others, by their names; readers of the file request them.
    Simulated bars and dated columns are refused, because the file could not state them. Returns
    the file, and True if it was written: one that holds these bars already stays.

    Raises:
        SourceError: When it cannot be written, or holds other bars that may not be replaced.
    """
    if bars.is_simulated:
        raise SourceError(f"{bars.symbol}: a simulated market is not kept, a file would hide that")
    if bars.dated:
        raise SourceError(
            f"{bars.symbol}: column '{bars.dated[0]}' is dated, and is not kept with bars: its own "
            "file says when each number was known"
        )
    if folder.exists() and not folder.is_dir():
        raise SourceError(
            f"{folder}: cannot be written (it is a file); name a folder to keep bars in"
        )
    path = folder / file_name(bars.symbol)
    try:
        # Two imports of one market must see each other's file.
        with taking_turns(folder):
            # Also where a file is left as it is.
            remove_drafts(folder)
            return path, _keep(bars, path, may_replace=may_replace)
    except OSError as error:
        raise SourceError(describe_unwritten(path, error)) from error


def write_parquet(bars: Bars, path: Path) -> None:
    """Write bars into a new file, extra columns beside the others, and a statement on them."""
    # Naming bars must not load pyarrow; keeping them may.
    import pyarrow as pa
    import pyarrow.parquet as pq

    stamps = pa.array(bars.timestamp, type=pa.timestamp("ns", tz="UTC"))
    values = {name: getattr(bars, name) for name in VALUES} | dict(bars.extra)
    columns = {"timestamp": stamps, **{name: pa.array(column) for name, column in values.items()}}
    if file_name(bars.symbol) != f"{bars.symbol}.parquet":
        # The name of the file cannot hold the symbol: a column does.
        indices = pa.array(np.zeros(len(bars), dtype=np.int32))
        columns["symbol"] = pa.DictionaryArray.from_arrays(indices, pa.array([bars.symbol]))
    with path.open("wb") as file:
        table = pa.table(columns).replace_schema_metadata(state_bars(bars))
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def _build_table(
    bars: Bars, time: str, step_ns: int, names: Mapping[str, str], *, with_extra: bool = False
) -> "pa.Table":
    """Columns of bars; times in steps, or nanoseconds where bars open between two of them."""
    import pyarrow as pa

    unit = {SECOND_NS: "s", MILLISECOND_NS: "ms"}[step_ns]
    kind = pa.timestamp("ns" if (bars.timestamp % step_ns).any() else unit, tz="UTC")
    stamps = pa.array(bars.timestamp, type=pa.timestamp("ns", tz="UTC")).cast(kind)
    values = {names.get(name, name): getattr(bars, name) for name in VALUES}
    return pa.table({time: stamps, **values, **(bars.extra if with_extra else {})})


def _write_csv(bars: Bars, path: Path) -> None:
    _write_text(_build_table(bars, "timestamp", SECOND_NS, {}, with_extra=True), path)


def _write_tradingview(bars: Bars, path: Path) -> None:
    _write_text(_build_table(bars, "time", SECOND_NS, {"volume": "Volume"}), path)


def _write_text(table: "pa.Table", path: Path) -> None:
    from pyarrow import csv

    for name in PRICES:
        place = table.column_names.index(name)
        table = table.set_column(place, name, [_spell(table.column(place).to_numpy())])
    with path.open("wb") as file:
        # The library quotes names, which some programs read as part of them.
        file.write(f"{','.join(table.column_names)}\n".encode())
        csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="none"))


def _write_freqtrade(bars: Bars, path: Path) -> None:
    from pyarrow import feather

    table = _build_table(bars, "date", MILLISECOND_NS, {})
    feather.write_feather(table, path, compression="lz4")


def _spell(values: Floats) -> "list[str]":
    """Numbers with all 17 digits, so that round prices do not show which market is real."""
    spelt: list[str] = np.char.mod("%#.17g", values).tolist()
    return spelt


def _name_csv(bars: Bars) -> str:
    return f"{file_name(bars.symbol).removesuffix('.parquet')}.csv"


def _name_pair(bars: Bars) -> str:
    """Name that freqtrade looks for, such as ``BTC_USDT-1h.feather``."""
    return f"{re.sub(r'[^A-Za-z0-9]', '_', bars.symbol)}-{bars.timeframe}.feather"


def _keep(bars: Bars, path: Path, *, may_replace: bool) -> bool:
    """Write bars to a file, unless it holds them; whether it was written."""
    if path.exists():
        if _states(path, bars):
            return False
        # The same bars without their statement are written anew: nothing is lost.
        if not may_replace and not _holds(path, bars):
            raise SourceError(
                f"{path}: holds other bars; --replace puts the new ones in their place, unless "
                "this import has read it or written it"
            )
    with drafting(path) as draft:
        write_parquet(bars, draft)
        if not _states(draft, bars):
            raise SourceError(f"{path}: the written file does not read back; is the disk failing?")
    return True


def _states(path: Path, bars: Bars) -> bool:
    """True if a file reads back as these bars by itself, with their duration and zone."""
    return _has_equal_bars(path, bars, LoadOptions())


def _holds(path: Path, bars: Bars) -> bool:
    """True if a file has these bars, of a duration that it need not state."""
    return _has_equal_bars(path, bars, LoadOptions(source_timeframe=bars.timeframe, tz=bars.zone))


def _has_equal_bars(path: Path, bars: Bars, options: LoadOptions) -> bool:
    # Named outright: a draft has another ending.
    whole = replace(options, max_bytes=2**62, aligned_columns=tuple(bars.extra))
    try:
        read = load_bars(f"parquet:{path}", whole)
    except DataError:
        return False
    return (read.content_hash, read.zone) == (bars.content_hash, bars.zone)


FORMS: Mapping[str, Form] = {
    "csv": Form(_name_csv, _write_csv),
    "parquet": Form(lambda bars: file_name(bars.symbol), write_parquet),
    "freqtrade": Form(_name_pair, _write_freqtrade),
    "tradingview": Form(_name_csv, _write_tradingview),
}
"""Forms by name. Aligned columns stand in CSV and Parquet; the others have no place for them."""
