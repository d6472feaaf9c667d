"""The markets of a run: series, the windows to search on, and those that are held out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from data import (
    Bars,
    LoadOptions,
    Window,
    cut_at_gaps,
    expand_spec,
    load_bars,
    parse_holdout,
    parse_timeframe,
    split_window,
    splits_of,
)
from data.checks import format_time
from data.table import FetchOptions
from engine.metrics import Span, span_of
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError

MOST_NAMED = 5
"""Symbols that a note names before it counts the others."""


@dataclass(frozen=True)
class Markets:
    """Series and the windows that cut them.

    Args:
        series: [S], one a symbol.
        windows: [W] to search on; window w is of series w.
        held_out: [W] later windows of the same series, in the same order, that a search never
            sees; empty when nothing is held out.
    """

    series: tuple[Bars, ...]
    windows: tuple[Window, ...]
    held_out: tuple[Window, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name a series, [S]: its symbol, with its source where another has the same."""
        count = Counter(bars.symbol for bars in self.series)
        return tuple(
            bars.symbol if count[bars.symbol] == 1 else f"{bars.symbol} ({bars.source})"
            for bars in self.series
        )

    @cached_property
    def searched(self) -> tuple[Bars, ...]:
        """What a search may read, [S]: series that end where bars are held out."""
        if not self.held_out:
            return self.series
        return tuple(
            bars.until(window.end) for bars, window in zip(self.series, self.windows, strict=True)
        )

    @property
    def all_windows(self) -> tuple[Window, ...]:
        """Windows to search on, then those held out."""
        return (*self.windows, *self.held_out)

    @cached_property
    def _kept(self) -> frozenset[Window]:
        return frozenset(self.held_out)

    def spans(self, windows: tuple[Window, ...]) -> list[Span]:
        """Lengths of windows in bars and years."""
        return [span_of(self.series[window.series], window) for window in windows]

    @property
    def n_bars(self) -> int:
        """Bars to search on, over all windows."""
        return sum(len(window) for window in self.windows)

    @property
    def is_simulated(self) -> bool:
        """Whether a program invented one of the markets."""
        return any(bars.is_simulated for bars in self.series)

    @property
    def symbol(self) -> str:
        """For people: the symbol, or how many there are."""
        return self.names[0] if len(self.names) == 1 else f"{len(self.names)} symbols"

    @property
    def timeframe(self) -> str:
        """For people: the duration of a bar, or all durations that there are."""
        return ", ".join(dict.fromkeys(bars.timeframe for bars in self.series))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """A line for each repair, assumption or warning, with whose it is where there are many."""
        told = [(*bars.notes, *splits_of(bars)) for bars in self.series]
        if len(told) == 1:
            return told[0]
        owners: dict[str, list[str]] = {}
        for name, notes in zip(self.names, told, strict=True):
            for note in notes:
                owners.setdefault(note, []).append(name)
        return tuple(f"{self._whose(names)}: {note}" for note, names in owners.items())

    def _whose(self, names: list[str]) -> str:
        if len(names) == len(self.series):
            return f"all {len(names)} symbols"
        more = len(names) - MOST_NAMED
        return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

    def describe(self, window: Window) -> dict[str, object]:
        """A window for people and JSON: whose it is, its bars and its first and last time."""
        bars = self.series[window.series]
        first, last = (format_time(int(bars.timestamp[i])) for i in (window.start, window.end - 1))
        return {
            "symbol": self.names[window.series],
            "sample": "held out" if window in self._kept else "in",
            "start": window.start,
            "end": window.end,
            "first": first,
            "last": last,
            "bars": len(window),
        }


def load_series(config: RunConfig) -> tuple[Bars, ...]:
    """Load the series that a configuration names.

    Args:
        config: Any configuration.

    Returns:
        Checked bars, one series a source.

    Raises:
        ConfigError: When a source is named twice.
        DataError: When bars cannot be had.
    """
    options = load_options(config)
    return tuple(load_bars(spec, options) for spec in named_specs(config))


def named_specs(config: RunConfig) -> tuple[str, ...]:
    """The sources that a configuration names, folders and patterns as their files.

    Raises:
        ConfigError: When a source is named twice.
        DataError: When a folder or a pattern holds none.
    """
    specs = tuple(spec for named in config.data for spec in expand_spec(named))
    repeated = [spec for spec, count in Counter(specs).items() if count > 1]
    if repeated:
        raise ConfigError(f"--data '{repeated[0]}' is named more than once")
    return specs


def load_options(config: RunConfig) -> LoadOptions:
    """How a configuration wants sources to be read."""
    return LoadOptions(
        timeframe=config.timeframe,
        tz=config.tz,
        dedupe=config.dedupe,
        drop_bad_bars=config.drop_bad_bars,
        sort=config.sort,
        columns=config.columns,
        time_format=config.time_format,
        decimal=config.decimal,
        tick=config.tick,
        price_offset=config.price_offset,
        max_bytes=config.max_bytes,
        fetch=FetchOptions(
            start=config.start,
            end=config.end,
            adjusted=config.adjusted,
            accept_missing=config.accept_missing,
            cache=config.cache,
        ),
    )


def load_markets(config: RunConfig) -> Markets:
    """Load series and cut the windows that a configuration asks for.

    Args:
        config: Any configuration.

    Returns:
        The markets.

    Raises:
        ConfigError: When bars of different durations would be scaled differently.
        DataError: When bars cannot be had, or a window would be empty.
    """
    holdout = None if config.holdout is None else parse_holdout(config.holdout)
    series = load_series(config)
    _check_alike(series, config)
    series, windows = _cut(series, config)
    if holdout is None:
        return Markets(series, windows)
    parts = [
        split_window(bars, window, holdout) for bars, window in zip(series, windows, strict=True)
    ]
    return Markets(series, tuple(seen for seen, _ in parts), tuple(kept for _, kept in parts))


def _cut(
    series: tuple[Bars, ...], config: RunConfig
) -> tuple[tuple[Bars, ...], tuple[Window, ...]]:
    """Series, parted at long gaps where that is asked for, and the window of each."""
    whole = [Window.between(bars, config.start, config.end) for bars in series]
    if config.max_gap is None:
        return series, tuple(replace(window, series=w) for w, window in enumerate(whole))
    max_gap_ns = parse_timeframe(config.max_gap, "--max-gap")
    parts: list[Bars] = []
    windows: list[Window] = []
    for bars, window in zip(series, whole, strict=True):
        for first, part in cut_at_gaps(bars, max_gap_ns):
            start, end = max(window.start - first, 0), min(window.end - first, len(part))
            if start < end:
                windows.append(Window(len(parts), start, end))
                parts.append(part)
    return tuple(parts), tuple(windows)


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
