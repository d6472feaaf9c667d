"""Bars from a text file, plain, gzip or zip; what it unpacks to is counted first."""

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv as pa_csv

from data.errors import SourceError, list_some
from data.providers.arrow_table import to_raw
from data.providers.column_names import number_doubles
from data.providers.columns import recognise
from data.providers.header import PLACES, Header, read_header
from data.providers.kinds import GZIP, ZIP, is_spreadsheet
from data.providers.markets import part_market
from data.providers.mixed_rows import Columns
from data.providers.other_lines import cut_remarks, drop_headers
from data.providers.size_caps import refuse_rows, refuse_size
from data.providers.source_file import first_line, label, open_path, read_unchanged
from data.providers.text_encoding import to_utf8
from data.table import LoadOptions, RawTable

PIECE_BYTES = 1 << 20

CELL_GROWTH = 3
"""Times its text that a short number may take; empty cells would take eight times theirs."""

ENCRYPTED = 0x1

OF_MACOS = "__MACOSX/"
"""Folder of an archive in which macOS keeps facts about its files."""

TABLES = (".csv", ".tsv")
"""Endings of names that tables have in an archive with other files."""

MOST_BESIDE = 3
"""Files of an archive that are named before others are counted."""

UNPACKING = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError)
"""Errors that a damaged file raises while it is unpacked."""


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a CSV file.

    `options.max_bytes` caps the unpacked text.
    """
    address, market = part_market(address)
    path = open_path(address, "csv:PATH")
    with read_unchanged(path, options.max_bytes) as content:
        return _read(content, path, market, options)


def _read(content: bytes, path: Path, market: str | None, options: LoadOptions) -> RawTable:
    where = label(path)
    try:
        text = unpack(content, where, options.max_bytes)
    except UNPACKING as error:
        raise SourceError(f"{where}: cannot be unpacked ({first_line(error)})") from None
    text, notes = to_utf8(text, where)
    notes = (*_list_left_out(content), *notes)
    named = (*options.columns.values(), *options.aligned.values())
    is_numbered = any(name.isdecimal() for name in named)
    header = read_header(text, where, market, is_numbered=is_numbered)
    header = replace(header, names=number_doubles(header.names))
    layout = recognise(header.names, where, options.columns, options.aligned)
    layout = replace(layout, market=header.market, notes=(*notes, *header.notes, *layout.notes))
    if header.is_guessed:
        layout = replace(layout, assumed=PLACES)
    text, below = cut_remarks(text, header)
    rows = max(text.count(b"\n"), text.count(b"\r"))
    refuse_rows(rows, len(layout.used), where, CELL_GROWTH * options.max_bytes)
    try:
        columns = _parse(text, header, layout.used)
    except pa.ArrowException as error:
        reason = first_line(error)
        raise SourceError(
            f"{where}: is no readable CSV file ({reason}){_explain_count(reason, header.separator)}"
        ) from None
    if not columns.num_rows:
        raise SourceError(f"{where}: there are no bars after the header line")
    keep, repeated = drop_headers(columns, layout, header, where, may_drop=options.drop_bad_bars)
    columns = columns if keep is None else columns.filter(keep)
    layout = replace(layout, notes=(*layout.notes, *below, *repeated))
    numbers = (*filter(None, layout.values), *dict(layout.aligned).values())
    if not text.endswith((b"\n", b"\r", b'"')) and header.names[-1] in numbers:
        _refuse_cut(columns.column(header.names[-1]), where)
    return to_raw(
        columns,
        layout,
        path,
        options,
        None if header.market else market,
        lambda: _list_others(text, header, layout.used, keep),
    )


def unpack(content: bytes, where: str, max_bytes: int) -> bytes:
    """The text of a file, unpacked; a zip archive must hold one file, or one of them a table.

    Raises:
        LimitError: When it is larger; nothing of it has been kept then.
        SourceError: When an archive holds several tables, none, or a secret.
        OSError, EOFError, zlib.error, zipfile.BadZipFile: When it is damaged.
    """
    if content.startswith(ZIP) and is_spreadsheet(content):
        raise SourceError(f"{where}: is a spreadsheet; save its sheet as CSV")
    if not content.startswith((GZIP, ZIP)):
        if len(content) > max_bytes:
            raise refuse_size(where, f"it has {len(content)} bytes", max_bytes)
        return content
    size = 0
    with _open_compressed(content, where) as packed:
        while piece := packed.read(PIECE_BYTES):
            size += len(piece)
            if size > max_bytes:
                words = f"it unpacks to more than {max_bytes} bytes"
                raise refuse_size(where, words, max_bytes)
    with _open_compressed(content, where) as packed:
        return packed.read(max_bytes + 1)


def _explain_count(reason: str, separator: str) -> str:
    """The end of an error about a row whose cells are not as many as the names of columns."""
    match = re.search("Expected ([0-9]+) columns, got ([0-9]+)", reason)
    if match is None:
        return ""
    if separator == "," and int(match[2]) > int(match[1]):
        return "; where commas stand in cells, as decimals have them, separate cells by ;"
    return "; complete that row or take it out"


def _refuse_cut(column: pa.ChunkedArray, where: str) -> None:
    """Refuse a last number that may have been cut, as no end of line follows it.

    It is whole where it has as many decimals as all others that have some.
    """
    cells = column.to_pylist()
    *others, last = (len(cell.strip().replace(",", ".").partition(".")[2]) for cell in cells)
    if last == 0 or not others or set(others) - {0, last}:
        raise SourceError(
            f"{where}: its last line has no end, so that its last number, {cells[-1][:40]!r}, may "
            "be cut; end the line if it is whole, or copy the file again"
        )


def _parse(text: bytes, header: Header, used: tuple[str, ...]) -> pa.Table:
    return pa_csv.read_csv(
        pa.BufferReader(text),
        read_options=pa_csv.ReadOptions(
            use_threads=False, column_names=header.names, skip_rows=header.skip
        ),
        parse_options=pa_csv.ParseOptions(delimiter=header.separator),
        convert_options=pa_csv.ConvertOptions(
            column_types={name: pa.string() for name in used},
            include_columns=list(used),
            strings_can_be_null=False,
        ),
    )


def _list_others(
    text: bytes, header: Header, used: tuple[str, ...], keep: pa.Array | None
) -> Columns:
    names = tuple(name for name in header.names if name not in used)
    if not names:
        # Without a name, all columns would be read.
        return ()
    columns = _parse(text, header, names)
    columns = columns if keep is None else columns.filter(keep)
    return zip(names, columns.columns, strict=True)


@contextmanager
def _open_compressed(content: bytes, where: str) -> Iterator[IO[bytes]]:
    file = io.BytesIO(content)
    if not content.startswith(ZIP):
        with gzip.open(file) as packed:
            yield packed  # type: ignore[misc]
        return
    with zipfile.ZipFile(file) as archive, archive.open(_only_member(archive, where)) as packed:
        yield packed


def _only_member(archive: zipfile.ZipFile, where: str) -> zipfile.ZipInfo:
    members = _list_members(archive)
    tables = _list_tables(members)
    if len(tables) != 1:
        raise SourceError(
            f"{where}: is a zip archive of {len(members)} files; unpack it and name the one meant, "
            "or join those of one market: data import FOLDER --join NAME"
        )
    if tables[0].flag_bits & ENCRYPTED:
        raise SourceError(f"{where}: is a zip archive with a password; unpack it first")
    return tables[0]


def _list_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Files of an archive, but for those that macOS adds."""
    return [
        member
        for member in archive.infolist()
        if not (member.is_dir() or member.filename.startswith(OF_MACOS))
    ]


def _list_tables(members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Those that may hold bars: of several the ones that are named so."""
    if len(members) == 1:
        return members
    return [member for member in members if member.filename.lower().endswith(TABLES)]


def _list_left_out(content: bytes) -> tuple[str, ...]:
    """Notes on files of an archive that are not read, such as the report that HistData adds."""
    if not content.startswith(ZIP):
        return ()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = _list_members(archive)
    read = _list_tables(members)
    beside = [repr(member.filename)[:60] for member in members if member not in read]
    if not beside:
        return ()
    return (f"of its archive {list_some(beside[:MOST_BESIDE], len(beside))} is not read",)
