"""Is the best of a search in one half of the range any good in the other half?

Combinatorially symmetric cross-validation. Source: Bailey, Borwein, Lopez de Prado and Zhu, "The
probability of backtest overfitting", Journal of Computational Finance 20(4), 2016 (first 2015).
It decides nothing: on noise alone the share lies anywhere from 0.1 to 0.8.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, repeat
from typing import TYPE_CHECKING

import numpy as np

from data import joined
from data.checks import Floats, Ints
from optimizer.errors import ConfigError
from optimizer.evidence.figures import Figure, Number, Why, encode_figures, make_undefined
from optimizer.evidence.pick import SUMS
from optimizer.evidence.splits import combinatorial
from optimizer.evidence.statistic import Around, Statistic, Weighed

if TYPE_CHECKING:
    from engine.batch import Engine

MOST_BLOCKS = 16

EVALUATED_PAIRS = 2**20
"""Pairs of individual and window whose accumulators, 270 MB, are held at a time."""

FIGURES = ("pbo", "loss", "slope", "intercept", "median_logit")

MOST_THREADS = 8
"""Each holds ratios of `halves.AT_ONCE` splits and of their complements, 256 bytes a trial."""

NOISE_RANGE = {(32, 10): (0.25, 0.75), (96, 40): (0.13, 0.81)}
"""Population and generations of a search, and where 5 to 95 % of PBO lie on markets of noise."""


@dataclass(frozen=True)
class CscvRecord(Statistic):
    """The best of one half of the blocks judged in the other half, over all splits."""

    blocks: int
    pbo: Number  # share in which the best of one half was not above the middle in the other
    loss: Number  # share in which its Sharpe ratio was below 0 there
    slope: Number  # of the least-squares line of its ratio there on its ratio here
    intercept: Number  # of the same line
    median_logit: Number  # of ``ln(w / (1 - w))`` over the splits, w its relative rank there
    why: Why = field(default_factory=dict)

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """PBO beside its range on noise, for the measured search that is nearest in size."""
        size = min(
            NOISE_RANGE, key=lambda search: abs(math.log(search[0] * search[1] / around.evaluated))
        )
        low, high = NOISE_RANGE[size]
        yield Weighed(
            "halves",
            f"Winners of one half of the bars were below the middle of the other in a share of "
            f"{self.format('pbo')} of splits. Noise searched with {size[0]} x {size[1]} gives "
            f"{low} to {high} (PBO).",
        )


def build_cscv_record(engine: "Engine", genomes: Floats, blocks: int) -> CscvRecord:
    """The best of judged trials [N, G] in one half of the blocks, in the other half.

    Raises:
        ConfigError: When the bars are too few for so many blocks.
    """
    splits = combinatorial(engine.series, joined(engine.windows), count=blocks, tests=1)
    windows = [window for split in splits for window in split.test]
    of_block = [number for number, split in enumerate(splits) for _ in split.test]
    trades, sum_r, sum_r2 = totals = np.zeros((3, len(genomes), blocks))
    for some, sums in _sum_windows(engine.on(windows), genomes):
        for index, block in enumerate(of_block):
            totals[:, some, block] += sums[:, index].T
    return compare_halves(trades, sum_r, sum_r2, engine.threads)


def compare_halves(trades: Floats, sum_r: Floats, sum_r2: Floats, threads: int = 1) -> CscvRecord:
    """Split blocks [N, S] of trials into halves in every way; judge the best of each in the other.

    Undefined throughout for fewer than two trials.

    Raises:
        ConfigError: When the number of blocks is odd, or not from 2 to 16.
    """
    count, blocks = trades.shape
    if blocks % 2 or not 2 <= blocks <= MOST_BLOCKS:
        raise ConfigError(f"blocks must be an even number from 2 to {MOST_BLOCKS}, got {blocks}")
    splits = math.comb(blocks, blocks // 2)
    if count < 2:
        none = make_undefined("fewer than two trials")
        return CscvRecord(blocks, **encode_figures(**dict.fromkeys(FIGURES, none)))
    # A record is read without a compiler.
    from optimizer.evidence.halves import judge_splits

    choices = np.array(list(combinations(range(blocks), blocks // 2)))
    # A block after the other, as halves add them up.
    totals = np.stack([trades.T, sum_r.T, sum_r2.T], axis=1).astype(np.float64)
    seen, shares = np.empty((splits, 3)), min(threads, MOST_THREADS)
    borders = [splits // 2 * share // shares for share in range(shares + 1)]
    with ThreadPoolExecutor(shares) as pool:
        judge = partial(judge_splits, totals, choices)
        # Whatever one of them raises is raised here.
        list(pool.map(judge, borders, borders[1:], repeat(seen)))
    return CscvRecord(blocks, **encode_figures(**_summarise_splits(seen, count)))


def _sum_windows(engine: "Engine", genomes: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Trades, sum of R and sum of R squared of some genomes in each window, and their places.

    Those of [N, G] that read the same rows come together, so that few are computed anew: places
    [n], sums [n, W, 3].
    """
    # A record is read without an engine.
    from engine.replay.threads import sharing_order

    order = sharing_order(engine.spec, genomes)
    step = max(1, EVALUATED_PAIRS // len(engine.windows))
    for begin in range(0, len(genomes), step):
        some = order[begin : begin + step]
        yield some, engine.evaluate(genomes[some])[:, :, SUMS]


def _summarise_splits(seen: Floats, count: int) -> dict[str, Figure]:
    """Figures of the best of each half [C, 3], as `judge_splits` has them, of so many trials."""
    chosen, other, ranks = seen.T
    w = ranks / (count + 1)
    # A logit is at most 0 where the rank is at most the middle one, which is free of rounding.
    pbo = Figure(float(np.mean(2 * ranks <= count + 1)))
    loss = Figure(float(np.mean(other < 0)))
    median_logit = Figure(float(np.median(np.log(w / (1 - w)))))
    return dict(zip(FIGURES, (pbo, loss, *_fit_line(chosen, other), median_logit), strict=True))


def _fit_line(chosen: Floats, other: Floats) -> tuple[Figure, Figure]:
    is_finite = np.isfinite(chosen) & np.isfinite(other)
    x, y = chosen[is_finite], other[is_finite]
    if len(x) < 2 or np.ptp(x) == 0:
        return (make_undefined("no two splits differ in the best ratio"),) * 2
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return Figure(slope), Figure(float(y.mean()) - slope * float(x.mean()))
