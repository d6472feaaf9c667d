"""A range of one series: from the cache, and the missing part over a network.

A range is fetched in pieces that end with the calendar. Each reaches into the cached days beside
it. Where those differ, history was rewritten, and nothing is merged. Pages of a piece are kept as
they come, and an interrupted fetch goes on behind them.
"""

import logging
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from data.cache import (
    SUPERSEDED,
    CachePart,
    DamagedPartError,
    PartBars,
    SeriesCache,
    SeriesKey,
    TimeRange,
    missing_ranges,
    now_text,
    using,
)
from data.checks import VALUES, Floats, Ints, format_time
from data.errors import FetchError, RewrittenError, list_some, refuse_size
from data.files import read_ordinary
from data.progress import Progress, Show, Watch
from data.shell import write_command
from data.timeframe import DAY_NS, MS_NS, SECOND_NS
from data.vendor.client import Tell

HEAD = struct.Struct("<II")
"""Bytes of a page and their check sum, before each page."""

SUFFIX = ".pages"
LARGEST_BYTES = 500_000_000

MOST_NAMED_DAYS = 5

MONTHS = {"s": "D", "m": "M", "h": "M", "d": "Y", "w": "Y"}
"""Length of a piece, a numpy unit, for the unit of a timeframe: months, as vendors advise."""

logger = logging.getLogger("data.vendor")
"""Lines for people: how far a fetch is, what is waited for, and what was found."""


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


class BarSource(Protocol):
    """A vendor or exchange, ready for requests of one series."""

    def pages(self, span: TimeRange) -> Iterator[Floats]:
        """Bars [N, 6] of a range, as `PageReader.pages`."""

    def missing_days(self, span: TimeRange, times_ns: Ints) -> tuple[str, ...]:
        """Days that should have bars and have none; `times_ns` [N] of the bars there are."""


class StepLog(Show):
    """Writes how far a fetch is to the log, where no one else watches."""

    every_s = 30.0

    def show(self) -> None:
        """Write a line."""
        if self.progress.done < self.progress.planned:
            logger.info("%s", self.describe())


@dataclass(frozen=True)
class Fetching:
    """How a series is fetched."""

    opening: Callable[[SeriesKey, Tell], AbstractContextManager[BarSource]]
    spec: str
    watch: Watch = field(default_factory=StepLog)
    accept_missing: bool = False  # whether to take bars although whole sessions are missing
    units: Mapping[str, str] = field(default_factory=lambda: MONTHS)
    # True if incomplete, empty or changing pieces are fetched anew each time.
    is_whole_only: bool = False
    may_fetch: bool = True  # False reads the cache alone

    def write_again(self, start: str, end: str) -> str:
        """The command that brings a range; the spec of an exchange says which by itself."""
        dates = () if self.is_whole_only else ("--from", start, "--to", end)
        return write_command("data", "fetch", self.spec, *dates)

    def split(self, spans: list[TimeRange], key: SeriesKey) -> Iterator[TimeRange]:
        """The pieces of ranges of a series."""
        return split_ranges(spans, self.units[key.timeframe[-1]])


