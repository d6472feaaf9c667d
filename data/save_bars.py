"""Bars as files: Parquet of ours, which reads back exactly, and forms that other programs read."""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data.bars import Bars
from data.checks import PRICES, VALUES
from data.errors import DataError, SourceError, describe_unwritten
from data.files import drafting, remove_drafts, taking_turns
from data.load import load_bars
from data.table import LoadOptions, state_bars
from data.timeframe import MS_NS, SECOND_NS

if TYPE_CHECKING:
    import pyarrow as pa

ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
HASH_DIGITS = 8


@dataclass(frozen=True)
class Form:
    """Form of a file of bars."""

    name_file: Callable[[Bars], str]
    write: Callable[[Bars, Path], None]


def write_foreign(bars: Bars, folder: Path, form: str) -> Path:
    """Write bars in a form of `FORMS` into a folder, which is made if need be."""
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
    stated = state_bars(bars.timestamp, bars.timeframe_ns, bars.zone)
    with path.open("wb") as file:
        table = pa.table(columns).replace_schema_metadata(stated)
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def _keep(bars: Bars, path: Path, *, may_replace: bool) -> bool:
    """Write bars to a file, unless it holds them; whether it was written."""
    if path.exists():
        if _reads_back(path, bars, LoadOptions()):
            return False
        # The same bars without their statement are written anew: nothing is lost.
        stated = LoadOptions(source_timeframe=bars.timeframe, tz=bars.zone)
        if not may_replace and not _reads_back(path, bars, stated):
            raise SourceError(
                f"{path}: holds other bars; --replace puts the new ones in their place, unless "
                "this import has read it or written it"
            )
    with drafting(path) as draft:
        write_parquet(bars, draft)
        if not _reads_back(draft, bars, LoadOptions()):
            raise SourceError(f"{path}: the written file does not read back; is the disk failing?")
    return True


def _reads_back(path: Path, bars: Bars, options: LoadOptions) -> bool:
    """True if a file has these bars, read so."""
    # Named outright: a draft has another ending.
    whole = replace(options, max_bytes=2**62, aligned_columns=tuple(bars.extra))
    try:
        read = load_bars(f"parquet:{path}", whole)
    except DataError:
        return False
    return (read.content_hash, read.zone) == (bars.content_hash, bars.zone)


def _write_csv(
    bars: Bars, path: Path, time: str = "timestamp", volume: str = "volume", *, has_extra: bool
) -> None:
    import pyarrow as pa
    from pyarrow import csv

    # All 17 digits, so that round prices do not show which market is real.
    prices = {name: np.char.mod("%#.17g", getattr(bars, name)).tolist() for name in PRICES}
    extra = bars.extra if has_extra else {}
    table = pa.table({time: _list_times(bars, "s"), **prices, volume: bars.volume, **extra})
    with path.open("wb") as file:
        # The library quotes names, which some programs read as part of them.
        file.write(f"{','.join(table.column_names)}\n".encode())
        csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="none"))


def _write_freqtrade(bars: Bars, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import feather

    values = {name: getattr(bars, name) for name in VALUES}
    table = pa.table({"date": _list_times(bars, "ms"), **values})
    feather.write_feather(table, path, compression="lz4")


def _list_times(bars: Bars, unit: str) -> "pa.Array":
    """Times in a unit, or in nanoseconds where bars open between two of them."""
    import pyarrow as pa

    step_ns = {"s": SECOND_NS, "ms": MS_NS}[unit]
    kind = pa.timestamp("ns" if (bars.timestamp % step_ns).any() else unit, tz="UTC")
    return pa.array(bars.timestamp, pa.timestamp("ns", tz="UTC")).cast(kind)


def _name_csv(bars: Bars) -> str:
    return f"{file_name(bars.symbol).removesuffix('.parquet')}.csv"


FORMS: Mapping[str, Form] = {
    "csv": Form(_name_csv, partial(_write_csv, has_extra=True)),
    "parquet": Form(lambda bars: file_name(bars.symbol), write_parquet),
    # freqtrade looks for names such as ``BTC_USDT-1h.feather``.
    "freqtrade": Form(
        lambda bars: f"{re.sub('[^A-Za-z0-9]', '_', bars.symbol)}-{bars.timeframe}.feather",
        _write_freqtrade,
    ),
    "tradingview": Form(
        _name_csv, partial(_write_csv, time="time", volume="Volume", has_extra=False)
    ),
}
"""Forms by name. Aligned columns stand in CSV and Parquet; the others have no place for them."""
