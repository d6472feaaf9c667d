"""Worlds that error rates are measured on."""

import numpy as np
import pytest

from tests.support.null_worlds import CHANGING, EDGES, WORLDS, make_world

LENGTH = 600

CANNOT_BE_TRADED = {"bounce", "wide_bounce", "rounded", "coarse"}
"""Closes there turn back by a spread or a tick, which no order gets."""


@pytest.mark.parametrize("name", [*WORLDS, *EDGES, *CHANGING])
def test_a_market_is_that_of_its_seed(name):
    """A world makes other bars of another seed, the same of the same."""
    first, again, other = (make_world(name, seed, LENGTH) for seed in (1, 1, 2))
    assert [len(bars) for bars in first] == [LENGTH] * len(first)
    for bars, same, another in zip(first, again, other, strict=True):
        assert np.array_equal(bars.close, same.close)
        assert np.array_equal(bars.volume, same.volume)
        assert not np.array_equal(bars.close, another.close)
        assert bars.is_simulated


def test_worlds_are_of_many_kinds():
    """As many as on the page."""
    assert (len(WORLDS), len(EDGES)) == (37, 10)


@pytest.mark.parametrize("name", sorted(set(WORLDS) - CANNOT_BE_TRADED))
def test_no_bar_tells_of_the_next(name):
    """Signs of returns, of large bars and of large volumes say nothing of the return after them."""
    messages = []
    for seed in range(4):
        for bars in make_world(name, seed, 6000):
            returns = np.diff(np.log(bars.close))
            following = returns[1:] - returns.mean()
            signs = np.sign(returns[:-1])
            large = bars.volume[1:-1] > np.quantile(bars.volume, 0.9)
            messages.append(
                [np.corrcoef(np.sign(following), of)[0, 1] for of in (signs, signs * large)]
            )
    assert (np.abs(np.mean(messages, axis=0)) < 4 / np.sqrt(4 * 6000)).all()
