"""Refits: their training bars, their forecast bars, and the scales of their features.

A refit happens at the open of a bar. Its training data was complete an embargo of one horizon
before; it forecasts the bars from there to the next refit, each at its close.
"""

from dataclasses import dataclass

import numpy as np

from data.checks import Floats, Ints
from optimizer.errors import ConfigError
from optimizer.forecasts.features import Samples
from optimizer.forecasts.settings import ForecastSettings

FEWEST_TRAINED = 200
"""Windows; with fewer a refit forecasts nothing."""

CHECKED_SHARE = 5
"""One part in so many of the bars trained on, the last, measures how far to trust a network."""


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


def build_folds(samples: Samples, settings: ForecastSettings) -> tuple[Fold, ...]:
    """All refits in the order of time; those with too little to train on are left out.

    Raises:
        ConfigError: When there is none.
    """
    count = len(samples.moments_ns)
    candidates = [
        _fold(samples, settings, begin) for begin in range(settings.train, count, settings.refit)
    ]
    folds = tuple(fold for fold in candidates if fold is not None)
    if not folds:
        raise ConfigError(
            f"{count:,} bars are too few to forecast any: --train {settings.train:,} needs more "
            "bars than that, or features are unknown; name a smaller --train"
        )
    return folds


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
    centre, scale = fit_scaler(samples.features, trained)
    targets = samples.target[trained]
    spread = float(targets.std())
    if not spread > 0:
        return None
    return Fold(
        refit_ns=int(moments[begin]),
        trained=trained,
        fitted=fitted,
        checked=later,
        asked=np.flatnonzero(is_asked),
        centre=centre,
        scale=scale,
        target=(float(targets.mean()), spread),
    )


def fit_scaler(features: Floats, rows: Ints) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each feature [F] over some rows."""
    seen = features[rows]
    spread = seen.std(axis=0)
    return seen.mean(axis=0), np.where(spread > 0, spread, 1.0)
