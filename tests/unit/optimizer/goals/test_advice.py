"""An empty front: reasons, the nearest candidate, and advice that fits the commonest reason."""

import pytest

from optimizer.goals.advice import advise, describe_failures, describe_nearest

FAILURES = {"too_few_trades": 3, "broken:max_drawdown<=0.3": 40, "undefined:profit_factor": 2}


def test_the_commonest_reason_comes_first():
    """Metrics keep their names, and counts are those of the whole search."""
    text = describe_failures(FAILURES, 45)
    assert text == (
        "Of 45 evaluated: broken max_drawdown<=0.3 40, too few trades 3, undefined profit_factor 2."
    )


def test_the_nearest_shows_what_it_misses_and_nothing_else():
    """A bound with the value beside it, and why something is undefined."""
    metrics = {"trades": 41.0, "max_drawdown": 0.421, "profit_factor": None}
    assert describe_nearest(FAILURES, metrics, {"profit_factor": "no_losses"}) == (
        "Nearest: 41 trades, max_drawdown 42.10% where <= 30.00% is asked, "
        "profit_factor undefined (no losses)."
    )
    kept = {"trades": 41.0, "max_drawdown": 0.2, "profit_factor": 2.0}
    assert describe_nearest(FAILURES, kept, {}) == "Nearest: 41 trades."


@pytest.mark.parametrize(
    ("failures", "undefined", "words"),
    [
        ({"too_few_trades": 9}, {}, "--min-trades"),
        ({"too_few_trades": 1, "ruined": 9}, {}, "--risk-fraction"),
        ({"broken:win_rate>=0.9": 9}, {}, "--constraint 'win_rate>=0.9 soft'"),
        (
            {"ruined": 9, "undefined:cagr": 2},
            {"cagr": "few_days"},
            "Fewer than 20 days with bars have no cagr",
        ),
        ({"undefined:sharpe@worst": 9}, {"sharpe": "no_variation"}, "not sharpe"),
        ({"undefined:sortino<=1.0": 9}, {"sortino": "no_losses"}, "Leave out --constraint 'sor"),
        ({}, {}, "longer data"),
    ],
)
def test_advice_fits_what_failed_most(failures, undefined, words):
    """Each reason has its own remedy."""
    assert words in advise(failures, {}, undefined)


def test_rejected_signals_are_counted_and_explained():
    """Where the nearest candidate has more of them than trades, the stop is to blame."""
    metrics = {"trades": 0.0, "rejected": 621.0}
    assert describe_nearest({"too_few_trades": 9}, metrics, {}) == (
        "Nearest: 0 trades, 621 signals rejected."
    )
    assert "move the stop farther away" in advise({"too_few_trades": 9}, metrics, {})
    traded = {"trades": 9.0, "rejected": 2.0}
    assert "--min-trades" in advise({"too_few_trades": 9}, traded, {})


@pytest.mark.parametrize("trades", [0.0, 9.0])
def test_bars_without_volume_are_to_blame_where_nothing_trades(trades):
    """More of them would not help."""
    advice = advise({"too_few_trades": 9}, {"trades": trades}, {}, is_silent=True)
    assert ("No bar has a volume" in advice) == (trades == 0)
