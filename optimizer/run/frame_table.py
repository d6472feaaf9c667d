"""A frame of one market as the table of a file: the columns that are read of it, and no other."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from data.checks import VALUES
from data.providers.column_names import find_role
from data.providers.columns import Layout, recognise
from data.providers.mixed_rows import find_markets, show_markets
from data.statement import state_frame
from data.table import LoadOptions
from optimizer.errors import ConfigError
from optimizer.run.frame_columns import CLOSE, TIMESTAMP, FrameColumns, list_texts
from optimizer.run.frame_markets import MarketFrame
from optimizer.run.frame_times import (
    is_overruled,
    list_closes,
    name_index,
    refuse_other_times,
)

SYMBOL = "symbol"


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
    layout = recognise(list(columns), market.name, chosen, options.aligned)
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

    def others() -> pa.Table:
        names = [name for name in columns if name not in layout.used]
        return pa.table({name: columns[name] for name in names if columns.is_plain(name)})

    if (parted := find_markets(time_ns, others)) is not None:
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
