"""Would the best of given trials look so good if none beat doing nothing? By resampled days.

Sources: Politis and Romano, "The stationary bootstrap", JASA 89, 1994; Politis and White,
"Automatic block-length selection", Econometric Reviews 23, 2004, corrected by Patton and them 2009;
Hansen, "A test for superior predictive ability", Journal of Business and Economic Statistics 23,
2005 (SPA).
"""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from data.checks import Floats, Ints
from engine.runtime.machine import available_cores
from optimizer.evidence.figures import Figure, Number, encode_figures, make_undefined
from optimizer.evidence.returns import is_varying
from optimizer.evidence.statistic import MOST_DOUBT, Around, Statistic, Weighed, choose_side
from optimizer.search.randomness import draw_words, scale_to_index, scale_to_unit

FEWEST_DAYS = 20
DEFAULT_RESAMPLES = 999

CHANCES = ("spa_lower", "spa_p", "spa_upper")

EQUAL = 1e-12
"""A resample that falls short by this share reaches what is observed: equal numbers that were added
in different orders differ by rounding."""

MOST_THREADS = 8
"""That look for waves of columns."""

CHUNK_NUMBERS = 2**21
"""Numbers of one array that are worked on at a time, 16 MiB."""


@dataclass(frozen=True)
class BootstrapRecord(Statistic):
    """Test of all trials against an account that does nothing, had they been chosen blindly."""

    resamples: int  # B
    block: Number  # mean length of a run of days
    # Of the greatest studentised mean, with hopeless trials counted least (Hansen).
    spa_lower: Number
    spa_p: Number  # the consistent p, shown first
    spa_upper: Number  # where hopeless trials count like others

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The consistent p, for or against at 1 in 20."""
        speaks = "" if self.spa_p is None else choose_side(self.spa_p <= MOST_DOUBT)
        yield Weighed(
            "all trials",
            f"A best of {around.evaluated:,} settings chosen blindly looks this good with chance "
            f"{self.format('spa_p')} (SPA).",
            speaks,
        )


def choose_block_length(columns: Floats) -> Figure:
    """Mean length of a block in days: the median of Politis and White's over columns [D, F].

    Undefined below 20 days, and where no column varies.
    """
    if len(columns) < FEWEST_DAYS:
        return make_undefined(f"fewer than {FEWEST_DAYS} days")
    lengths = [_estimate_block_length(column) for column in columns[:, is_varying(columns)].T]
    known = [length for length in lengths if not math.isnan(length)]
    return Figure(float(np.median(known))) if known else make_undefined("no trial varies")


def resample(seed: int, index: int, days: int, block: float) -> Ints:
    """Days [D] of one resample, numbered from 1: runs of neighbours, the first following the last.

    `block` is the mean length of a run.
    """
    drawn = draw_words(seed, index, "bootstrap", 2 * days)
    begins = scale_to_unit(drawn[0::2]) < 1 / block
    begins[0] = True
    day = np.arange(days)
    begun = np.maximum.accumulate(np.where(begins, day, 0))
    drawn_days: Ints = (scale_to_index(drawn[1::2], days)[begun] + day - begun) % days
    return drawn_days


def compare_with_nothing(
    columns: Floats,
    block: Figure,
    seed: int,
    resamples: int = DEFAULT_RESAMPLES,
    *,
    threads: int | None = None,
) -> BootstrapRecord:
    """Test columns of days [D, N] that vary against an account that does nothing.

    Undefined below 20 days, without a block, and where no column varies.
    """
    spread, why = _measure_spread(columns, block, threads)
    if why:
        chances: tuple[Figure, ...] = (make_undefined(why),) * len(CHANCES)
    else:
        drawn = draw_days(seed, resamples, len(columns), block.value)
        is_kept = spread > 0
        chances = compare_superior(columns[:, is_kept], spread[is_kept], drawn)[1:]
    by_name = dict(zip(CHANCES, chances, strict=True))
    return BootstrapRecord(resamples=resamples, **encode_figures(block=block, **by_name))


def compute_mean_p(
    column: Floats,
    block: Figure,
    seed: int,
    resamples: int = DEFAULT_RESAMPLES,
    *,
    threads: int | None = None,
) -> Figure:
    """The p of the mean of a column [D, 1] not being above 0; else as `compare_with_nothing`."""
    _, why = _measure_spread(column, block, threads)
    if why:
        return make_undefined(why)
    days = len(column)
    mean, root = column.mean(axis=0), math.sqrt(days)
    resampled = draw_days(seed, resamples, days, block.value) @ column / days
    return _compute_p(root * float(mean[0]), root * (resampled - mean)[:, 0])


def _measure_spread(columns: Floats, block: Figure, threads: int | None) -> tuple[Floats, str]:
    """Long-run deviations of columns [N], or why there are none."""
    if len(columns) < FEWEST_DAYS or not block.is_defined:
        why = block.why if len(columns) >= FEWEST_DAYS else f"fewer than {FEWEST_DAYS} days"
        return np.zeros(columns.shape[1]), why
    spread = compute_long_run_deviations(columns, block.value, threads)
    return spread, "" if (spread > 0).any() else "no trial varies"


def compute_long_run_deviations(
    columns: Floats, block: float, threads: int | None = None
) -> Floats:
    """Standard deviation of the mean of resampled columns [D, N], times the root of D, [N]: w.

    0 where a column does not vary.
    """
    days = len(columns)
    lags = np.arange(1, days)
    stays = 1 - 1 / block
    kernel = (1 - lags / days) * stays**lags
    # Days stand in a circle: what is k days later is D - k days earlier. The weighted sum over all
    # lags is then one over the waves of a column, each with the weight of its own.
    waves = np.fft.rfft(np.concatenate([[1.0], kernel + kernel[::-1]])).real / days**2
    # Each stands for two, but the first and, of an even number of days, the last.
    waves[1 : (days + 1) // 2] *= 2
    deviations = np.empty(columns.shape[1])

    def measure_waves(part: slice) -> tuple[Floats, Floats]:
        """Power of each wave of some columns, and below what sum of them rounding is left."""
        around = columns[:, part] - columns[:, part].mean(axis=0)
        spectrum = np.fft.rfft(around, axis=0)
        varies = is_varying(columns[:, part])
        rounding = np.where(varies, 1e-12 * (around**2).mean(axis=0), np.inf)
        return spectrum.real**2 + spectrum.imag**2, rounding

    parts = [*_chunk_columns(columns.shape[1], 2 * days)]
    with ThreadPoolExecutor(min(MOST_THREADS, available_cores(threads))) as pool:
        for part, (powers, rounding) in zip(parts, pool.map(measure_waves, parts), strict=True):
            squares = waves @ powers
            deviations[part] = np.sqrt(np.where(squares > rounding, squares, 0.0))
    return deviations


def compare_superior(
    columns: Floats, spread: Floats, drawn: Floats
) -> tuple[Figure, Figure, Figure, Figure]:
    """Hansen's statistic of columns [D, K] that vary, and its lower, consistent and upper p.

    `spread` [K] is of `compute_long_run_deviations`, `drawn` [B, D] of `draw_days`.
    """
    days, means = len(columns), columns.mean(axis=0)
    root = math.sqrt(days)
    scores = root * means / spread
    observed = max(0.0, float(scores.max()))
    is_near = scores >= -math.sqrt(2 * math.log(math.log(days)))
    parts = [*_chunk_columns(len(means), max(len(drawn), days))]
    # The one array as large as resamples times trials; all that follows reads it in parts.
    away = np.empty((len(drawn), len(means)))
    for part in parts:
        away[:, part] = root * (drawn @ columns[:, part] / days - means[part])

    def compute_p_around(centres: Floats) -> Figure:
        shifts, greatest = root * (means - centres), np.zeros(len(drawn))
        for part in parts:
            scored = away[:, part] + shifts[part]
            scored /= spread[part]
            np.maximum(greatest, scored.max(axis=1), out=greatest)
        return _compute_p(observed, greatest)

    return (
        Figure(observed),
        compute_p_around(np.maximum(means, 0.0)),
        compute_p_around(np.where(is_near, means, 0.0)),
        compute_p_around(means),
    )


def _compute_p(observed: float, resampled: Floats) -> Figure:
    """The p of an observation: resamples that reach it, and itself."""
    reaching = np.count_nonzero(resampled >= observed - EQUAL * abs(observed))
    return Figure((1 + int(reaching)) / (len(resampled) + 1))


def draw_days(seed: int, resamples: int, days: int, block: float) -> Floats:
    """Count of each day in each resample, [B, D]."""
    drawn = np.empty((resamples, days))
    for row in range(resamples):
        drawn[row] = np.bincount(resample(seed, row + 1, days, block), minlength=days)
    return drawn


def _estimate_block_length(column: Floats) -> float:
    """Block length of Politis and White for a column [D], D at least 20; NaN if undefined."""
    days = len(column)
    around = column - column.mean()
    fewest = max(5, math.floor(math.log10(days)))
    most = math.ceil(math.sqrt(days)) + fewest
    products = np.array([around[k:] @ around[: days - k] for k in range(most + 1)])
    # Without the first k + 1 days, and without the last.
    last, first = (np.cumsum(side)[::-1][1 : most + 2] for side in (around[::-1] ** 2, around**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        is_small = np.abs(products) / np.sqrt(last * first) < 2 * math.sqrt(math.log10(days) / days)
    quiet = (h for h in range(most - fewest + 1) if is_small[h : h + fewest].all())
    h = next(quiet, None)
    m = most if h is None else min(2 * max(h, 1), most)
    k = np.arange(1, m + 1)
    taper = np.where(2 * k <= m, 1.0, 2 * (1 - k / m))
    covariances = products / days
    g = float((2 * taper * k * covariances[1 : m + 1]).sum())
    r = float(covariances[0] + (2 * taper * covariances[1 : m + 1]).sum())
    if r == 0:
        return math.nan
    length: float = abs(g / r) ** (2 / 3) * days ** (1 / 3)
    return max(1.0, min(length, math.ceil(min(3 * math.sqrt(days), days / 3))))


def _chunk_columns(count: int, rows: int) -> Iterator[slice]:
    """Slices of columns with small arrays of so many rows."""
    step = max(1, CHUNK_NUMBERS // max(rows, 1))
    return (slice(first, min(first + step, count)) for first in range(0, count, step))
