"""Bars in memory, of pandas, polars or pyarrow, as the rows that a file of them would hold."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from data.bars import check_symbol
from data.checks import COLUMNS, NO_TIME, PRICES, Ints, format_time
from data.errors import BarsError, NoTimeError, TableError, list_some
from data.plain import quote_value
from data.providers.arrow_table import to_raw
from data.providers.columns import Layout, bare_name, find_role, recognise
from data.providers.parquet_file import digest_rows, holding
from data.providers.shapes import find_markets, show_markets
from data.providers.source_file import refuse_rows
from data.providers.time_columns import read_times
from data.table import LoadOptions, RawTable
from data.timeframe import DAY_NS
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.run.markets import load_options

TIMESTAMP, CLOSE = "timestamp", "close_time"

TIMES = (TIMESTAMP, "date", "time")
"""Meanings that a column may have in place of an index of times."""

KIND = (
    "bars is a frame of pandas or polars, or symbols with a frame each, and given in place of data"
)

NO_PAIRS = (str, bytes, pd.Series, np.ndarray)
"""Types whose parts are no symbols with a frame each."""

HEAD = 1000
"""Texts of an index that are tried as times."""

SYMBOL = "symbol"


@dataclass(frozen=True)
class MarketFrame:
    """A frame of one market."""

    frame: pd.DataFrame  # rows as they were passed
    name: str = "bars"  # how messages call it, such as ``bars['AAA']``
    symbol: str = ""  # of the market; empty where none was named
    notes: tuple[str, ...] = ()  # a line for each assumption that was made so far
    code: str = "frame"  # makes the frame of what was passed, for messages


class FrameColumns:
    """Columns of a market's frame by name, as Arrow has them from the first use on.

    The index is the first column, under the name `index`; empty to leave it out. The second column
    of a name has no name that is recognised, but that of the index keeps it.
    """

    def __init__(self, market: MarketFrame, index: str) -> None:
        frame, self.market = market.frame, market
        self.doubled: set[str] = set()
        self._arrays: dict[str, pa.Array] = {}
        self._columns = {index: pd.Series(frame.index)} if index else {}
        for position, name in enumerate(map(str, frame.columns)):
            unique = f"{name} (column {position + 1})" if name == index else name
            if unique in self._columns:
                self.doubled.add(name)
                unique = f"(column {position + 1}, {name})"
            self._columns[unique] = frame.iloc[:, position]
        name = "" if index or frame.index.name is None else str(frame.index.name)
        if name and name not in self._columns and find_role(name) not in (*TIMES, CLOSE):
            self._columns[name] = pd.Series(frame.index)

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._arrays:
            where = f"{self.market.name}: column {name!r}"
            self._arrays[name] = to_arrow(self._columns[name], where)
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def list_plain(self, names: Iterable[str]) -> Iterator[tuple[str, pa.Array]]:
        """Columns of these names with one value a row."""
        for name in names:
            try:
                column = self[name]
            except ConfigError:
                continue
            if not pa.types.is_nested(column.type):
                yield name, column

    def find_times(self, name: str, options: LoadOptions) -> Ints | None:
        """Times of a column as `read_ns` has them."""
        return next((read_ns(held, options) for _, held in self.list_plain([name])), None)


def to_arrow(column: "pd.Series[Any]", where: str) -> pa.Array:
    """A column as Arrow has it: of periods and intervals their beginnings, sparse ones filled.

    ConfigError for values that no column of Arrow holds.
    """
    try:
        array = pa.array(_to_plain(column), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if column.dtype == object and any(isinstance(value, str) for value in column):
            # Numbers among text are text, as a file would hold them.
            return pa.array(column.map(str, na_action="ignore"), pa.string(), from_pandas=True)
        reason = " ".join(str(error).split())
        raise ConfigError(f"{where} holds what is no number, text or time: {reason}") from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def read_ns(column: pa.Array, options: LoadOptions) -> Ints | None:
    """Times in nanoseconds UTC, [N], `NO_TIME` where one is missing; None where there are none."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    try:
        return read_times({"": column}, options.zone, "", options.time_format)[0]
    except TableError:
        return None


def has_times(index: pd.Index, options: LoadOptions) -> bool:
    """True if an index holds opening times of bars, rather than count or name them."""
    kind = index.dtype
    if isinstance(kind, pd.PeriodDtype) or pd.api.types.is_datetime64_any_dtype(kind):
        return True
    if isinstance(index, pd.MultiIndex) or not len(index):
        return False
    is_number = pd.api.types.is_numeric_dtype(kind)
    sample = pd.Series([index.min(), index.max()] if is_number else index[:HEAD])
    try:
        return read_ns(to_arrow(sample, ""), options) is not None
    except ConfigError:
        return False


