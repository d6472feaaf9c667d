"""A file of bars, which stays the same while it is read, and its text, unpacked and in UTF-8."""

import codecs
import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import PRICES
from data.errors import DataError, SourceError, TableError, list_some, refuse_size, shorten
from data.files import naming, note_input, open_ordinary
from data.providers.columns import find_role
from data.providers.kinds import BINARY, GZIP, ZIP, describe_binary, describe_kind, is_spreadsheet

MARKED = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""Encodings by the mark at the begin of a text."""

CODE_PAGES = {
    "cp1252": "Windows-1252", "cp1250": "Windows-1250", "cp1251": "Windows-1251",
    "cp1254": "Windows-1254", "gb18030": "GB 18030", "cp950": "Big5", "cp932": "Shift JIS",
    "euc_jp": "EUC-JP", "cp949": "EUC-KR",
}  # fmt: skip
"""Encodings without a mark, and their names: of western Europe, then of other languages."""

NAMING_BYTES, NAMING_LINES = 1 << 16, 10
"""Begin of a text, and lines of it among which one names the columns."""

PIECE_BYTES = 1 << 20
LINE_FEED = ord("\n")

SPOOLED_BYTES = 1 << 20
"""Bytes that are unpacked in memory; more go to a file without a name."""

TAIL_BYTES = 1 << 18
"""Bytes at the end of a text among which lines below its rows are looked for."""

ENCRYPTED = 0x1

OF_MACOS = "__MACOSX/"
"""Folder of an archive in which macOS keeps facts about its files."""

TABLES = (".csv", ".tsv")
"""Endings of names that tables have in an archive with other files."""

MOST_BESIDE = 3
"""Files of an archive that are named before others are counted."""

UNPACKING = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError)
"""Errors that a damaged file raises while it is unpacked."""

VALUE_BYTES = 8

WORD_BYTES = 16
"""Bytes that a decoder keeps of each word of a dictionary, beside its text."""

HEAD_BYTES = 1 << 20
"""Bytes that a file may hold beside the values that are capped."""


@dataclass(frozen=True)
class Text:
    """A text in UTF-8, on disk or in memory; lines at its end may be left out."""

    file: IO[bytes]
    end: int  # bytes of it that count
    line_feeds: int  # in all of it
    returns: int
    notes: tuple[str, ...] = ()  # on its encoding, and on other files of its archive

    lock: Lock = field(default_factory=Lock)  # held by who reads the file

    def head(self) -> bytes:
        """Its first lines, at least two; all of it without an end of line."""
        head = TextPart(self).read(PIECE_BYTES)
        return head if head.count(b"\n") > 1 else TextPart(self).read()

    def tail(self) -> bytes:
        """Its last bytes."""
        return TextPart(self, max(self.end - TAIL_BYTES, 0)).read()


class TextPart(io.RawIOBase):
    """A text as a file, as pyarrow reads it; each part knows its own position."""

    def __init__(self, text: Text, at: int = 0) -> None:
        self._text, self._at = text, at

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most `size` of them."""
        left = self._text.end - self._at
        # A thread of pyarrow may still read ahead for a reader that has given up.
        with self._text.lock:
            self._text.file.seek(self._at)
            piece = self._text.file.read(left if size < 0 else min(size, left))
        self._at += len(piece)
        return piece


def to_utf8(text: bytes, where: str) -> tuple[bytes, tuple[str, ...]]:
    """The text of a file in UTF-8 without a mark, and a note where its encoding was found out."""
    if kind := describe_kind(text):
        raise SourceError(f"{where}: is {kind}")
    if encoding := next((MARKED[mark] for mark in MARKED if text.startswith(mark)), None):
        try:
            return text.decode(encoding).encode(), ()
        except UnicodeError as error:
            reason = first_line(error)
            raise SourceError(f"{where}: is no text in {encoding.upper()} ({reason})") from None
    if b"\0" in text:
        raise SourceError(f"{where}: {describe_binary(text, where)}")
    while text.startswith(codecs.BOM_UTF8):
        text = text.removeprefix(codecs.BOM_UTF8)
    try:
        whole = pa.py_buffer(np.array([0, len(text)], dtype=np.int64))
        # Text is checked in place: as a string it would take up to four times its bytes.
        pa.LargeStringArray.from_buffers(1, whole, pa.py_buffer(text)).validate(full=True)
    except pa.ArrowInvalid:
        return _from_code_page(text, where)
    return text, ()


