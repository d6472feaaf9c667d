"""The markets of a run: sources and columns of its series, finer bars, and windows by their use."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from data import (
    Bars,
    DataError,
    Holdout,
    LoadOptions,
    Window,
    cut_at_gaps,
    expand_spec,
    joined,
    jumps_of,
    load_bars,
    parse_holdout,
    parse_timeframe,
    parts,
    quality_of,
    split_window,
)
from data.bars import Role
from data.checks import COLUMNS, format_time
from data.errors import list_some
from data.mmap_store import put_down
from data.point_in_time import DatedNumbers, read_dated
from data.shell import quote_word
from data.table import FetchOptions
from data.zones import LocalZone
from engine.accounts.metrics import Span, measure_span
from engine.memory_plan import BESIDE_SHARE
from engine.runtime.free_memory import free_host_bytes
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.formatting import SAMPLES, format_count
from optimizer.store.result import WindowDescription
from optimizer.store.store import ONCE
from strategy.indicator_registry import ROW_NAMES
from strategy.model import Strategy

log = logging.getLogger(__name__)

BARS = ".bars"
"""Folder under that of runs for bars that are too large to be held, or to be sent to workers."""

MOST_NAMED = 5
"""Symbols that a note names before it counts the others."""

FRAME = re.compile(r"parquet:.*\bbars-[0-9a-f]{16}\.parquet", re.DOTALL)
"""A source that `frames.holding_frames` holds, or the file of it that a run keeps."""

LARGEST_RATE = 0.1
"""Share of the price above which a payment is likely meant in percent."""

FORM = "NAME=FILE, or NAME=FILE@MINUTES after which a number is forgotten"


@dataclass(frozen=True)
class Markets:
    """Series and the windows that cut them.

    ConfigError when a series has no window to search on, or the search would see held-out bars.
    """

    series: tuple[Bars, ...]  # [S]; those with one symbol from one source are parts of one market
    # [W], any number of each series, in the order in which every result lists them. What is
    # held out comes after all that is searched on in its series.
    all_windows: tuple[Window, ...]

    def __post_init__(self) -> None:
        for bars, end in zip(self.series, self._search_ends, strict=True):
            if not end:
                raise ConfigError(f"{bars.symbol}: no window to search on")
        for window in self.held_out:
            if window.start < self._search_ends[window.series]:
                raise ConfigError(
                    f"{self.names[window.series]}: bars from {window.start} on are held out, and "
                    f"the search goes on until bar {self._search_ends[window.series]}"
                )

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Windows to search on."""
        return tuple(window for window in self.all_windows if window.role == "search")

    @cached_property
    def uncut(self) -> tuple[Window, ...]:
        """Windows to search on as they were before they were cut into parts."""
        return joined(self.windows)

    @cached_property
    def held_out(self) -> tuple[Window, ...]:
        """Windows that a search never sees."""
        return tuple(window for window in self.all_windows if window.role == "held_out")

    def places(self, role: Role) -> list[int]:
        """Indices of the windows of a role among all."""
        return [index for index, window in enumerate(self.all_windows) if window.role == role]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each series' market, [S]: its symbol, with its source where another has it too.

        Parts of one market share its name.
        """
        markets = {(bars.symbol, bars.source) for bars in self.series}
        count = Counter(symbol for symbol, _ in markets)
        return tuple(
            bars.symbol if count[bars.symbol] == 1 else f"{bars.symbol} ({bars.source})"
            for bars in self.series
        )

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Name of each window's market, [W]."""
        return tuple(self.names[window.series] for window in self.all_windows)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label of each window, [W]: its market, with its days where that has several.

        A searched and a held-out window are distinct without days.
        """
        count = Counter(
            (name, window.role) for name, window in zip(self.symbols, self.all_windows, strict=True)
        )
        several = {name for (name, _), windows in count.items() if windows > 1}
        return self._append_dates(self.symbols, self.all_windows, several)

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Title of each series, [S]: its market, with its days where that has several parts."""
        several = {name for name, parts in Counter(self.names).items() if parts > 1}
        return self._append_dates(self.names, self.ranges, several)

    @cached_property
    def ranges(self) -> tuple[Window, ...]:
        """From the first bar of any window of a series to the last, [S]."""
        ranges: dict[int, Window] = {}
        for window in self.all_windows:
            known = ranges.get(window.series, window)
            start, end = min(known.start, window.start), max(known.end, window.end)
            ranges[window.series] = Window(window.series, start, end)
        return tuple(ranges[number] for number in range(len(self.series)))

    @cached_property
    def searched(self) -> tuple[Bars, ...]:
        """Series that a search may read, [S]: each ends with the last window to search on."""
        if not self.held_out:
            return self.series
        return tuple(
            bars.until(end) for bars, end in zip(self.series, self._search_ends, strict=True)
        )

    @cached_property
    def closed(self) -> "Markets":
        """The same without held-out bars; its series end with the searched ones."""
        return Markets(self.searched, self.windows) if self.held_out else self

    def spans(self, windows: Sequence[Window]) -> list[Span]:
        """Lengths of windows in bars and years, and when they are."""
        return [measure_span(self.series[window.series], window) for window in windows]

    @property
    def n_bars(self) -> int:
        """Bars to search on, over all windows."""
        return sum(len(window) for window in self.windows)

    @property
    def is_simulated(self) -> bool:
        """True if a program invented one of the markets."""
        return any(bars.is_simulated for bars in self.series)

    @property
    def symbol(self) -> str:
        """For people: the symbol, or how many there are."""
        names = set(self.names)
        return self.names[0] if len(names) == 1 else f"{len(names)} symbols"

    @property
    def timeframe(self) -> str:
        """For people: the duration of a bar, or all durations that there are."""
        return ", ".join(dict.fromkeys(bars.timeframe for bars in self.series))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """A line for each repair, assumption or warning, with its market if there are many."""
        owners: dict[str, dict[str, None]] = {}
        for name, bars in zip(self.names, self.series, strict=True):
            for note in (*bars.notes, *jumps_of(bars)):
                owners.setdefault(note, {})[name] = None
        if len(set(self.names)) == 1:
            return tuple(owners)
        return tuple(f"{self._whose(list(names))}: {note}" for note, names in owners.items())

    def time(self, series: int, bar: int) -> str:
        """When a bar of a series opens, ISO time, UTC."""
        return format_time(int(self.series[series].timestamp[bar]))

    def describe(self) -> tuple[WindowDescription, ...]:
        """All windows for people and JSON, [W]."""
        names = zip(self.all_windows, self.symbols, self.labels, strict=True)
        return tuple(self._describe_window(*named) for named in names)

    def _describe_window(self, window: Window, symbol: str, label: str) -> WindowDescription:
        quality = quality_of(self.series[window.series], window.start, window.end)
        return WindowDescription(
            symbol=symbol,
            label=label,
            sample=SAMPLES[window.role],
            start=window.start,
            end=window.end,
            first=self.time(window.series, window.start),
            last=self.time(window.series, window.end - 1),
            bars=len(window),
            silent=quality.silent,
            gaps=quality.gaps.count,
            missing=quality.gaps.missing_bars,
        )

    @cached_property
    def _search_ends(self) -> tuple[int, ...]:
        """The bar after the last that is searched on, [S]; 0 where there is none."""
        ends = [0] * len(self.series)
        for window in self.windows:
            ends[window.series] = max(ends[window.series], window.end)
        return tuple(ends)

    def _append_dates(
        self, names: Sequence[str], windows: Sequence[Window], several: Collection[str]
    ) -> tuple[str, ...]:
        """Names of windows, those of `several` with their first and last day, or else minute."""
        labels = list(names)
        chosen = [index for index, name in enumerate(names) if name in several]
        for length in (len("2024-01-31"), None):
            for index in chosen:
                number, last = windows[index].series, windows[index].end - 1
                first_time, last_time = (
                    self.time(number, bar)[:length] for bar in (windows[index].start, last)
                )
                labels[index] = f"{names[index]} {first_time} to {last_time}"
            if len({labels[index] for index in chosen}) == len(chosen):
                break
        return tuple(labels)

    def _whose(self, names: list[str]) -> str:
        if len(names) == len(set(self.names)):
            return f"all {len(names)} symbols"
        return list_some(names[:MOST_NAMED], len(names))


