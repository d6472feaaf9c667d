"""Fetched bars as files that are written once and never changed.

A series is a folder of parts: Parquet files of one range of time each. Their names state the
range, the hash of the bars, and the SHA-256 of the bytes, which each read checks. A part appears
whole or not at all. A damaged one moves to ``quarantine``, one that was fetched anew to
``superseded``; neither is read again.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from platformdirs import user_cache_path

from data.checks import VALUES, Floats, Ints
from data.errors import CacheError
from data.files import read_ordinary, remove_drafts, replace_whole, sync_folder
from data.timeframe import SECOND_NS

APP = "exhaustion-optimizer"
VERSION = 1
META = b"exhaustion-optimizer"
ASKED, QUARANTINE, SUPERSEDED = "asked", "quarantine", "superseded"
LOCK = "fetch.lock"
LARGEST_PART_BYTES = 500_000_000

NAME = re.compile(r"(?:\d{1,20}-)?(\d{1,12})_(\d{1,12})_([0-9a-f]{16})_([0-9a-f]{64})\.parquet")
"""Start and end in seconds since 1970 UTC, hash of the bars, hash of the file; before them, where
it was set aside, when."""


@dataclass(frozen=True)
class SeriesKey:
    """Provider, symbol, timeframe and adjustment of a series."""

    provider: str
    symbol: str  # as the provider names it; never used as a path
    timeframe: str
    adjusted: bool | None  # None where prices know no splits

    def __str__(self) -> str:
        return f"{self.provider}:{self.symbol} {self.timeframe}{self._kind(' ')}"

    @property
    def short(self) -> str:
        """Symbol and timeframe, such as ``X:ADAUSD 15m``."""
        return f"{self.symbol} {self.timeframe}"

    @property
    def folder(self) -> Path:
        """Folder of the series below that of the cache, a name that every file system takes."""
        plain = re.sub(r"[^A-Za-z0-9]", "_", self.symbol)[:40]
        short = hashlib.sha256(self.symbol.encode()).hexdigest()[:10]
        provider = self.provider.replace(":", "-")
        return Path(provider, f"{plain}-{short}", f"{self.timeframe}{self._kind('-')}")

    def _kind(self, before: str) -> str:
        return {None: "", True: f"{before}adjusted", False: f"{before}raw"}[self.adjusted]


class TimeRange(NamedTuple):
    """A range of time [start_ns, end_ns), nanoseconds UTC."""

    start_ns: int
    end_ns: int

    def overlaps(self, other: "TimeRange") -> bool:
        """True if the two have time in common."""
        return self.start_ns < other.end_ns and other.start_ns < self.end_ns

    def covers(self, other: "TimeRange") -> bool:
        """True if the other lies within this one."""
        return self.start_ns <= other.start_ns and other.end_ns <= self.end_ns


@dataclass(frozen=True, order=True)
class CachePart:
    """A file of bars, by its name."""

    start_ns: int  # first time that it covers, nanoseconds UTC
    end_ns: int  # the time after its last
    bars_hash: str  # first 16 hexadecimal digits of the hash of its bars
    file_hash: str  # SHA-256 of its bytes, hexadecimal
    path: Path

    @property
    def range(self) -> TimeRange:
        """The time that it covers."""
        return TimeRange(self.start_ns, self.end_ns)

    @property
    def written_ns(self) -> int:
        """When it was last written; 0 where another process has put a later one in its place."""
        try:
            return self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return 0


@dataclass(frozen=True)
class PartBars:
    """Bars of a part."""

    timestamp: Ints  # [N], nanoseconds UTC, strictly ascending, within the part's range
    values: Mapping[str, Floats]  # open, high, low, close, volume, [N] each
    fetched_at: str  # ISO time, UTC
    # Days, as ISO text, on which the market should have bars and has none.
    missing: tuple[str, ...] = ()


class DamagedPartError(Exception):
    """A part that does not match its name; the message gives the reason."""


class SeriesCache:
    """The parts of one series; `root` is the cache's folder, the user's own when None."""

    def __init__(self, root: Path | str | None, key: SeriesKey, *below: str) -> None:
        self.key, self._root = key, root
        self.folder = Path(root or user_cache_path(APP)).joinpath(key.folder, *below)

    @property
    def asked(self) -> "SeriesCache":
        """Ranges of the latest requests, which are fetched anew each time."""
        return SeriesCache(self._root, self.key, ASKED)

    def list_asked(self) -> list[CachePart]:
        """Ranges of the latest requests, the newest at the end."""
        return sorted(_list_parts(self.asked.folder), key=lambda part: part.written_ns)

    def write_asked(self, span: TimeRange, bars: PartBars) -> None:
        """Keep the range of a request, in place of those within it."""
        former = self.list_asked()
        written = self.asked.write(span.start_ns, span.end_ns, bars)
        for part in former:
            if span.covers(part.range) and part.path != written.path:
                part.path.unlink(missing_ok=True)

    def parts(self) -> list[CachePart]:
        """All parts, oldest first; their content is not looked at.

        Raises:
            CacheError: When two cover the same time, or the folder cannot be read.
        """
        parts = sorted(_list_parts(self.folder))
        for former, later in pairwise(parts):
            if later.start_ns < former.end_ns:
                raise CacheError(
                    f"{self.folder}: {former.path.name} and {later.path.name} cover the same time; "
                    "move one of them away"
                )
        return parts

    def read(self, part: CachePart) -> PartBars:
        """Read a part; DamagedPartError where its bytes are not the written ones."""
        try:
            content = read_ordinary(part.path, LARGEST_PART_BYTES)
        except OSError as error:
            raise DamagedPartError(f"it cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != part.file_hash:
            raise DamagedPartError("its bytes differ from the written ones")
        try:
            # Threads of pyarrow that end while the program does now and then end it with an error.
            table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
            header = json.loads(table.schema.metadata[META])
            if (version := header["version"]) != VERSION:
                raise DamagedPartError(f"it was written by version {version} of the cache")
            values = {name: table.column(name).to_numpy().astype(np.float64) for name in VALUES}
            times, missing = table.column("timestamp").to_numpy(), tuple(header["missing"])
            bars = PartBars(times.astype(np.int64), values, str(header["fetched_at"]), missing)
        except (pa.ArrowException, KeyError, TypeError, ValueError, RecursionError):
            raise DamagedPartError("it is no part of a cache") from None
        if header.get("series") != str(self.key) or bars_hash(bars) != part.bars_hash:
            raise DamagedPartError("it belongs elsewhere")
        return bars

    def write(self, start_ns: int, end_ns: int, bars: PartBars) -> CachePart:
        """Keep the bars of a range that no part covers yet.

        `start_ns` and `end_ns` (not included) are whole seconds; the part is on disk then.
        """
        header = {"version": VERSION, "series": str(self.key), "fetched_at": bars.fetched_at}
        metadata = {META: json.dumps({**header, "missing": bars.missing}).encode()}
        table = pa.table({"timestamp": bars.timestamp, **{n: bars.values[n] for n in VALUES}})
        sink = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
        content = sink.getvalue().to_pybytes()
        file_hash, short = hashlib.sha256(content).hexdigest(), bars_hash(bars)
        name = f"{start_ns // SECOND_NS}_{end_ns // SECOND_NS}_{short}_{file_hash}.parquet"
        with using(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_whole(self.folder / name, content)
            sync_folder(self.folder)
        return CachePart(start_ns, end_ns, short, file_hash, self.folder / name)

    def set_aside(self, part: CachePart, subfolder: str = QUARANTINE) -> Path:
        """Move a part to `QUARANTINE` or `SUPERSEDED`, which are never read again."""
        aside = self.folder / subfolder
        target = aside / f"{time.time_ns()}-{part.path.name.rpartition('-')[2]}"
        with using(part.path):
            aside.mkdir(exist_ok=True)
            os.replace(part.path, target)
        return target

    @contextlib.contextmanager
    def lock(self, on_wait: Callable[[str], None]) -> Iterator[None]:
        """Kernel lock of a series while it is fetched; drafts of killed processes are removed.

        `on_wait` is called once, with a line, when another process holds it.
        """
        with using(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with using(self.folder):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    on_wait("another process fetches this series, waiting for it")
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            remove_drafts(self.folder)
            yield
        finally:
            os.close(descriptor)


def missing_ranges(parts: list[CachePart], wanted: TimeRange) -> list[TimeRange]:
    """Ranges of time that parts, oldest first, leave uncovered of a wanted one."""
    within = [part.range for part in parts if part.range.overlaps(wanted)]
    starts = [wanted.start_ns, *(span.end_ns for span in within)]
    ends = [*(span.start_ns for span in within), wanted.end_ns]
    gaps = zip(starts, ends, strict=True)
    return [TimeRange(start_ns, end_ns) for start_ns, end_ns in gaps if start_ns < end_ns]


def bars_hash(bars: PartBars) -> str:
    """First 16 hexadecimal digits of the SHA-256 of bars, whenever they were fetched."""
    digest = hashlib.sha256()
    for column in (bars.timestamp, *(bars.values[name] for name in VALUES)):
        digest.update(column.astype(column.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.hexdigest()[:16]


def measure_cache() -> tuple[Path, int, int]:
    """The folder of the user's own cache, its series, and bytes of their parts."""
    folder = Path(user_cache_path(APP))
    parts = [part for series_folder in folder.glob("*/*/*") for part in _list_parts(series_folder)]
    size = sum(part.path.stat().st_size for part in parts)
    return folder, len({part.path.parent for part in parts}), size


