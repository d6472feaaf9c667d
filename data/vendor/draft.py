"""Pages of a piece that is not whole yet, kept as they come: a fetch goes on after a kill."""

import struct
import zlib
from pathlib import Path

import numpy as np

from data.checks import Floats
from data.files import read_ordinary
from data.timeframe import SECOND_NS

HEAD = struct.Struct("<II")
"""Bytes of a page and their check sum, before each page."""

COLUMNS = 6
LARGEST_BYTES = 500_000_000


class PageDraft:
    """File of the pages of one range, in their order; the last one may be cut, and is left out."""

    def __init__(self, folder: Path, start_ns: int) -> None:
        self.path = folder / f"{start_ns // SECOND_NS}.pages"

    def read(self) -> list[Floats]:
        """Pages [N, 6] that are whole, up to the first that is not."""
        try:
            content = read_ordinary(self.path, LARGEST_BYTES)
        except OSError:
            return []
        pages, at = [], 0
        while at + HEAD.size <= len(content):
            size, check = HEAD.unpack_from(content, at)
            body = content[at + HEAD.size : at + HEAD.size + size]
            is_cut = len(body) != size or not size or size % (8 * COLUMNS)
            if is_cut or zlib.crc32(body) != check:
                break
            pages.append(np.frombuffer(body, dtype="<f8").reshape(-1, COLUMNS))
            at += HEAD.size + size
        return pages

    def begin(self, pages: list[Floats]) -> None:
        """Keep these pages, and no others."""
        self.path.write_bytes(b"".join(map(_pack, pages)))

    def add(self, page: Floats) -> None:
        """Keep one more page."""
        with open(self.path, "ab") as file:
            file.write(_pack(page))

    def drop(self) -> None:
        """Forget all pages."""
        self.path.unlink(missing_ok=True)


def _pack(page: Floats) -> bytes:
    body = page.astype("<f8").tobytes()
    return HEAD.pack(len(body), zlib.crc32(body)) + body if body else b""
