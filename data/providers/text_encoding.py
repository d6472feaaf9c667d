"""Text of a file in UTF-8, of any encoding in which programs of brokers write."""

import codecs
import re

import numpy as np
import pyarrow as pa

from data.checks import PRICES
from data.errors import SourceError
from data.providers.column_names import find_role
from data.providers.kinds import BINARY, describe_binary, describe_kind
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


def to_utf8(text: bytes, where: str) -> tuple[bytes, tuple[str, ...]]:
    """The text of a file in UTF-8 without a mark, and a note where its encoding was found out.

    Raises:
        SourceError: When it is no text.
    """
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


def _from_code_page(text: bytes, where: str) -> tuple[bytes, tuple[str, ...]]:
    """Text of an older program, in the encoding in which its columns have names of prices."""
    head = b"\n".join(text[:HEAD_BYTES].splitlines()[:HEAD_LINES])
    named = [page for page in CODE_PAGES if _names_prices(_decode(head, page) or "")]
    for page in (*named, *([] if BINARY.search(head) else ["cp1252"])):
        if (decoded := _decode(text, page)) is not None:
            # Names of columns that have no letters of a language tell none from another.
            doubt = "; save it as UTF-8 if names look wrong" if len(named) > 1 else ""
            return decoded.encode(), (f"text is read as {CODE_PAGES[page]}{doubt}",)
    raise SourceError(f"{where}: {describe_binary(text, where)}")


def _decode(text: bytes, encoding: str) -> str | None:
    try:
        return text.decode(encoding)
    except UnicodeDecodeError:
        return None


def _names_prices(head: str) -> bool:
    """True if a line names all prices."""
    return any(
        set(PRICES) <= {find_role(cell.strip('"# ')) for cell in re.split("[,;\t|]", line)}
        for line in head.splitlines()
    )
