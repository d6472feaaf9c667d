"""The head of a text file: where its rows begin and what its columns are called."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.checks import PRICES, VALUES
from data.errors import SourceError, TableError
from data.providers.column_names import find_role, write_option
from data.providers.column_order import guess_meanings
from data.providers.columns import LISTS, NONE, list_counted, list_names
from data.providers.markets import PRICE, TICKER, name_market_columns
from data.providers.numbers import NUMBER

SEPARATORS = ",;\t|"
LONGEST_HEADER_BYTES = 1 << 16
MOST_LINES_ABOVE = 10

PLACES = tuple(str(position) for position in range(1, 7))
"""Of time and values in a file without a header line, where they are in their usual order."""

DATA_CELL = re.compile(r"[\sTZ0-9:./,+\-]*[0-9][\sTZ0-9:./,+\-]*")
CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?|[0-9]{4}|[0-9]{6}")
EPOCH = re.compile(r"[0-9]{9,19}")
WRITTEN_TIME = re.compile(r"[0-9]{8,19}$|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}")
WHOLE = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Header:
    """Lines above the rows, and the names that they give to columns."""

    separator: str
    names: list[str]
    skip: int  # lines before the first row
    market: str | None = None  # the market that the header names, or None
    notes: tuple[str, ...] = ()
    is_guessed: bool = False  # whether values without names are taken in their usual order
    lines: tuple[list[str], ...] = ()  # cells of the lines that name the columns


def read_header(text: bytes, where: str, market: str | None, *, is_numbered: bool) -> Header:
    """Names of the columns, from the header line or from the looks of the first row.

    `market` is the one meant where the header names several; `is_numbered` is whether a person
    names columns by their places.

    Raises:
        SourceError: When the file is empty or no text.
        TableError: When there is no header line and the columns are not known without one.
    """
    lines = _first_lines(text, where)
    above, separator = _locate_header(lines, where)
    separator = separator or max(SEPARATORS, key=lines[above].count)
    rows = [next(csv.reader(io.StringIO(line), delimiter=separator), []) for line in lines[above:]]
    notes = (f"{above} lines above the header are passed over",) if above else ()
    if len(rows) > 2 and (pairs := _two_names(rows)) is not None:
        names, market = name_market_columns(pairs, market, where)
        depth = 3 if _is_index_line(rows[2]) else 2
        return Header(separator, names, above + depth, market, notes, lines=tuple(rows[:depth]))
    if len(rows[0]) == 1 and len(rows) > 1 and find_role(rows[0][0]) is None:
        raise TableError(
            f"{where}: no columns are named in {rows[0][0].strip()[:80]!a}; cells must be "
            "separated by a comma, semicolon, tab or |"
        )
    counted = list_counted(rows[0])
    if _is_row(rows[0]) and not counted:
        names, note = _without_header(rows, where, is_numbered=is_numbered)
        is_guessed = not is_numbered and names == ["timestamp", *VALUES]
        return Header(separator, names, above, None, (*notes, note), is_guessed=is_guessed)
    if len(rows) == 1 and len(text) > LONGEST_HEADER_BYTES:
        raise _too_wide(text, where)
    if len(rows) == 1:
        line = ascii(lines[above].strip()[:80])
        raise SourceError(f"{where}: there are no bars after the header line, {line}")
    if counted and len(counted) not in LISTS and not is_numbered:
        raise TableError(
            f"{where}: names only count {len(counted)} columns; say which is which, such as "
            f"{_suggest_columns(rows[1:], rows[0])}"
        )
    names = rows[0]
    if all(len(row) == len(names) + 1 and not row[-1].strip() for row in rows[1:]):
        # A separator ends each row, and names no column.
        names = [*names, ""]
    return Header(separator, names, above + 1, None, notes, lines=(rows[0],))


def _is_row(cells: Sequence[str]) -> bool:
    """Whether a line holds values and names no column: four prices at least are numbers."""
    n_numbers = sum(NUMBER.fullmatch(cell.strip()) is not None for cell in cells)
    return n_numbers >= len(PRICES) or all(DATA_CELL.fullmatch(cell) for cell in cells)


def _first_lines(text: bytes, where: str) -> list[str]:
    head = text[:LONGEST_HEADER_BYTES].splitlines()
    if len(text) > LONGEST_HEADER_BYTES:
        if len(head) < 2:
            raise _too_wide(text, where)
        head = head[:-1]
    if not head:
        raise SourceError(f"{where}: the file is empty; it needs a header line and bars")
    if not head[0].strip():
        raise SourceError(f"{where}: the first line is blank; it must name the columns")
    return [line.decode(errors="replace") for line in head[: MOST_LINES_ABOVE + 3]]


def _too_wide(text: bytes, where: str) -> SourceError:
    line = max(text.split(b"\n", 2)[:2], key=len)
    count = max(line.count(mark.encode()) for mark in SEPARATORS) + 1
    return SourceError(
        f"{where}: has a line of {len(line)} bytes and {count} columns where columns are named; "
        f"at most {LONGEST_HEADER_BYTES} bytes are read there, so leave out what is no bar"
    )


def _locate_header(lines: Sequence[str], where: str) -> tuple[int, str]:
    """Lines above the header: where the file is from, remarks, and what separates its cells.

    A title has no form of its own: what is no row stands above the header where a later line
    names all prices.
    """
    separator = ""
    for n_above, line in enumerate(lines):
        bare = line.strip().strip('"')
        if re.fullmatch(r"sep=.", bare, re.IGNORECASE):
            separator = bare[-1]
        elif not (bare.startswith(("#", "$")) or re.match(r"https?://", bare) or not bare):
            return n_above + _count_titles(lines[n_above:]), separator
    raise SourceError(f"{where}: there are no columns in the first {len(lines)} lines")


def _count_titles(lines: Sequence[str]) -> int:
    """Lines before the first that names all prices; none where it, or a row, is the first."""
    for count, line in enumerate(lines):
        cells = next(csv.reader([line], delimiter=max(SEPARATORS, key=line.count)), [])
        if set(PRICES) <= {find_role(cell) for cell in cells}:
            return count
        if cells and (_is_row(cells) or len(cells) > len(PRICES)):
            return 0
    return 0


def _two_names(rows: Sequence[Sequence[str]]) -> list[tuple[str, str]] | None:
    """Price and market of each column, as yfinance writes them into two lines; else None."""
    first, second = rows[0], rows[1]
    if len(first) != len(second) or len(first) < 6:
        return None
    label = (first[0].strip().lower(), second[0].strip().lower())
    if label not in ((PRICE, TICKER), (TICKER, PRICE), ("", "")):
        return None
    if not any(label) and _is_row(second):
        return None
    lower = {cell.strip().lower() for cell in first[1:]}
    prices, markets = (first, second) if "close" in lower else (second, first)
    if "close" not in {cell.strip().lower() for cell in prices[1:]}:
        return None
    time = rows[2][0] if _is_index_line(rows[2]) else "Date"
    return [(time, ""), *zip(prices[1:], markets[1:], strict=True)]


def _is_index_line(row: Sequence[str]) -> bool:
    return bool(row) and bool(row[0].strip()) and not any(cell.strip() for cell in row[1:])


def _without_header(
    rows: Sequence[Sequence[str]], where: str, *, is_numbered: bool
) -> tuple[list[str], str]:
    """Names for the columns of a file that has none, from what its first rows look like."""
    places = [str(k + 1) for k in range(len(rows[0]))]
    if is_numbered:
        return places, "no header line: columns are named by their places"
    known = _known_without_header([cell.strip() for cell in rows[0]])
    if known is None:
        raise TableError(
            f"{where}: there is no header line, and {len(places)} columns such as "
            f"{list_names(rows[0])} are no known layout; say which is which by place, such as "
            f"{_suggest_columns(rows, places)}"
        )
    layout, names = known
    named = ", ".join(name for name in names if not name.startswith("_"))
    return names, f"no header line: read as {layout} ({named})"


def _suggest_columns(rows: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    """Likely meanings of columns, by the first rows: a time, and numbers by what they are.

    A word before the time may be the market, and what looks like a clock behind a date is one.

    >>> places = [str(place) for place in range(1, 11)]
    >>> row = ["AAA", "20240102", "100.0", "100.1", "99.9", "100", "406"]
    >>> _suggest_columns([row], places[:7])[:56]
    '--column symbol=1 --column timestamp=2 --column open=3 -'
    >>> _suggest_columns(["AAA,D,20240102,093000,9,12,8,11,5,0".split(",")], places)[:56]
    '--column symbol=1 --column date=3 --column time=4 --colu'
    """
    rows = [[cell.strip() for cell in row] for row in rows if len(row) == len(names)]
    rows = rows or [[""] * len(names)]
    cells = rows[0]
    time = next((index for index, cell in enumerate(cells) if WRITTEN_TIME.match(cell)), 0)
    meant = [("symbol", 0)] if time and not NUMBER.fullmatch(cells[0]) else []
    numbers = [k for k, cell in enumerate(cells) if k > time and NUMBER.fullmatch(cell)]
    is_date = not EPOCH.fullmatch(cells[time])
    if is_date and len(cells) > time + len(VALUES) + 1 and CLOCK.fullmatch(cells[time + 1]):
        meant += [("date", time), ("time", time + 1)]
        numbers = [index for index in numbers if index > time + 1]
    else:
        meant += [("timestamp", time)]
    after = meant[-1][1] + 1
    values = dict(zip(VALUES, range(after, after + len(VALUES)), strict=True))
    if len(numbers) >= len(PRICES):
        values = _order_numbers(rows, time, numbers)
    columns = {**dict(meant), **values}
    options = [
        write_option(meaning, names[place])
        for meaning, place in columns.items()
        if place < len(names)
    ]
    return " ".join([*options, *([] if "volume" in values else [write_option("volume", NONE)])])


def _order_numbers(
    rows: Sequence[Sequence[str]], time: int, numbers: Sequence[int]
) -> dict[str, int]:
    """Columns of numbers by their meaning, of rows that may be newest first."""
    times = [f"{row[time]:>19}" for row in rows]
    rows = rows if times[0] <= times[-1] else rows[::-1]
    columns = [
        np.array([float(row[k]) if NUMBER.fullmatch(row[k]) else np.nan for row in rows])
        for k in numbers
    ]
    places = dict(zip(guess_meanings(columns), numbers, strict=True))
    return {meaning: places[meaning] for meaning in VALUES if meaning in places}


def _known_without_header(cells: Sequence[str]) -> tuple[str, list[str]] | None:
    count = len(cells)
    if count == 12 and EPOCH.fullmatch(cells[0]) and EPOCH.fullmatch(cells[6]):
        return "a Binance dump", ["timestamp", *VALUES, *(f"_{k}" for k in range(6))]
    if count == 7 and not EPOCH.fullmatch(cells[0]) and CLOCK.fullmatch(cells[1]):
        return "a MetaTrader export", ["date", "time", *VALUES]
    if count == 7 and EPOCH.fullmatch(cells[0]) and WHOLE.fullmatch(cells[6]):
        return "a Kraken dump", ["timestamp", *VALUES, "_trades"]
    if count == 6 and not CLOCK.fullmatch(cells[1]):
        return "time and values", ["timestamp", *VALUES]
    return None
