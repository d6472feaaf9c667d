"""Bars from a text file: parsed as plain numbers in blocks where possible, else as text.

Text is kept only of columns that need a careful reading, or of all where one cell is not plain.
"""

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

from data.checks import EARLIEST_NS, LATEST_NS
from data.errors import SourceError
from data.providers.arrow_table import name_file, to_raw
from data.providers.columns import Layout, number_doubles, recognise
from data.providers.header import Header, cut_remarks, drop_headers, read_header
from data.providers.markets import part_market
from data.providers.numbers import COMMA, DOTTED, NUMBER, SETTLED, bare_numbers, note_dots, to_array
from data.providers.shapes import Columns
from data.providers.source_file import first_line, label, open_path, open_unchanged, refuse_rows
from data.providers.text_source import Text, TextPart, open_text
from data.providers.time_forms import all_match
from data.table import LoadOptions, RawTable

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
    """Kinds by which columns may be parsed, the likeliest first, by the text of their first rows.

    None where numbers are not plain, so that all columns are read as text.
    """
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
    """Columns whose text must show that no dot parts thousands.

    Also True if a number of the file settles that dots begin decimals.
    """
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
