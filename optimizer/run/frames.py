"""Bars in memory, of pandas, polars or pyarrow, as files that everything else reads."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from data.checks import NO_TIME, VALUES, Ints, format_time
from data.errors import DataError, NoTimeError, SourceError, describe_unwritten, list_some
from data.files import working_folder
from data.providers.column_names import bare_name, find_role
from data.providers.columns import Layout, recognise
from data.providers.mixed_rows import Columns, find_markets, show_markets
from data.statement import state_frame
from data.table import LoadOptions
from data.timeframe import DAY_NS
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import RunConfig, make_config
from optimizer.errors import ConfigError, OptimizerError
from optimizer.run.frame_columns import (
    CLOSE,
    TIMES,
    TIMESTAMP,
    FrameColumns,
    has_times,
    list_texts,
    refuse_index,
)
from optimizer.run.frame_markets import MarketFrame, list_markets
from optimizer.run.sources import FRAME, load_options

DIGEST = b"exhaustion-optimizer digest"
"""Name of the hash of a frame in the metadata of its file."""


SYMBOL = "symbol"


@contextmanager
def frames_as_files(
    settings: Mapping[str, object], where: str, folder: Path | None = None
) -> Iterator[RunConfig]:
    """Configuration in which frames are files; errors within name the frames as they were passed.

    All settings are checked before a file is written. Where the block fails and recorded no run,
    no file that was written for it stays.

    Args:
        settings: Where ``bars`` is a frame, symbols with a frame each, or groups of rows, in place
            of ``data``.
        where: Name of the function that has the settings, for errors.
        folder: Where frames are kept: once, by the columns that are read of them; ``runs`` of the
            settings if None.

    Raises:
        ConfigError: When a setting is wrong, ``bars`` is something else, or ``data`` is given too.
        DataError: When columns of a frame cannot be recognised.
    """
    readable = {name: value for name, value in settings.items() if name != "bars"}
    config = make_config(readable, where=where)
    if "bars" not in settings:
        yield config
        return
    if "data" in readable:
        raise ConfigError("bars is given in place of data: leave one of them out")
    options = load_options(config)
    markets = list_markets(settings["bars"], options)
    with _keep_frames(markets, options, folder or Path(config.runs)) as paths:
        names = {path.stem: market.name for path, market in zip(paths, markets, strict=True)}
        data = tuple(f"parquet:{path}" for path in paths)
        try:
            yield config.model_copy(update={"data": data})
        except SourceError:
            # It is the file that cannot be read.
            raise
        except (DataError, OptimizerError) as error:
            error.args = (*(_name_frames(part, names) for part in error.args),)
            raise


@contextmanager
def for_a_while(settings: Mapping[str, object], where: str) -> Iterator[RunConfig]:
    """Configuration in which frames are files, as long as these are read."""
    with working_folder("bars") as folder, frames_as_files(settings, where, folder) as config:
        yield config


@contextmanager
def _keep_frames(
    markets: Sequence[MarketFrame], options: LoadOptions, folder: Path
) -> Iterator[list[Path]]:
    """Files of frames; new ones go again where the block fails and no run was recorded."""
    before = _list_names(folder)
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    paths: list[Path] = []
    try:
        for market in markets:
            paths.append(_keep(tabulate_bars(market, options), folder))
        yield paths
    except BaseException:
        if not any((folder / name).is_dir() for name in _list_names(folder) - before):
            _remove([path for path in paths if path.name not in before], missing)
        raise
    for path, market in zip(paths, markets, strict=True):
        if not path.is_file():
            # Another call with the same bars failed, and took them along.
            _keep(tabulate_bars(market, options), folder)


def _list_names(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.is_dir() else set()


def _remove(files: Sequence[Path], folders: Sequence[Path]) -> None:
    """Remove files, then folders as far as they are empty."""
    with suppress(OSError):
        for path in files:
            path.unlink(missing_ok=True)
        for path in folders:
            path.rmdir()


def _keep(table: pa.Table, folder: Path) -> Path:
    """Write a table into a folder, under a name that is of its content, unless it is there."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as batches:
        batches.write_table(table)
    digest = hashlib.sha256(stream.getvalue()).hexdigest()
    path = folder / f"bars-{digest[:16]}.parquet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptimizerError(describe_unwritten(path, error)) from error
    if not _states(path, digest.encode()):
        stated = {**table.schema.metadata, DIGEST: digest.encode()}
        file = pa.BufferOutputStream()
        # The reader finds damage by the sums of pages.
        pq.write_table(table.replace_schema_metadata(stated), file, write_page_checksum=True)
        write_whole(path, file.getvalue().to_pybytes())
    return path


def _states(path: Path, digest: bytes) -> bool:
    """Whether a file is whole, and of no other program, which would leave the digest out."""
    try:
        return path.is_file() and (pq.read_metadata(path).metadata or {}).get(DIGEST) == digest
    except (OSError, pa.ArrowException):
        return False


