"""Forecasts of all refits: each bar's comes from weights that were trained before it."""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import engine.forecasts
from data import Bars
from data.checks import Floats, Ints
from data.progress import Progress, Watch
from engine.devices import choose_backend
from optimizer.errors import ConfigError
from optimizer.forecasts.features import Samples, build_samples
from optimizer.forecasts.plan import CHECKED_SHARE, Fold, build_folds
from optimizer.forecasts.settings import ForecastSettings
from optimizer.search.randomness import stream

if TYPE_CHECKING:
    from engine.forecasts.training import Singles, Training, TrainingStack

CODE = ("features.py", "fit.py", "plan.py")
"""Files of this room whose text decides a forecast, beside those of `engine.forecasts`."""


EXPECTED_SHARE = 0.01
"""Of the targets' variance that features are expected to explain; it decides how much is shrunk."""

MOST_DEVIATIONS = 5.0
"""As of `engine.forecasts.training`."""

AT_ONCE = 16_384
"""Windows that lie in memory side by side."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Forecasts, and their rivals."""

    samples: Samples  # the outcomes
    folds: tuple[Fold, ...]  # all refits
    values: Floats  # [R] forecasts, NaN where there is none
    means: Floats  # [R], the mean of the targets that each refit trained on
    lines: Floats  # [R], forecasts of the ridge
    weights: str  # SHA-256 of all trained weights, fold after fold, seed after seed; empty without


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
    here, there = Path(__file__).parent, Path(engine.forecasts.__file__).parent
    files = [*(here / name for name in CODE), *sorted(there.glob("*.py"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _networks(
    samples: Samples, folds: Sequence[Fold], settings: ForecastSettings, watch: Watch
) -> tuple[Floats, str]:
    """Forecasts [R] of networks, the mean of each fold's seeds, and the digest of their weights."""
    # Here alone: torch takes a second to import, and nothing else needs it.
    from engine.forecasts.training import Trainer, count_weights

    how = build_training(settings)
    count = count_weights(how, samples.features.shape[1])
    trainer, digest = Trainer(*build_network_inputs(samples), how), hashlib.sha256()
    models = [(number, seed) for number in range(len(folds)) for seed in range(settings.seeds)]
    sums = [np.zeros(len(fold.checked) + len(fold.asked)) for fold in folds]
    stacks = list(_in_stacks(models, settings.stack))
    for done, (part, real) in enumerate(stacks):
        watch(Progress("training: stacks", done, len(stacks)))
        forecasts, weights = trainer.train(build_stack(samples, folds, settings, part, count))
        for (number, _), forecast, model_weights in list(
            zip(part, forecasts, weights, strict=True)
        )[:real]:
            sums[number] += forecast[: len(sums[number])]
            digest.update(model_weights.astype("<f4").tobytes())
    watch(Progress("training: stacks", len(stacks), len(stacks)))
    values = np.full(len(samples.target), np.nan)
    for fold, total in zip(folds, sums, strict=True):
        values[fold.asked] = _shrink_forecasts(samples, fold, total / settings.seeds)
    if not np.isfinite(values[np.concatenate([fold.asked for fold in folds])]).all():
        raise ConfigError(
            f"--model {settings.model}: training did not stay finite; use fewer --steps"
        )
    return values, digest.hexdigest()


def build_training(settings: ForecastSettings) -> "Training":
    """How networks of these settings are trained."""
    from engine.forecasts.training import Training

    return Training(
        settings.model,
        settings.window,
        settings.hidden,
        settings.steps,
        settings.batch,
        device=settings.device,
        is_bf16=settings.is_bf16,
        threads=settings.threads,
    )


def build_network_inputs(samples: Samples) -> tuple["Singles", "Singles"]:
    """Features [R, F] and targets [R] as networks read them; unknown numbers are in no window."""
    features, targets = np.nan_to_num(samples.features), np.nan_to_num(samples.target)
    return features.astype(np.float32), targets.astype(np.float32)


def build_stack(
    samples: Samples,
    folds: Sequence[Fold],
    settings: ForecastSettings,
    models: Sequence[tuple[int, int]],
    count: int,
) -> "TrainingStack":
    """Training stack of networks, each named by its fold and seed.

    Args:
        samples: All that is seen.
        folds: All refits.
        settings: Of the forecast.
        models: Fold and seed of each of K networks.
        count: Weights of one.
    """
    from engine.forecasts.training import TrainingStack

    chosen, most = [folds[number] for number, _ in models], _most_asked(samples, settings)
    return TrainingStack(
        uniforms=np.stack([_uniforms(settings, *model, count) for model in models]),
        places=np.stack([_places(settings, *model, folds) for model in models]),
        asked=np.stack([_pad_rows(fold, most) for fold in chosen]),
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


def _in_stacks(
    models: Sequence[tuple[int, int]], size: int
) -> Iterator[tuple[list[tuple[int, int]], int]]:
    """Models in stacks of one size, and how many of each count; the last is filled with its own."""
    for begin in range(0, len(models), size):
        part = list(models[begin : begin + size])
        yield part + [part[0]] * (size - len(part)), len(part)


def _uniforms(settings: ForecastSettings, fold: int, seed: int, count: int) -> Floats:
    drawn = stream(settings.seed + seed, fold, "forecast_weights").random(count)
    return drawn.astype(np.float32)


def _places(settings: ForecastSettings, fold: int, seed: int, folds: Sequence[Fold]) -> Ints:
    """Rows of the windows of each step [steps, batch], drawn with replacement."""
    shape = settings.steps, settings.batch
    drawn = stream(settings.seed + seed, fold, "forecast_batches").random(shape)
    rows = folds[fold].fitted
    return rows[np.minimum((drawn * len(rows)).astype(np.int64), len(rows) - 1)]


def _pad_rows(fold: Fold, most: int) -> Ints:
    """Rows for a network, filled with the last to a fixed count."""
    rows = np.concatenate([fold.checked, fold.asked])
    return np.concatenate([rows, np.repeat(rows[-1:], most - len(rows))])


def _most_asked(samples: Samples, settings: ForecastSettings) -> int:
    """Rows that any fold may ask for: a count that no later bar changes."""
    moments = math.ceil(settings.train / CHECKED_SHARE) + settings.refit + 1
    return len(samples.lengths) * moments


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


def _windows(samples: Samples, fold: Fold, rows: Ints, window: int) -> Floats:
    """Scaled features of the windows that end at some rows, [N, W * F]."""
    seen = samples.features[rows[:, None] + np.arange(1 - window, 1)]
    scaled = np.clip((seen - fold.centre) / fold.scale, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    windows: Floats = scaled.reshape(len(rows), -1)
    return windows
