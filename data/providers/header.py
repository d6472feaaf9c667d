"""The head of a text file: where its rows begin and what its columns are called."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from data.checks import PRICES
from data.errors import SourceError, TableError
from data.providers.column_names import find_role
from data.providers.columns import LISTS, MEANINGS, list_counted
from data.providers.markets import PRICE, TICKER, name_market_columns
from data.providers.numbers import NUMBER
from data.providers.shapes import name_columns, suggest_columns

SEPARATORS = ",;\t|"
LONGEST_HEADER_BYTES = 1 << 16
MOST_LINES_ABOVE = 10

REMARK = re.compile(r'"?(?:#|%|//|\?|!|\$|;(?=\s*\w))+')
"""Begin of a line above the header that is no row, and may name the columns."""

HASHED = re.compile(r'^#+ *"?([^"]*)"?$')
"""Name of the first column behind such a begin."""

OF_TAIWAN = re.compile("1[0-9]{2}(?:[-/.][01]?[0-9][-/.][0-3]?[0-9]|年.*)")
"""A date whose year counts from 1911."""

DATA_CELL = re.compile(r"[\sTZ0-9:./,+\-]*[0-9][\sTZ0-9:./,+\-]*")


@dataclass(frozen=True)
class Header:
    """Lines above the rows, and the names that they give to columns."""

    separator: str
    names: list[str]
    skip: int  # lines before the first row
    market: str | None = None  # the market that the header names, or None
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()  # places of time and values without names, in their usual order
    lines: tuple[list[str], ...] = ()  # cells of the lines that name the columns


def read_header(text: bytes, where: str, market: str | None, *, is_numbered: bool) -> Header:
    """Names of the columns, from the header line or from the looks of the first rows.

    `market` is the one meant where the header names several; `is_numbered` is whether a person
    names columns by their places.

    Raises:
        SourceError: When the file is empty or no text.
        TableError: When there is no header line and the rows are no known bars without one.
    """
    lines = _first_lines(text, where)
    above, separator = _locate_header(lines, where)
    separator = separator or max(SEPARATORS, key=lines[above].count)
    rows = [_split(line, separator) for line in lines[above:]]
    # A line below a title may begin as a remark does, and name the columns.
    rows[0][:1] = [HASHED.sub(r"\1", cell) for cell in rows[0][:1]]
    _refuse_taiwan(rows, where)
    counted = list_counted(rows[0])
    if len(rows[0]) == 1 and len(rows) > 1 and find_role(rows[0][0]) is None:
        raise TableError(
            f"{where}: no columns are named in {rows[0][0].strip()[:80]!a}; cells must be "
            "separated by a comma, semicolon, tab or |"
        )
    is_row = (_is_row(rows[0]) or _are_rows(rows)) and not counted
    remark = _find_names(lines[:above], separator, len(rows[0])) if is_row else None
    passed = above - (remark is not None)
    notes = (f"{passed} lines above the header are passed over",) if passed else ()
    if remark is not None:
        return Header(separator, remark, above, None, notes, lines=(remark,))
    if len(rows) > 2 and (pairs := _two_names(rows)) is not None:
        names, market = name_market_columns(pairs, market, where)
        depth = 3 if _is_index_line(rows[2]) else 2
        return Header(separator, names, above + depth, market, notes, lines=tuple(rows[:depth]))
    if is_row:
        values = [row for row in rows if _is_row(row)] or rows
        names, note = name_columns(values, where, is_numbered=is_numbered)
        known = [k for k, name in enumerate(names, start=1) if name in MEANINGS]
        return Header(separator, names, above, None, (*notes, note), assumed=tuple(map(str, known)))
    if len(rows) == 1:
        line = ascii(lines[above].strip()[:80])
        error = SourceError(f"{where}: there are no bars after the header line, {line}")
        raise _too_wide(text, where) if len(text) > LONGEST_HEADER_BYTES else error
    names = rows[0]
    if counted and len(counted) not in LISTS and not is_numbered:
        ways = suggest_columns(rows[1:], names)
        raise TableError(f"{where}: names only count {len(counted)} columns; {ways}")
    if all(len(row) == len(names) + 1 and not row[-1].strip() for row in rows[1:]):
        # A separator ends each row, and names no column.
        names = [*names, ""]
    return Header(separator, names, above + 1, None, notes, lines=(rows[0],))


def _refuse_taiwan(rows: Sequence[Sequence[str]], where: str) -> None:
    for cell in (cell.strip() for row in rows for cell in row[:2]):
        if OF_TAIWAN.fullmatch(cell):
            raise TableError(
                f"{where}: holds dates such as {cell!r}, whose years are those of Taiwan, 1911 "
                f"less than others; write {int(cell[:3]) + 1911} in place of {cell[:3]}"
            )


def _split(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _is_row(cells: Sequence[str]) -> bool:
    """Whether a line holds values and names no column: four prices at least are numbers."""
    n_numbers = sum(NUMBER.fullmatch(cell.strip()) is not None for cell in cells)
    return n_numbers >= len(PRICES) or all(DATA_CELL.fullmatch(cell) for cell in cells)


def _are_rows(rows: Sequence[Sequence[str]]) -> bool:
    """Whether all lines alike hold two numbers at least, and no name of a column."""
    return len(rows) > 1 and all(
        len(row) == len(rows[0])
        and sum(NUMBER.fullmatch(cell.strip()) is not None for cell in row) > 1
        and not any(len(cell) > 1 and find_role(cell) for cell in row)
        for row in rows
    )


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
    separator, last = "", REMARK.match(lines[-1].strip())
    for n_above, line in enumerate(lines):
        bare = line.strip().strip('"')
        remark = REMARK.match(bare)
        if re.fullmatch(r"sep=.", bare, re.IGNORECASE):
            separator = bare[-1]
        # Rows do not begin as remarks do.
        elif bare and not (remark and not (last and last[0][:1] == remark[0][:1])) and (
            not re.match(r"https?://", bare)
        ):  # fmt: skip
            return n_above + _count_titles(lines[n_above:]), separator
    raise SourceError(f"{where}: there are no columns in the first {len(lines)} lines")


def _find_names(lines: Sequence[str], separator: str, width: int) -> list[str] | None:
    """Names in the last remark above rows that has as many cells as they; None without one."""
    for line in lines[::-1]:
        remark = REMARK.match(line.strip())
        if remark is None or remark[0].endswith("$"):
            continue
        cells = _split(line.strip(), separator)
        if len(cells) == 1 < width:
            cells = _split(cells[0].strip(), separator)
        cells[0] = REMARK.sub("", cells[0].strip()).strip().strip('"')
        if len(cells) == width + 1 and not cells[0]:
            del cells[0]
        if len(cells) == width and not _is_row(cells):
            return [cell.strip() for cell in cells]
    return None


def _count_titles(lines: Sequence[str]) -> int:
    """Lines before the first that names all prices; none where it, or a row, is the first."""
    for count, line in enumerate(lines):
        cells = _split(line, max(SEPARATORS, key=line.count))
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