def _name_frames(text: object, names: Mapping[str, str]) -> object:
    if not isinstance(text, str):
        return text
    return FRAME.sub(lambda file: names.get(file[1], file[0]), text)


def tabulate_bars(market: MarketFrame, options: LoadOptions) -> pa.Table:
    """The columns of a frame that are read with these options, as these name them.

    An index of times is the time, unless the options name a column; no other column is read only
    because its name sounds like a time.

    Raises:
        ConfigError: When its columns differ from its index or its key, or hold other markets.
        DataError: When its columns cannot be recognised.
    """
    index = name_index(market.frame, options)
    columns = FrameColumns(market.frame, market.name, market.code, index)
    chosen, closes = dict(options.columns), []
    if index and not is_overruled(options) and find_role(index) != CLOSE:
        refuse_other_times(columns, index, options)
        chosen[TIMESTAMP], closes = index, list_closes(columns, index, options)
    keyed = _list_named(columns, options) if market.symbol else []
    if keyed:
        chosen[SYMBOL] = keyed[0]
    try:
        layout = recognise(list(columns), market.name, chosen, options.aligned)
    except NoTimeError as error:
        labels = map(str, market.frame.index[:2])
        held = list_some((repr(label[:24]) for label in labels), len(market.frame))
        raise NoTimeError(
            f"{error}; its index ({held}) holds no times, and {market.code}.set_index(times) "
            "passes such"
        ) from None
    names = _name_in_file(layout, options) | {name: name for name in closes}
    names = {text: name for text, name in names.items() if name != layout.symbol}
    if doubled := sorted(columns.doubled & set(names.values())):
        raise ConfigError(f"{market.name} has two columns {doubled[0]!r}: leave one")
    symbol = _choose_symbol(
        market, columns, keyed or [layout.symbol or ""], is_said=SYMBOL in options.columns
    )
    if layout.symbol is None:
        _refuse_mixed(columns, layout, options)
    arrays = {name: columns[actual] for name, actual in names.items()}
    if layout.symbol is not None and SYMBOL in options.columns:
        # The reader is asked to look for it.
        arrays[options.columns[SYMBOL]] = _repeat(symbol, len(market.frame))
    read = recognise(list(arrays), market.name, options.columns, options.aligned)
    notes = (*market.notes, *(note for note in layout.notes if note not in read.notes))
    return pa.table(arrays).replace_schema_metadata(state_frame(symbol, notes))


def _list_named(columns: FrameColumns, options: LoadOptions) -> list[str]:
    """Columns of a frame with a key that seem to name a market too."""
    taken = (*options.columns.values(), *options.aligned.values())
    is_said = SYMBOL in options.columns
    names = [name for name in columns if find_role(name) == SYMBOL and name not in taken]
    return [] if is_said else names


def _choose_symbol(
    market: MarketFrame, columns: FrameColumns, named: Sequence[str], *, is_said: bool
) -> str:
    """The one market that a frame is of, by its key and by the columns that name it.

    Raises:
        ConfigError: When they name another, or several.
    """
    symbol = market.symbol
    for name in filter(None, named):
        markets = list_texts(columns[name], f"{market.name}: column {name!r}")
        if len(markets) > 1:
            raise _refuse_several(columns, name, markets)
        if symbol and markets and markets[0] != symbol:
            # A column that the settings name cannot be left out.
            way = f"drop(columns={name!r})"
            if name == market.frame.index.name:
                way = "reset_index(drop=True)"
            dropped = "" if is_said else f", or pass {market.code}.{way}"
            raise ConfigError(
                f"{market.name}: its column {name!r} says {markets[0]!r}, and its key {symbol!r}; "
                f"name it so, as in bars={{{markets[0]!r}: frame}}{dropped}"
            )
        symbol = symbol or "".join(markets)
    return symbol or market.name


def _refuse_mixed(columns: FrameColumns, layout: Layout, options: LoadOptions) -> None:
    """Refuse rows of several markets, which a column that is not read parts."""
    time_ns = columns.find_times(layout.times, options)
    if time_ns is None:
        return

    def others() -> Columns:
        names = (name for name in columns if name not in layout.used)
        return ((name, columns[name]) for name in names if columns.is_plain(name))

    if (parted := find_markets(time_ns, others, columns.where)) is not None:
        raise _refuse_several(columns, *parted)


def _refuse_several(columns: FrameColumns, name: str, markets: Sequence[object]) -> ConfigError:
    return ConfigError(
        f"{columns.where}: its column {name!r} {show_markets(markets)}; pass "
        f"bars={columns.code}.groupby({name!r})"
    )


