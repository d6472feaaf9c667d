"""Text of a file, plain, gzip or zip, in UTF-8: read from the disk in pieces if possible."""

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO

import numpy as np
import pyarrow as pa

from data.checks import PRICES
from data.errors import SourceError, list_some, refuse_size
from data.files import naming
from data.providers.columns import find_role
from data.providers.kinds import BINARY, GZIP, ZIP, describe_binary, describe_kind, is_spreadsheet
from data.providers.source_file import first_line

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

HEAD_BYTES, HEAD_LINES = 1 << 16, 10
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
    head = b"\n".join(text[:HEAD_BYTES].splitlines()[:HEAD_LINES])
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
