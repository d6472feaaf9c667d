"""Forecasts of all refits: each bar's comes from weights that were trained before it.

All features of bar t are rows of the strategies' own language, known at its close. A target is
known at the close of the bar that is `horizon` bars later. Bars are counted as they stand, whatever
gap lies between them; where a number is unknown anywhere in a window, there is no forecast and
nothing is trained on it.

A refit happens at the open of a bar. Its training data was complete an embargo of one horizon
before; it forecasts the bars from there to the next refit, each at its close.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import engine.forecasts
from data import Bars
from data.checks import Flags, Floats, Ints
from data.progress import Progress, Watch
from engine.devices import choose_backend
from engine.runtime.compiling.forms import CompiledForm
from optimizer.errors import ConfigError
from optimizer.forecasts.settings import ForecastSettings
from optimizer.search.randomness import stream
from strategy.errors import StrategyError
from strategy.expressions import Expression
from strategy.pretty_print import format_tree
from strategy.row_text import parse_row, split_rows
from strategy.rows import LoopRunner, as_it_reads, row_values

if TYPE_CHECKING:
    from engine.forecasts.training import TrainingStack

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
"""A return over the horizon further from nothing counts as so far: one split is no trend. So does a
feature of the ridge, as of `engine.forecasts.training`."""

WORTH_COMPILING = 200_000
"""Bars from which rows are computed by compiled loops, with the same bits."""

NEVER = np.iinfo(np.int64).max

FEWEST_TRAINED = 200
"""Windows; with fewer a refit forecasts nothing."""

CHECKED_SHARE = 5
"""One part in so many of the bars trained on, the last, measures how far to trust a network."""

EXPECTED_SHARE = 0.01
"""Of the targets' variance that features are expected to explain; it decides how much is shrunk."""

AT_ONCE = 16_384
"""Windows that lie in memory side by side."""


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


@dataclass(frozen=True, eq=False)
class Fold:
    """One refit."""

    refit_ns: int  # when
    trained: Ints  # [N], rows with features and targets known in time
    fitted: Ints  # [M], those of them that a network's steps draw from
    checked: Ints  # [V], rows that measure it, later than all targets of `fitted`
    asked: Ints  # [Q], rows that are forecast
    centre: Floats  # [F], mean of each feature over `trained`
    scale: Floats  # [F], its standard deviation; 1 if it never changes
    target: tuple[float, float]  # mean and standard deviation of targets over `trained`


@dataclass(frozen=True, eq=False)
class Fitted:
    """Forecasts, and their rivals."""

    samples: Samples  # the outcomes
    folds: tuple[Fold, ...]  # all refits
    values: Floats  # [R] forecasts, NaN where there is none
    means: Floats  # [R], the mean of the targets that each refit trained on
    lines: Floats  # [R], forecasts of the ridge
    weights: str  # SHA-256 of all trained weights, fold after fold, seed after seed; empty without


def named_rows(text: str) -> tuple[Expression, ...]:
    """The rows of features such as ``returns, rsi(close, 14) / 100``, each named once."""
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
    """Features and targets of series."""
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


def build_folds(samples: Samples, settings: ForecastSettings) -> tuple[Fold, ...]:
    """All refits in the order of time; those with too little to train on are left out."""
    count = len(samples.moments_ns)
    candidates = [
        _fold(samples, settings, begin) for begin in range(settings.train, count, settings.refit)
    ]
    folds = tuple(fold for fold in candidates if fold is not None)
    if not folds:
        raise ConfigError(
            f"{count:,} bars are too few to forecast any: --train-bars {settings.train:,} needs "
            "more bars than that, or features are unknown; name a smaller --train-bars"
        )
    return folds


