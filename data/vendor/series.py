"""A range of one series: from the cache, and what is missing there from the vendor.

A range is fetched in pieces that end with a month, a day for seconds and a year for days. Each
piece reaches back into the bars that are cached beside it. Where those are not the same any more,
the vendor has rewritten history: nothing is merged then.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from data.cache import (
    SUPERSEDED,
    CachePart,
    DamagedPartError,
    PartBars,
    SeriesCache,
    TimeRange,
    bars_hash,
    missing_ranges,
    now_text,
)
from data.checks import VALUES, Floats, Ints, format_time
from data.errors import FetchError, RewrittenError, list_some
from data.timeframe import DAY_NS, parse_timeframe
from data.vendor.account import find_account
from data.vendor.aggregates import MS_NS, Fetched, fetch_bars
from data.vendor.client import Query, VendorClient
from data.vendor.sessions import missing_sessions

TIMESPANS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}
MOST_NAMED_DAYS = 5

logger = logging.getLogger("data.vendor")
"""Lines for people: what is waited for, and what was found."""


@dataclass(frozen=True)
class FetchStep:
    """Progress of a fetch."""

    series: str  # what is fetched, such as ``X:ADAUSD 15m``
    done: int = 0  # pieces that are safe in the cache
    pieces: int = 0  # pieces that this fetch is made of; 0 before that is known
    bars: int = 0
    left_s: float = 0.0  # seconds until all pieces are done, as far as is known
    note: str = ""  # what a person should know now, such as what is waited for; empty for nothing


Watch = Callable[[FetchStep], None]


@dataclass(frozen=True)
class Fetching:
    """Whether to take bars although whole sessions are missing, and the watcher of its steps."""

    accept_missing: bool
    watch: Watch


def fetch_range(cache: SeriesCache, wanted: TimeRange, how: Fetching) -> list[PartBars]:
    """The bars of a range, fetched as far as the cache lacks them.

    `wanted` is whole days. Returns parts that cover them, oldest first; the first and last may
    reach beyond.

    Raises:
        FetchError, SourceError, CacheError: When bars cannot be had. Pieces that were fetched
            before stay in the cache.
    """
    held, damaged = _read_all(cache, wanted)
    if damaged or missing_ranges([part for part, _ in held], wanted):
        with cache.lock(lambda line: how.watch(FetchStep(cache.key.short, note=line))):
            _fill(cache, wanted, how)
        held, damaged = _read_all(cache, wanted)
    if damaged:
        part, why = damaged[0]
        raise FetchError(f"{cache.key}: {part.path.name} was damaged again: {why}")
    return [bars for _, bars in held]


def cached_bars(cache: SeriesCache, wanted: TimeRange) -> list[PartBars]:
    """Parts of the cache that cover a range, as `fetch_range`, without a call or a write.

    Raises:
        FetchError, CacheError: When the cache lacks a part of the range.
    """
    held, damaged = _read_all(cache, wanted)
    missing = missing_ranges([part for part, _ in held], wanted)
    if damaged or missing:
        start, end = (format_time(ns)[:10] for ns in missing[0])
        raise FetchError(
            f"{cache.key}: the cache has no bars from {start} to {end}, and no vendor is asked for "
            f"a run; fetch them: python -m optimizer data fetch {cache.key.provider}:"
            f"{cache.key.symbol} --from {start} --to {end}"
        )
    return [bars for _, bars in held]


def set_all_aside(cache: SeriesCache, watch: Watch) -> TimeRange | None:
    """Set all parts of a series aside; the range that they covered, None when there were none."""
    with cache.lock(lambda line: watch(FetchStep(cache.key.short, note=line))):
        covered = cached_range(cache)
        for part in [*cache.parts(), *cache.list_lost_parts()]:
            cache.set_aside(part, SUPERSEDED)
    return covered


def cached_range(cache: SeriesCache) -> TimeRange | None:
    """From the first cached time to the last; None when nothing is cached."""
    parts = cache.parts()
    return TimeRange(parts[0].start_ns, parts[-1].end_ns) if parts else None


def settled_end_ns(now_ns: int) -> int:
    """The end of the last day whose bars change no more: it has been over for a day."""
    return (now_ns - DAY_NS) // DAY_NS * DAY_NS


def name_days(days: tuple[str, ...]) -> str:
    """Words for days that lack bars, the first few by name."""
    shown = list_some(days[:MOST_NAMED_DAYS], len(days))
    return f"{len(days)} trading {'day' if len(days) == 1 else 'days'} ({shown})"


def log_step(step: FetchStep) -> None:
    """Write what a fetch begins with, and each note, to the log, where no one else watches."""
    if step.pieces and not step.done and not step.note:
        minutes, seconds = divmod(round(step.left_s), 60)
        pieces = "1 piece" if step.pieces == 1 else f"{step.pieces} pieces"
        logger.info("%s: fetching %s, %d:%02d left", step.series, pieces, minutes, seconds)
    if step.note:
        logger.info("%s: %s", step.series, step.note)


def _fill(cache: SeriesCache, wanted: TimeRange, how: Fetching) -> None:
    """Set damaged parts aside, and fetch and keep what is missing; the lock is held."""
    _, damaged = _read_all(cache, wanted)
    for part, why in damaged:
        cache.set_aside(part)
        note = f"{part.path.name[:40]}... set aside: {why}"
        how.watch(FetchStep(cache.key.short, note=note))
    lost = {
        part.range: part.bars_hash
        for part in cache.list_lost_parts()
        if part.range.overlaps(wanted)
    }
    pieces = list(lost) + [
        piece
        for uncovered in missing_ranges(cache.parts(), wanted)
        for piece in _split(uncovered, lost, cache.key.timeframe)
    ]
    step = FetchStep(cache.key.short, pieces=len(pieces))
    if not pieces:
        return
    client = VendorClient(find_account(), lambda line: how.watch(_ahead(client, step, line)))
    how.watch(_ahead(client, step))
    for piece in sorted(pieces):
        bars = _fetch_piece(client, cache, piece, how)
        _check_same_as_lost(cache, piece, bars, lost)
        cache.write(piece.start_ns, piece.end_ns, bars)
        step = replace(step, done=step.done + 1, bars=step.bars + len(bars.timestamp))
        how.watch(_ahead(client, step))


def _ahead(client: VendorClient, step: FetchStep, note: str = "") -> FetchStep:
    """A step with the time that is left, and what a person should know."""
    return replace(step, left_s=client.estimate_seconds(step.pieces - step.done), note=note)


def _fetch_piece(
    client: VendorClient, cache: SeriesCache, piece: TimeRange, how: Fetching
) -> PartBars:
    """One piece, checked against the calendar and against the bars that are cached beside it."""
    beside = _beside(cache, piece)
    start_ns = min([piece.start_ns, *(overlap.start_ns for overlap, _ in beside)])
    end_ns = max([piece.end_ns, *(overlap.end_ns for overlap, _ in beside)])
    timeframe_ns = parse_timeframe(cache.key.timeframe)
    query = Query(
        cache.key.symbol,
        int(cache.key.timeframe[:-1]),
        TIMESPANS[cache.key.timeframe[-1]],
        start_ns // MS_NS,
        end_ns // MS_NS - 1,
        cache.key.adjusted,
    )
    fetched = fetch_bars(client, query, timeframe_ns)
    if fetched.is_delayed and end_ns > time.time_ns() - DAY_NS:
        raise FetchError(
            f"{cache.key}: the vendor holds back bars of the last day; end a day earlier with --to"
        )
    for overlap, held in beside:
        _check_same(cache, fetched, overlap, held)
    timestamp, values = _cut(fetched.timestamp, fetched.values, piece)
    missing = missing_sessions(cache.key.symbol, piece.start_ns, piece.end_ns, timestamp)
    days = tuple(str(day) for day in missing)
    if days and not how.accept_missing:
        raise FetchError(
            f"{cache.key}: {name_days(days)} without any bar; --from and --to avoid them, "
            "--accept-missing takes them as they are"
        )
    return PartBars(timestamp, values, now_text(), days)


def _beside(cache: SeriesCache, piece: TimeRange) -> list[tuple[TimeRange, PartBars]]:
    """The cached days that touch a piece, before and after it, and the parts that hold them."""
    neighbours = []
    for part in cache.parts():
        if part.end_ns != piece.start_ns and part.start_ns != piece.end_ns:
            continue
        bars = _read(cache, part)
        if len(bars.timestamp) == 0:
            continue
        if part.end_ns == piece.start_ns:
            last = int(bars.timestamp[-1]) // DAY_NS * DAY_NS
            overlap = TimeRange(max(last, part.start_ns), part.end_ns)
        else:
            first_end = int(bars.timestamp[0]) // DAY_NS * DAY_NS + DAY_NS
            overlap = TimeRange(part.start_ns, min(first_end, part.end_ns))
        neighbours.append((overlap, bars))
    return neighbours


def _check_same(cache: SeriesCache, fetched: Fetched, overlap: TimeRange, held: PartBars) -> None:
    """Refuse bars that do not go on from those that are cached."""
    new_times, new = _cut(fetched.timestamp, fetched.values, overlap)
    old_times, old = _cut(held.timestamp, held.values, overlap)
    if not np.array_equal(new_times, old_times):
        odd = np.setxor1d(new_times, old_times)
        kind = "is new" if odd[0] in new_times else "is gone"
        raise _rewritten(
            cache, f"{len(odd)} bars came or went, that of {format_time(odd[0])} {kind}"
        )
    for name in VALUES:
        changed = np.flatnonzero(new[name] != old[name])
        if len(changed):
            i = changed[0]
            before, now = float(old[name][i]), float(new[name][i])
            at = format_time(new_times[i])
            raise _rewritten(
                cache,
                f"{len(changed)} of {len(new_times)} bars differ, {name} of {at} "
                f"was {before!r} and is {now!r}, fetched {held.fetched_at}",
            )


def _check_same_as_lost(
    cache: SeriesCache, piece: TimeRange, bars: PartBars, lost: Mapping[TimeRange, str]
) -> None:
    if piece in lost and bars_hash(bars) != lost[piece]:
        start, end = format_time(piece.start_ns), format_time(piece.end_ns)
        raise _rewritten(cache, f"bars from {start} to {end} are not those that were damaged")


def _rewritten(cache: SeriesCache, what: str) -> RewrittenError:
    return RewrittenError(
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


def _read_all(
    cache: SeriesCache, wanted: TimeRange
) -> tuple[list[tuple[CachePart, PartBars]], list[tuple[CachePart, str]]]:
    """Parts within a range: those that are whole, and those that are not, with the reason."""
    held, damaged = [], []
    for part in cache.parts():
        if part.range.overlaps(wanted):
            try:
                held.append((part, cache.read(part)))
            except DamagedPartError as error:
                damaged.append((part, str(error)))
    return held, damaged


def _split(whole: TimeRange, lost: Mapping[TimeRange, str], timeframe: str) -> Iterator[TimeRange]:
    """The pieces of a range; a damaged part is fetched as the one piece that it was."""
    at = whole.start_ns
    lost_within = sorted(r.start_ns for r in lost if r.start_ns >= at)
    while at < whole.end_ns:
        again = next((r for r in lost if r.start_ns <= at < r.end_ns), None)
        if again is not None:
            at = again.end_ns
            continue
        edges = [whole.end_ns, _next_edge(at, timeframe), *(s for s in lost_within if s > at)]
        yield TimeRange(at, min(edges))
        at = min(edges)


def _next_edge(at_ns: int, timeframe: str) -> int:
    unit = {"s": "D", "d": "Y"}.get(timeframe[-1], "M")
    edge = np.datetime64(at_ns, "ns").astype(f"datetime64[{unit}]") + 1
    return int(edge.astype("datetime64[ns]").astype(np.int64))


def _cut(
    timestamp: Ints, values: Mapping[str, Floats], within: TimeRange
) -> tuple[Ints, Mapping[str, Floats]]:
    first, last = np.searchsorted(timestamp, [within.start_ns, within.end_ns])
    return timestamp[first:last], {name: values[name][first:last] for name in VALUES}
