"""Bars from a text file: parsed as plain numbers in blocks where possible, else as text.

Lines above the rows name the columns, and others that are no rows are left out. Text is kept only
of columns that need a careful reading, or of all where one cell is not plain.
"""

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from data.checks import EARLIEST_NS, LATEST_NS, PRICES, VALUES
from data.errors import SourceError, TableError
from data.providers.arrow_table import name_file, to_raw
from data.providers.columns import (
    LISTS,
    MEANINGS,
    Layout,
    find_role,
    list_counted,
    number_doubles,
    recognise,
)
from data.providers.markets import PRICE, TICKER, name_market_columns, part_market
from data.providers.numbers import COMMA, DOTTED, NUMBER, SETTLED, bare_numbers, note_dots, to_array
from data.providers.shapes import Columns, name_columns, suggest_columns
from data.providers.source_file import (
    Text,
    TextPart,
    first_line,
    label,
    open_path,
    open_text,
    open_unchanged,
    refuse_rows,
)
from data.providers.time_forms import all_match
from data.table import LoadOptions, RawTable

SEPARATORS = ",;\t|"
LONGEST_HEADER_BYTES = 1 << 16
MOST_LINES_ABOVE = MOST_LINES_BELOW = 10

COMPARED_BYTES = 1 << 14
"""Of the head and the end of a file, whose rows a line below them must not be like."""

REMARK = re.compile(r'"?(?:#|%|//|\?|!|\$|;(?=\s*\w))+')
"""Begin of a line above the header that is no row, and may name the columns."""

HASHED = re.compile(r'^#+ *"?([^"]*)"?$')
"""Name of the first column behind such a begin."""

OF_TAIWAN = re.compile("1[0-9]{2}(?:[-/.][01]?[0-9][-/.][0-3]?[0-9]|年.*)")
"""A date whose year counts from 1911."""

DATA_CELL = re.compile(r"[\sTZ0-9:./,+\-]*[0-9][\sTZ0-9:./,+\-]*")

EPOCH_DIGITS = r"^[1-9][0-9]{8,18}$"
DIGITS = "^[0-9]{1,15}$"
"""Whole numbers that a float holds exactly."""

THOUSAND = 1000

LEAST_EPOCH, MOST_NS = 10**8, 2**63 - 1
"""Numbers below have too few digits for a time since 1970."""

TEXT, FLOAT, COUNT = pa.string(), pa.float64(), pa.uint64()
EPOCH, MOMENT = pa.int64(), pa.timestamp("ns")
"""Kinds of columns: text; numbers, and such without decimals; times as numbers, and as ISO 8601."""

Kinds = Mapping[str, pa.DataType]

HEAD_BYTES = 1 << 16
"""Bytes whose rows show how columns are written."""

CELL_GROWTH = 3
"""Times its text that a short number may take; empty cells would take eight times theirs."""


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


@dataclass(frozen=True)
class _Rows:
    """Rows of a text below its header."""

    text: Text
    header: Header
    where: str

    def parse(self, names: Sequence[str]) -> pa.Table:
        """Columns as text."""
        options = parse_options(self.header, dict.fromkeys(names, TEXT), use_threads=False)
        try:
            return pa_csv.read_csv(TextPart(self.text), **options)
        except pa.ArrowException as error:
            reason, help_ = first_line(error), ""
            if match := re.search("Expected ([0-9]+) columns, got ([0-9]+)", reason):
                help_ = "; complete that row or take it out"
                if self.header.separator == "," and int(match[2]) > int(match[1]):
                    help_ = (
                        "; where commas stand in cells, as decimals have them, separate cells by ;"
                    )
            raise SourceError(f"{self.where}: is no readable CSV file ({reason}){help_}") from None

    def read_text(self, name: str) -> pa.Array:
        """One column as text."""
        return self.parse((name,)).column(name).combine_chunks()


