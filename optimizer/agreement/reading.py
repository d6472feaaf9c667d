"""Lists of trades as TradingView, freqtrade, backtesting.py and this program write them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from data.checks import NO_TIME, Floats, Ints
from data.errors import TableError, list_some
from data.providers.numbers import COMMA, POINT, read_numbers
from data.providers.time_forms import FORMS, Moments, parse_times, plain_blanks
from data.shell import write_command
from optimizer.agreement.matching import TradeList
from optimizer.agreement.tables import Table, read_tables
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
    """Read a list of trades: CSV, XLSX, JSON, or an archive of it.

    `prices` are the lowest and the highest of the bars, which tell decimals from thousands; a
    `market` is named where the list has several.

    Raises:
        ConfigError: When it is no such list, has no trade, or several markets.
        DataError: When the file cannot be read.
    """
    tables, where = read_tables(path), path.name
    for table in tables:
        if (listed := _read_table(table, prices, market, where)) is not None:
            _refuse_unknown(listed, where)
            return listed.keep(np.lexsort((listed.exit_ns, listed.entry_ns)))
    raise _refuse_tables(tables, where)


def _read_table(
    table: Table, prices: tuple[float, float], market: str | None, where: str
) -> TradeList | None:
    for form in LIST_FORMS:
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
        numbers = listed.number[is_unknown].tolist()
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


LIST_FORMS = (
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
    is_short = [form.is_short(cell) for cell in _find_cells(table, form.side)]
    is_open = np.array([form.is_open(cell) for cell in _find_cells(table, form.open)])
    read_as = {
        name: getattr(form, name) for name in ("side", "entry_time", "exit_time", "entry", "exit")
    }
    return TradeList(
        np.arange(1, len(table.rows) + 1).astype(np.str_),
        np.where(is_short, -1, 1),
        read(form.entry, read_positive),
        read(form.exit, read_positive),
        is_open | (left.time_ns == NO_TIME),
        entered.time_ns,
        left.time_ns,
        entered.is_zoned,
        read_as,
        form.program,
        form.has_parts,
    )


def _find_cells(table: Table, name: str | None) -> list[str]:
    """Cells of a column, empty ones where the table has none of that name."""
    return table.column(name) if name in table.names and name else [""] * len(table.rows)


DATE_SIGNS = re.compile(r"^(\d{4})[年년.] ?(\d{1,2})[月월.] ?(\d{1,2})[日일.]?,? ?")
"""Date of the Far East, or one with dots behind each part."""

HALF_DAY = re.compile(r"(午前|上午|오전|午後|下午|오후) ?([0-9:]+)")
MORNINGS = ("午前", "上午", "오전")


class Times(NamedTuple):
    """Times of a column."""

    time_ns: Ints  # [N] on the list's clock; `NO_TIME` where a cell is empty
    is_zoned: bool  # whether they name their zone, so that they are UTC


def read_times(cells: Sequence[str]) -> Times | None:
    """Times of a column of times and empty cells; None of another.

    Where a date may begin with its day or its month, the reading in which fewer times step back
    counts, as lists are in the order of time, or in the opposite one.
    """
    column = plain_blanks(pa.array([_plain_time(cell) for cell in cells], pa.string()))
    fitting = []
    for form in FORMS if column.null_count < len(column) else ():
        moments = parse_times(column, form, must_fit=True)
        if not (moments.misfits or moments.wrong):
            fitting.append(moments)
    if not fitting:
        return None
    best = min(fitting, key=_count_steps_back)
    zoned = best.zones.total() - best.zones[""]
    return Times(best.time_ns, zoned > 0)


def _plain_time(cell: str) -> str:
    """A time as the readers of bars know it."""
    cell = DATE_SIGNS.sub(r"\1-\2-\3 ", cell).strip()
    return HALF_DAY.sub(lambda m: f"{m[2]} {'AM' if m[1] in MORNINGS else 'PM'}", cell)


def _count_steps_back(moments: Moments) -> int:
    steps = np.diff(moments.time_ns[moments.time_ns != NO_TIME])
    return int(min((steps < 0).sum(), (steps > 0).sum()))


def read_prices(cells: Sequence[str], low: float, high: float) -> Floats | None:
    """Numbers of a column [N], NaN where a cell is empty; None where one is none.

    Commas begin decimals where more numbers are then between the lowest and the highest price.
    """
    readings = []
    for mark in (POINT, COMMA):
        try:
            read = read_numbers(pa.array(cells, pa.string()), "", "", mark)
        except TableError:
            continue
        readings.append((int(((read >= low) & (read <= high)).sum()), read))
    return max(readings, key=lambda reading: reading[0])[1] if readings else None


def counts_trades(cells: Sequence[str]) -> bool:
    """True if cells are whole numbers, each of two rows, but for the last trade's in one."""
    counts: dict[str, int] = {}
    for cell in cells:
        if not re.fullmatch(r"[0-9]{1,9}(?:\.0)?", cell):
            return False
        counts[cell] = counts.get(cell, 0) + 1
    alone = sum(count == 1 for count in counts.values())
    return bool(counts) and max(counts.values()) <= 2 and alone <= 1 and len(counts) > alone


