"""Features and targets of a model, a line for each bar of every series.

All features of bar t are rows of the strategies' own language, known at its close. A target is
known at the close of the bar that is `horizon` bars later. Bars are counted as they stand, whatever
gap lies between them; where a number is unknown anywhere in a window, there is no forecast and
nothing is trained on it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data import Bars
from data.checks import Flags, Floats, Ints
from engine.runtime.compiling.forms import CompiledForm
from optimizer.errors import ConfigError
from optimizer.forecasts.settings import ForecastSettings
from strategy.errors import StrategyError
from strategy.expressions import Expression
from strategy.pretty_print import format_tree
from strategy.row_text import parse_row, split_rows
from strategy.rows import LoopRunner, as_it_reads, row_values

FEATURES: Mapping[str, tuple[str, ...]] = {
    "returns": ("roc(close, 1) / std(roc(close, 1), 96)",),
    "range": ("true_range / atr(96) - 1", "close_location - 0.5"),
    "volume": ("zscore(volume, 96)",),
    "calendar": ("minute_of_day(0) / 1440", "day_of_week(0) / 6"),
}
"""Features by name; any row of the language is one as well."""

DEVIATION = "std(roc(close, 1), 96)"
"""Of the return of one bar; that over a horizon is the root of the horizon times it."""

MOST_DEVIATIONS = 5.0
"""A return over the horizon further from nothing counts as so far: one split is no trend."""

WORTH_COMPILING = 200_000
"""Bars from which rows are computed by compiled loops, with the same bits."""

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Samples:
    """Bars of all series, those of one series after those of the one before: R of them."""

    features: Floats  # [R, F], NaN where unknown
    target: Floats  # [R], NaN if it is not over at the last bar, or unknown
    opens_ns: Ints  # [R], when a bar opens
    done_ns: Ints  # [R], when its target is known; `NEVER` where that is after the last bar
    moment: Ints  # [R], which of the distinct times of all series a bar opens at
    is_ready: Flags  # [R], whether all features of its window are known
    moments_ns: Ints  # [U], these times, ascending
    bar_ns: int  # duration of a bar
    lengths: tuple[int, ...]  # bars of each series
    names: tuple[str, ...]  # what each feature is, in the words of the language


def named_rows(text: str) -> tuple[Expression, ...]:
    """The rows of features such as ``returns, rsi(close, 14) / 100``.

    Raises:
        ConfigError: When the text is none, or a feature is named twice.
        StrategyError: When one is no row of the language.
    """
    try:
        parts = split_rows(text)
    except StrategyError as error:
        raise ConfigError(f"--features {error}") from None
    rows = tuple(parse_row(row) for part in parts for row in FEATURES.get(part, (part,)))
    texts = [format_tree(row) for row in rows]
    if twice := [row for row in texts if texts.count(row) > 1]:
        raise ConfigError(f"--features names {twice[0]} twice")
    return rows


def build_samples(series: Sequence[Bars], settings: ForecastSettings) -> Samples:
    """Features and targets of series.

    Raises:
        ConfigError: When bars differ in duration, two series share a symbol, or features are wrong.
    """
    if len({bars.timeframe_ns for bars in series}) > 1:
        raise ConfigError("bars of one forecast must last equally long: add --timeframe")
    if len({bars.symbol for bars in series}) < len(series):
        raise ConfigError("two series of one forecast have the same symbol")
    rows = named_rows(settings.features)
    run = as_it_reads if sum(map(len, series)) < WORTH_COMPILING else CompiledForm()
    parts = [_of_series(bars, rows, settings, run) for bars in series]
    features, target, done, ready = (
        np.concatenate([part[number] for part in parts]) for number in range(4)
    )
    opens = np.concatenate([bars.timestamp for bars in series])
    moments, moment = np.unique(opens, return_inverse=True)
    return Samples(
        features=features,
        target=target,
        opens_ns=opens,
        done_ns=done,
        moment=moment.reshape(-1),
        is_ready=ready,
        moments_ns=moments,
        bar_ns=series[0].timeframe_ns,
        lengths=tuple(map(len, series)),
        names=tuple(map(format_tree, rows)),
    )


def _of_series(
    bars: Bars, rows: Sequence[Expression], settings: ForecastSettings, run: LoopRunner
) -> tuple[Floats, Floats, Ints, Flags]:
    """Features [T, F], targets [T], when these are known [T], and where windows are whole [T]."""
    features = np.stack([row_values(row, bars, run=run) for row in rows], 1)
    ahead = np.minimum(np.arange(len(bars)) + settings.horizon, len(bars) - 1)
    is_over = np.arange(len(bars)) + settings.horizon < len(bars)
    done = np.where(is_over, bars.over_ns[ahead], NEVER)
    known = np.cumsum(~np.isnan(features).any(1))
    whole = known - np.concatenate([np.zeros(settings.window, np.int64), known])[: len(bars)]
    wild = row_values(parse_row(DEVIATION), bars, run=run) * math.sqrt(settings.horizon)
    target = np.where(is_over, _target(bars, ahead, wild, settings.target), np.nan)
    return features, target, done, whole == settings.window


def _target(bars: Bars, ahead: Ints, wild: Floats, target: str) -> Floats:
    """Return from each bar's close to that of another, limited; `wild` is its deviation."""
    moved = (bars.close[ahead] / bars.close - 1) / np.where(wild > 0, wild, np.nan)
    scaled = np.clip(moved, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return scaled if target == "scaled" else scaled * wild
