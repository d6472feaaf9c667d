"""Finer bars of null markets: every bar is made up of them again, and the order within stays."""

import numpy as np
import pytest

from data.bars import Window
from optimizer.evidence.lookahead import poison_bars
from optimizer.evidence.null_markets import NullMarkets
from tests.support.finer import make_coarse
from tests.support.worlds import make_bars

HOURS = make_coarse(make_bars(3, 2000, jump=0.05))
WINDOWS = [Window(0, 100, 450)]


@pytest.mark.parametrize("kind", ["shuffle_market", "mirror_market"])
@pytest.mark.parametrize("bars", [HOURS, make_coarse(make_bars(3, 2000, gaps=0.01), 3)])
def test_bars_are_still_made_up_of_finer_ones(kind, bars):
    """As many of them; bars before the window are as they were, and nothing lies behind it."""
    (null,) = getattr(NullMarkets([bars], WINDOWS, seed=1), kind)(1)
    made_up, before = (np.diff(some.finer_spans, axis=0)[0] for some in (null, bars.until(450)))
    assert sorted(made_up) == sorted(before)
    assert np.count_nonzero(made_up) > 300
    before_ns = int(bars.timestamp[100])
    kept = null.finer.between(0, before_ns)
    known = np.isin(bars.finer.timestamp, kept.timestamp)
    np.testing.assert_array_equal(kept.prices, bars.finer.prices[:, known])
    assert (np.diff(null.finer.timestamp) > 0).all()


def test_a_shuffled_bar_has_the_path_of_its_body():
    """As ratios to its open, in the same order."""
    markets = NullMarkets([HOURS], WINDOWS, seed=1)
    (null,), (origins,) = markets.shuffle_market(1), markets.draw_origins(1)
    for j in (100, 200, 449):
        body = origins.bodies[j]
        came, was = null.finer_spans[0, j], HOURS.finer_spans[0, body]
        ratios = null.finer.prices[:, came : came + 4] / null.open[j]
        expected = HOURS.finer.prices[:, was : was + 4] / HOURS.open[body]
        np.testing.assert_allclose(ratios, expected, rtol=1e-12)


def test_poisoned_bars_have_poisoned_finer_ones():
    """Behind the cut all of them differ, and make up their bar; the first has three."""
    poisoned = poison_bars(HOURS, 60, "up")
    assert len(poisoned) == 61
    assert (np.diff(poisoned.finer_spans, axis=0) > 0).all()
    was = HOURS.finer.prices[:, : len(poisoned.finer)]
    same = (poisoned.finer.prices == was).all(axis=0)
    assert same.tolist() == [True] * 239 + [False] * 4
    assert [len(poison_bars(HOURS, 60, way).finer) for way in ("down", "open")] == [239, 239]