def named_specs(config: RunConfig) -> tuple[str, ...]:
    """The sources that a configuration names, folders and patterns as their files.

    ConfigError when a source is named twice, DataError when a folder or a pattern holds none.
    """
    specs = tuple(spec for named in config.data for spec in expand_spec(named))
    repeated = [spec for spec, count in Counter(specs).items() if count > 1]
    if repeated:
        raise ConfigError(f"--data '{repeated[0]}' is named more than once")
    return specs


def load_options(config: RunConfig, *, may_fetch: bool = True) -> LoadOptions:
    """How a configuration wants sources to be read; its knobs bear the names of the options.

    With `may_fetch` a vendor may send bars that no cache has. ConfigError when no strategy could
    ask for an aligned column by its name, DataError when an option makes no sense.
    """
    known = {name: getattr(config, name) for name in RunConfig.model_fields}
    fetch, load = (
        {part.name: known[part.name] for part in fields(kind) if part.name in known}
        for kind in (FetchOptions, LoadOptions)
    )
    options = LoadOptions(**load, fetch=FetchOptions(**fetch, may_fetch=may_fetch))
    for name in options.aligned:
        if name in ROW_NAMES:
            raise ConfigError(
                f"--aligned-column {name}: a strategy means something else by '{name}'; "
                f"--aligned-column {quote_word(f'{name}_2={options.aligned[name]}')} gives it "
                "another name"
            )
    return options