def read_header(text: bytes, where: str, market: str | None, *, is_numbered: bool) -> Header:
    """Names of the columns, from the header line or from the looks of the first rows.

    `market` is the one meant where the header names several; `is_numbered` is whether a person
    names columns by their places.
    """
    lines = _first_lines(text, where)
    above, separator = _locate_header(lines, where)
    separator = separator or max(SEPARATORS, key=lines[above].count)
    rows = [_split(line, separator) for line in lines[above:]]
    # A line below a title may begin as a remark does, and name the columns.
    rows[0][:1] = [HASHED.sub(r"\1", cell) for cell in rows[0][:1]]
    for cell in (cell.strip() for row in rows for cell in row[:2]):
        if OF_TAIWAN.fullmatch(cell):
            raise TableError(
                f"{where}: holds dates such as {cell!r}, whose years are those of Taiwan, 1911 "
                f"less than others; write {int(cell[:3]) + 1911} in place of {cell[:3]}"
            )
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
        raise SourceError(f"{where}: there are no bars after the header line, {line}")
    names = rows[0]
    if counted and len(counted) not in LISTS and not is_numbered:
        ways = suggest_columns(rows[1:], names)
        raise TableError(f"{where}: names only count {len(counted)} columns; {ways}")
    if all(len(row) == len(names) + 1 and not row[-1].strip() for row in rows[1:]):
        # A separator ends each row, and names no column.
        names = [*names, ""]
    return Header(separator, names, above + 1, None, notes, lines=(rows[0],))


def cut_remarks(head: bytes, tail: bytes, header: Header) -> tuple[bytes, tuple[str, ...]]:
    """The last lines of a text that are no rows, and a note for each.

    Such a line has words in its first cell and nothing behind it, or fewer cells than there are
    columns, and does not begin as a row does: a row that was cut stays. `head` and `tail` are the
    begin and the end of the text, or all of it.
    """
    rows = [
        *head[:COMPARED_BYTES].split(b"\n")[header.skip :],
        *tail[-COMPARED_BYTES:].split(b"\n")[1:-1],
    ]
    end, notes = len(tail), list[str]()
    while len(notes) < MOST_LINES_BELOW:
        stop = len(tail[:end].rstrip())
        start = tail.rfind(b"\n", 0, stop) + 1
        line = tail[start:stop].decode(errors="replace").strip()
        if stop - start > COMPARED_BYTES or not _is_remark(line, rows, header):
            break
        notes.append(f"a line below the rows is passed over: {line[:80]!r}")
        end = start
    return (tail[end:] if notes else b""), tuple(notes[::-1])


def drop_headers(
    columns: pa.Table, layout: Layout, header: Header, where: str, *, may_drop: bool
) -> tuple[pa.Array | None, tuple[str, ...]]:
    """Flags of rows [N] other than repeated names of columns, None without any, and a note."""
    time, opening = layout.times[0], layout.values[0]
    if not pa.types.is_string(columns.column(opening).type):
        # A number names no column.
        return None, ()
    lines = [
        {name: cells[header.names.index(name)].strip() for name in columns.column_names}
        for cells in header.lines
        if len(cells) == len(header.names)
    ]
    times, opens = (pc.utf8_trim_whitespace(columns.column(name)) for name in (time, opening))
    words = pc.unique(opens.filter(pc.ascii_is_alpha(opens))).to_pylist()
    titles = pa.array([word for word in words if find_role(word) == "open"], pa.string())
    names = pa.array([cells[time] for cells in lines], pa.string())
    may_be = pc.indices_nonzero(pc.or_(pc.is_in(opens, titles), pc.is_in(times, names)))
    rows, roles = [], [(name, role) for role, name in zip(VALUES, layout.values, strict=True)]
    for row in may_be.to_pylist():
        (cells,) = columns.slice(row, 1).to_pylist()
        cells = {name: cell.strip() for name, cell in cells.items()}
        if cells in lines or all(find_role(cells[name]) == role for name, role in roles if name):
            rows.append(row)
    if not rows:
        return None, ()
    if not may_drop:
        raise TableError(
            f"{where}: row {rows[0]} names the columns again, as where files were joined; "
            "--drop-bad-bars drops such rows"
        )
    keep = np.ones(columns.num_rows, dtype=np.bool_)
    keep[rows] = False
    count = "1 row that names" if len(rows) == 1 else f"{len(rows)} rows that name"
    return pa.array(keep), (f"dropped {count} the columns again",)


def parse_options(header: Header, kinds: Kinds, *, use_threads: bool) -> dict[str, Any]:
    """Options of pyarrow that parse columns of a file by their kinds."""
    return {
        "read_options": pa_csv.ReadOptions(
            use_threads=use_threads, column_names=header.names, skip_rows=header.skip
        ),
        "parse_options": pa_csv.ParseOptions(delimiter=header.separator),
        "convert_options": pa_csv.ConvertOptions(
            column_types=dict(kinds),
            include_columns=list(kinds),
            null_values=[""],
            strings_can_be_null=False,
        ),
    }


