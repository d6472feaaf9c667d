"""Pieces of a range, which end with the calendar, and the pages of an incomplete one."""

import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from data.cache import TimeRange, using
from data.checks import Floats
from data.files import read_ordinary
from data.timeframe import DAY_NS, SECOND_NS

HEAD = struct.Struct("<II")
"""Bytes of a page and their check sum, before each page."""

SUFFIX = ".pages"
LARGEST_BYTES = 500_000_000


def settled_end_ns(now_ns: int) -> int:
    """The end of the last day with bars that change no more: over for a day."""
    return (now_ns - DAY_NS) // DAY_NS * DAY_NS


def split_ranges(spans: list[TimeRange], unit: str) -> Iterator[TimeRange]:
    """The pieces of ranges, which end where the days, months or years of the calendar do."""
    for at, end in spans:
        while at < end:
            piece = TimeRange(at, min(end, _calendar_piece(at, unit).end_ns))
            yield piece
            at = piece.end_ns


def is_settled(piece: TimeRange, unit: str) -> bool:
    """True if a piece is a whole one, and changes no more."""
    is_over = piece.end_ns <= settled_end_ns(time.time_ns())
    return is_over and piece == _calendar_piece(piece.start_ns, unit)


class PageDraft:
    """File of the pages of one range, in their order; the last one may be cut, and is left out."""

    def __init__(self, folder: Path, start_ns: int) -> None:
        self.path = folder / f"{start_ns // SECOND_NS}{SUFFIX}"

    def read(self) -> list[Floats]:
        """Pages [N, 6] that are whole, up to the first that is not."""
        try:
            content = read_ordinary(self.path, LARGEST_BYTES)
        except OSError:
            return []
        pages, at = [], 0
        while at + HEAD.size < len(content):
            size, check = HEAD.unpack_from(content, at)
            body = content[at + HEAD.size : at + HEAD.size + size]
            if not body or zlib.crc32(body) != check:
                break
            pages.append(np.frombuffer(body, dtype="<f8").reshape(-1, 6))
            at += HEAD.size + size
        return pages

    def begin(self, pages: list[Floats]) -> None:
        """Keep these pages, and no others."""
        with using(self.path):
            self.path.write_bytes(b"".join(map(_pack, pages)))

    def add(self, page: Floats) -> None:
        """Keep one more page."""
        with using(self.path), open(self.path, "ab") as file:
            file.write(_pack(page))


def drop_drafts(folder: Path) -> None:
    """Forget the pages of all ranges of a series."""
    for path in folder.glob(f"*{SUFFIX}"):
        path.unlink(missing_ok=True)


def _calendar_piece(at_ns: int, unit: str) -> TimeRange:
    """The day, month or year that holds a time."""
    kind = f"datetime64[{unit}]"
    number = np.datetime64(at_ns, "ns").astype(kind).astype(np.int64)
    edges = np.array([number, number + 1]).astype(kind).astype("datetime64[ns]")
    return TimeRange(*edges.astype(np.int64).tolist())


def _pack(page: Floats) -> bytes:
    body = page.astype("<f8").tobytes()
    return HEAD.pack(len(body), zlib.crc32(body)) + body if body else b""
