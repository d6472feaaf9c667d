"""Lists of trades as TradingView, freqtrade, backtesting.py and this program write them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from data.checks import NO_TIME
from data.errors import list_some
from data.shell import write_command
from optimizer.agreement.columns import read_prices, read_times
from optimizer.agreement.pairs import read_pairs
from optimizer.agreement.tables import Table, read_tables
from optimizer.agreement.trade_list import TradeList
from optimizer.errors import ConfigError
from optimizer.formatting import format_count

BUY_OR_SELL = frozenset(
    (
        *("buy", "sell", "b", "s", "kauf", "verkauf", "kaufen", "verkaufen", "compra", "venta"),
        *("achat", "vente", "acquisto", "vendita", "venda", "покупка", "продажа", "al", "sat"),
        *("買い", "売り", "매수", "매도", "买入", "卖出"),
    )
)
"""Sides of orders, in lower case."""

MOST_NAMED = 6

Content = TypeVar("Content")


def read_trade_list(
    path: Path, prices: tuple[float, float], market: str | None = None
) -> TradeList:
    """Read a list of trades.

    Args:
        path: CSV, XLSX, JSON, or an archive of it.
        prices: Lowest and highest price of the bars, which tell decimals from thousands.
        market: Name of the market where the list has several; None for its only one.

    Raises:
        ConfigError: When it is no such list, has no trade, or several markets.
        DataError: When the file cannot be read.
    """
    tables, where = read_tables(path), path.name
    for table in tables:
        if (listed := _read_table(table, prices, market, where)) is not None:
            _refuse_unknown(listed, where)
            return listed.take(np.lexsort((listed.exit_ns, listed.entry_ns)))
    raise _refuse_tables(tables, where)


def _read_table(
    table: Table, prices: tuple[float, float], market: str | None, where: str
) -> TradeList | None:
    for form in FORMS:
        if {form.entry, form.exit, form.entry_time, form.exit_time} <= {*table.names}:
            if not table.rows:
                raise _refuse_empty(where)
            return _read_rows(_choose_market(table, form.market, market, where), form, where)
    if not table.rows or (pairs := read_pairs(table, *prices, where)) is None:
        return None
    if market is not None:
        raise ConfigError(f"{where}: names no market; leave --market out")
    return pairs


def _refuse_unknown(listed: TradeList, where: str) -> None:
    """Refuse trades without the time or the price of their entry."""
    is_unknown = (listed.entry_ns == NO_TIME) | ~np.isfinite(listed.entry)
    if is_unknown.any():
        numbers = [listed.number[k] for k in np.flatnonzero(is_unknown)]
        shown = list_some(numbers[:MOST_NAMED], len(numbers))
        raise ConfigError(
            f"{where}: has no time or no price of the entry of "
            f"{format_count(len(numbers), 'trade')}: {shown}"
        )


def _refuse_empty(where: str) -> ConfigError:
    return ConfigError(f"{where}: the list is empty: it names columns and holds no trade")


def _refuse_tables(tables: Sequence[Table], where: str) -> ConfigError:
    """The error about tables without trades."""
    table = max(tables, key=lambda table: len(table.rows), default=Table((), ()))
    if not table.rows:
        return _refuse_empty(where)
    for name in dict.fromkeys(table.names):
        cells = {cell.casefold() for cell in table.column(name)} - {""}
        if cells and cells <= BUY_OR_SELL:
            return ConfigError(
                f"{where}: is a list of orders: column {name!r} says {' or '.join(sorted(cells))}, "
                "and no row is an entry or an exit; export the list of trades"
            )
    names = list_some([repr(name) for name in table.names[:MOST_NAMED]], len(table.names))
    return ConfigError(
        f"{where}: is no list of trades, its columns are {names}; read are TradingView's list of "
        "trades, freqtrade's backtest result, stats._trades of backtesting.py as CSV, and a file "
        f"of {write_command('backtest', '--trades', 'FILE')}"
    )


@dataclass(frozen=True)
class ListForm:
    """Names of the columns of a list with one row a trade."""

    program: str
    entry_time: str
    exit_time: str
    entry: str
    exit: str
    side: str
    is_short: Callable[[str], bool]  # of a cell of `side`
    open: str | None = None  # column that says whether a trade is still open
    is_open: Callable[[str], bool] = bool  # of a cell of that column
    market: str | None = None
    has_parts: bool = False


def _is_negative(cell: str) -> bool:
    return cell.startswith("-")


FORMS = (
    ListForm(
        "freqtrade", "open_date", "close_date", "open_rate", "close_rate", "is_short",
        lambda cell: cell.lower() == "true",
        open="exit_reason", is_open=lambda cell: cell == "force_exit", market="pair",
    ),
    ListForm(
        "backtesting.py", "EntryTime", "ExitTime", "EntryPrice", "ExitPrice", "Size", _is_negative,
        has_parts=True,
    ),
    ListForm(
        "exhaustion-optimizer", "entry_time", "exit_time", "entry", "exit", "side", _is_negative,
        open="reason", is_open=lambda cell: cell == "end", market="symbol",
    ),
)  # fmt: skip


def _choose_market(table: Table, column: str | None, market: str | None, where: str) -> Table:
    """Rows of one market."""
    names = [*dict.fromkeys(table.column(column))] if column in table.names and column else []
    if market is None and len(names) > 1:
        raise ConfigError(
            f"{where}: has trades of {len(names)} markets: name one, such as --market {names[0]}"
        )
    if market is None:
        return table
    if market not in names:
        shown = list_some(names[:MOST_NAMED], len(names)) or "none by name"
        raise ConfigError(f"{where}: has no trades of {market}; it has {shown}")
    assert column is not None, "a list with names has a column of them"
    place = table.names.index(column)
    return Table(table.names, tuple(row for row in table.rows if row[place] == market))


def _read_rows(table: Table, form: ListForm, where: str) -> TradeList:
    """Trades of a table with one row each."""

    def read(name: str, read_cells: Callable[[Sequence[str]], Content | None]) -> Content:
        content = read_cells(table.column(name))
        if content is None:
            raise ConfigError(f"{where}: column {name!r} holds cells that are no times or prices")
        return content

    entered, left = read(form.entry_time, read_times), read(form.exit_time, read_times)
    read_positive = partial(read_prices, low=0.0, high=np.inf)
    count = len(table.rows)
    is_short = [form.is_short(cell) for cell in _find_cells(table, form.side)]
    is_open = np.array([form.is_open(cell) for cell in _find_cells(table, form.open)])
    read_as = {
        name: getattr(form, name) for name in ("side", "entry_time", "exit_time", "entry", "exit")
    }
    return TradeList(
        tuple(map(str, range(1, count + 1))),
        np.where(is_short, -1, 1),
        entered.time_ns,
        left.time_ns,
        read(form.entry, read_positive),
        read(form.exit, read_positive),
        is_open | (left.time_ns == NO_TIME),
        entered.is_zoned,
        read_as,
        form.program,
        form.has_parts,
    )


def _find_cells(table: Table, name: str | None) -> list[str]:
    """Cells of a column, empty ones where the table has none of that name."""
    return table.column(name) if name in table.names and name else [""] * len(table.rows)
