"""The best of one half is judged in the other, over all halves."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evidence import halves
from optimizer.evidence.cscv import compare_halves
from optimizer.evidence.halves import judge_splits


def plainly(trades, sum_r, sum_r2):
    """The same by the letter of the law, one split and one trial at a time."""
    count, blocks = trades.shape
    chosen = list(combinations(range(blocks), blocks // 2))
    logits, pairs = [], []
    for here in chosen:
        there = [b for b in range(blocks) if b not in here]
        one, other = (
            [_ratio(trades, sum_r, sum_r2, t, half) for t in range(count)] for half in (here, there)
        )
        best = one.index(max(one))
        below = sum(value < other[best] for value in other)
        equal = sum(value == other[best] for value in other)
        w = Fraction(2 * below + equal + 1, 2 * (count + 1))
        logits.append(math.log(w / (1 - w)))
        pairs.append((one[best], other[best]))
    return logits, pairs


def _ratio(trades, sum_r, sum_r2, trial, half):
    n = a = q = 0.0
    for block in half:
        n, a, q = n + trades[trial, block], a + sum_r[trial, block], q + sum_r2[trial, block]
    if n < 2 or not (q - a * a / n) / (n - 1) > 0:
        return -math.inf
    return a / n / math.sqrt((q - a * a / n) / (n - 1))


@given(st.integers(0, 2**32), st.integers(2, 9), st.sampled_from([2, 4, 6]), st.booleans())
def test_overfitting_equals_the_letter(seed, count, blocks, is_sparse):
    """Shares are exact, also with ties, trials without trades and without variation."""
    rng = np.random.Generator(np.random.PCG64(seed))
    trades = rng.integers(0, 3 if is_sparse else 9, (count, blocks)).astype(float)
    sum_r = rng.integers(-3, 4, (count, blocks)) * np.minimum(trades, 1.0)
    sum_r2 = sum_r**2 + rng.integers(0, 2 if is_sparse else 9, (count, blocks)) * trades
    halves = compare_halves(trades, sum_r, sum_r2)
    logits, pairs = plainly(trades, sum_r, sum_r2)
    assert halves.pbo == np.mean([logit <= 1e-12 for logit in logits])
    assert halves.loss == np.mean([other < 0 for _, other in pairs])
    assert halves.median_logit == pytest.approx(np.median(logits), abs=1e-9)
    finite = np.array([pair for pair in pairs if np.isfinite(pair).all()]).reshape(-1, 2)
    if len(finite) < 2 or np.ptp(finite[:, 0]) == 0:
        assert (
            halves.why["slope"]
            == halves.why["intercept"]
            == "no two splits differ in the best ratio"
        )
    elif np.ptp(finite[:, 0]) > 1e-3:
        slope, intercept = np.polyfit(*finite.T, 1)
        assert halves.slope == pytest.approx(slope, rel=1e-6, abs=1e-6)
        assert halves.intercept == pytest.approx(intercept, rel=1e-6, abs=1e-6)


def test_how_trials_are_taken_together_changes_nothing():
    """Neither the parts of trials nor those of splits show: each half alone has the same bits."""
    rng = np.random.Generator(np.random.PCG64(3))
    count, blocks = halves.BLOCK + 900, 8
    trades = rng.integers(0, 3, (blocks, count)).astype(float)
    sum_r = rng.normal(0, 1, (blocks, count)) * np.minimum(trades, 1.0)
    totals = np.stack([trades, sum_r, sum_r**2 + trades], axis=1)
    choices = np.array(list(combinations(range(blocks), blocks // 2)))
    whole, parts = np.empty((2, len(choices), 3))
    half = len(choices) // 2
    assert half > 2 * halves.AT_ONCE
    judge_splits(totals, choices, 0, half, whole)
    for begin, end in ((7, half), (0, 7)):
        judge_splits(totals, choices, begin, end, parts)
    assert whole.tobytes() == parts.tobytes()
    n, a, q = np.cumsum(totals[choices], axis=1)[:, -1].transpose(1, 0, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (q - a * a / n) / (n - 1)
        ratios = np.where((n >= 2) & (spread > 0), a / n / np.sqrt(spread), -np.inf)
    for (chosen, other, rank), here, there in zip(whole, ratios, ratios[::-1], strict=True):
        best = here.argmax()
        assert (chosen, other) == (here[best], there[best])
        assert rank == (there < other).sum() + ((there == other).sum() + 1) / 2
