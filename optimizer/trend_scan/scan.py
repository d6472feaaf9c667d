"""The scan: rows of all symbols, checked, and put into words."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from data import Bars, Window, load_bars
from data.cache import APP
from data.checks import format_time
from data.load import note_open_bar
from data.progress import Progress, Watch
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.machine import available_cores
from engine.trends import Trend, trends
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, ParityError
from optimizer.formatting import format_count
from optimizer.run.markets import Markets
from optimizer.run.sources import load_options, named_specs
from optimizer.trend_scan.history import Recalled, ScanHistory
from optimizer.trend_scan.params import ScanParams
from optimizer.trend_scan.result import (
    Change,
    Int8s,
    Scan,
    SymbolRow,
    SymbolTrend,
    TooShort,
    build_sort_key,
    classify_bars,
    find_directions,
    hash_rows,
    summarise_symbol,
)
from strategy.genes import Floats
from strategy.indicators import adaptive_trend as law

FOLDER = "trends"
"""Of last classes, in the cache."""

ONE_IN = 50
"""Symbols of which one is replayed, at least."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """How a scan is done; none but `start`, `end` and `now_ns` changes a class."""

    history: int = 0  # runs of each symbol to list
    # True if the readable definition replays all symbols, not a sample.
    is_all_replayed: bool = False
    folder: Path | None = None  # of last classes; None if unwanted
    threads: int | None = None  # cores to use; all of them if None
    start: str | None = None  # first bar of the rows, ISO time; None for the first there is
    end: str | None = None  # bars that open before this ISO time; None for all that are closed
    now_ns: int | None = None  # the time by which a bar is closed, nanoseconds UTC; None for now

    def __post_init__(self) -> None:
        if self.history < 0:
            raise ConfigError(f"history must be at least 0, got {self.history}")


def scan_sources(
    config: RunConfig,
    question: ScanParams,
    ways: Ways,
    *,
    is_kept: bool,
    watch: Watch = lambda progress: None,
    source: str | None = None,
) -> Scan:
    """Load the sources that a configuration names, and scan them.

    Args:
        config: Of the sources, folder, threads and times.
        question: Asked of each symbol.
        ways: How it is done beside that.
        is_kept: Whether classes are kept, and compared with those of earlier scans.
        watch: Callback of progress of loading.
        source: By which the next scan knows these series; None for where they were read.
    """
    began = time.perf_counter()
    root = Path(config.cache) if config.cache else Path(user_cache_path(APP))
    series = _load_series(config, watch)
    if source is not None:
        series = tuple(replace(bars, source=source) for bars in series)
    folder = root / FOLDER if is_kept else None
    ways = replace(ways, folder=folder, threads=config.threads, start=config.start, end=config.end)
    scan = scan_series(series, question, ways)
    return replace(scan, seconds=time.perf_counter() - began)


def scan_series(series: Sequence[Bars], question: ScanParams, ways: Ways) -> Scan:
    """The class of each series at its last closed bar, and since when.

    Raises:
        ConfigError: When two series are alike in symbol and source.
        ParityError: When a row differs from the readable definition; nothing is kept then.
    """
    began, threads = time.perf_counter(), available_cores(ways.threads)
    markets = Markets(tuple(series), tuple(Window.whole(b, n) for n, b in enumerate(series)))
    if len(set(markets.names)) < len(series):
        raise ConfigError("two of these series have the same symbol and the same source")
    now_ns = time.time_ns() if ways.now_ns is None else ways.now_ns
    closed = {
        n: _select_bars(bars, ways, now_ns) for n, bars in zip(markets.names, series, strict=True)
    }
    short = {n: len(bars) if bars else 0 for n, bars in closed.items()}
    short = {name: bars for name, bars in short.items() if bars < question.least_bars}
    history = ScanHistory(ways.folder, question, ways.start)
    known = [history.recall(n, bars) for n, bars in closed.items() if bars and n not in short]
    closes, parameters = [recalled.bars.close for recalled in known], question.parameters
    computed = trends(closes, parameters, is_script=question.is_script, threads=threads)
    rows = {
        recalled.name: _build_row(recalled, trend, question)
        for recalled, trend in zip(known, computed, strict=True)
    }
    chosen = list(rows) if ways.is_all_replayed else draw_sample(list(rows), _data_hash(known))
    check_rows({name: rows[name] for name in chosen}, question, threads)
    stands = {name: summarise_symbol(row, ways.history) for name, row in rows.items()}
    for recalled in known:
        history.keep(recalled, stands[recalled.name].class_)
    history.tidy()
    return Scan(
        question=question,
        symbols=tuple(sorted(stands.values(), key=build_sort_key)),
        too_short=tuple(TooShort(n, short[n], question.least_bars) for n in sorted(short)),
        changes=_changes(known, stands),
        compared=sum(recalled.last_class is not None for recalled in known),
        replayed=len(chosen),
        bars=sum(len(row.trend) for row in rows.values()),
        seconds=time.perf_counter() - began,
        device=f"cpu, {format_count(threads, 'thread')}",
        rows_hash=hash_rows(rows),
        notes=(*_closed_notes(markets), *_open_bars(series, now_ns), *history.notes()),
        rows=rows,
    )


def _load_series(config: RunConfig, watch: Watch) -> tuple[Bars, ...]:
    """The series that a configuration names."""
    options, specs, series = load_options(config), named_specs(config), []
    with ThreadPoolExecutor(available_cores(config.threads)) as pool:
        for bars in pool.map(lambda spec: load_bars(spec, options), specs):
            series.append(bars)
            watch(Progress("loading: sources", len(series), len(specs)))
    return tuple(series)


def _select_bars(bars: Bars, ways: Ways, now_ns: int) -> Bars | None:
    """The bars that count: wanted and closed ones; None without any."""
    first, until = bars.find_range(ways.start, ways.end)
    end = min(until, int(np.searchsorted(bars.over_ns, now_ns, side="right")))
    if first == 0 and end == len(bars):
        return bars
    return bars.cut(first, end) if first < end else None


def _build_row(known: Recalled, trend: Trend, question: ScanParams) -> SymbolRow:
    bounds = question.high, question.low
    return SymbolRow(
        symbol=known.name,
        timestamp=known.bars.timestamp,
        close=known.bars.close,
        trend=trend.row,
        votes=trend.votes,
        classes=classify_bars(trend.row, *bounds),
        directions=find_directions(trend.row, *bounds),
    )


def _data_hash(known: Sequence[Recalled]) -> str:
    """SHA-256 of all closes, symbols by name."""
    lines = sorted(f"{recalled.name} {recalled.closes}" for recalled in known)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _changes(known: Sequence[Recalled], stands: Mapping[str, SymbolTrend]) -> tuple[Change, ...]:
    """Symbols with another class than the last one, by name."""
    changes = []
    for recalled in known:
        now = stands[recalled.name]
        if recalled.last_class is not None and recalled.last_class[0] != now.class_:
            was, at_ns = recalled.last_class
            changes.append(Change(recalled.name, was, format_time(at_ns), now.class_, now.since))
    return tuple(sorted(changes, key=lambda change: change.symbol))


def _closed_notes(markets: Markets) -> tuple[str, ...]:
    """Notes of the bars but those about open bars, which do not count here."""
    about_open = tuple(
        note_open_bar(bars.timestamp[-1], bars.timeframe_ns) for bars in markets.series
    )
    return tuple(note for note in markets.notes if not note.endswith(about_open))


def _open_bars(series: Sequence[Bars], now_ns: int) -> tuple[str, ...]:
    """The note about bars that do not count yet."""
    if not (count := sum(bars.over_ns[-1] > now_ns for bars in series)):
        return ()
    symbols = format_count(count, "symbol")
    return (f"{symbols} with a bar that is not closed yet, which does not count",)


def draw_sample(names: Sequence[str], data_hash: str) -> list[str]:
    """At least one symbol in fifty, which the hash of the data decides."""
    order = sorted(names, key=lambda name: hashlib.sha256(f"{data_hash} {name}".encode()).digest())
    return order[: -(-len(names) // ONE_IN)]


def check_rows(rows: Mapping[str, SymbolRow], question: ScanParams, threads: int) -> None:
    """Replay rows by the readable definition; a `ParityError` names the first bit that differs."""
    run = CompiledForm()

    def check(row: SymbolRow) -> str:
        expected = run(question.kind.loop)(row.close, *question.parameters)
        votes = _votes(row.close, question, run)
        return _difference("trend", expected, row.trend) or _difference("votes", votes, row.votes)

    # All loops are compiled before threads ask for them.
    differences = {name: check(rows[name]) for name in list(rows)[:1]}
    with ThreadPoolExecutor(threads) as pool:
        rest = list(rows)[1:]
        differences |= dict(zip(rest, pool.map(check, [rows[name] for name in rest]), strict=True))
    wrong = [name for name, difference in differences.items() if difference]
    if wrong:
        raise ParityError(
            f"{len(wrong)} of {len(rows)} symbols differ from the readable definition, so no "
            f"class is shown; {wrong[0]}: {differences[wrong[0]]}; this is a "
            "defect"
        )


def _votes(close: Floats, question: ScanParams, run: CompiledForm) -> Int8s:
    """Votes of the families by the readable parts, [6, T]."""
    bases, (robustness, growth, decay, cutout) = question.parameters[:6], question.parameters[6:10]
    steps = run(law.compute_steps)(close, growth, decay, cutout)
    votes = []
    for family, base in enumerate(bases):
        lengths = law.list_lengths(base, robustness)
        signals = run(law.compute_signals)(close, family, lengths, question.is_script)
        votes.append(run(law.compute_votes)(signals, steps, cutout)[0])
    return np.array(votes).astype(np.int8)


def _difference(what: str, expected: Floats | Int8s, actual: Floats | Int8s) -> str:
    """Where two rows part first; empty when they are equal in every bit."""
    if expected.tobytes() == actual.tobytes():
        return ""
    if expected.shape != actual.shape:
        return f"{what} of shape {list(actual.shape)}, by definition {list(expected.shape)}"
    is_other = ~((expected == actual) | (np.isnan(expected) & np.isnan(actual)))
    differing = np.argwhere(is_other)
    if not len(differing):
        return f"{what} differ in the sign of a zero or in a NaN"
    first = tuple(differing[0].tolist())
    return f"{what} at {list(first)} are {actual[first]}, by definition {expected[first]}"
