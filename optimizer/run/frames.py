"""Bars in memory, of pandas, polars or pyarrow, as the rows that a file of them would hold."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from data.checks import COLUMNS, NO_TIME, Ints, format_time
from data.errors import NoTimeError, TableError, list_some
from data.providers.arrow_table import to_raw
from data.providers.columns import Layout, bare_name, find_role, recognise
from data.providers.memory import digest_rows, holding
from data.providers.shapes import find_markets, show_markets
from data.providers.source_file import refuse_rows
from data.table import LoadOptions, RawTable
from data.timeframe import DAY_NS
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.run.frame_columns import (
    CLOSE,
    TIMES,
    TIMESTAMP,
    FrameColumns,
    MarketFrame,
    has_times,
    list_markets,
    list_texts,
)
from optimizer.run.sources import load_options

SYMBOL = "symbol"


@contextmanager
def holding_frames(bars: object, config: RunConfig) -> Iterator[RunConfig]:
    """Configuration in which frames are the sources, as long as the block lasts.

    A source is named as the file in the folder of runs that a run which is recorded keeps of it.

    Args:
        bars: A frame, symbols with a frame each, or groups of rows.
        config: How they are read.

    Raises:
        ConfigError: When `bars` is something else.
        DataError: When columns of a frame cannot be recognised, or hold no numbers or times.
    """
    options = load_options(config)
    tables = [read_frame(market, options) for market in list_markets(bars, options)]
    folder = Path(config.runs)
    sources = {f"parquet:{folder / f'bars-{digest_rows(t)}.parquet'}": t for t in tables}
    with holding(sources):
        yield config.model_copy(update={"data": tuple(sources)})


def read_frame(market: MarketFrame, options: LoadOptions) -> RawTable:
    """Rows of a frame as these options read them, which share no memory with it.

    An index of times is the time, unless the options name a column; no other column is read only
    because its name sounds like a time.

    Raises:
        ConfigError: When its columns differ from its index or its key, or hold other markets.
        DataError: When its columns cannot be recognised, or a value has no single reading.
    """
    index = _name_index(market.frame, options)
    columns = FrameColumns(market, index)
    names = _list_symbols(columns, options)
    layout = _recognise(columns, index, names, options)
    symbol = _choose_symbol(columns, names or [layout.symbol or ""], options)
    read = replace(layout, symbol=None, market=symbol, notes=(*layout.notes, *market.notes))
    width = len(COLUMNS) + len(layout.aligned)
    refuse_rows(len(market.frame), width, market.name, options.max_bytes)
    arrays = pa.table({name: columns[name] for name in read.used})
    try:
        table = to_raw(arrays, read, (market.name, symbol), options, None, lambda: ())
    except TableError as error:
        if layout.symbol is None and len(read.times) == 1:
            # Rows of several markets break other rules too.
            _refuse_parted(columns, read, columns.find_times(read.times[0], options))
        if index:
            error.args = (str(error).replace(f"column {index!r}", "its index"),)
        raise
    if layout.symbol is None:
        _refuse_parted(columns, read, table.timestamp)
    values = {name: column.copy() for name, column in table.values.items()}
    return replace(table, timestamp=table.timestamp.copy(), values=values)


def _recognise(
    columns: FrameColumns, index: str, symbols: Sequence[str], options: LoadOptions
) -> Layout:
    """Columns by meaning: the index is the time, the first of `symbols` names the market."""
    market, chosen, closes = columns.market, dict(options.columns), list[str]()
    if index and not _is_overruled(options) and find_role(index) != CLOSE:
        _refuse_other_times(columns, index, options)
        chosen[TIMESTAMP], closes = index, list(_list_closes(columns, index, options))
    chosen |= dict(zip((SYMBOL,), symbols, strict=False))
    try:
        layout = recognise(list(columns), market.name, chosen, options.aligned)
    except NoTimeError as error:
        labels = map(str, market.frame.index[:2])
        held = list_some((repr(label[:24]) for label in labels), len(market.frame))
        raise NoTimeError(
            f"{error}; its index ({held}) holds no times, and {market.code}.set_index(times) "
            "passes such"
        ) from None
    if doubled := sorted(columns.doubled & ({*layout.used} - {layout.symbol})):
        raise ConfigError(f"{market.name} has two columns {doubled[0]!r}: leave one")
    return replace(layout, closes=(*layout.closes, *closes))


def _list_symbols(columns: FrameColumns, options: LoadOptions) -> list[str]:
    """Columns of a frame with a key that seem to name a market too."""
    if not columns.market.symbol or SYMBOL in options.columns:
        return []
    taken = (*options.columns.values(), *options.aligned.values())
    return [name for name in columns if find_role(name) == SYMBOL and name not in taken]


def _choose_symbol(columns: FrameColumns, names: Sequence[str], options: LoadOptions) -> str:
    """The one market that a frame is of, by its key and by the columns that name it.

    Raises:
        ConfigError: When they name another, or several.
    """
    market = columns.market
    symbol = market.symbol
    for name in filter(None, names):
        markets = list_texts(columns[name], f"{market.name}: column {name!r}")
        if len(markets) > 1:
            raise _refuse_several(market, name, markets)
        if symbol and markets and markets[0] != symbol:
            is_index = name == market.frame.index.name
            way = "reset_index(drop=True)" if is_index else f"drop(columns={name!r})"
            # A column that the settings name cannot be left out.
            dropped = "" if SYMBOL in options.columns else f", or pass {market.code}.{way}"
            raise ConfigError(
                f"{market.name}: its column {name!r} says {markets[0]!r}, and its key {symbol!r}; "
                f"name it so, as in bars={{{markets[0]!r}: frame}}{dropped}"
            )
        symbol = symbol or "".join(markets)
    return symbol or market.name


def _refuse_parted(columns: FrameColumns, layout: Layout, time_ns: Ints | None) -> None:
    """Refuse rows of several markets, which a column that is not read parts."""
    names, where = [name for name in columns if name not in layout.used], columns.market.name
    if time_ns is None:
        return
    parted = find_markets(time_ns, lambda: columns.list_plain(names), where)
    if parted is not None:
        raise _refuse_several(columns.market, *parted)


def _refuse_several(market: MarketFrame, name: str, markets: Sequence[object]) -> ConfigError:
    return ConfigError(
        f"{market.name}: its column {name!r} {show_markets(markets)}; pass "
        f"bars={market.code}.groupby({name!r})"
    )


def _name_index(frame: pd.DataFrame, options: LoadOptions) -> str:
    """The column as which an index of times is read; empty where there is none.

    It keeps its name where that is one of a time. Texts are times where nothing else can be.
    """
    names = [str(name).lower() for name in frame.columns]
    is_overruled = _is_overruled(options)
    if not has_times(frame.index, options):
        is_text = frame.index.dtype == object or pd.api.types.is_string_dtype(frame.index.dtype)
        if not is_text or is_overruled or any(find_role(name) in TIMES for name in names):
            return ""
    index_name = str(frame.index.name)
    named = options.columns.get(TIMESTAMP, "")
    if named.lower() in (index_name.lower(), TIMESTAMP) and named.lower() not in names:
        return named
    name = index_name if find_role(index_name) in (*TIMES, CLOSE) else TIMESTAMP
    # The settings may name the column of that name as the times.
    return "" if is_overruled and name.lower() in names else name


def _is_overruled(options: LoadOptions) -> bool:
    """True if settings name the columns that hold the times."""
    return not options.columns.keys().isdisjoint(TIMES)


def _list_closes(columns: FrameColumns, index: str, options: LoadOptions) -> Iterator[str]:
    """Columns of closing times, by which the reader knows an index of closes.

    Days before those of the index are none.
    """
    for name in columns:
        closes = columns.find_times(name, options) if find_role(name) == CLOSE else None
        opens = None if closes is None else columns.find_times(index, options)
        if closes is None or opens is None:
            continue
        if _has_clock(closes) or not ((closes < opens) & (closes != NO_TIME)).any():
            yield name


def _refuse_other_times(columns: FrameColumns, index: str, options: LoadOptions) -> None:
    """Refuse columns that could be the time of a bar as well as the index, and differ from it.

    Days beside an index are no times of bars, nor are times of day.

    Raises:
        ConfigError: Naming them, and how to pass either.
    """
    taken = {index, *options.columns.values(), *options.aligned.values()}
    times = {}
    for name in columns:
        role = None if name in taken else find_role(name)
        time_ns = columns.find_times(name, options) if role in TIMES else None
        if time_ns is not None and (role == TIMESTAMP or _has_clock(time_ns)):
            times[name] = time_ns
    index_times = columns.find_times(index, options) if times else None
    if index_times is None:
        return
    differing = [name for name in times if len(_list_differing(index_times, times[name]))]
    if not differing:
        return
    code, name = columns.market.code, differing[0]
    row = _list_differing(index_times, times[name])[0]
    rest = [other for other in times if len(_list_differing(times[name], times[other]))]
    further = f".drop(columns={_list_labels(rest)})" if rest else ""
    raise ConfigError(
        f"{columns.market.name}: its index and its column {bare_name(name)!r} could both be the "
        f"time of a bar, and differ: row {row} has {format_time(int(index_times[row]))} and "
        f"{format_time(int(times[name][row]))}; pass {code}.drop(columns="
        f"{_list_labels(differing)}) or {code}.set_index({bare_name(name)!r}){further}"
    )


def _list_differing(times: Ints, other: Ints) -> Ints:
    """Rows in which two columns hold different times."""
    return np.flatnonzero((times != other) & (times != NO_TIME) & (other != NO_TIME))


def _list_labels(names: list[str]) -> str:
    return repr(list(map(bare_name, names)))


def _has_clock(time_ns: Ints) -> bool:
    return bool((time_ns[time_ns != NO_TIME] % DAY_NS).any())