def make_column_adder(
    config: RunConfig, tz: LocalZone | None, paid: Collection[str] = ()
) -> Callable[[Bars], Bars]:
    """Function that adds to bars a column for each file: numbers known at the close of each bar.

    `tz` is the zone of times that name none; numbers of the columns named by `paid` are payments as
    well. ConfigError when a file is not named as it should be, knows nothing of a symbol, or a rate
    is not to be trusted; DataError, StrategyError when a file holds something else.
    """
    read = []
    for name, path, max_age in map(parse_column_file, config.column_file):
        _refuse_changed_forecast(Path(path))
        numbers = read_dated(path, tz, is_paid=name in paid)
        read.append((name, path, numbers, max_age))
    for name, path, numbers, _ in read:
        if numbers.is_by_day:
            log.info(
                f"column '{name}': {path} gives dates alone; each number is taken as known from "
                f"the first moment of its day, {tz or 'UTC'}",
                extra=ONCE,
            )

    def with_columns(bars: Bars) -> Bars:
        for name, path, numbers, max_age in read:
            if name in bars.extra:
                raise ConfigError(f"--column-file: two columns are named '{name}'")
            column = numbers.of(bars.symbol)
            if not len(column.values):
                raise ConfigError(f"--column-file {name}: {path} has nothing of {bars.symbol}")
            extra = {**bars.extra, name: column.at_closes(bars, max_age)}
            bars = replace(bars, extra=extra, dated=(*bars.dated, name))
            if name in paid:
                trusts = config.trust_rates
                bars = with_payments(bars, name, path, column, trusts_rates=trusts)
        return bars

    return with_columns


def with_payments(
    bars: Bars, name: str, path: str, numbers: DatedNumbers, *, trusts_rates: bool
) -> Bars:
    """Bars that pay by a column's numbers, with a note of times in which nothing is charged.

    ConfigError when a rate is not to be trusted, or no position could pay any of them.
    """
    where, payments = f"--column-file {name}: {path}", numbers.as_payments()
    first_ns, last_ns = int(payments.timestamp[0]), int(payments.timestamp[-1])
    paying = replace(bars, payments={**bars.payments, name: payments})
    paid = paying.payments[name]
    if not len(paid.rates):
        raise ConfigError(
            f"{where} pays from {format_time(first_ns)} to {format_time(last_ns)}, and no bar of "
            f"{bars.symbol} can be charged: name a file of payments from within these bars' time"
        )
    largest = int(np.abs(paid.rates).argmax())
    if abs(paid.rates[largest]) > LARGEST_RATE and not trusts_rates:
        raise ConfigError(
            f"{where} pays {paid.rates[largest]:g} at {format_time(paid.timestamp[largest])}, "
            f"more than {LARGEST_RATE:g} of the price: write rates as fractions, 0.0001 for "
            "0.01 %, or add --trust-rates"
        )
    step_ns = int(np.median(np.diff(payments.timestamp))) if len(payments.rates) > 1 else 0
    free = (bars.timestamp < first_ns - step_ns) | (bars.timestamp > last_ns + step_ns)
    lines = []
    beyond = (payments.timestamp < bars.timestamp[0]) | (payments.timestamp > bars.timestamp[-1])
    if beyond.any():
        total = format_count(len(payments.rates), "payment")
        lines.append(
            f"{int(beyond.sum()):,} of {total} are charged to no bar: they come before the first "
            "or after the last one opens"
        )
    if free.any():
        lines.append(
            f"at {format_count(int(free.sum()), 'bar')} before {format_time(first_ns)} or after "
            f"{format_time(last_ns)} nothing is charged"
        )
    notes = [f"column '{name}': {'; '.join(lines)}"] if lines else []
    return replace(paying, notes=(*bars.notes, *notes))


