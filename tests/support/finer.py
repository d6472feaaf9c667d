"""Hours made of quarters, which carry these: a few of them are not what the hours say."""

from dataclasses import replace

import numpy as np

from data import resample
from data.bars import FinerBars

HOUR_NS = 3600 * 10**9


def make_coarse(bars, seed=None, timeframe_ns=HOUR_NS):
    """Hours, or longer bars, made of shorter ones, which they carry.

    With a seed the first of these are missing, and some hours are not made up of theirs.
    """
    hours, finer = resample(bars, timeframe_ns), bars.as_finer()
    if seed is None:
        return replace(hours, finer=finer)
    rng = np.random.Generator(np.random.PCG64(seed))
    changed = finer.prices.copy()
    changed[1] *= np.where(rng.random(len(finer)) < 0.03, 1.001, 1.0)
    some = len(finer) // 10
    kept = FinerBars(finer.timestamp[some:], changed[:, some:], finer.timeframe_ns)
    return replace(hours, finer=kept)


def open_apart(bars, seed):
    """Bars of which every third opens at its low or high, apart from the close before."""
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(6, size=len(bars))
    return replace(bars, open=np.choose(np.minimum(drawn, 2), [bars.low, bars.high, bars.open]))