def choose_kinds(head: pa.Table, layout: Layout, options: LoadOptions) -> list[Kinds]:
    """Kinds by which columns may be parsed, likeliest first; none where numbers are not plain."""
    others = [column for _, column in (*layout.volumes, *layout.aligned)]
    numbers = list(dict.fromkeys(filter(None, (*layout.values, layout.tick_volume, *others))))
    singles = [names[0] for names in (layout.times, *layout.same_times) if len(names) == 1]
    moments = {*singles, *layout.closes} if options.time_format is None else set()
    is_plain = all(_casts(head.column(name), FLOAT) for name in numbers)
    # A header line of numbers that comes again looks like a row.
    is_counted = any(NUMBER.fullmatch(name) for name in numbers)
    if not is_plain or is_counted or options.decimal == COMMA or moments & {*numbers}:
        return []
    kinds = dict.fromkeys(layout.used, TEXT) | dict.fromkeys(numbers, FLOAT)
    for name in moments:
        column = head.column(name)
        is_moment = len(column) and _casts(column, MOMENT, missing=False)
        kinds[name] = EPOCH if all_match(column, EPOCH_DIGITS) else MOMENT if is_moment else TEXT
    # Volumes without decimals have no dots that could part thousands.
    whole = [name for name in numbers[4:] if all_match(head.column(name), DIGITS)]
    return [kinds | dict.fromkeys(whole, COUNT), *([kinds] if whole else [])]


def read_plain(text: TextPart, header: Header, kinds: Kinds, most: int) -> pa.Table | None:
    """Columns of a file of at most so many rows; None where a cell is not of its column's kind.

    Missing numbers are NaN; of a column of times none is missing.
    """
    texts: dict[str, list[pa.Array]] = {name: [] for name, kind in kinds.items() if kind == TEXT}
    filled: dict[str, npt.NDArray[Any]] = {
        name: np.empty(most, np.float64 if kind in (FLOAT, COUNT) else np.int64)
        for name, kind in kinds.items()
        if kind != TEXT
    }
    count = 0
    try:
        for batch in pa_csv.open_csv(text, **parse_options(header, kinds, use_threads=True)):
            end = count + len(batch)
            for name, column in zip(kinds, batch.columns, strict=True):
                if name in texts:
                    texts[name].append(column)
                elif not _fill(filled[name][count:end], column):
                    return None
            count = end
    except pa.ArrowException:
        # The careful reader says which row is wrong, if one is.
        return None
    columns: dict[str, Any] = {}
    for name, kind in kinds.items():
        whole = texts[name] if kind == TEXT else [pa.array(filled[name][:count])]
        parts = [part.view(MOMENT) for part in whole] if kind == MOMENT else whole
        columns[name] = pa.chunked_array(parts, TEXT if kind == TEXT else None)
    return pa.table(columns)


def find_doubtful(
    head: pa.Table, columns: pa.Table, kinds: Kinds, names: Collection[str]
) -> tuple[list[str], bool]:
    """Columns whose text must show that no dot parts thousands; True if another settles it."""
    numbers = {name: kinds[name] for name in names if kinds[name] in (FLOAT, COUNT)}
    texts = {name: bare_numbers(head.column(name).combine_chunks()) for name in numbers}
    large = {name for name in numbers if pc.max(columns.column(name)).as_py() >= THOUSAND}
    is_settled = any(
        (name in large and kind == COUNT)
        or pc.any(pc.match_substring_regex(texts[name], SETTLED)).as_py()
        for name, kind in numbers.items()
    )
    floats = [name for name, kind in numbers.items() if kind == FLOAT]
    may_part = [n for n in floats if not len(texts[n]) or all_match(texts[n], f"^{DOTTED}$")]
    doubtful = [name for name in may_part if name not in large]
    return (doubtful if is_settled or not doubtful else floats), is_settled


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a CSV file; `options.max_bytes` caps the unpacked text."""
    address, market = part_market(address)
    path = open_path(address, "csv:PATH")
    with (
        open_unchanged(path, options.max_bytes) as file,
        open_text(file, label(path), options.max_bytes) as text,
    ):
        return _read(text, path, market, options)


def _split(line: str, separator: str) -> list[str]:
    """The cells of a line; empty for a line outside a table."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _is_row(cells: Sequence[str]) -> bool:
    """True if a line holds values and names no column: four prices at least are numbers."""
    n_numbers = sum(NUMBER.fullmatch(cell.strip()) is not None for cell in cells)
    return n_numbers >= len(PRICES) or all(DATA_CELL.fullmatch(cell) for cell in cells)


