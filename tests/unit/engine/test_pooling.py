"""Windows taken together are what one account over all their trades would have counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.accounts.derived import Span
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.metrics import compute_metrics, pool, pool_spans

RISK_FRACTION = 0.01


def folded(rs, risk_fraction=RISK_FRACTION):
    """Accumulators [A] of trades, folded one by one as the law of numbers says."""
    found = dict.fromkeys(ACCUMULATORS, 0.0)
    found |= {"equity": 1.0, "peak_equity": 1.0}
    for r in rs:
        found["trades"] += 1
        found["wins"] += r > 0
        found["sum_r"] += r
        found["sum_r2"] += r * r
        found["gain_r"] += max(r, 0.0)
        found["loss_r"] += max(-r, 0.0)
        found["loss_r2"] += min(r, 0.0) ** 2
        found["peak_r"] = max(found["peak_r"], found["sum_r"])
        found["max_drawdown_r"] = max(found["max_drawdown_r"], found["peak_r"] - found["sum_r"])
        equity = found["equity"] * (1 + risk_fraction * r)
        found["equity"] = equity if equity > 0 else 0.0
        found["peak_equity"] = max(found["peak_equity"], found["equity"])
        fall = (found["peak_equity"] - found["equity"]) / found["peak_equity"]
        found["max_drawdown"] = max(found["max_drawdown"], fall)
    return np.array([found[name] for name in ACCUMULATORS])


trades = st.lists(st.floats(-3, 3), max_size=8)


@given(st.lists(trades, min_size=1, max_size=4))
def test_pooled_windows_equal_one_account(windows):
    """All but the falls, which are the worst part's and never more than the whole's."""
    pooled = pool(np.array([[folded(rs) for rs in windows]]))[0]
    whole = folded([r for rs in windows for r in rs])
    falls = [ACCUMULATOR_INDEX["max_drawdown"], ACCUMULATOR_INDEX["max_drawdown_r"]]
    rest = np.setdiff1d(np.arange(len(ACCUMULATORS)), falls)
    assert pooled[rest] == pytest.approx(whole[rest], rel=1e-12, abs=1e-12)
    worst = np.max([folded(rs)[falls] for rs in windows], axis=0)
    assert pooled[falls].tolist() == worst.tolist()
    assert (pooled[falls] <= whole[falls] + 1e-12).all()


def test_what_was_lost_stays_lost():
    """Also where another part gained beyond all numbers, in either order."""
    lost, endless = folded([-200.0]), folded([1.0])
    endless[[ACCUMULATOR_INDEX["equity"], ACCUMULATOR_INDEX["peak_equity"]]] = np.inf
    for parts in ([lost, endless], [endless, lost]):
        assert pool(np.array([parts]))[0, ACCUMULATOR_INDEX["equity"]] == 0.0
    assert pool(np.array([[lost, endless]]))[0, ACCUMULATOR_INDEX["peak_equity"]] == 1.0


def test_individuals_do_not_mix():
    """A population gives what each individual gives alone, and is left as it was."""
    rng = np.random.Generator(np.random.PCG64(1))
    rows = np.array([[folded(rng.normal(0, 1, 5)) for _ in range(3)] for _ in range(4)])
    before = rows.copy()
    assert np.array_equal(pool(rows), np.concatenate([pool(row[None]) for row in rows]))
    assert np.array_equal(before, rows)


def test_years_are_those_of_the_longest_market():
    """Its parts are added; bars are those of all."""
    spans = [Span(10, 1.0, "A"), Span(20, 1.5, "B"), Span(5, 0.75, "A")]
    assert pool_spans(spans) == Span(35, 1.75)


def test_a_table_of_metrics_holds_those_of_all_windows_as_one():
    """One window is that window, in every bit."""
    spans = [Span(100, 1.0, "A"), Span(50, 0.5, "A"), Span(70, 1.25, "B")]
    rows = np.array([[folded([1.0, -0.5]), folded([2.0]), folded([-1.0])]])
    table = compute_metrics(rows, spans)
    assert table.pooled.named(0)["trades_per_year"] == 4 / 1.5
    assert table.pooled.named(0)["sum_r"] == 1.5
    one = compute_metrics(rows[:, :1], spans[:1])
    assert one.pooled is one
    assert pool(rows[:, :1]).tobytes() == rows[:, 0].tobytes()
