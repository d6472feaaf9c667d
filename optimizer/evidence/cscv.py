"""Is the best of a search in one half of the range any good in the other half?

Combinatorially symmetric cross-validation. Source: Bailey, Borwein, Lopez de Prado and Zhu, "The
probability of backtest overfitting", Journal of Computational Finance 20(4), 2016 (first 2015).
It decides nothing: on noise alone the share lies anywhere from 0.1 to 0.8.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from data import joined
from data.checks import Floats
from optimizer.evidence.figures import Figure, Number, encode_figures, make_undefined
from optimizer.evidence.pick import SUMS
from optimizer.evidence.splits import combinatorial
from optimizer.evidence.statistic import Around, Statistic, Weighed

if TYPE_CHECKING:
    from engine.batch import Engine

EVALUATED_PAIRS = 2**20
"""Pairs of individual and window whose accumulators, 270 MB, are held at a time."""

FIGURES = ("pbo", "loss", "slope", "intercept", "median_logit")

MOST_THREADS = 8

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
    # A record is read without an engine.
    from engine.replay.threads import sharing_order

    splits = combinatorial(engine.series, joined(engine.windows), count=blocks, tests=1)
    windows = [window for split in splits for window in split.test]
    of_block = [number for number, split in enumerate(splits) for _ in split.test]
    totals, on_blocks = np.zeros((3, len(genomes), blocks)), engine.on(windows)
    # Genomes that read the same rows come together, so that few rows are computed anew.
    order, step = sharing_order(engine.spec, genomes), max(1, EVALUATED_PAIRS // len(windows))
    for begin in range(0, len(genomes), step):
        some = order[begin : begin + step]
        sums = on_blocks.evaluate(genomes[some])[:, :, SUMS]
        for index, block in enumerate(of_block):
            totals[:, some, block] += sums[:, index].T
    trades, sum_r, sum_r2 = totals
    return compare_halves(trades, sum_r, sum_r2, engine.threads)


def compare_halves(trades: Floats, sum_r: Floats, sum_r2: Floats, threads: int = 1) -> CscvRecord:
    """Split blocks [N, S] of trials into halves in every way; judge the best of each in the other.

    Undefined throughout for fewer than two trials.
    """
    count, blocks = trades.shape
    splits = math.comb(blocks, blocks // 2)
    if count < 2:
        none = make_undefined("fewer than two trials")
        return CscvRecord(blocks, **encode_figures(**dict.fromkeys(FIGURES, none)))
    choices = [*combinations(range(blocks), blocks // 2)]
    seen, totals = np.empty((splits, 3)), np.stack([trades.T, sum_r.T, sum_r2.T], axis=1)

    def judge(number: int) -> None:
        """Judge the best of a split's half in its complement, and the other way round."""
        here, there = (_measure_half(totals, choices[at]) for at in (number, -1 - number))
        seen[number], seen[-1 - number] = _judge_best(here, there), _judge_best(there, here)

    with ThreadPoolExecutor(min(threads, MOST_THREADS)) as pool:
        # Whatever one of them raises is raised here.
        list(pool.map(judge, range(splits // 2)))
    return CscvRecord(blocks, **encode_figures(**_summarise_splits(seen, count)))


def _measure_half(totals: Floats, chosen: Sequence[int]) -> Floats:
    """Sharpe ratios [N] of trials in some blocks, of totals [S, 3, N]; -inf where undefined."""
    n, a, q = reduce(np.add, [totals[block] for block in chosen])
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (q - a * a / n) / (n - 1.0)
        ratios = a / n / np.sqrt(variance)
    return np.where((n >= 2.0) & (variance > 0.0), ratios, -np.inf)


def _judge_best(here: Floats, there: Floats) -> tuple[float, float, float]:
    """Ratio of the best trial of one half, its ratio in the other half, and its rank there."""
    best = here.argmax()
    value, below = there[best], np.count_nonzero(there < there[best])
    return here[best], value, below + (np.count_nonzero(there == value) + 1) / 2


def _summarise_splits(seen: Floats, count: int) -> dict[str, Figure]:
    """Figures of the best of each half [C, 3], as `_judge_best` has them, of so many trials."""
    chosen, other, ranks = seen.T
    w = ranks / (count + 1)
    # A logit is at most 0 where the rank is at most the middle one, which is free of rounding.
    pbo = Figure(float(np.mean(2 * ranks <= count + 1)))
    loss = Figure(float(np.mean(other < 0)))
    median_logit = Figure(float(np.median(np.log(w / (1 - w)))))
    slope = intercept = make_undefined("no two splits differ in the best ratio")
    is_finite = np.isfinite(chosen) & np.isfinite(other)
    x, y = chosen[is_finite], other[is_finite]
    if len(x) > 1 and np.ptp(x) > 0:
        around = x - x.mean()
        slope = Figure(float((around * (y - y.mean())).sum() / (around**2).sum()))
        intercept = Figure(float(y.mean()) - slope.value * float(x.mean()))
    return dict(zip(FIGURES, (pbo, loss, slope, intercept, median_logit), strict=True))