def _refuse_changed_forecast(path: Path) -> None:
    """Refuse a forecast that changed since it was written; other files are numbers."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return
    # Only now: few runs read a forecast.
    from optimizer.forecasts.column import read_forecast, read_record

    if read_record(path) is not None:
        read_forecast(path)


def require_columns(spec: Strategy, series: Sequence[Bars], config: RunConfig) -> None:
    """Refuse a strategy that reads an extra column which a series has not, naming its flag."""
    names = spec.extra_columns
    for name in names:
        for bars in series:
            if name not in bars.extra:
                raise ConfigError(
                    f"strategy '{spec.name}' reads column '{name}', which {bars.symbol} has not: "
                    f"add {_suggest_flag(name, bars, config)}{spec.place_of()}"
                )


def _suggest_flag(name: str, bars: Bars, config: RunConfig) -> str:
    """Flag that reads a column of a strategy."""
    beside, flag = f"--column-file {name}=FILE", f"--aligned-column {name}"
    known = "each of its numbers was known when its bar closed"
    if FRAME.fullmatch(bars.source):
        # Its file holds the named columns, and no other.
        return f"{flag} to read it from the frame, if it has one and {known}, or {beside}"
    widened = {"aligned_columns": [*config.aligned_columns, name]}
    try:
        load_bars(bars.source, load_options(config.model_copy(update=widened)))
    except (DataError, ConfigError):
        return beside
    return f"{flag} to read it from the bars' own file, if {known}"


def parse_column_file(text: str) -> tuple[str, str, float | None]:
    """Name, path, and minutes after which a number is forgotten.

    >>> parse_column_file("rate=rates.csv@600")
    ('rate', 'rates.csv', 600.0)
    """
    name, sign, rest = text.partition("=")
    path, at, age = rest.rpartition("@")
    if not at or not age.replace(".", "", 1).isdecimal():
        path, age = rest, ""
    if not sign or not name.isidentifier() or not path:
        raise ConfigError(f"--column-file '{text}' must look like {FORM}")
    if name in COLUMNS:
        raise ConfigError(f"--column-file '{text}': all bars have '{name}' already")
    return name, path, float(age) if age else None


def load_series(
    config: RunConfig, *, paid: Collection[str] = (), may_fetch: bool = True
) -> tuple[Bars, ...]:
    """Load the series that a configuration names, one a source, one after the other.

    Numbers of the columns named by `paid` are payments; with `may_fetch` a vendor may send bars.
    Series that memory has no room for are written under the folder of runs, and mapped.
    """
    options = load_options(config, may_fetch=may_fetch)
    with_columns = make_column_adder(config, options.zone, paid)
    specs = named_specs(config)
    require_finer_fit(config.finer, specs)
    room, folder = int(BESIDE_SHARE * free_host_bytes()), Path(config.runs) / BARS
    series: list[Bars] = []
    is_noted = False
    for number, spec in enumerate(specs):
        bars = with_columns(load_bars(spec, options))
        if config.finer:
            bars = with_finer(bars, config.finer[number], options)
        # Bars to search on are copied out of a series whose end is held out.
        room -= bars.n_bytes * (1 if config.holdout is None else 2)
        if room < 0:
            if not is_noted:
                log.info(
                    "bars are more than memory should hold: the rest is mapped from %s", folder
                )
                is_noted = True
            bars = put_down(bars, folder)
        series.append(bars)
    return tuple(series)


def load_markets(
    config: RunConfig,
    least: Callable[[Bars], int] = lambda bars: 0,
    *,
    paid: Collection[str] = (),
    may_fetch: bool = True,
) -> Markets:
    """Load the series of a configuration and cut its windows; arguments as of `load_series`.

    A part between long gaps needs `least` bars to be searched on; shorter parts are skipped, with a
    note. ConfigError when bars of different durations would be scaled differently, DataError when
    bars cannot be had, or a window would be empty.
    """
    holdout = None if config.holdout is None else parse_holdout(config.holdout)
    series = load_series(config, paid=paid, may_fetch=may_fetch)
    _check_alike(series, config)
    series, windows = _cut(series, config, least(series[0]), holdout)
    if holdout is None:
        return Markets(series, parts(windows, config.parts))
    halves = [split_window(series[window.series], window, holdout) for window in windows]
    searched = parts([seen for seen, _ in halves], config.parts)
    return Markets(series, (*searched, *(kept for _, kept in halves)))


def _cut(
    series: tuple[Bars, ...], config: RunConfig, least: int, holdout: Holdout | None
) -> tuple[tuple[Bars, ...], tuple[Window, ...]]:
    """Series, parted at long gaps with `--max-gap`, and the window of each."""
    whole = [Window.between(bars, config.start, config.end) for bars in series]
    if config.max_gap is None:
        return series, tuple(replace(window, series=w) for w, window in enumerate(whole))
    max_gap_ns = parse_timeframe(config.max_gap, "--max-gap")
    parts: list[Bars] = []
    windows: list[Window] = []
    share = Fraction(0) if holdout is None or holdout.share is None else holdout.share
    for bars, window in zip(series, whole, strict=True):
        pieces = []
        for first, part in cut_at_gaps(bars, max_gap_ns):
            start, end = max(window.start - first, 0), min(window.end - first, len(part))
            if start < end:
                pieces.append((part, start, end))
        # A bar held out of a part is none to search on.
        held = [int((end - start) * share) for _, start, end in pieces]
        kept = [
            piece
            for piece, out in zip(pieces, held, strict=True)
            if piece[2] - out >= least and (out or not share)
        ]
        notes = _note_skipped_parts(pieces, kept, config.max_gap, least)
        for number, (part, start, end) in enumerate(kept):
            windows.append(Window(len(parts), start, end))
            parts.append(part if number else replace(part, notes=(*pieces[0][0].notes, *notes)))
    return tuple(parts), tuple(windows)


def _note_skipped_parts(
    parts: Sequence[tuple[Bars, int, int]],
    kept: Sequence[tuple[Bars, int, int]],
    max_gap: str,
    least: int,
) -> tuple[str, ...]:
    """The note about parts that are too short to search on; an error where all are."""
    short = [part for part, *_ in parts if all(part is not long_part for long_part, *_ in kept)]
    if not kept:
        raise ConfigError(
            f"--max-gap {max_gap}: none of the {len(parts)} parts of {parts[0][0].symbol} has the "
            f"{least:,} bars that the longest window asks for, the longest part has "
            f"{max(len(part) for part in short):,}; name a longer gap, or shorter windows: "
            "--bound in a search, --set in a backtest"
        )
    if not short:
        return ()
    days = [
        f"{format_time(int(part.timestamp[0]))[:10]} to {format_time(int(part.timestamp[-1]))[:10]}"
        for part in short
    ]
    return (
        f"{len(short)} of {len(parts)} parts are skipped, too short for windows of {least:,} bars "
        f"({sum(map(len, short)):,} bars): {list_some(days[:MOST_NAMED], len(days))}",
    )


def _check_alike(series: tuple[Bars, ...], config: RunConfig) -> None:
    """Refuse durations for which one genome would mean different times."""
    durations: Mapping[int, Bars] = {bars.timeframe_ns: bars for bars in series}
    if len(durations) == 1 or not config.scale_lengths:
        return
    longest = durations[max(durations)].timeframe
    named = ", ".join(f"{bars.timeframe} ({bars.symbol})" for bars in durations.values())
    raise ConfigError(
        f"bars of one search must last equally long, there are {named}; --timeframe {longest} "
        "merges the shorter ones, --no-scale-lengths counts lengths in bars whatever they last"
    )


def require_finer_fit(finer: Sequence[str], specs: Sequence[str]) -> None:
    """Refuse finer bars where there are some, and not one source for each of the series."""
    if finer and len(finer) != len(specs):
        raise ConfigError(
            f"--finer names {format_count(len(finer), 'source')}, --data "
            f"{format_count(len(specs), 'source')}: name one for each, in the same order; "
            "a run that is replayed on other --data needs --finer anew"
        )


def with_finer(bars: Bars, spec: str, options: LoadOptions) -> Bars:
    """Bars that carry finer ones, with a note of how many are made up of them.

    ConfigError when those of the source are not finer, or make up none.
    """
    plain = replace(options, timeframe=None, source_timeframe=None, aligned_columns=())
    read = load_bars(spec, plain)
    if not read.timeframe_ns < bars.timeframe_ns:
        raise ConfigError(
            f"--finer '{spec}': its bars of {read.timeframe} are not shorter than those of "
            f"{bars.timeframe} of {bars.symbol}; --timeframe makes longer bars of a source"
        )
    carrying = replace(bars, finer=read.as_finer())
    first, end = carrying.finer_spans
    count = int((end > first).sum())
    if not count:
        raise ConfigError(
            f"--finer '{spec}': none of the bars of {bars.symbol} is made up of its bars: first "
            "open, largest high, smallest low and last close must be equal to the last bit; "
            "bars of another market need --finer of their own"
        )
    note = (
        f"{count:,} of {len(bars):,} bars are made up of finer bars of {read.timeframe} ({spec}); "
        "the others are read as a whole"
    )
    return replace(carrying, notes=(*bars.notes, note))