def _are_rows(rows: Sequence[Sequence[str]]) -> bool:
    """True if all lines alike hold at least two numbers, and no name of a column."""
    return len(rows) > 1 and all(
        len(row) == len(rows[0])
        and sum(NUMBER.fullmatch(cell.strip()) is not None for cell in row) > 1
        and not any(len(cell) > 1 and find_role(cell) for cell in row)
        for row in rows
    )


def _first_lines(text: bytes, where: str) -> list[str]:
    lines = text[:LONGEST_HEADER_BYTES].splitlines()
    if len(text) > LONGEST_HEADER_BYTES:
        # The last may go on.
        del lines[-1]
        if len(lines) < 2:
            line = max(text.split(b"\n", 2)[:2], key=len)
            count = max(line.count(mark.encode()) for mark in SEPARATORS) + 1
            raise SourceError(
                f"{where}: has a line of {len(line)} bytes and {count} columns where columns are "
                f"named; at most {LONGEST_HEADER_BYTES} bytes are read there, so leave out what is "
                "no bar"
            )
    if not lines:
        raise SourceError(f"{where}: the file is empty; it needs a header line and bars")
    if not lines[0].strip():
        raise SourceError(f"{where}: the first line is blank; it must name the columns")
    return [line.decode(errors="replace") for line in lines[: MOST_LINES_ABOVE + 3]]


def _locate_header(lines: Sequence[str], where: str) -> tuple[int, str]:
    """Lines above the header: origin of the file, remarks, and the separator of its cells.

    A title has no form of its own: any line but a row stands above the header where a later line
    names all prices.
    """
    separator, last = "", REMARK.match(lines[-1].strip())
    for n_above, line in enumerate(lines):
        bare = line.strip().strip('"')
        remark = REMARK.match(bare)
        # Rows do not begin as remarks do.
        is_remark = remark and not (last and last[0][:1] == remark[0][:1])
        if re.fullmatch(r"sep=.", bare, re.IGNORECASE):
            separator = bare[-1]
        elif bare and not is_remark and not re.match(r"https?://", bare):
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
    """Number of lines before the first that names all prices, or before a row."""
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
    labels = {row[0].strip().lower() for row in (first, second) if row}
    is_labelled = labels == {PRICE, TICKER} or (labels == {""} and not _is_row(second))
    if len(first) != len(second) or len(first) < 6 or not is_labelled:
        return None
    for prices, markets in ((first, second), (second, first)):
        if "close" in {cell.strip().lower() for cell in prices[1:]}:
            time = rows[2][0] if _is_index_line(rows[2]) else "Date"
            return [(time, ""), *zip(prices[1:], markets[1:], strict=True)]
    return None


def _is_index_line(row: Sequence[str]) -> bool:
    return bool(row) and bool(row[0].strip()) and not any(cell.strip() for cell in row[1:])


def _is_remark(line: str, rows: Sequence[bytes], header: Header) -> bool:
    """True if a line is too short for a row, and begins with words as no row does."""
    cells, width = _split(line, header.separator), len(header.names)
    if not cells or (len(cells) >= width and any(cell.strip() for cell in cells[1:])):
        return False
    if len(re.findall(r"[^\W\d_]{2,}", cells[0])) < 2:
        return False
    others = (_split(row.decode(errors="replace"), header.separator) for row in rows)
    shapes = (_find_shape(row[0]) for row in others if len(row) == width and any(row[1:]))
    return not any(shape.startswith(_find_shape(cells[0])) for shape in shapes)


def _find_shape(cell: str) -> str:
    """A cell with one letter for each word and one digit for each number."""
    return re.sub(r"[0-9]+", "0", re.sub(r"[^\W\d_]+", "a", " ".join(cell.split())))


def _fill(place: npt.NDArray[Any], column: pa.Array) -> bool:
    """Put the cells of a block into their place; whether each of them is of its kind."""
    if place.dtype == np.float64:
        place[:] = to_array(column.cast(FLOAT), np.nan)
        return bool(np.isfinite(place).sum() == len(column) - column.null_count)
    if column.null_count:
        return False
    place[:] = np.from_dlpack(column.cast(EPOCH))
    least, most = (LEAST_EPOCH, MOST_NS) if column.type == EPOCH else (EARLIEST_NS, LATEST_NS - 1)
    return bool(np.all(place >= least) and np.all(place <= most))