@contextmanager
def open_text(file: IO[bytes], where: str, max_bytes: int) -> Iterator[Text]:
    """The text of a file, unpacked and in UTF-8, as long as the context lasts; as `unpack`."""
    with unpack(file, where, max_bytes) as text:
        beside: tuple[str, ...] = ()
        if _is_zip(file):
            # Such as the report that HistData adds.
            _, others = _list_members(zipfile.ZipFile(file))
            names = [repr(member.filename)[:60] for member in others]
            shown = list_some(names[:MOST_BESIDE], len(names))
            beside = (f"of its archive {shown} is not read",) if names else ()
        counts = _count_lines(text)
        if counts is not None:
            yield Text(text, text.seek(0, io.SEEK_END), *counts, beside)
            return
        text.seek(0)
        content, notes = to_utf8(text.read(), where)
        counts = content.count(b"\n"), content.count(b"\r")
        yield Text(io.BytesIO(content), len(content), *counts, (*beside, *notes))


@contextmanager
def unpack(file: IO[bytes], where: str, max_bytes: int) -> Iterator[IO[bytes]]:
    """The text of a file, unpacked once and refused if it is larger.

    A zip archive must hold one file, or one of them a table.
    """
    is_zip = _is_zip(file)
    if is_zip and is_spreadsheet(file.read()):
        raise SourceError(f"{where}: is a spreadsheet; save its sheet as CSV")
    if not is_zip and file.read(len(GZIP)) != GZIP:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if size > max_bytes:
            raise refuse_size(where, f"it has {size} bytes", max_bytes)
        yield file
        return
    with SpooledTemporaryFile(SPOOLED_BYTES) as text:
        for piece in _read_packed(file, where):
            with naming("a temporary file"):
                text.write(piece)
            if text.tell() > max_bytes:
                raise refuse_size(where, f"it unpacks to more than {max_bytes} bytes", max_bytes)
        text.seek(0)
        yield text


def refuse_nested(fields: Iterable[pa.Field], where: str) -> None:
    """Refuse columns with rows of more than one value, or values that stand for more rows."""
    for column in fields:
        if not is_single(column.type):
            raise TableError(
                f"{where}: column {column.name!r} holds {column.type}, which is no single value"
            )


def is_single(kind: pa.DataType) -> bool:
    """True if each row of a column holds one value, which stands for no other row."""
    bare = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_packed = pa.types.is_run_end_encoded(bare) or pa.types.is_dictionary(bare)
    return not (is_packed or pa.types.is_nested(bare) or isinstance(bare, pa.BaseExtensionType))


def refuse_expanded(columns: pa.Table, where: str, max_bytes: int) -> None:
    """Refuse columns with rows that share their bytes, if they are too large without sharing."""
    refuse_nested(columns.schema, where)
    size = sum(_text_bytes(column) for column in columns.columns)
    if size > max_bytes:
        raise refuse_size(where, f"its text takes {size} bytes", max_bytes)


def refuse_rows(rows: int, columns: int, where: str, max_bytes: int) -> None:
    """Refuse a file with numbers that alone would take too much."""
    size = rows * columns * VALUE_BYTES
    if size > max_bytes:
        raise refuse_size(where, f"{rows} rows of {columns} columns take {size} bytes", max_bytes)


def open_path(address: str, form: str) -> Path:
    """Check that an address is a file that can be read."""
    if not address:
        raise SourceError(f"{form.partition(':')[0]} needs a path; write {form}")
    if "\0" in address:
        raise SourceError("a path cannot hold a zero byte")
    path = Path(address).expanduser()
    shown = address if address.isprintable() else ascii(address)
    try:
        if not S_ISREG(path.stat().st_mode):
            raise SourceError(f"{shown}: is no file; name a single file as {form}")
        with open_ordinary(path):
            return path
    except FileNotFoundError:
        raise SourceError(f"{shown}: there is no such file") from None
    except OSError as error:
        raise SourceError(f"{shown}: cannot be read ({error.strerror})") from None


@contextmanager
def open_unchanged(path: Path, max_bytes: int) -> Iterator[BufferedReader]:
    """A file, open to read, which must be the same when the context ends.

    Raises:
        LimitError: When it has far more than `max_bytes`, whatever they unpack to.
        SourceError: When the file has changed meanwhile, whatever else was wrong with it.
    """
    where = label(path)
    with open_ordinary(path) as file:
        note_input(path)
        before = _state(file, path)
        if before[0] > max_bytes + HEAD_BYTES:
            raise refuse_size(where, f"it has {before[0]} bytes", max_bytes)

        def check() -> None:
            if _state(file, path) != before:
                raise SourceError(
                    f"{where}: changed while it was read; wait until it is written, or name a copy"
                )

        try:
            yield file
        except DataError:
            check()
            raise
        check()


def label(path: Path) -> str:
    """The name of a file as errors show it: short, and safe for a terminal."""
    return shorten(path.name, 80)


def first_line(error: Exception) -> str:
    """Message of a library's error: one line, at most 160 characters, safe for a terminal."""
    text = " ".join(str(error).split()) or type(error).__name__
    return shorten("".join(letter if letter.isprintable() else "?" for letter in text), 160)


