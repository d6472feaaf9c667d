"""Markets in what a person passes as bars: a frame each, parted where one frame holds several."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
import pandas as pd

from data.bars import check_symbol
from data.checks import PRICES
from data.errors import BarsError
from data.plain import quote_value
from data.providers.column_names import find_role
from data.table import LoadOptions
from optimizer.errors import ConfigError
from optimizer.run.frame_columns import has_times

KIND = (
    "bars is a frame of pandas or polars, or symbols with a frame each, and given in place of data"
)

NO_PAIRS = (str, bytes, pd.Series, np.ndarray)
"""Types whose parts are no symbols with a frame each."""


@dataclass(frozen=True)
class MarketFrame:
    """A frame of one market."""

    frame: pd.DataFrame  # rows as they were passed
    name: str = "bars"  # how messages call it, such as ``bars['AAA']``
    symbol: str = ""  # of the market; empty where none was named
    notes: tuple[str, ...] = ()  # a line for each assumption that was made so far
    # What makes the frame of what was passed, for messages that say what to pass.
    code: str = "frame"


def list_markets(bars: object, options: LoadOptions) -> list[MarketFrame]:
    """List the markets of a frame, of symbols with a frame each, or of groups of rows.

    Raises:
        ConfigError: When it is something else, or two frames are of one symbol.
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


def list_values(values: pd.Index) -> list[object]:
    """Different values of an index that are neither missing nor empty, in their order."""
    return [value for value in values.unique() if not pd.isna(value) and str(value).strip()]


def _list_frames(bars: object) -> Iterator[MarketFrame]:
    """Frames as they were passed; groups of pandas and polars are keys with a frame each."""
    frame = _as_pandas(bars)
    if frame is not None:
        yield MarketFrame(frame, code=_say_pandas(bars))
        return
    pairs = bars.items() if isinstance(bars, Mapping) else bars
    is_empty = True
    for pair in pairs if isinstance(pairs, Iterable) and not isinstance(bars, NO_PAIRS) else ():
        is_pair = isinstance(pair, tuple) and len(pair) == 2
        frame = _as_pandas(pair[1]) if is_pair else None
        if frame is None:
            passed = (
                f"{quote_value(pair[1])} as bars[{_quote(pair[0])}]"
                if is_pair
                else quote_value(pair)
            )
            raise ConfigError(f"{KIND}, got {passed}")
        name, symbol = f"bars[{_quote(pair[0])}]", _read_symbol(pair[0])
        yield MarketFrame(frame, name, symbol, code=_say_pandas(pair[1]))
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
    """The symbol that a key is: text, or a whole number.

    Raises:
        ConfigError: When it is none.
    """
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
    """Markets of a frame whose columns have a price and a ticker, in either order."""
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
    markets = list_values(tickers)
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
    """Markets of a frame whose index has a time and a market, in either order."""
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
    for value, market in _name_markets(passed, list_values(values), "level of markets"):
        rows = frame if value is None else frame.loc[values == value]
        yield replace(market, frame=rows.droplevel(others[0]))


def _drop_key(passed: MarketFrame) -> pd.DataFrame:
    """Rows without levels of their index that repeat the key, as groups by a level have them."""
    frame = passed.frame
    if not passed.symbol or frame.index.nlevels == 1:
        return frame
    levels = range(frame.index.nlevels)
    values = [list_values(frame.index.get_level_values(level)) for level in levels]
    repeats = [level for level in levels if list(map(str, values[level])) == [passed.symbol]]
    for level in reversed(repeats[: len(levels) - 1]):
        frame = frame.droplevel(level)
    return frame


def _say_one_level(code: str, index: pd.Index, others: list[int]) -> str:
    """How a frame is left with one level, that of its times; `others` hold none."""
    if not others:
        return f"leave that at which bars open, as in {code}.droplevel(1)"
    markets = others[:-1] if len(others) == index.nlevels else others
    values = [_quote(index[0][level]) for level in markets]
    if markets == [0]:
        return f"give a frame a symbol, as in bars={{{values[0]}: {code}.loc[{values[0]}]}}"
    rows = f"{code}.xs(({', '.join(values)},), level={markets})"
    return f"give a frame a symbol, as in bars={{{values[-1]}: {rows}}}"


def _name_markets(
    passed: MarketFrame, markets: list[object], where: str
) -> Iterator[tuple[object, MarketFrame]]:
    """Each market that columns or index name, of a keyed frame its own; None where none is named.

    Raises:
        ConfigError: When the key is none of them.
    """
    if not markets:
        yield None, passed
    elif not passed.symbol:
        for market in markets:
            yield (
                market,
                replace(passed, name=f"bars[{_quote(market)}]", symbol=_read_symbol(market)),
            )
    elif passed.symbol in (by_name := {str(market): market for market in markets}):
        yield by_name[passed.symbol], passed
    else:
        raise ConfigError(
            f"{passed.name}: its {where} is of {next(iter(by_name))!r}, and its key is "
            f"{passed.symbol!r}; name it so, as in bars={{{next(iter(by_name))!r}: frame}}"
        )


def _quote(value: object) -> str:
    return quote_value(value.item() if isinstance(value, np.generic) else value)