def _name_in_file(layout: Layout, options: LoadOptions) -> dict[str, str]:
    """Columns that are read but for the symbol, by what the options call them."""
    named, meanings = options.columns, dict(zip(VALUES, layout.values, strict=True))
    parted = layout.times
    if TIMESTAMP in named:
        meanings[TIMESTAMP] = layout.times[0]
        parted = layout.same_times[0] if layout.same_times else ()
    meanings |= zip([name for name in ("date", "time") if name in named], parted, strict=False)
    texts = [(meanings[name], text) for name, text in named.items() if meanings.get(name)]
    texts += [(actual, options.aligned[name]) for name, actual in layout.aligned]
    texts += [(name, name) for name in layout.used if name not in dict(texts)]
    first = layout.used.index
    return {text: name for name, text in sorted(texts, key=lambda pair: first(pair[0]))}


def _repeat(symbol: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(count, dtype=np.int32)), pa.array([symbol])
    )


def name_index(frame: pd.DataFrame, options: LoadOptions) -> str:
    """The column as which an index of times is read; empty where there is none.

    It keeps its name where that is one of a time.
    """
    names = [str(name).lower() for name in frame.columns]
    if not _is_time(frame, names, options):
        return ""
    index_name = str(frame.index.name)
    named = options.columns.get(TIMESTAMP, "")
    if named.lower() in (index_name.lower(), TIMESTAMP) and named.lower() not in names:
        return named
    name = index_name if _find_role(index_name) else TIMESTAMP
    # The settings may name the column of that name as the times.
    return "" if is_overruled(options) and name.lower() in names else name


def is_overruled(options: LoadOptions) -> bool:
    """Whether settings name the columns that hold the times."""
    return not options.columns.keys().isdisjoint(TIMES)


def list_closes(columns: FrameColumns, index: str, options: LoadOptions) -> list[str]:
    """Columns of closing times, by which the reader knows an index of closes.

    Days before those of the index are none.
    """
    opens = columns.find_times((index,), options)
    closes = []
    for name in columns:
        time_ns = columns.find_times((name,), options) if _find_role(name) == CLOSE else None
        if time_ns is None or opens is None:
            continue
        if _has_clock(time_ns) or not ((time_ns < opens) & (time_ns != NO_TIME)).any():
            closes.append(name)
    return closes


def refuse_other_times(columns: FrameColumns, index: str, options: LoadOptions) -> None:
    """Refuse columns that could be the time of a bar as well as the index, and differ from it.

    Days beside an index are no times of bars, nor are times of day.

    Raises:
        ConfigError: Naming them, and how to pass either.
        TableError: When the times of the index cannot be read.
    """
    index_times = columns.find_times((index,), options)
    if index_times is None:
        refuse_index(columns[index], columns.where, options)
        return
    times = _list_times(columns, index, options)
    differing = [
        name for name, other in times.items() if _find_difference(index_times, other) is not None
    ]
    if not differing:
        return
    name = differing[0]
    row = _find_difference(index_times, times[name]) or 0
    rest = [other for other in times if _find_difference(times[name], times[other]) is not None]
    further = f".drop(columns={_list_labels(rest)})" if rest else ""
    raise ConfigError(
        f"{columns.where}: its index and its column {bare_name(name)!r} could both be the time of "
        f"a bar, and differ: row {row} has {format_time(int(index_times[row]))} and "
        f"{format_time(int(times[name][row]))}; pass {columns.code}.drop(columns="
        f"{_list_labels(differing)}) or {columns.code}.set_index({bare_name(name)!r}){further}"
    )


def _is_time(frame: pd.DataFrame, names: list[str], options: LoadOptions) -> bool:
    """Whether an index holds times, or texts where nothing else can be the time."""
    if has_times(frame.index, options):
        return True
    is_text = frame.index.dtype == object or pd.api.types.is_string_dtype(frame.index.dtype)
    return (
        is_text
        and not is_overruled(options)
        and not any(_find_role(name) in TIMES for name in names)
    )


def _find_role(name: str) -> str:
    """The time that a name sounds like, of bars that open or close; empty for other names."""
    role = find_role(name) or ""
    return role if role in (*TIMES, CLOSE) else ""


def _list_times(columns: FrameColumns, index: str, options: LoadOptions) -> dict[str, Ints]:
    """Times [N] of columns that sound like the time of a bar and hold such."""
    taken = {index, *options.columns.values(), *options.aligned.values()}
    times = {}
    for name in columns:
        role = _find_role(name)
        if role not in TIMES or name in taken:
            continue
        time_ns = columns.find_times((name,), options)
        if time_ns is not None and (role == TIMESTAMP or _has_clock(time_ns)):
            times[name] = time_ns
    return times


def _list_labels(names: list[str]) -> str:
    return repr(list(map(bare_name, names)))


def _has_clock(time_ns: Ints) -> bool:
    return bool((time_ns[time_ns != NO_TIME] % DAY_NS).any())


def _find_difference(times: Ints, other: Ints) -> int | None:
    """The first row in which two columns hold different times."""
    rows = np.flatnonzero((times != other) & (times != NO_TIME) & (other != NO_TIME))
    return int(rows[0]) if len(rows) else None
