"""From named Arrow columns to raw rows: what all file providers share."""

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.bars import LONGEST_SYMBOL
from data.checks import PRICES, VALUES, Floats
from data.errors import SourceError, TableError
from data.providers.columns import NONE, Layout, number_doubles, recognise, write_option
from data.providers.kinds import ENDINGS
from data.providers.markets import SIGN, choose_market, find_name_pairs, name_market_columns
from data.providers.numbers import (
    POINT,
    find_decimal,
    note_dots,
    read_numbers,
    refuse_thirty_seconds,
)
from data.providers.shapes import Columns, choose_rows, refuse_mixed, refuse_other_order
from data.providers.source_file import first_line, is_single, label, refuse_expanded
from data.providers.time_columns import read_alike
from data.providers.times import find_column_zone
from data.table import LoadOptions, RawTable

FEW = 1000

BILLION, GRID = 10**9, 10**4
"""Prices of a unit or more in billionths, and a hundred thousandth, of which such are multiples."""


DAMAGE = (pa.ArrowException, OSError, UnicodeError, IndexError, struct.error)
"""Errors that a file raises while it is read, which is damaged or of a type that is not read."""

LARGE_NUMBERS = "Integers with more than 64 bits"
"""Begin of pyarrow's error about a column of them, of which it names none."""


@contextmanager
def explain_damage(where: str, form: str) -> Iterator[None]:
    """Errors of pyarrow as refusals of a file of a `form` such as Parquet."""
    try:
        yield
    except DAMAGE as error:
        reason = first_line(error)
        help_ = ""
        if reason.startswith(LARGE_NUMBERS):
            help_ = "; write columns of 128 bits anew with 64, as polars does by cast(pl.Int64)"
        raise SourceError(f"{where}: is no readable {form} file ({reason}){help_}") from None


def read_schema(
    schema: pa.Schema,
    read: Callable[[list[int]], pa.Table],
    path: Path,
    options: LoadOptions,
    market: str | None,
) -> RawTable:
    """Read the rows of a file whose columns have types; a column may have two names.

    `read` gives the columns of some places, in their order.
    """
    where, names, chosen = label(path), schema.names, None
    if (pairs := find_name_pairs(names)) is not None:
        names, chosen = name_market_columns(pairs, market, where)
        market = None
    names = number_doubles(names)
    layout = recognise(names, where, options.columns, options.aligned)
    layout = replace(layout, market=chosen)
    columns = read([names.index(name) for name in layout.used]).rename_columns(list(layout.used))

    def others() -> Columns:
        for place, name in enumerate(names):
            if name not in layout.used and is_single(schema.field(place).type):
                yield name, read([place]).column(0)

    return to_raw(columns, layout, name_file(path), options, market, others)


def to_raw(
    columns: pa.Table,
    layout: Layout,
    named: tuple[str, str],
    options: LoadOptions,
    market: str | None,
    others: Callable[[], Columns],
    dots: Callable[[], tuple[str, ...]] | None = None,
) -> RawTable:
    """Read times, numbers and the symbol out of Arrow columns.

    `columns` are those of `layout`, [N] each. `named` is the source's name in errors, and its
    market unless a column names one; `market` chooses rows where a column names several. `others`
    are the columns outside `layout`, one of which parts the rows where their times are those of
    several markets. `dots` notes the meaning of dots where numbers were written and `columns` do
    not hold their text.
    """
    where, stem = named
    refuse_expanded(columns, where, options.max_bytes)
    arrays = {name: _flat(columns.column(name), name, where) for name in layout.used}
    stated = options.columns.get("symbol", "")
    is_whole = market in (None, layout.market) or stated.lower() == NONE
    symbol, further = layout.market, "" if is_whole else str(market)
    if layout.symbol is not None:
        rows, symbol, further = _of_market(arrays, layout, market, options, where)
        arrays, others = _filter(arrays, others, rows)
    timestamp, time_notes = read_alike(arrays, layout, options, where)
    if further:
        rows = choose_rows(timestamp, others, further, where)
        arrays, others = _filter(arrays, others, rows)
        timestamp, symbol = timestamp[rows.to_numpy(zero_copy_only=False)], market
    option = write_option("symbol", stated) if layout.symbol and stated else ""
    refuse_mixed(timestamp, others, where, "" if is_whole else str(market), option)
    aligned = dict(layout.aligned)
    numbers = {name: arrays[name] for name in (*layout.values, *aligned.values()) if name}
    prices = {name: arrays[name] for name in layout.values[:-1]}
    refuse_thirty_seconds(prices, options.decimal, where)
    decimal = find_decimal(numbers, options.decimal, where)
    texts = [name for name, column in numbers.items() if pa.types.is_string(column.type)]
    note = dots or (lambda: note_dots(texts, numbers.__getitem__, where))
    dot_notes = note() if options.decimal is None and decimal == POINT else ()
    values = {
        meaning: read_numbers(arrays[name], name, where, decimal)
        for meaning, name in zip(VALUES, layout.values, strict=True)
        if name
    }
    volume, volume_notes = read_volume(arrays, layout, values, symbol, where, decimal)
    notes = (*layout.notes, *time_notes, *volume_notes, *dot_notes, *_note_billionths(values))
    if decimal != POINT:
        notes = (*notes, "numbers are read with a decimal comma")
    values = {**values, "volume": volume}
    for meaning, name in aligned.items():
        values[meaning] = _read_aligned(arrays[name], name, where, decimal)
    zone = next(filter(None, (find_column_zone(arrays[name]) for name in layout.times)), "UTC")
    table = RawTable(timestamp, values, symbol or stem, where, notes=notes, zone=zone)
    if layout.assumed:
        refuse_other_order(table, layout.assumed, arrays[layout.times[0]])
    return table