def now_text() -> str:
    """The time of a fetch, ISO, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class CachedSeries:
    """A series of the cache."""

    name: str  # provider, symbol, timeframe and adjustment; empty where no part can say it
    folder: Path
    parts: int
    bars: int
    start_ns: int  # first time that its parts cover, nanoseconds UTC
    end_ns: int  # the time after the last
    size_bytes: int
    fetched_at: str  # when the newest was fetched, ISO time; empty where none states it
    unreadable: int  # files that are damaged, or were set aside as damaged


def list_cached(root: Path | None) -> list[CachedSeries]:
    """The series of a cache (the user's own when None) that have parts, by their folders."""
    folder = root or Path(user_cache_path(APP))
    found = ((path, _list_parts(path)) for path in sorted(folder.glob("*/*/*")))
    return [_series(path, parts) for path, parts in found if parts]


def _list_parts(folder: Path) -> list[CachePart]:
    parts = []
    with using(folder), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in folder.iterdir():
            name = NAME.fullmatch(path.name)
            if name and int(name[1]) < int(name[2]) and path.is_file():
                start_ns, end_ns = int(name[1]) * SECOND_NS, int(name[2]) * SECOND_NS
                parts.append(CachePart(start_ns, end_ns, name[3], name[4], path))
    return parts


@contextlib.contextmanager
def using(path: Path) -> Iterator[None]:
    """Refuse a place of the cache that cannot be used, in a line."""
    try:
        yield
    except OSError as error:
        raise CacheError(
            f"{path}: the cache cannot be used here ({error.strerror or error}); --cache names "
            "another folder"
        ) from None


def _series(folder: Path, parts: list[CachePart]) -> CachedSeries:
    aside = folder / QUARANTINE
    unreadable = len(list(aside.iterdir())) if aside.is_dir() else 0
    bars, name, fetched = 0, "", ""
    for part in parts:
        try:
            footer = pq.read_metadata(part.path)
            header = json.loads((footer.metadata or {})[META])
            bars += footer.num_rows
            name, fetched = str(header["series"]), max(fetched, str(header["fetched_at"]))
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, RecursionError):
            unreadable += 1
    start_ns, end_ns = min(part.start_ns for part in parts), max(part.end_ns for part in parts)
    size = sum(part.path.stat().st_size for part in parts)
    return CachedSeries(name, folder, len(parts), bars, start_ns, end_ns, size, fetched, unreadable)