def _count_lines(file: IO[bytes]) -> tuple[int, int] | None:
    """Line feeds and carriage returns of a text; None unless it is plain UTF-8 as it stands."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    line_feeds = returns = 0
    is_first = True
    while piece := file.read(PIECE_BYTES):
        if is_first and (describe_kind(piece) or piece.startswith((codecs.BOM_UTF8, *MARKED))):
            return None
        is_first = False
        if b"\0" in piece:
            return None
        # Bytes are compared many at once, where a search would stop at each.
        line_feeds += int(np.count_nonzero(np.frombuffer(piece, np.uint8) == LINE_FEED))
        returns += piece.count(b"\r")
        if not piece.isascii() or decoder.getstate()[0]:
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                return None
    return None if decoder.getstate()[0] else (line_feeds, returns)


def _from_code_page(text: bytes, where: str) -> tuple[bytes, tuple[str, ...]]:
    """Text of an older program, in the encoding in which a line names all prices."""
    head = b"\n".join(text[:NAMING_BYTES].splitlines()[:NAMING_LINES])
    named = [page for page in CODE_PAGES if _names_prices(head, page)]
    for page in (*named, *([] if BINARY.search(head) else ["cp1252"])):
        with suppress(UnicodeDecodeError):
            decoded = text.decode(page)
            # Names of columns that have no letters of a language tell none from another.
            doubt = "; save it as UTF-8 if names look wrong" if len(named) > 1 else ""
            return decoded.encode(), (f"text is read as {CODE_PAGES[page]}{doubt}",)
    raise SourceError(f"{where}: {describe_binary(text, where)}")


def _names_prices(head: bytes, page: str) -> bool:
    """True if a line names all prices in an encoding."""
    try:
        lines = head.decode(page).splitlines()
    except UnicodeDecodeError:
        return False
    cells = (re.split("[,;\t|]", line) for line in lines)
    return any(set(PRICES) <= {find_role(cell.strip('"# ')) for cell in row} for row in cells)


def _read_packed(file: IO[bytes], where: str) -> Iterator[bytes]:
    try:
        with _open_member(file, where) if _is_zip(file) else gzip.open(file) as packed:
            while piece := packed.read(PIECE_BYTES):
                yield piece
    except UNPACKING as error:
        raise SourceError(f"{where}: cannot be unpacked ({first_line(error)})") from None


def _is_zip(file: IO[bytes]) -> bool:
    file.seek(0)
    start = file.read(len(ZIP))
    file.seek(0)
    return start == ZIP


def _open_member(file: IO[bytes], where: str) -> IO[bytes]:
    """The one member of an archive that may hold bars."""
    archive = zipfile.ZipFile(file)
    tables, others = _list_members(archive)
    if len(tables) != 1:
        count = len(tables) + len(others)
        raise SourceError(
            f"{where}: is a zip archive of {count} files; unpack it and name the one meant, "
            "or join those of one market: data import FOLDER --join NAME"
        )
    if tables[0].flag_bits & ENCRYPTED:
        raise SourceError(f"{where}: is a zip archive with a password; unpack it first")
    return archive.open(tables[0])


def _list_members(
    archive: zipfile.ZipFile,
) -> tuple[list[zipfile.ZipInfo], list[zipfile.ZipInfo]]:
    """Members that may hold bars, of several the ones with such a name, and all others.

    The additions of macOS are none of them.
    """
    members = [
        member
        for member in archive.infolist()
        if not (member.is_dir() or member.filename.startswith(OF_MACOS))
    ]
    named = [member for member in members if member.filename.lower().endswith(TABLES)]
    tables = members if len(members) == 1 else named
    return tables, [member for member in members if member not in tables]


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of written text; 0 for columns with rows that share none."""
    types = pa.types
    is_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if types.is_dictionary(column.type) and any(of(column.type.value_type) for of in is_text):
        taken = (pc.binary_length(part.dictionary).take(part.indices) for part in column.chunks)
        return sum(pc.sum(lengths).as_py() or 0 for lengths in taken)
    size = 0
    if types.is_string_view(column.type) or types.is_binary_view(column.type):
        for views in filter(len, column.chunks):
            # The first of the four numbers of a view is the length of its text.
            numbers = np.frombuffer(views.buffers()[1], np.int32).reshape(-1, 4)
            lengths = numbers[views.offset : views.offset + len(views), 0]
            size += int(lengths[np.asarray(views.is_valid())].sum(dtype=np.int64))
    return size


def _state(file: BufferedReader, path: Path) -> tuple[int, ...]:
    """Size, times and place of an open file, and of the present bearer of its name.

    A program may set the time of a change back, but not that of the inode.
    """
    status = os.fstat(file.fileno())
    try:
        named = os.stat(path).st_ino
    except FileNotFoundError:
        named = 0
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, named