def _note_billionths(values: dict[str, Floats]) -> tuple[str, ...]:
    """A note where prices look counted in billionths, as Databento's are by default."""
    # One price rules it out for most files.
    if any((values[name][:FEW] < BILLION).any() for name in PRICES):
        return ()
    prices = [values[name][np.isfinite(values[name])] for name in PRICES]
    if any(len(known) == 0 or known.min() < BILLION or (known % GRID).any() for known in prices):
        return ()
    return (
        f"prices such as {prices[0][0]:.0f} look counted in billionths, as Databento does: "
        "to_csv(pretty_px=True) and to_parquet write them plain",
    )


def _read_aligned(column: pa.Array, name: str, where: str, decimal: str) -> Floats:
    """An aligned column, finite or NaN."""
    numbers = read_numbers(column, name, where, decimal)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise TableError(
            f"{where}: column {name!r} is infinite in row {infinite[0]}; leave a cell empty where "
            "its number is not known"
        )
    return numbers


def _flat(column: pa.ChunkedArray, name: str, where: str) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        parts = [pc.take(_as_text(chunk.dictionary), chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(parts, None if parts else column.type.value_type)
    return _as_text(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def _as_text(column: pa.Array) -> pa.Array:
    is_other = pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    return column.cast(pa.string()) if is_other else column


def _of_market(
    arrays: dict[str, pa.Array],
    layout: Layout,
    market: str | None,
    options: LoadOptions,
    where: str,
) -> tuple[pa.Array | None, str | None, str]:
    """Flags of the rows of one market [N], None for all, its name, and what further parts them."""
    column = arrays[layout.symbol or ""]
    try:
        column = column.cast(pa.string())
    except pa.ArrowException:
        raise TableError(
            f"{where}: column {layout.symbol!r} holds {column.type}, which names no market"
        ) from None
    markets = [name for name in column.unique().to_pylist() if name]
    otherwise = ""
    if market is None and len(markets) > 1:
        # Consecutive contracts may be meant as one series.
        steps = np.diff(read_alike(arrays, layout, options, where)[0])
        if (steps > 0).all() or (steps < 0).all():
            otherwise = ", or read all rows as one market with --column symbol=none"
    further = ""
    if market is not None and market not in markets:
        market, _, further = market.partition(SIGN)
    chosen = choose_market(markets, market, where, otherwise)
    is_one = market is None or len(markets) < 2
    return None if is_one else pc.fill_null(pc.equal(column, market), False), chosen, further


def _filter(
    arrays: dict[str, pa.Array], others: Callable[[], Columns], rows: pa.Array | None
) -> tuple[dict[str, pa.Array], Callable[[], Columns]]:
    """Columns to read, and the others, for some rows."""
    if rows is None:
        return arrays, others
    filtered = {name: array.filter(rows) for name, array in arrays.items()}
    return filtered, lambda: ((name, column.filter(rows)) for name, column in others())


def name_file(path: Path) -> tuple[str, str]:
    """How errors call a file, and its market unless a column names one."""
    name = path.name
    for ending in ENDINGS:
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    stem = name if len(name) <= LONGEST_SYMBOL else name[: LONGEST_SYMBOL - 3] + "..."
    return label(path), stem


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
