"""Is the best of a search in one half of the range any good in the other half?

Combinatorially symmetric cross-validation. Source: Bailey, Borwein, Lopez de Prado and Zhu, "The
probability of backtest overfitting", Journal of Computational Finance 20(4), 2016 (first 2015).
It decides nothing: on noise alone the share lies anywhere from 0.1 to 0.8.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from data.checks import Floats
from optimizer.errors import ConfigError
from optimizer.evidence.figures import Figure, Number, Why, encode_figures, make_undefined
from optimizer.evidence.statistic import Around, Statistic, Weighed

MOST_BLOCKS = 16

FIGURES = ("pbo", "loss", "slope", "intercept", "median_logit")

TOGETHER = 32_768
"""Trials whose totals are added together: threads wait for each other between operations, which on
fewer take no longer than that."""

AT_ONCE = 16
"""Splits whose ratios a thread holds at a time."""

MOST_THREADS = 8
"""Each holds ratios of `AT_ONCE` splits and of their complements, 256 bytes a trial."""

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
            f"The best of one half of the bars was below the middle in the other in "
            f"{self.format('pbo')} of splits (PBO; {low} to {high} on noise searched with "
            f"{size[0]} x {size[1]}).",
        )


class _BestOfHalf(NamedTuple):
    """The best of one half: its ratio there and in the other half, and its rank in the other."""

    chosen: float
    other: float
    rank: float


def compare_halves(trades: Floats, sum_r: Floats, sum_r2: Floats, threads: int = 1) -> CscvRecord:
    """Split blocks into halves in every way, and judge the best of each half in the other.

    Args:
        trades: [N, S] of each trial in each block; S even, at most 16.
        sum_r: [N, S].
        sum_r2: [N, S].
        threads: Which share the splits.

    Returns:
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
    choices = list(combinations(range(blocks), blocks // 2))
    seen: list[_BestOfHalf] = [_BestOfHalf(0.0, 0.0, 0.0)] * splits
    chunks = [slice(at, min(at + TOGETHER, count)) for at in range(0, count, TOGETHER)]
    totals = [_stack_totals(trades[chunk], sum_r[chunk], sum_r2[chunk]) for chunk in chunks]

    def judge_splits(some: range) -> None:
        """Judge some splits and their complements."""
        ratios = np.empty((2, AT_ONCE, count))
        for ones in (some[at : at + AT_ONCE] for at in range(0, len(some), AT_ONCE)):
            for chunk, total in zip(chunks, totals, strict=True):
                _compute_ratios(total, [choices[i] for i in ones], ratios[0, :, chunk])
                # The complement of the first choice is the last one, and so on inwards.
                _compute_ratios(total, [choices[-1 - i] for i in ones], ratios[1, :, chunk])
            for i, ratios_here, ratios_there in zip(ones, *ratios, strict=False):
                seen[i], seen[-1 - i] = (
                    _judge_best(ratios_here, ratios_there),
                    _judge_best(ratios_there, ratios_here),
                )

    shares = min(threads, MOST_THREADS)
    borders = [splits // 2 * share // shares for share in range(shares + 1)]
    with ThreadPoolExecutor(shares) as pool:
        # Whatever one of them raises is raised here.
        list(pool.map(judge_splits, map(range, borders, borders[1:])))
    return CscvRecord(blocks, **encode_figures(**_summarise_splits(seen, count)))


def _stack_totals(trades: Floats, sum_r: Floats, sum_r2: Floats) -> Floats:
    """Totals as [S, 3, N], so that a half adds whole blocks."""
    return np.stack([trades.T, sum_r.T, sum_r2.T], axis=1).astype(np.float64)


def _compute_ratios(totals: Floats, choices: Sequence[tuple[int, ...]], out: Floats) -> None:
    """Write Sharpe ratios per trade [C, N] over each choice of blocks; -inf where undefined."""
    spread = np.empty(totals.shape[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        for (n, a, q), ratios in zip(_sum_choices(totals, choices), out, strict=False):
            np.multiply(a, a, out=spread)
            np.divide(spread, n, out=spread)
            np.subtract(q, spread, out=spread)
            np.divide(spread, n - 1, out=spread)
            is_flat = ~((n >= 2) & (spread > 0))
            np.sqrt(spread, out=spread)
            np.divide(a, n, out=ratios)
            np.divide(ratios, spread, out=ratios)
            ratios[is_flat] = -np.inf


def _sum_choices(totals: Floats, choices: Sequence[tuple[int, ...]]) -> Iterator[Floats]:
    """Totals [3, N] of each choice of blocks, added ascending; neighbours share what they can."""
    sums = np.empty((len(choices[0]), *totals.shape[1:]))
    before: tuple[int, ...] = (-1,) * len(sums)
    for chosen in choices:
        differs = [old != new for old, new in zip(before, chosen, strict=True)]
        for i in range(differs.index(True), len(chosen)):
            np.add(sums[i - 1] if i else 0.0, totals[chosen[i]], out=sums[i])
        yield sums[-1]
        before = chosen


def _judge_best(here: Floats, there: Floats) -> _BestOfHalf:
    best = int(here.argmax())
    value = there[best]
    below, equal = np.count_nonzero(there < value), np.count_nonzero(there == value)
    return _BestOfHalf(float(here[best]), float(value), below + (equal + 1) / 2)


def _summarise_splits(seen: list[_BestOfHalf], count: int) -> dict[str, Figure]:
    ranks = np.array([split.rank for split in seen])
    w = ranks / (count + 1)
    # A logit is at most 0 where the rank is at most the middle one, which is free of rounding.
    pbo = Figure(float(np.mean(2 * ranks <= count + 1)))
    loss = Figure(float(np.mean([split.other < 0 for split in seen])))
    median_logit = Figure(float(np.median(np.log(w / (1 - w)))))
    return dict(zip(FIGURES, (pbo, loss, *_fit_line(seen), median_logit), strict=True))


def _fit_line(seen: list[_BestOfHalf]) -> tuple[Figure, Figure]:
    pairs = np.array([(s.chosen, s.other) for s in seen if np.isfinite([s.chosen, s.other]).all()])
    if len(pairs) < 2 or np.ptp(pairs[:, 0]) == 0:
        return (make_undefined("no two splits differ in the best ratio"),) * 2
    x, y = pairs.T
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return Figure(slope), Figure(float(y.mean()) - slope * float(x.mean()))