def _casts(column: pa.ChunkedArray, kind: pa.DataType, *, missing: bool = True) -> bool:
    """True if all texts are of a kind, except empty ones where some may be missing."""
    try:
        texts = pc.if_else(pc.equal(column, ""), None, column) if missing else column
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _read(text: Text, path: Path, market: str | None, options: LoadOptions) -> RawTable:
    where = label(path)
    named = (*options.columns.values(), *options.aligned.values())
    is_numbered = any(name.isdecimal() for name in named)
    header = read_header(text.head(), where, market, is_numbered=is_numbered)
    header = replace(header, names=number_doubles(header.names))
    market = None if header.market else market
    layout = recognise(header.names, where, options.columns, options.aligned)
    layout = replace(
        layout, market=header.market, notes=(*text.notes, *header.notes, *layout.notes)
    )
    if header.assumed:
        layout = replace(layout, assumed=header.assumed)
    cut, below = cut_remarks(text.head(), text.tail(), header)
    text = replace(text, end=text.end - len(cut))
    count = max(text.line_feeds - cut.count(b"\n"), text.returns - cut.count(b"\r"))
    refuse_rows(count, len(layout.used), where, CELL_GROWTH * options.max_bytes)
    rows = _Rows(text, header, where)
    # Rows of one market are picked first: its numbers may be written in another way.
    is_whole = layout.symbol is None or market is None
    plain = _read_plain(rows, layout, options) if is_whole else None
    columns, dots = plain or (rows.parse(layout.used), None)
    if not columns.num_rows:
        raise SourceError(f"{where}: there are no bars after the header line")
    keep, repeated = drop_headers(columns, layout, header, where, may_drop=options.drop_bad_bars)
    columns = columns if keep is None else columns.filter(keep)
    layout = replace(layout, notes=(*layout.notes, *below, *repeated))
    numbers = (*filter(None, layout.values), *dict(layout.aligned).values())
    if not text.tail().endswith((b"\n", b"\r", b'"')) and header.names[-1] in numbers:
        _refuse_cut(rows.read_text(header.names[-1]), where)

    def others() -> Columns:
        names = tuple(name for name in header.names if name not in layout.used)
        if not names:
            # Without a name, all columns would be read.
            return ()
        columns = rows.parse(names)
        columns = columns if keep is None else columns.filter(keep)
        return zip(names, columns.columns, strict=True)

    return to_raw(columns, layout, name_file(path), options, market, others, dots)


def _read_plain(
    rows: _Rows, layout: Layout, options: LoadOptions
) -> tuple[pa.Table, Callable[[], tuple[str, ...]]] | None:
    """Columns of plain numbers and times, and the note on their dots; None where they are not."""
    lines = rows.text.head()[:HEAD_BYTES]
    first = io.BytesIO(lines[: lines.rfind(b"\n") + 1])
    head_options = parse_options(rows.header, dict.fromkeys(layout.used, TEXT), use_threads=False)
    try:
        head = pa_csv.read_csv(first, **head_options)
    except pa.ArrowException:
        return None
    for kinds in choose_kinds(head, layout, options) if head.num_rows else ():
        most = rows.text.line_feeds + rows.text.returns + 1
        columns = read_plain(TextPart(rows.text), rows.header, kinds, most)
        if columns is not None:
            names = (*filter(None, layout.values), *dict(layout.aligned).values())
            doubtful, is_settled = find_doubtful(head, columns, kinds, names)
            note = partial(note_dots, doubtful, rows.read_text, rows.where, is_settled=is_settled)
            return columns, note
    return None


def _refuse_cut(cells: pa.Array, where: str) -> None:
    """Refuse a last number that may have been cut, as no end of line follows it.

    It is whole where it has as many decimals as all others that have some.
    """
    bare = pc.utf8_trim_whitespace(cells)
    decimals = pc.utf8_length(pc.replace_substring_regex(bare, "^[^.,]*[.,]?", ""))
    last = decimals[-1].as_py()
    others = set(pc.unique(decimals.slice(0, len(cells) - 1)).to_pylist())
    if last == 0 or not others or others - {0, last}:
        raise SourceError(
            f"{where}: its last line has no end, so that its last number, "
            f"{cells[-1].as_py()[:40]!r}, may be cut; end the line if it is whole, or copy the "
            "file again"
        )