def list_texts(column: pa.Array, where: str) -> list[str]:
    """Different values of a column as text, without missing and empty ones."""
    try:
        values = column.unique()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return [text for text in values.cast(pa.string()).to_pylist() if text]
    except pa.ArrowException:
        raise ConfigError(f"{where} holds {column.type}, which names no market") from None


def list_markets(bars: object, options: LoadOptions) -> list[MarketFrame]:
    """List the markets of a frame, of symbols with a frame each, or of groups of rows.

    ConfigError when it is something else, or two frames are of one symbol.
    """
    markets = [
        part
        for passed in _list_frames(bars)
        for wide in _part_columns(passed)
        for part in _part_rows(wide, options)
    ]
    for symbol, count in Counter(market.symbol for market in markets).items():
        if count > 1:
            raise ConfigError(f"bars has two frames of the symbol {symbol!r}: leave one")
    return markets


def _to_plain(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column of a type that Arrow knows, where there is one."""
    kind, values = column.dtype, column.array
    if isinstance(kind, pd.PeriodDtype):
        return pd.Series(pd.PeriodIndex(values).to_timestamp())
    if isinstance(kind, pd.IntervalDtype):
        return pd.Series(pd.IntervalIndex(values).left)
    if isinstance(kind, pd.SparseDtype):
        return pd.Series(np.asarray(values))
    return column.astype(np.float64) if kind == np.longdouble else column


def _list_frames(bars: object) -> Iterator[MarketFrame]:
    """Frames as they were passed; groups of pandas and polars are keys with a frame each."""
    if (frame := _as_pandas(bars)) is not None:
        yield MarketFrame(frame, code=_say_pandas(bars))
        return
    pairs = bars.items() if isinstance(bars, Mapping) else bars
    is_empty = True
    for pair in pairs if isinstance(pairs, Iterable) and not isinstance(bars, NO_PAIRS) else ():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ConfigError(f"{KIND}, got {quote_value(pair)}")
        name = f"bars[{_quote(pair[0])}]"
        if (frame := _as_pandas(pair[1])) is None:
            raise ConfigError(f"{KIND}, got {quote_value(pair[1])} as {name}")
        yield MarketFrame(frame, name, _read_symbol(pair[0]), code=_say_pandas(pair[1]))
        is_empty = False
    if is_empty:
        raise ConfigError(f"{KIND}, got {quote_value(bars)}")


def _as_pandas(value: object) -> pd.DataFrame | None:
    """A frame as one of pandas, which those of polars and of pyarrow can give."""
    frame = value.to_pandas() if hasattr(value, "to_pandas") else value
    if not isinstance(frame, pd.DataFrame):
        return None
    for axis in (0, 1):
        if isinstance(labels := frame.axes[axis], pd.MultiIndex) and labels.nlevels == 1:
            frame = frame.set_axis(labels.get_level_values(0), axis=axis)
    return frame


def _say_pandas(value: object) -> str:
    return "frame" if isinstance(value, pd.DataFrame) else "frame.to_pandas()"


def _read_symbol(key: object) -> str:
    """The symbol that a key is: text, or a whole number; ConfigError for anything else."""
    # Groups by a list of one column have such keys.
    value = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    reason = "a symbol is text or a whole number"
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        try:
            return check_symbol(str.__str__(value))
        except BarsError as error:
            reason = str(error)
    raise ConfigError(f"bars[{_quote(key)}]: {reason}; name it, as in bars={{'BTC': frame}}")


def _part_columns(passed: MarketFrame) -> Iterator[MarketFrame]:
    """Markets of a frame with columns of price and ticker, in either order."""
    frame, columns = passed.frame, passed.frame.columns
    if columns.nlevels == 1:
        yield passed
        return
    if columns.nlevels > 2:
        raise ConfigError(
            f"{passed.name} has columns of {columns.nlevels} levels; leave two, price and ticker, "
            f"as in {passed.code}.droplevel(0, axis=1)"
        )
    levels = [columns.get_level_values(level) for level in (0, 1)]
    prices, tickers = sorted(levels, key=_count_prices, reverse=True)
    # A column that was an index has its name in the first level, and none in the second.
    is_shared = prices.astype(str).str.strip() == ""
    prices, tickers = prices.where(~is_shared, tickers), tickers.where(~is_shared, "")
    markets = _list_values(tickers)
    for ticker, market in _name_markets(passed, markets, "level of tickers"):
        rows, notes = frame, market.notes
        if len(markets) > 1:
            is_blank = frame.loc[:, tickers == ticker].isna().all(axis=1).to_numpy()
            rows = frame.loc[~is_blank]
            if is_blank.any():
                notes = (*notes, f"{is_blank.sum():,} rows are of other tickers, and left out")
        belongs = (tickers == ticker) | ~tickers.isin(markets)
        part = rows.loc[:, belongs].set_axis(prices[belongs], axis=1)
        yield replace(market, frame=part, notes=notes)


def _count_prices(names: pd.Index) -> int:
    return len({find_role(str(name)) for name in names.unique()} & set(PRICES))


def _part_rows(passed: MarketFrame, options: LoadOptions) -> Iterator[MarketFrame]:
    """Markets of a frame with an index of time and market, in either order."""
    if not len(passed.frame):
        raise ConfigError(f"{passed.name}: there are no bars, the frame has no rows; leave it out")
    frame = _drop_key(passed)
    if frame.index.nlevels == 1:
        yield replace(passed, frame=frame)
        return
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    others = [level for level, values in enumerate(levels) if not has_times(values, options)]
    if len(levels) > 2 or len(others) != 1:
        way = _say_one_level(passed.code, frame.index, others)
        raise ConfigError(f"{passed.name} has an index of several levels; {way}")
    values = levels[others[0]]
    for value, market in _name_markets(passed, _list_values(values), "level of markets"):
        rows = frame if value is None else frame.loc[values == value]
        yield replace(market, frame=rows.droplevel(others[0]))


def _drop_key(passed: MarketFrame) -> pd.DataFrame:
    """Rows without levels of their index that repeat the key, as groups by a level have them."""
    frame = passed.frame
    if not passed.symbol or frame.index.nlevels == 1:
        return frame
    levels = range(frame.index.nlevels)
    values = [_list_values(frame.index.get_level_values(level)) for level in levels]
    repeats: list[Hashable] = [n for n in levels if list(map(str, values[n])) == [passed.symbol]]
    return frame.droplevel(repeats[: len(levels) - 1])


def _say_one_level(code: str, index: pd.Index, others: list[int]) -> str:
    """How a frame is left with one level, that of its times; `others` hold none."""
    if not others:
        return f"leave that at which bars open, as in {code}.droplevel(1)"
    markets = others[:-1] if len(others) == index.nlevels else others
    values = [_quote(index[0][level]) for level in markets]
    rows = f"{code}.xs(({', '.join(values)},), level={markets})"
    if markets == [0]:
        rows = f"{code}.loc[{values[0]}]"
    return f"give a frame a symbol, as in bars={{{values[-1]}: {rows}}}"


def _name_markets(
    passed: MarketFrame, markets: Sequence[object], where: str
) -> Iterator[tuple[object, MarketFrame]]:
    """Each market that columns or index name, of a keyed frame its own; None where none is named.

    ConfigError when the key is none of them.
    """
    by_name = {str(market): market for market in markets}
    if not markets:
        yield None, passed
    elif not passed.symbol:
        for market in markets:
            name = f"bars[{_quote(market)}]"
            yield market, replace(passed, name=name, symbol=_read_symbol(market))
    elif passed.symbol in by_name:
        yield by_name[passed.symbol], passed
    else:
        first = next(iter(by_name))
        raise ConfigError(
            f"{passed.name}: its {where} is of {first!r}, and its key is {passed.symbol!r}; name "
            f"it so, as in bars={{{first!r}: frame}}"
        )


def _list_values(values: pd.Index) -> list[object]:
    """Different values of an index that are neither missing nor empty, in their order."""
    return [value for value in values.unique() if not pd.isna(value) and str(value).strip()]


def _quote(value: object) -> str:
    return quote_value(value.item() if isinstance(value, np.generic) else value)


@contextmanager
def holding_frames(bars: object, config: RunConfig) -> Iterator[RunConfig]:
    """Configuration in which frames are the sources, as long as the block lasts.

    A source is named as the file in the folder of runs that a run which is recorded keeps of it.
    `bars` is a frame, symbols with a frame each, or groups of rows; ConfigError for anything else,
    DataError when columns cannot be recognised, or hold no numbers or times.
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
    because its name sounds like a time. ConfigError when its columns differ from its index or its
    key, or hold other markets; DataError when they cannot be recognised, or a value has no single
    reading.
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
    """The one market that a frame is of, by its key and by the columns that name it."""
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
