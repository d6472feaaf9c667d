"""The scan: rows of all symbols, checked, put into words, and compared with earlier scans.

Classes that earlier scans gave are kept in a small file a series. Many scans may share a folder. A
file names the closes that were seen by their SHA-256, so that a corrected bar is noticed.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from platformdirs import user_cache_path

from data import Bars, Window, load_bars
from data.cache import APP
from data.checks import format_time
from data.errors import list_some
from data.files import (
    DamagedError,
    note_use,
    read_sealed,
    remove_drafts,
    remove_oldest,
    write_sealed,
)
from data.load import note_open_bar
from data.progress import Progress, Watch
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.machine import available_cores
from engine.trends import Trend, trends
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, ParityError
from optimizer.formatting import format_count
from optimizer.run.markets import Markets, load_options, named_specs
from optimizer.trend_scan.result import (
    Change,
    Int8s,
    Scan,
    ScanParams,
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

VERSION = 2
"""Another one wherever the form of files changes: older files are then not found."""

MOST_BYTES = 2**25
"""Of all files together."""

MOST_TOLD = 16
"""Pairs of thresholds whose classes one file remembers."""

ENDING = ".trend"

MOST_NAMED = 5
"""Symbols that a note names before it counts the others."""

LastClass = tuple[str, int]
"""A class, and when the last bar of that scan opens, nanoseconds UTC."""

FOLDER = "trends"
"""Of last classes, in the cache."""

ONE_IN = 50
"""Symbols of which one is replayed, at least."""


@dataclass(frozen=True)
class Memo:
    """Last classes of a series, as a file holds them."""

    key: str  # the file's name, which the parameters and the series decide
    bars: int = 0  # how many were seen
    closes: str = hashlib.sha256().hexdigest()  # SHA-256 of their closes, hexadecimal
    last_ns: int = -(2**63)  # when the last of them opens, nanoseconds UTC
    # Thresholds to the class last given by them, the newest last.
    told: Mapping[str, LastClass] = field(default_factory=dict)


class Recalled(NamedTuple):
    """History of one symbol."""

    name: str
    bars: Bars
    closes: str  # SHA-256 of its closes, hexadecimal
    memo: Memo  # of earlier scans
    last_class: LastClass | None  # class last given to it by the same thresholds, and when; or None

    @property
    def is_past(self) -> bool:
        """True if an earlier scan has seen later bars, so that nothing is kept of this one."""
        return int(self.bars.timestamp[-1]) < self.memo.last_ns


class ScanHistory:
    """Reads and writes last classes; where that fails it does without, with a note.

    Without a folder none are kept. Rows that begin at another `start` are another series.
    """

    def __init__(self, folder: Path | None, question: ScanParams, start: str | None) -> None:
        self._folder, self._question, self._start = folder, question, start
        self._thresholds = f"{question.high!r} {question.low!r}"
        self._failures: dict[str, list[str]] = {}

    def recall(self, name: str, bars: Bars) -> Recalled:
        """History of a symbol."""
        trend = self._question.kind.name, self._question.parameters
        series = bars.symbol, bars.source, bars.timeframe_ns, self._start
        memo = self._read(name, build_key(*trend, *series))
        begun, closes = (
            hashlib.sha256(bars.close[:end].astype("<f8", copy=False).tobytes()).hexdigest()
            for end in (memo.bars, None)
        )
        known = Recalled(name, bars, closes, memo, None)
        if known.is_past:
            return known
        if begun != memo.closes:
            self._note_failure(
                name, f"bars up to {format_time(memo.last_ns)} are not those of the last scan"
            )
        return known._replace(last_class=memo.told.get(self._thresholds))

    def keep(self, known: Recalled, class_: str) -> None:
        """Keep the class of a symbol."""
        last_ns, memo = int(known.bars.timestamp[-1]), known.memo
        told = {name: last for name, last in memo.told.items() if name != self._thresholds}
        told = dict([*told.items(), (self._thresholds, (class_, last_ns))][-MOST_TOLD:])
        new = Memo(memo.key, len(known.bars), known.closes, last_ns, told)
        if self._folder is None or known.is_past or new == memo:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_sealed(self._folder / f"{memo.key}{ENDING}", json.dumps(asdict(new)).encode())
        except OSError as error:
            self._give_up("written", error)

    def notes(self) -> tuple[str, ...]:
        """Failures, each with the symbols that had it."""
        return tuple(
            f"{list_some(names[:MOST_NAMED], len(names))}: {text}" if names else text
            for text, names in self._failures.items()
        )

    def tidy(self) -> None:
        """Let go files used longest ago, and drafts of killed processes."""
        if self._folder is not None:
            remove_oldest(self._folder, f"*{ENDING}", MOST_BYTES)
            remove_drafts(self._folder)

    def _read(self, name: str, key: str) -> Memo:
        memo = Memo(key)
        if self._folder is None:
            return memo
        path = self._folder / f"{key}{ENDING}"
        try:
            if (content := read_sealed(path)) is None:
                return memo
            saved = json.loads(content)
            told = {name: (str(word), int(at)) for name, (word, at) in saved["told"].items()}
            memo = Memo(**{**saved, "told": told})
            if memo.key != key:
                raise DamagedError(path)
            note_use(path)
        except DamagedError:
            self._note_failure(
                name, "the class that was kept is damaged, so that no change is seen"
            )
            return Memo(key)
        except OSError as error:
            self._give_up("read", error)
        return memo

    def _give_up(self, what: str, error: OSError) -> None:
        reason = error.strerror or error
        self._failures[f"classes cannot be {what} in {self._folder} ({reason}), none are kept"] = []
        self._folder = None

    def _note_failure(self, name: str, text: str) -> None:
        self._failures.setdefault(text, []).append(name)


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


def build_key(*parts: object) -> str:
    """A name for the file of the series and parameters that these parts name."""
    return hashlib.sha256(json.dumps([VERSION, *parts]).encode()).hexdigest()


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

    With `is_kept` classes are kept, and compared with those of earlier scans. The next scan knows
    these series by `source`; None for where they were read.
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

    A row that differs from the readable definition is a `ParityError`, and nothing is kept.
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
