"""An empty front: reasons, the nearest candidate, and advice that fits the commonest reason."""

import numpy as np
import pytest

from optimizer.goals.advice import advise, describe_bounds, describe_nearest

FAILURES = {"too_few_trades": 3, "broken:max_drawdown<=0.3": 40, "undefined:profit_factor": 2}


@pytest.mark.parametrize(
    ("failures", "metrics", "undefined", "words"),
    [
        (FAILURES, {"trades": 41.0, "max_drawdown": 0.421, "profit_factor": None},
         {"profit_factor": "no_losses"}, ["41 trades", "42.10%", "30.00%", "no losses"]),
        ({"too_few_trades": 9}, {"trades": 0.0, "rejected": 621.0}, {}, ["0 trades", "621"]),
    ],
)  # fmt: skip
def test_the_nearest_shows_what_it_misses_and_nothing_else(failures, metrics, undefined, words):
    """A bound with the value beside it, and why something is undefined."""
    text = describe_nearest(failures, metrics, undefined)
    assert all(word in text for word in words)
    kept = {"trades": 41.0, "max_drawdown": 0.2, "profit_factor": 2.0}
    assert "max_drawdown" not in describe_nearest(FAILURES, kept, {})


@pytest.mark.parametrize(
    ("failures", "metrics", "undefined", "is_silent", "word"),
    [
        ({"too_few_trades": 9}, {"trades": 9.0, "rejected": 2.0}, {}, False, "--min-trades"),
        ({"too_few_trades": 9}, {"trades": 0.0, "rejected": 621.0}, {}, False, "stop farther"),
        ({"too_few_trades": 9}, {"trades": 0.0}, {}, True, "volume"),
        ({"too_few_trades": 1, "ruined": 9}, {}, {}, False, "--risk-fraction"),
        ({"broken:win_rate>=0.9": 9}, {}, {}, False, "--constraint 'win_rate>=0.9 soft'"),
        ({"ruined": 9, "undefined:cagr": 2}, {}, {"cagr": "few_days"}, False, "20 days"),
        ({"undefined:sharpe@worst": 9}, {}, {"sharpe": "no_variation"}, False, "not sharpe"),
        ({"undefined:sortino<=1.0": 9}, {}, {"sortino": "no_losses"}, False, "--constraint 'sor"),
        ({}, {}, {}, False, "longer data"),
    ],
)
def test_advice_fits_what_failed_most(failures, metrics, undefined, is_silent, word):
    """Each reason has its own remedy."""
    assert word in advise(failures, metrics, undefined, is_silent=is_silent)


def test_genes_at_their_bounds_are_counted():
    """Within a hundredth of the range; a gene that cannot move is at no bound."""
    bounds = {"reach": (0.0, 100.0), "fixed": (5.0, 5.0)}
    genomes = np.array([[0.5, 5.0], [1.5, 5.0], [99.5, 5.0], [100.0, 5.0]])
    text = describe_bounds(genomes, bounds)
    assert "minimum 0 in 1;" in text
    assert "maximum 100 in 2 of 4" in text
    assert "fixed" not in text
    assert describe_bounds(genomes[1:2], bounds) == ""