ENTRY = (
    *("entry", "enter", "einstieg", "eröffn", "entrada", "entrée", "entree", "ingresso", "entrata"),
    *("вход", "открыт", "giriş", "エントリー", "新規", "진입", "进场", "進場", "入场", "开仓"),
)
EXIT = (
    *("exit", "close", "ausstieg", "schließ", "salida", "cierre", "saída", "saida", "sortie"),
    *("uscita", "выход", "закрыт", "çıkış", "エグジット", "イグジット", "決済", "청산", "종료"),  # noqa: RUF001 - Turkish
    *("出场", "出場", "离场", "離場", "平仓"),
)
LONG = (
    *("long", "larg", "compra", "achat", "lung", "длин", "лонг", "uzun", "alış"),  # noqa: RUF001 - Turkish
    *("ロング", "買", "롱", "매수", "多"),
)
SHORT = (
    *("short", "cort", "vend", "venta", "court", "vente", "корот", "шорт", "kısa", "satış"),  # noqa: RUF001 - Turkish
    *("ショート", "売", "숏", "매도", "空"),
)
"""Words within cells of TradingView's lists, in lower case."""

OPEN = frozenset(
    (
        *("open", "offen", "abierto", "abierta", "ouvert", "aperto", "aberto", "открыт", "открыта"),
        *("açık", "オープン", "미결제", "开仓", "持仓中", "未平仓"),  # noqa: RUF001 - Turkish
    )
)
"""Signals of an exit that has not come, in lower case."""


LEAST_ALIKE = 0.9
"""Share of trades, less those against it, whose result shows their side."""


class RowKind(NamedTuple):
    """Meaning of a cell such as ``Exit short``."""

    is_entry: bool
    side: int  # 1 for a long and -1 for a short


def read_pairs(table: Table, low: float, high: float, where: str) -> TradeList | None:
    """Trades of a table with two rows each; None of another table.

    `low` and `high` are the bars' lowest and highest price. Where entries or longs look like
    exits or shorts, the table is refused.
    """
    names = [name for name in dict.fromkeys(table.names) if name]
    number = next((name for name in names if counts_trades(table.column(name))), None)
    if number is None:
        return None
    rows = _group_rows(table.column(number))
    rest = [name for name in names if name != number]
    timed = ((name, read_times(table.column(name))) for name in rest)
    time = next(((name, times) for name, times in timed if times is not None), None)
    if time is None:
        return None
    numeric = {
        name: read
        for name in rest
        if name != time[0] and (read := read_prices(table.column(name), low, high)) is not None
    }
    price = _find_price(numeric, rows, low, high)
    texts = {name: table.column(name) for name in rest if name not in (time[0], *numeric)}
    if price is None or not texts:
        return None
    kind, kinds = _find_kinds(texts, rows, time[1], numeric, price, where)
    read_as = {"number": number, "side": kind, "time": time[0], "price": price}
    others = [cells for name, cells in texts.items() if name != kind]
    return _build_pairs(rows, (texts[kind], kinds), time[1], numeric[price], others, read_as)


