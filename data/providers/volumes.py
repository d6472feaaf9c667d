"""Volumes of a file, from the column that holds those of its market."""

import re

import numpy as np
import pyarrow as pa

from data.checks import Floats
from data.errors import TableError
from data.providers.column_names import write_option
from data.providers.columns import Layout
from data.providers.numbers import read_numbers


def read_volume(
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
    is_ticks = layout.tick_volume == layout.values[4]
    if layout.tick_volume is None or is_ticks or values["volume"].any():
        _refuse_no_volume(values["volume"], layout.values[4], where)
        note = f"volume is read from column {layout.values[4]!r}, which counts ticks"
        return values["volume"], (note,) if is_ticks else ()
    ticks = read_numbers(arrays[layout.tick_volume], layout.tick_volume, where, decimal)
    return ticks, (
        f"column {layout.values[4]!r} is zero throughout, volume is read from "
        f"{layout.tick_volume!r}, which counts ticks",
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
    matching = [column for asset, column in volumes if bare.startswith(asset)]
    if len(matching) == 1:
        return matching[0]
    shown = " and ".join(repr(column) for _, column in volumes)
    options = " or ".join(write_option("volume", column) for _, column in volumes)
    raise TableError(f"{where}: columns {shown} could both be volume; say which with {options}")
