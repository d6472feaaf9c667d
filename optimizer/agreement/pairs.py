"""Lists with two rows a trade, an entry and an exit, as TradingView writes them in any language."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from data.checks import NO_TIME
from optimizer.agreement.columns import (
    Times,
    counts_trades,
    read_prices,
    read_times,
)
from optimizer.agreement.tables import Table
from optimizer.agreement.trade_list import Floats, TradeList
from optimizer.errors import ConfigError

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
    """Trades of a table with two rows each; None where it is no such table.

    `low` and `high` are the bars' lowest and highest price.

    Raises:
        ConfigError: When which rows are entries, or which are longs, cannot be known.
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
        tuple(rows),
        np.array([meanings[cells[row]].side for row in entries], np.int64),
        times.time_ns[entries],
        exit_ns,
        prices[entries],
        exit_price,
        ~has_exit | np.array(says_open) | (exit_ns == NO_TIME) | np.isnan(exit_price),
        times.is_zoned,
        read_as,
    )
