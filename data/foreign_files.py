"""Bars as files that other programs read, one form a program."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data.bars import Bars
from data.checks import PRICES, VALUES, Floats
from data.errors import SourceError, describe_unwritten
from data.save_parquet import file_name, write_parquet
from data.timeframe import SECOND_NS

if TYPE_CHECKING:
    import pyarrow as pa

MILLISECOND_NS = SECOND_NS // 1000


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


FORMS: Mapping[str, Form] = {
    "csv": Form(_name_csv, _write_csv),
    "parquet": Form(lambda bars: file_name(bars.symbol), write_parquet),
    "freqtrade": Form(_name_pair, _write_freqtrade),
    "tradingview": Form(_name_csv, _write_tradingview),
}
"""Forms by name. Aligned columns stand in CSV and Parquet; the others have no place for them."""
