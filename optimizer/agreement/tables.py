"""Tables of a file as text: CSV, a sheet of Excel, JSON, packed or not."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from data.providers.kinds import GZIP, ZIP, is_spreadsheet
from data.providers.source_file import (
    UNPACKING,
    TextPart,
    first_line,
    label,
    open_path,
    open_text,
    open_unchanged,
    unpack,
)
from optimizer.errors import ConfigError

MOST_BYTES = 200_000_000
"""Bytes of a file, unpacked: a list of a million trades is shorter."""

MOST_COLUMNS = 1_000
"""Columns of a table: cells without text take memory, too, and lists have fewer than a hundred."""

SEPARATORS = ",;\t|"

SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
DATES = {*range(14, 23), *range(45, 48)}
"""Numbers of Excel's own formats of dates and times."""

FIRST_DAY = datetime(1899, 12, 30)
"""Day 0 of Excel's calendar."""


@dataclass(frozen=True)
class Table:
    """Names of columns, and cells as text: rows have a cell for each name."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> list[str]:
        """Cells of a column [N]."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]


def read_tables(path: Path) -> list[Table]:
    """Tables of a file: one of CSV, a sheet each of a workbook, the trades of freqtrade's JSON.

    Raises:
        ConfigError: When a row has more cells than there are names, or nothing is a table.
        DataError: When the file cannot be read or unpacked.
    """
    address = open_path(str(path), "FILE")
    with open_unchanged(address, MOST_BYTES) as file:
        content = file.read()
        if content.startswith(ZIP):
            if is_spreadsheet(content):
                return _read_workbook(content, label(address))
            if (packed := _read_archive(content, label(address))) is not None:
                return [packed]
        if content.startswith(GZIP):
            with unpack(file, label(address), MOST_BYTES) as unpacked:
                content = unpacked.read()
        if content.lstrip()[:1] in (b"{", b"["):
            return [_read_json(content, label(address))]
        with open_text(file, label(address), MOST_BYTES) as text:
            return [_read_csv(TextPart(text).read().decode(), label(address))]


def _read_csv(text: str, where: str) -> Table:
    lines = text.splitlines()
    if lines and re.fullmatch("sep=.", lines[0].strip(), re.IGNORECASE):
        del lines[0]
    first = next((line for line in lines if line.strip()), "")
    separator = max(SEPARATORS, key=first.count)
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator))
    except csv.Error as error:
        raise ConfigError(f"{where}: is no table ({error})") from None
    return _build_table(rows, where)


def _build_table(rows: Sequence[Sequence[str]], where: str) -> Table:
    """Table of rows; the first row with a cell names the columns."""
    filled = [
        (number, [cell.strip() for cell in row])
        for number, row in enumerate(rows, start=1)
        if any(cell.strip() for cell in row)
    ]
    if not filled:
        raise ConfigError(f"{where}: is empty; it needs a line of names, and trades")
    names, body = filled[0][1], []
    _refuse_wide(len(names), where)
    for number, row in filled[1:]:
        if any(row[len(names) :]):
            raise ConfigError(
                f"{where}: line {number} has {len(row)} cells, the first {len(names)}; numbers "
                "with a comma need quotes or another separator"
            )
        body.append(tuple((row + [""] * len(names))[: len(names)]))
    return Table(tuple(names), tuple(body))


def _refuse_wide(count: int, where: str) -> None:
    if count > MOST_COLUMNS:
        raise ConfigError(f"{where}: has {count:,} columns, more than {MOST_COLUMNS:,}")


def _read_json(content: bytes, where: str) -> Table:
    try:
        read = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: is no JSON that can be read ({first_line(error)})") from None
    table = _find_trades(read, where)
    if table is None:
        raise ConfigError(f"{where}: is JSON without trades; freqtrade's export has a list of them")
    return table


