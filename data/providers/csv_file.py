"""Bars from a text file: parsed as plain numbers in blocks where possible, else as text."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from data.errors import SourceError
from data.providers.arrow_table import name_file, to_raw
from data.providers.column_names import number_doubles
from data.providers.columns import Layout, recognise
from data.providers.header import Header, cut_remarks, drop_headers, read_header
from data.providers.markets import part_market
from data.providers.mixed_rows import Columns
from data.providers.numbers import note_dots
from data.providers.plain_columns import (
    TEXT,
    choose_kinds,
    find_doubtful,
    parse_options,
    read_plain,
)
from data.providers.size_caps import refuse_rows
from data.providers.source_file import first_line, label, open_path, open_unchanged
from data.providers.text_source import Text, TextPart, open_text
from data.table import LoadOptions, RawTable

HEAD_BYTES = 1 << 16
"""Bytes whose rows show how columns are written."""

CELL_GROWTH = 3
"""Times its text that a short number may take; empty cells would take eight times theirs."""


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a CSV file.

    `options.max_bytes` caps the unpacked text.
    """
    address, market = part_market(address)
    path = open_path(address, "csv:PATH")
    with (
        open_unchanged(path, options.max_bytes) as file,
        open_text(file, label(path), options.max_bytes) as text,
    ):
        return _read(text, path, market, options)


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


@dataclass(frozen=True)
class _Rows:
    """Rows of a text below its header."""

    text: Text
    header: Header
    where: str

    def parse(self, names: Sequence[str]) -> pa.Table:
        """Columns as text.

        Raises:
            SourceError: When a row has not as many cells as there are names.
        """
        options = parse_options(self.header, dict.fromkeys(names, TEXT), use_threads=False)
        try:
            return pa_csv.read_csv(TextPart(self.text), **options)
        except pa.ArrowException as error:
            reason = first_line(error)
            raise SourceError(
                f"{self.where}: is no readable CSV file ({reason})"
                f"{_explain_count(reason, self.header.separator)}"
            ) from None

    def read_text(self, name: str) -> pa.Array:
        """One column as text."""
        return self.parse((name,)).column(name).combine_chunks()


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


def _explain_count(reason: str, separator: str) -> str:
    """The end of an error about a row with more or fewer cells than names of columns."""
    match = re.search("Expected ([0-9]+) columns, got ([0-9]+)", reason)
    if match is None:
        return ""
    if separator == "," and int(match[2]) > int(match[1]):
        return "; where commas stand in cells, as decimals have them, separate cells by ;"
    return "; complete that row or take it out"


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