def _group_rows(cells: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, cell in enumerate(cells):
        rows.setdefault(cell, []).append(row)
    return rows


def _find_price(
    numeric: Mapping[str, Floats], rows: Mapping[str, list[int]], low: float, high: float
) -> str | None:
    """The column that differs between both rows of most trades: sizes and results do not.

    Numbers between the bars' lowest and highest price count before others.
    """
    pairs = np.array([pair for pair in rows.values() if len(pair) == 2])

    def rank(name: str) -> tuple[int, int]:
        first, second = numeric[name][pairs].T
        are_apart = (first > 0) & (second > 0) & (first != second)
        are_prices = (np.minimum(first, second) >= low) & (np.maximum(first, second) <= high)
        return int((are_apart & are_prices).sum()), int(are_apart.sum())

    best = max(numeric, key=rank, default=None)
    return best if best is not None and rank(best)[1] else None


def _find_kinds(
    texts: Mapping[str, list[str]],
    rows: Mapping[str, list[int]],
    times: Times,
    numeric: Mapping[str, Floats],
    price: str,
    where: str,
) -> tuple[str, dict[str, RowKind]]:
    """The column that says entry or exit and a side, and the meaning of its cells."""
    for name, cells in texts.items():
        kinds = {cell: _read_kind(cell) for cell in set(cells)}
        known = {cell: kind for cell, kind in kinds.items() if kind is not None}
        if len(known) == len(kinds) and all(_is_pair(pair, cells, known) for pair in rows.values()):
            return name, known
    for name, cells in texts.items():
        if (couples := _find_couples(cells, rows, times)) is not None:
            return name, _find_sides(name, cells, rows, couples, numeric, price, where)
    raise ConfigError(
        f"{where}: no column says which rows are entries and which are exits; columns of text are "
        f"{', '.join(map(repr, texts))}"
    )


def _read_kind(cell: str) -> RowKind | None:
    """Meaning of a cell by the words of TradingView's languages; None where they do not say it."""
    text = cell.casefold()
    is_entry, is_exit, is_long, is_short = (
        any(word in text for word in words) for words in (ENTRY, EXIT, LONG, SHORT)
    )
    if is_entry == is_exit or is_long == is_short:
        return None
    return RowKind(is_entry, 1 if is_long else -1)


def _is_pair(pair: Sequence[int], cells: Sequence[str], kinds: Mapping[str, RowKind]) -> bool:
    """True if rows are an entry and an exit of one side, or an entry alone."""
    first, *rest = (kinds[cells[row]] for row in pair)
    if not rest:
        return first.is_entry
    return first.is_entry != rest[0].is_entry and first.side == rest[0].side


def _find_couples(
    cells: Sequence[str], rows: Mapping[str, list[int]], times: Times
) -> dict[str, str] | None:
    """Entry and exit by words that are not known: they come in couples, the entry earlier."""
    earlier: dict[tuple[str, str], int] = {}
    for pair in rows.values():
        if len(pair) < 2:
            continue
        first, second = sorted(pair, key=lambda row: cells[row])
        step = int(np.sign(times.time_ns[second] - times.time_ns[first]))
        couple = cells[first], cells[second]
        earlier[couple] = earlier.get(couple, 0) + step
    known = [text for couple in earlier for text in couple]
    if len(known) > 4 or len(set(known)) < len(known) or not all(earlier.values()):
        return None
    return dict(couple if step > 0 else couple[::-1] for couple, step in earlier.items())


def _find_sides(
    name: str,
    cells: Sequence[str],
    rows: Mapping[str, list[int]],
    couples: Mapping[str, str],
    numeric: Mapping[str, Floats],
    price: str,
    where: str,
) -> dict[str, RowKind]:
    """Meaning of unknown words: those of longs gain where the price rises."""
    results = [column for column in numeric.values() if (column > 0).any() and (column < 0).any()]
    # Rises of the price of each entry's trades, and signs of the numbers beside its exit.
    signs: dict[str, list[tuple[float, ...]]] = {text: [] for text in couples}
    for pair in rows.values():
        entries = [row for row in pair if cells[row] in couples]
        if len(pair) == 2 and len(entries) == 1:
            (leave,) = set(pair) - set(entries)
            rise = numeric[price][leave] - numeric[price][entries[0]]
            of_trade = (rise, *(column[leave] for column in results))
            signs[cells[entries[0]]].append(tuple(np.sign(of_trade)))
    kinds: dict[str, RowKind] = {}
    for text, exit_text in couples.items():
        rises, *others = np.nan_to_num(np.array(signs[text])).T
        means = [float(np.mean(rises * other)) for other in others]
        side = next((round(mean) for mean in means if abs(mean) > LEAST_ALIKE), 0)
        kinds |= {text: RowKind(True, side), exit_text: RowKind(False, side)}
    sides = [kinds[text].side for text in couples]
    if 0 in sides or len(set(sides)) < len(sides):
        raise ConfigError(
            f"{where}: column {name!r} says {' and '.join(map(repr, couples))} for entries; which "
            "are longs is not known: write Entry long, Exit long, Entry short, Exit short"
        )
    return kinds


def _build_pairs(
    rows: Mapping[str, list[int]],
    kinds: tuple[Sequence[str], Mapping[str, RowKind]],
    times: Times,
    prices: Floats,
    signals: Sequence[Sequence[str]],
    read_as: Mapping[str, str],
) -> TradeList:
    cells, meanings = kinds
    entries, exits = [], []
    for pair in rows.values():
        by_way = {meanings[cells[row]].is_entry: row for row in pair}
        entries.append(by_way[True])
        exits.append(by_way.get(False, -1))
    has_exit, last = np.array(exits) >= 0, np.array(exits)
    exit_ns = np.where(has_exit, times.time_ns[last], NO_TIME)
    exit_price = np.where(has_exit, prices[last], np.nan)
    says_open = [any(column[row].casefold() in OPEN for column in signals) for row in exits]
    return TradeList(
        np.array(list(rows)),
        np.array([meanings[cells[row]].side for row in entries], np.int64),
        prices[entries],
        exit_price,
        ~has_exit | np.array(says_open) | (exit_ns == NO_TIME) | np.isnan(exit_price),
        times.time_ns[entries],
        exit_ns,
        times.is_zoned,
        read_as,
    )
