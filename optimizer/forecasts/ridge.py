"""A shrunk line through all features of a window, solved at once in float64."""

import numpy as np

from optimizer.forecasts.features import Floats, Ints, Samples
from optimizer.forecasts.plan import Fold

EXPECTED_SHARE = 0.01
"""Of the targets' variance that features are expected to explain; it decides how much is shrunk."""

MOST_DEVIATIONS = 5.0
"""As of `engine.forecasts.training`."""

AT_ONCE = 16_384
"""Windows that lie in memory side by side."""


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
        # A sum of its own for each row: which others are asked must not decide its bits.
        forecasts[part] = np.einsum("nd,d->n", seen, slopes)
    return fold.target[0] + fold.target[1] * forecasts


def _windows(samples: Samples, fold: Fold, rows: Ints, window: int) -> Floats:
    """Scaled features of the windows that end at some rows, [N, W * F]."""
    seen = samples.features[rows[:, None] + np.arange(1 - window, 1)]
    scaled = np.clip((seen - fold.centre) / fold.scale, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    windows: Floats = scaled.reshape(len(rows), -1)
    return windows