@dataclass
class _Fill:
    """Pieces of one fetch, and how far it is."""

    cache: SeriesCache
    how: Fetching
    pieces: list[TimeRange] = field(default_factory=list)
    done: int = 0
    bars: int = 0

    def tell(self, note: str) -> None:
        tell_note(self.cache, note)

    def set_aside(self, part: CachePart, why: str) -> None:
        self.cache.set_aside(part)
        self.tell(f"{part.path.name[:40]}... set aside: {why}")

    def watch(self, bars: int = 0, reached_ns: int = 0) -> None:
        """Show the progress of a fetch: bars of the present piece, and the time that they reach."""
        days = [-(-(piece.end_ns - piece.start_ns) // DAY_NS) for piece in self.pieces]
        done = sum(days[: self.done])
        if reached_ns:
            done += max(reached_ns - self.pieces[self.done].start_ns, 0) // DAY_NS
        note = f"{total:,} bars" if (total := self.bars + bars) else ""
        self.how.watch(Progress(f"{self.cache.key.short}: days", done, sum(days), note=note))

    def fetch(self, source: BarSource, piece: TimeRange) -> PartBars:
        """One piece, checked against the calendar and against the bars that are cached beside."""
        cache = self.cache
        beside = _beside(cache, piece)
        start_ns = min([piece.start_ns, *(overlap.start_ns for overlap, _ in beside)])
        end_ns = max([piece.end_ns, *(overlap.end_ns for overlap, _ in beside)])
        rows = self._read_pages(source, TimeRange(start_ns, end_ns))
        values = {name: rows[:, column] for column, name in enumerate(VALUES, start=1)}
        fetched = PartBars(rows[:, 0].astype(np.int64) * MS_NS, values, now_text())
        for overlap, held in beside:
            _check_same(cache, fetched, overlap, held)
        bars = _cut(fetched, piece)
        days = source.missing_days(piece, bars.timestamp)
        if days and not self.how.accept_missing:
            raise FetchError(
                f"{cache.key}: {name_days(days)} without any bar; --from and --to avoid them, "
                "--accept-missing takes them as they are"
            )
        # Before they are kept: a killed fetch then leaves no pages without a reader.
        PageDraft(cache.folder, start_ns).path.unlink(missing_ok=True)
        return replace(bars, missing=days)

    def _read_pages(self, source: BarSource, span: TimeRange) -> Floats:
        """All pages of a range [N, 6]; those of an interrupted fetch are reused."""
        draft = PageDraft(self.cache.folder, span.start_ns)
        kept = [page for page in draft.read() if page[-1, 0] * MS_NS < span.end_ns]
        pages = source.pages(span)
        if kept:
            # The last page is fetched again, and shows whether the others still hold.
            last = kept.pop()
            start_ns = int(last[0, 0]) * MS_NS
            resumed = source.pages(TimeRange(start_ns, span.end_ns))
            first = next(resumed, last[:0])
            both = min(len(first), len(last))
            if both and np.array_equal(first[:both], last[:both], equal_nan=True):
                self.tell(f"going on from {format_time(start_ns)}")
                kept, pages = [*kept, first], resumed
            else:
                self.tell("bars that were kept are not the same any more: all are fetched anew")
                kept = []
        draft.begin(kept)
        bars = sum(map(len, kept))
        for page in pages:
            draft.add(page)
            kept.append(page)
            bars += len(page)
            if len(page) and page[-1, 0] * MS_NS < span.end_ns - DAY_NS:
                self.watch(bars, int(page[-1, 0]) * MS_NS)
        return np.concatenate([np.empty((0, len(VALUES) + 1)), *kept])


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


def drop_drafts(folder: Path) -> None:
    """Forget the pages of all ranges of a series."""
    for path in folder.glob(f"*{SUFFIX}"):
        path.unlink(missing_ok=True)


def fetch_range(cache: SeriesCache, wanted: TimeRange, how: Fetching) -> list[PartBars]:
    """The bars of a range, fetched as far as the cache lacks them and a vendor may be asked.

    Returns parts that cover `wanted`, oldest first; the first and last may reach beyond. After an
    error, pieces and pages that were fetched before stay in the cache.
    """
    if how.may_fetch and _read_held(cache, wanted)[1]:
        with _locking(cache):
            _fill(cache, wanted, how)
    bars, missing = _read_held(cache, wanted)
    for piece in how.split(missing, cache.key):
        asked = [part for part in cache.list_asked() if part.range.covers(piece)]
        if not asked:
            span = next(span for span in missing if span.covers(piece))
            start, end = format_time(piece.start_ns)[:10], format_time(span.end_ns)[:10]
            raise FetchError(
                f"{cache.key}: the cache has no bars from {start} to {end}, and no vendor is "
                f"asked for a run; fetch them: {how.write_again(start, end)}"
            )
        bars[piece.start_ns] = _cut(_read(cache.asked, asked[-1]), piece)
    return [bars[start_ns] for start_ns in sorted(bars)]


def join_parts(
    cache: SeriesCache, wanted: TimeRange, parts: list[PartBars], max_bytes: int
) -> tuple[Ints, Mapping[str, Floats], str]:
    """Times [N] and values, [N] each, of the bars of a range, and when they were fetched."""
    size = sum(part.timestamp.nbytes * (len(VALUES) + 1) for part in parts)
    if size > max_bytes:
        raise refuse_size(str(cache.key), f"its bars take {size} bytes", max_bytes)
    cuts = [_cut(part, wanted) for part in parts]
    values = {name: np.concatenate([cut.values[name] for cut in cuts]) for name in VALUES}
    fetched = sorted({part.fetched_at for part in parts})
    when = fetched[0] if len(fetched) == 1 else f"{fetched[0]} to {fetched[-1]}"
    return np.concatenate([cut.timestamp for cut in cuts]), values, when


def set_all_aside(cache: SeriesCache) -> TimeRange | None:
    """Set all parts of a series aside; the range that they covered, None when there were none."""
    with _locking(cache):
        covered = cached_range(cache)
        for part in cache.parts():
            cache.set_aside(part, SUPERSEDED)
        drop_drafts(cache.folder)
    return covered


def cached_range(cache: SeriesCache) -> TimeRange | None:
    """From the first cached time to the last; None when nothing is cached."""
    parts = cache.parts()
    return TimeRange(parts[0].start_ns, parts[-1].end_ns) if parts else None


def name_days(days: tuple[str, ...]) -> str:
    """Words for days that lack bars, the first few by name."""
    shown = list_some(days[:MOST_NAMED_DAYS], len(days))
    return f"{len(days)} trading {'day' if len(days) == 1 else 'days'} ({shown})"


def tell_note(cache: SeriesCache, note: str) -> None:
    """Show people a note on a series now, such as a wait."""
    logger.info("%s: %s", cache.key.short, note)


def _calendar_piece(at_ns: int, unit: str) -> TimeRange:
    """The day, month or year that holds a time."""
    kind = f"datetime64[{unit}]"
    number = np.datetime64(at_ns, "ns").astype(kind).astype(np.int64)
    edges = np.array([number, number + 1]).astype(kind).astype("datetime64[ns]")
    return TimeRange(*edges.astype(np.int64).tolist())


def _pack(page: Floats) -> bytes:
    body = page.astype("<f8").tobytes()
    return HEAD.pack(len(body), zlib.crc32(body)) + body if body else b""


def _locking(cache: SeriesCache) -> AbstractContextManager[None]:
    return cache.lock(partial(tell_note, cache))


def _fill(cache: SeriesCache, wanted: TimeRange, how: Fetching) -> None:
    """Set damaged parts aside, and fetch and keep the missing ones; the lock is held."""
    fill = _Fill(cache, how)
    fill.pieces = list(how.split(_read_held(cache, wanted, fill.set_aside)[1], cache.key))
    if not fill.pieces:
        return
    with how.opening(cache.key, fill.tell) as source:
        for piece in fill.pieces:
            fill.watch()
            bars = fill.fetch(source, piece)
            is_kept = is_settled(piece, how.units[cache.key.timeframe[-1]]) and len(bars.timestamp)
            if how.is_whole_only and not is_kept:
                cache.write_asked(piece, bars)
            else:
                cache.write(piece.start_ns, piece.end_ns, bars)
            fill.done, fill.bars = fill.done + 1, fill.bars + len(bars.timestamp)
        fill.watch()
    drop_drafts(cache.folder)


def _beside(cache: SeriesCache, piece: TimeRange) -> list[tuple[TimeRange, PartBars]]:
    """The cached days that touch a piece, before and after it, and the parts that hold them."""
    found = []
    for part in cache.parts():
        start_ns, end_ns = part.range
        if piece.start_ns != end_ns and piece.end_ns != start_ns:
            continue
        bars = _read(cache, part)
        if len(bars.timestamp) == 0:
            continue
        first_day, last_day = (int(t) // DAY_NS * DAY_NS for t in bars.timestamp[[0, -1]])
        if end_ns == piece.start_ns:
            start_ns = max(last_day, start_ns)
        else:
            end_ns = min(first_day + DAY_NS, end_ns)
        found.append((TimeRange(start_ns, end_ns), bars))
    return found


def _check_same(cache: SeriesCache, fetched: PartBars, overlap: TimeRange, held: PartBars) -> None:
    """Refuse bars that do not continue the cached ones."""
    new, old = _cut(fetched, overlap), _cut(held, overlap)
    odd = np.setxor1d(new.timestamp, old.timestamp)
    if len(odd):
        kind = "is new" if odd[0] in new.timestamp else "is gone"
        what = f"{len(odd)} bars came or went, that of {format_time(odd[0])} {kind}"
    else:
        differ = {name: np.flatnonzero(new.values[name] != old.values[name]) for name in VALUES}
        name = next((name for name in VALUES if len(differ[name])), None)
        if name is None:
            return
        i = differ[name][0]
        before, now = (float(bars.values[name][i]) for bars in (old, new))
        what = (
            f"{len(differ[name])} of {len(new.timestamp)} bars differ, {name} of "
            f"{format_time(new.timestamp[i])} was {before!r} and is {now!r}, fetched "
            f"{held.fetched_at}"
        )
    raise RewrittenError(
        f"{cache.key}: the vendor rewrote history (a split, or a correction): {what}; nothing was "
        "merged; data fetch --refetch sets the cached bars aside and fetches them all anew"
    )


def _read(cache: SeriesCache, part: CachePart) -> PartBars:
    try:
        return cache.read(part)
    except DamagedPartError as error:
        cache.set_aside(part)
        raise FetchError(
            f"{cache.key}: {part.path.name[:40]}... was damaged ({error}) and is set aside; "
            "fetch again"
        ) from None


def _read_held(
    cache: SeriesCache,
    wanted: TimeRange,
    on_damage: Callable[[CachePart, str], None] = lambda part, why: None,
) -> tuple[dict[int, PartBars], list[TimeRange]]:
    """Whole parts within a range, by their first time, and the ranges that they leave uncovered."""
    bars, whole = {}, []
    for part in cache.parts():
        if part.range.overlaps(wanted):
            try:
                bars[part.start_ns] = cache.read(part)
                whole.append(part)
            except DamagedPartError as error:
                on_damage(part, str(error))
    return bars, missing_ranges(whole, wanted)


def _cut(bars: PartBars, within: TimeRange) -> PartBars:
    first, last = np.searchsorted(bars.timestamp, within)
    values = {name: bars.values[name][first:last] for name in VALUES}
    return replace(bars, timestamp=bars.timestamp[first:last], values=values)
