"""What was fetched and kept: the series of the cache, by what the footers of their parts say."""

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from platformdirs import user_cache_path

from data.cache import APP, META, NAME, QUARANTINE, SECOND_NS


@dataclass(frozen=True)
class CachedSeries:
    """A series of the cache.

    Args:
        name: Provider, symbol, timeframe and adjustment; empty where no part can say it.
        folder: Where it lies.
        parts: Files.
        bars: Bars in them, as their footers state.
        start_ns: First time that they cover, nanoseconds UTC.
        end_ns: The time after the last.
        size_bytes: Of the files.
        fetched_at: When the newest was fetched, ISO time; empty where none says it.
        unreadable: Files that are damaged, or were set aside as damaged.
    """

    name: str
    folder: Path
    parts: int
    bars: int
    start_ns: int
    end_ns: int
    size_bytes: int
    fetched_at: str
    unreadable: int


def list_cached(root: Path | None) -> list[CachedSeries]:
    """List the series of a cache.

    Args:
        root: Its folder; the user's own when None.

    Returns:
        One entry a series that has parts, in the order of their folders.
    """
    folder = root or Path(user_cache_path(APP))
    found = (_series(place) for place in sorted(folder.glob("*/*/*")) if place.is_dir())
    return [one for one in found if one is not None]


def _series(folder: Path) -> CachedSeries | None:
    spans = {path: match for path in folder.iterdir() if (match := NAME.fullmatch(path.name))}
    if not spans:
        return None
    aside = folder / QUARANTINE
    unreadable = len(list(aside.iterdir())) if aside.is_dir() else 0
    bars, name, fetched = 0, "", ""
    for path in spans:
        try:
            footer = pq.read_metadata(path)
            said = json.loads((footer.metadata or {})[META])
            bars += footer.num_rows
            name, fetched = str(said["series"]), max(fetched, str(said["fetched_at"]))
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
            unreadable += 1
    return CachedSeries(
        name=name,
        folder=folder,
        parts=len(spans),
        bars=bars,
        start_ns=min(int(match[1]) for match in spans.values()) * SECOND_NS,
        end_ns=max(int(match[2]) for match in spans.values()) * SECOND_NS,
        size_bytes=sum(path.stat().st_size for path in spans),
        fetched_at=fetched,
        unreadable=unreadable,
    )