def fit(
    series: Sequence[Bars], settings: ForecastSettings, watch: Watch = lambda progress: None
) -> Fitted:
    """Train every refit and forecast the bars after it.

    Args:
        series: Bars of one or several symbols, of one duration; one model sees them all.
        settings: Of the forecast.
        watch: Hears how far it is.

    Raises:
        ConfigError: When bars are too few or differ in duration, or features are wrong.
        DeviceError: When the device is not there.
    """
    if settings.is_network:
        choose_backend(settings.device)
    samples = build_samples(series, settings)
    folds = build_folds(samples, settings)
    means, lines = (np.full(len(samples.target), np.nan) for _ in range(2))
    for fold in folds:
        means[fold.asked] = fold.target[0]
        lines[fold.asked] = ridge(samples, fold, fold.asked, settings.window)
    if settings.is_network:
        values, weights = _networks(samples, folds, settings, watch)
    else:
        values, weights = (means if settings.model == "naive" else lines), ""
    return Fitted(samples, folds, values, means, lines, weights)


def code_digest() -> str:
    """SHA-256, hexadecimal, of the text of everything that decides a forecast."""
    networks = Path(engine.forecasts.__file__).parent
    files = [Path(__file__), *sorted(networks.glob("*.py"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def ridge(samples: Samples, fold: Fold, rows: Ints, window: int) -> Floats:
    """Forecasts at some rows [Q] by a line fitted to the rows that a fold trains on.

    With D inputs of variance 1 that together explain a share p of a target of variance 1, the best
    penalty is D / p.

    Source: Hoerl, Kennard 1970; the penalty as of a normal prior, Hastie et al. 2009, 3.4.1.
    """
    inputs = window * samples.features.shape[1]
    gram, moment = np.zeros((inputs, inputs)), np.zeros(inputs)
    wanted = (samples.target[fold.trained] - fold.target[0]) / fold.target[1]
    for begin in range(0, len(fold.trained), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        seen = _windows(samples, fold, fold.trained[part], window)
        gram += seen.T @ seen
        moment += seen.T @ wanted[part]
    gram[np.diag_indices(inputs)] += inputs / EXPECTED_SHARE
    slopes = np.linalg.solve(gram, moment)
    forecasts = np.empty(len(rows))
    for begin in range(0, len(rows), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        seen = _windows(samples, fold, rows[part], window)
        # A sum of its own for each row: other rows must not decide its bits.
        forecasts[part] = np.einsum("nd,d->n", seen, slopes)
    return fold.target[0] + fold.target[1] * forecasts


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


def _fold(samples: Samples, settings: ForecastSettings, begin: int) -> Fold | None:
    moments, embargo = samples.moments_ns, settings.horizon * samples.bar_ns
    first, checked = begin - settings.train, begin - settings.train // CHECKED_SHARE
    is_known = samples.is_ready & ~np.isnan(samples.target)
    is_past = is_known & (samples.moment >= first) & (samples.moment < begin)
    trained = np.flatnonzero(is_past & (samples.done_ns <= moments[begin] - embargo))
    fitted = trained[samples.done_ns[trained] <= moments[checked] - embargo]
    later = trained[samples.moment[trained] >= checked]
    end = begin + settings.refit
    is_asked = samples.is_ready & (samples.moment >= begin) & (samples.moment < end)
    if min(len(fitted), CHECKED_SHARE * len(later)) < FEWEST_TRAINED:
        return None
    seen, targets = samples.features[trained], samples.target[trained]
    deviations, spread = seen.std(axis=0), float(targets.std())
    if not spread > 0:
        return None
    return Fold(
        refit_ns=int(moments[begin]),
        trained=trained,
        fitted=fitted,
        checked=later,
        asked=np.flatnonzero(is_asked),
        centre=seen.mean(axis=0),
        scale=np.where(deviations > 0, deviations, 1.0),
        target=(float(targets.mean()), spread),
    )


def _networks(
    samples: Samples, folds: Sequence[Fold], settings: ForecastSettings, watch: Watch
) -> tuple[Floats, str]:
    """Forecasts [R] of networks, the mean of each fold's seeds, and the digest of their weights."""
    # Here alone: torch takes a second to import, and nothing else needs it.
    from engine.forecasts.training import Trainer, Training, count_weights

    names = ("model", "window", "hidden", "steps", "batch", "device", "is_bf16", "threads")
    how = Training(**{name: getattr(settings, name) for name in names})
    count = count_weights(how, samples.features.shape[1])
    # Unknown numbers are in no window.
    features, targets = np.nan_to_num(samples.features), np.nan_to_num(samples.target)
    trainer = Trainer(features.astype(np.float32), targets.astype(np.float32), how)
    digest = hashlib.sha256()
    models = [(number, seed) for number in range(len(folds)) for seed in range(settings.seeds)]
    sums = [np.zeros(len(fold.checked) + len(fold.asked)) for fold in folds]
    size = settings.stack
    stacks = [models[begin : begin + size] for begin in range(0, len(models), size)]
    for done, part in enumerate(stacks):
        watch(Progress("training: stacks", done, len(stacks)))
        # All are of one size: the last is filled with its own.
        whole = part + part[:1] * (size - len(part))
        forecasts, weights = trainer.train(_build_stack(samples, folds, settings, whole, count))
        for (number, _), forecast, model_weights in zip(part, forecasts, weights, strict=False):
            sums[number] += forecast[: len(sums[number])]
            digest.update(model_weights.astype("<f4").tobytes())
    watch(Progress("training: stacks", len(stacks), len(stacks)))
    values = np.full(len(samples.target), np.nan)
    for fold, total in zip(folds, sums, strict=True):
        values[fold.asked] = _shrink_forecasts(samples, fold, total / settings.seeds)
    if not np.isfinite(values[np.concatenate([fold.asked for fold in folds])]).all():
        raise ConfigError(
            f"--model {settings.model}: training did not stay finite; use fewer --training-steps"
        )
    return values, digest.hexdigest()


def _build_stack(
    samples: Samples,
    folds: Sequence[Fold],
    settings: ForecastSettings,
    models: Sequence[tuple[int, int]],
    count: int,
) -> "TrainingStack":
    """Training stack of networks, each named by its fold and seed, of so many weights."""
    from engine.forecasts.training import TrainingStack

    # Rows that any fold may ask for: a count that no later bar changes.
    most = len(samples.lengths) * (math.ceil(settings.train / CHECKED_SHARE) + settings.refit + 1)
    uniforms, places, asked = [], [], []
    for number, seed in models:
        fold, drawn_by = folds[number], (settings.seed + seed, number)
        uniforms.append(stream(*drawn_by, "forecast_weights").random(count).astype(np.float32))
        # Rows of the windows of each step, drawn with replacement.
        drawn = stream(*drawn_by, "forecast_batches").random((settings.steps, settings.batch))
        at = (drawn * len(fold.fitted)).astype(np.int64)
        places.append(fold.fitted[np.minimum(at, len(fold.fitted) - 1)])
        rows = np.concatenate([fold.checked, fold.asked])
        asked.append(np.pad(rows, (0, most - len(rows)), mode="edge"))
    chosen = [folds[number] for number, _ in models]
    return TrainingStack(
        np.stack(uniforms),
        np.stack(places),
        np.stack(asked),
        centre=np.stack([fold.centre for fold in chosen]).astype(np.float32),
        scale=np.stack([fold.scale for fold in chosen]).astype(np.float32),
        targets=np.array([fold.target for fold in chosen], np.float32),
    )


def _shrink_forecasts(samples: Samples, fold: Fold, forecasts: Floats) -> Floats:
    """Forecasts [Q] drawn towards the mean by the slope on the bars last trained on, 0 to 1.

    The slope of their targets on what networks that had not seen them forecast there. Source: house
    rule; a network that learned noise has a slope of nothing.
    """
    mean = fold.target[0]
    moved, wanted = forecasts[: len(fold.checked)] - mean, samples.target[fold.checked] - mean
    size = float(moved @ moved)
    slope = float(moved @ wanted) / size if size > 0 else 0.0
    return mean + min(max(slope, 0.0), 1.0) * (forecasts[len(fold.checked) :] - mean)


def _windows(samples: Samples, fold: Fold, rows: Ints, window: int) -> Floats:
    """Scaled features of the windows that end at some rows, [N, W * F]."""
    seen = samples.features[rows[:, None] + np.arange(1 - window, 1)]
    scaled = np.clip((seen - fold.centre) / fold.scale, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    windows: Floats = scaled.reshape(len(rows), -1)
    return windows