def _find_trades(read: object, where: str) -> Table | None:
    """Table of the trades in freqtrade's JSON; None where there are none."""
    if isinstance(read, dict) and isinstance(read.get("strategy"), dict):
        strategies = read["strategy"]
        if len(strategies) > 1:
            raise ConfigError(
                f"{where}: holds trades of {len(strategies)} strategies "
                f"({', '.join(strategies)}); export one"
            )
        read = next(iter(strategies.values()), None)
    trades = read.get("trades") if isinstance(read, dict) else read
    if not isinstance(trades, list) or not all(isinstance(trade, dict) for trade in trades):
        return None
    names = tuple(dict.fromkeys(str(name) for trade in trades for name in trade))
    _refuse_wide(len(names), where)
    rows = tuple(
        tuple("" if (cell := trade.get(name)) is None else str(cell) for name in names)
        for trade in trades
    )
    return Table(names, rows)


def _read_archive(content: bytes, where: str) -> Table | None:
    """Table of the trades in freqtrade's archive; None where no member is JSON with trades."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                if member.filename.endswith(".json") and member.file_size <= MOST_BYTES:
                    table = _find_trades(json.loads(archive.read(member)), where)
                    if table is not None:
                        return table
    except (*UNPACKING, ValueError, RuntimeError) as error:
        raise ConfigError(f"{where}: cannot be unpacked ({first_line(error)})") from None
    return None


def _read_workbook(content: bytes, where: str) -> list[Table]:
    """Tables of a workbook's sheets that have rows."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise ConfigError(f"{where}: unpacks to more than {MOST_BYTES} bytes")
            texts, dates = _read_shared(archive), _read_date_styles(archive)
            names = [n for n in archive.namelist() if n.startswith("xl/worksheets/sheet")]
            sheets = [
                list(_iter_rows(ElementTree.fromstring(archive.read(name)), texts, dates, where))
                for name in names
            ]
    except (*UNPACKING, ElementTree.ParseError, ValueError, IndexError, RuntimeError) as error:
        raise ConfigError(
            f"{where}: is no workbook that can be read ({first_line(error)})"
        ) from None
    tables = []
    for rows in sheets:
        width = max(map(len, rows), default=0)
        if any(map(any, rows)):
            tables.append(_build_table([row + [""] * (width - len(row)) for row in rows], where))
    return tables


def _read_shared(archive: zipfile.ZipFile) -> list[str]:
    """Texts that cells of a workbook share."""
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    root = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    return ["".join(part.text or "" for part in item.iter(f"{SHEET}t")) for item in root]


def _read_date_styles(archive: zipfile.ZipFile) -> set[str]:
    """Numbers of a workbook's styles that show a date."""
    if "xl/styles.xml" not in archive.namelist():
        return set()
    root = ElementTree.fromstring(archive.read("xl/styles.xml"))
    own = {
        int(form.get("numFmtId", 0))
        for form in root.iter(f"{SHEET}numFmt")
        if re.search("[ymdh]", re.sub(r"\[.*?\]|\".*?\"", "", form.get("formatCode", "")))
    }
    styles = root.find(f"{SHEET}cellXfs")
    return {
        str(number)
        for number, style in enumerate(() if styles is None else styles)
        if int(style.get("numFmtId", 0)) in DATES | own
    }


def _iter_rows(
    sheet: Any,  # noqa: ANN401 - an element
    texts: list[str],
    dates: set[str],
    where: str,
) -> Iterator[list[str]]:
    for row in sheet.iter(f"{SHEET}row"):
        cells: list[str] = []
        for cell in row.iter(f"{SHEET}c"):
            place = _find_place(cell.get("r", ""), len(cells))
            _refuse_wide(place + 1, where)
            cells += [""] * (place - len(cells))
            cells.append(_read_cell(cell, texts, dates))
        yield cells


def _find_place(reference: str, following: int) -> int:
    """Column of a cell such as ``AB12``, from 0; cells without a name follow one another."""
    letters = re.match("[A-Z]+", reference)
    if letters is None:
        return following
    place = 0
    for letter in letters[0]:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1


def _read_cell(cell: Any, texts: list[str], dates: set[str]) -> str:  # noqa: ANN401 - an element
    if cell.get("t") == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{SHEET}t"))
    value = cell.findtext(f"{SHEET}v") or ""
    if cell.get("t") == "s":
        return texts[int(value)]
    if value and cell.get("t") in (None, "n") and cell.get("s") in dates:
        seconds = round(float(value) * 86_400)
        return (FIRST_DAY + timedelta(seconds=seconds)).isoformat(" ")
    return str(value)
