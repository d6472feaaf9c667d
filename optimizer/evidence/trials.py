"""Number of trials of a search, and of independent ones that they count as.

Source: Galwey, "A new measure of the effective number of tests", Genetic Epidemiology 33(7), 2009.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from threadpoolctl import threadpool_limits

from data.checks import Floats, Ints
from engine.workload import CORE_RATE
from optimizer.evidence.bootstrap import DEFAULT_RESAMPLES
from optimizer.evidence.figures import Figure, Number, Why, make_undefined
from optimizer.evidence.returns import FEWEST_DAYS, is_varying
from optimizer.evidence.statistic import Around, Statistic, Weighed
from optimizer.formatting import format_count
from optimizer.store.result import WindowDescription

MOST_TRIALS = 4096
"""Most trials that statistics over columns of days use."""

LEAST_EIGENVALUE = 1e-10
"""Eigenvalues below this share of the largest are rounding."""

MOST_COMPARED = 1024
"""Trials whose correlations are compared: 162, 221 and 273 were as different as 512, 1,024 and
2,048 of one search, which moves the expected maximum by 0.07, and time grows with the cube."""


PAIR_S, DAY_S, RESAMPLED_DAY_S = 6.5e-5, 5.5e-11, 1.6e-10
"""Of statistics over all trials: for each pair of trial and window, for a day and each pair of
trials, and for a day, a trial and a resample. 0.8 s of 1,472 trials on 35,000 bars, which took 0.8,
and 3.7 s of 512 on 100 symbols of 2,000, which took 3.6 on a core."""


@dataclass(frozen=True)
class TrialsRecord(Statistic):
    """Candidates that the search evaluated, that could be judged, and that a matrix used."""

    evaluated: int
    judged: int
    used: int
    effective: Number
    why: Why = field(default_factory=dict)

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Number of trials, and of independent ones that they count as."""
        if not self.evaluated:
            return
        compared = min(self.used, self.judged, MOST_COMPARED)
        tried = f"{format_count(self.evaluated, 'setting')} tried"
        if self.judged < self.evaluated:
            tried += f", {self.judged:,} with enough trades"
        if compared < self.judged:
            tried += f", {compared:,} of them compared"
        effective = self.format("effective", digits=0)
        yield Weighed("trials", f"{tried}, about as many as {effective} independent ones.")


def choose_trials(count: int, most: int = MOST_TRIALS) -> Ints:
    """Indices, ascending, of `count` judged trials that are used where at most `most` can be."""
    used = min(count, most)
    chosen: Ints = np.arange(used, dtype=np.int64) * count // max(used, 1)
    return chosen


def count_effective_trials(columns: Floats) -> Figure:
    """Number of independent trials that would be as different as these: a lower bound.

    Days on which no trade closed are equal rows: one of them, times the root of their number,
    leaves the correlations as they are.

    Args:
        columns: [D, N]; columns that do not vary are left out, and of more than `MOST_COMPARED`
            evenly spaced ones are taken.

    Returns:
        From 1 to N; undefined below three days and where no column varies.
    """
    columns = columns[:, choose_trials(columns.shape[1], MOST_COMPARED)]
    if len(columns) < FEWEST_DAYS:
        return make_undefined(f"fewer than {FEWEST_DAYS} days")
    around = columns - columns.mean(axis=0)
    length = np.sqrt((around**2).sum(axis=0))
    is_kept = is_varying(columns) & (length > 0)
    if not is_kept.any():
        return make_undefined("no trial varies")
    around = _merge_quiet_days(columns, around[:, is_kept] / length[is_kept])
    is_tall = around.shape[0] > around.shape[1]
    with threadpool_limits(1, user_api="blas"):
        eigenvalues = np.linalg.eigvalsh(around.T @ around if is_tall else around @ around.T)
    eigenvalues = eigenvalues[eigenvalues >= LEAST_EIGENVALUE * eigenvalues.max()]
    return Figure(float(np.sqrt(eigenvalues).sum() ** 2 / eigenvalues.sum()))


def _merge_quiet_days(columns: Floats, around: Floats) -> Floats:
    """Deviations [D, M] of columns [D, N], with one row for all days without a closed trade."""
    is_quiet = ~columns.any(axis=1)
    if not is_quiet.any():
        return around
    quiet = around[is_quiet]
    merged: Floats = np.concatenate([around[~is_quiet], quiet[:1] * math.sqrt(len(quiet))])
    return merged


def estimate_trials_seconds(windows: Sequence[WindowDescription], evaluated: int) -> float:
    """Estimated seconds of statistics over all trials with the default settings.

    Args:
        windows: Of the run, held-out ones among them.
        evaluated: Trials of its search.
    """
    searched = [window for window in windows if not window.is_held_out]
    used, days = min(evaluated, MOST_TRIALS), _count_days(searched)
    pairs_s = used * len(searched) * PAIR_S
    evaluating_s = 3 * used * sum(window.bars for window in searched) / CORE_RATE
    days_s = used * days * (used * DAY_S + DEFAULT_RESAMPLES * RESAMPLED_DAY_S)
    return pairs_s + evaluating_s + days_s


def _count_days(windows: Sequence[WindowDescription]) -> int:
    """Days from the first bar of any window to the last; 0 where a record has no times."""
    try:
        ends = [
            datetime.fromisoformat(end).date()
            for window in windows
            for end in (window.first, window.last)
        ]
    except ValueError:
        return 0
    return (max(ends) - min(ends)).days + 1 if ends else 0
