"""Metrics become objectives; what cannot be judged becomes infeasible with a name."""

from dataclasses import replace

import numpy as np
import pytest

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.metrics import METRICS, UNDEFINED, MetricTable, Span, compute_metrics
from optimizer.goals.constraints import parse_constraints
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.search.ranking import survive

INF, NAN = float("inf"), float("nan")


def goals(*constraints, objectives="sharpe,max_drawdown", min_trades=10, over="mean"):
    """Goals with constraints as people write them."""
    return Goals(parse_objectives(objectives), min_trades, parse_constraints(constraints), over)


THREE = goals(objectives="sharpe,total_return,max_drawdown", min_trades=30)


def table(*individuals, windows=1):
    """Metrics of individuals, else 0; `why` has reasons of undefined ones."""
    values = np.zeros((len(individuals), windows, len(METRICS)))
    ruined, reasons = np.zeros(values.shape[:2], bool), np.zeros(values.shape, np.int8)
    for row, metrics in enumerate(individuals):
        ruined[row] = metrics.get("ruined", False)
        for name in metrics.keys() - {"ruined", "why"}:
            values[row, :, METRICS.index(name)] = metrics[name]
        for name, whys in metrics.get("why", {}).items():
            place = METRICS.index(name)
            reasons[row, :, place] = [UNDEFINED.index(why) for why in whys]
            values[row, reasons[row, :, place] > 0, place] = NAN
    return MetricTable(values, reasons, ruined)


def falls(*values):
    """Individuals of 50 trades with these drawdowns."""
    return [{"trades": 50, "max_drawdown": value} for value in values]


LOST = {"trades": 50, "ruined": [False, True]}
NO_LOSSES = {"trades": 40, "why": {"profit_factor": ["no_losses"]}}

# Goals, individuals, and of each its violation and failure.
JUDGED = {
    "the missing share of trades": (THREE, [{"trades": trades} for trades in (0, 15, 29, 30, 31)],
        [1.0, 0.5, 1.0 / 30.0, 0.0, 0.0], [*["too_few_trades"] * 3, "", ""]),
    "the first undefined names": (THREE,
        [{"trades": 99, "total_return": x, "max_drawdown": x} for x in (NAN, INF, -INF)],
        [1.0 + 0.5 * (2 / 3 + 0.01)] * 3, ["undefined:total_return"] * 3),
    "fewer undefined are nearer": (THREE, [{"trades": 99, "sharpe": NAN}],
        [1.0 + 0.5 * (1 / 3 + 0.01)], ["undefined:sharpe"]),
    "a trade is nearer than none": (goals(objectives="sharpe", min_trades=0),
        [{"trades": trades, "sharpe": NAN} for trades in (0, 1)], [2.0, 1.75],
        ["undefined:sharpe"] * 2),
    "a hard constraint": (goals("max_drawdown <= 0.25"), falls(0.25, 0.5, 0.75),
        [0.0, 0.5, 0.5 / 0.75], ["", *["broken:max_drawdown<=0.25"] * 2]),
    "the one missed most names, of equals the first": (
        goals("max_drawdown <= 0.3", "win_rate >= 0.5"),
        [{"trades": 40, "max_drawdown": fall, "win_rate": won}
         for fall, won in ((0.4, 0.1), (0.9, 0.5), (0.6, 0.25))],
        [0.25 + 4 / 9, 2 / 3, 0.5 + 1 / 3],
        ["broken:win_rate>=0.5", *["broken:max_drawdown<=0.3"] * 2]),
    "all add to it": (goals("max_drawdown <= 0.5", "sharpe >= 1", "win_rate > 0 soft"),
        [{"trades": 50, "max_drawdown": fall, "win_rate": 0.5} for fall in (1.0, 0.1)], [1.0, 0.5],
        ["broken:max_drawdown<=0.5", "broken:sharpe>=1.0"]),
    "an undefined bound is not kept": (goals("profit_factor >= 1"),
        [{"trades": 50, "profit_factor": NAN}], None, ["undefined:profit_factor>=1.0"]),
    "who never loses keeps a floor": (goals("profit_factor >= 2", "exposure <= 0.5"),
        [NO_LOSSES | {"exposure": share} for share in (0.4, 1.0)], [0.0, 0.5],
        ["", "broken:exposure<=0.5"]),
    "and no ceiling": (goals("profit_factor <= 2"), [NO_LOSSES], None,
        ["undefined:profit_factor<=2.0"]),
    "ruin above all": (THREE,
        [LOST | {"ruined": [True, True]}, LOST, LOST | {"trades": 0, "sharpe": NAN}],
        [3.0, 2.5, 2.5], ["ruined"] * 3),
    "windows by their mean": (THREE,
        [{"trades": [20, 40]}, {"trades": [20, 39]}, {"trades": [40, 40], "sharpe": [INF, -INF]}],
        None, ["", "too_few_trades", "undefined:sharpe"]),
    "a constraint's own way": (goals("sharpe@worst >= 1", min_trades=20),
        [{"trades": [30, 10], "sharpe": [1.0, 3.0]}, {"trades": 20, "sharpe": [0.5, 9.0]}],
        [0.0, 1 / 3], ["", "broken:sharpe@worst>=1.0"]),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_what_keeps_an_individual_from_the_front_has_a_name_and_a_size(name):
    """Only who misses nothing has objectives."""
    asked, rows, violations, names = JUDGED[name]
    sizes = {np.size(value) for row in rows for key, value in row.items() if key != "why"}
    judged = asked.judge(table(*rows, windows=max(sizes)))
    assert [asked.failure_names[code] for code in judged.failures] == names
    if violations:
        assert judged.violations.tolist() == pytest.approx(violations, rel=1e-15)
    is_feasible = np.array([not failure for failure in names])
    assert (is_feasible == (judged.violations == 0)).all()
    assert (is_feasible == np.isfinite(judged.objectives).all(axis=1)).all()
    assert np.isnan(judged.objectives[~is_feasible]).all()


@pytest.mark.parametrize(
    ("asked", "row", "inside", "natural"),
    [
        (THREE, {"trades": 30, "sharpe": 0.5, "total_return": -0.1, "max_drawdown": 0.2},
         [-0.5, 0.1, 0.2], [0.5, -0.1, 0.2]),
        (goals(objectives="trades:min"), {"trades": 40}, [40.0], [40.0]),
        (goals(over="worst"), {"trades": 30, "sharpe": [1.0, 3.0]}, [-1.0, 0.0], [1.0, 0.0]),
        (goals(objectives="sharpe@mean", over="worst"), {"trades": 30, "sharpe": [1.0, 3.0]},
         [-2.0], [2.0]),
        (goals("max_drawdown <= 0.25 soft", "sharpe >= 0 soft"),
         {"trades": 50, "max_drawdown": 0.5}, [0.0, 0.5, 0.25], [0.0, 0.5, 0.25]),
        (goals("max_drawdown <= 0.25 soft"), {"trades": 50, "max_drawdown": 0.1}, [0.0, 0.1, 0.0],
         [0.0, 0.1, 0.0]),
    ],
    ids=["signs", "turned", "worst", "own way", "soft missed", "soft kept"],
)  # fmt: skip
def test_objectives_are_minimised_inside_and_natural_outside(asked, row, inside, natural):
    """A zero has no sign there; soft constraints are one more objective, the share missed."""
    windows = max(np.size(value) for value in row.values())
    judged = asked.judge(table(row, windows=windows))
    assert judged.objectives.tolist() == [inside]
    found = asked.natural(judged.objectives)
    assert found.tolist() == [natural]
    assert not np.signbit(found[found == 0]).any()
    assert asked.names[2:] == (("missed",) if asked.constraints else asked.names[2:])


@pytest.mark.parametrize(
    ("name", "reason"),
    [("profit_factor", "no_losses"), ("sortino", "no_losses"), ("calmar", "no_drawdown")],
)
def test_who_never_loses_ranks_first(name, reason):
    """Of two without losses the one of more trades; what is undefined otherwise ranks last."""
    trades, values = (0, 29, 40, 41, 40, 40, 40), (0, 9, 0, 0, 0, 2.0**40, 3)
    whys = ["no_trades", "", reason, reason, "overflow", "", ""]
    metrics = table(
        *(
            {"trades": n, name: value, "why": {name: [why]}}
            for n, value, why in zip(trades, values, whys, strict=True)
        )
    )
    judged = goals(objectives=name, min_trades=30).judge(metrics)
    assert survive(judged.objectives, judged.violations, 7).tolist() == [3, 2, 5, 6, 1, 0, 4]
    least = goals(objectives=f"{name}:min", min_trades=30).judge(metrics)
    assert survive(least.objectives, least.violations, 2).tolist() == [6, 5]


def test_windows_count_as_one_unless_asked_otherwise():
    """Trades of all windows are pooled before anything is divided."""
    accumulators = np.zeros((1, 2, len(ACCUMULATORS)))
    sums = {"trades": [20, 10], "sum_r": [4.0, -1.0], "sum_r2": [20.0, 5.0], "equity": [1.5, 0.5]}
    for name, values in sums.items():
        accumulators[0, :, ACCUMULATOR_INDEX[name]] = values
    account = np.zeros((1, len(ACCUMULATORS)))
    together = {"trades": 30, "sum_r": 3.0, "sum_r2": 25.0, "equity": 0.75, "max_drawdown": 0.6}
    for name, value in together.items():
        account[0, ACCUMULATOR_INDEX[name]] = value
    asked = Goals(parse_objectives("strength,max_drawdown,strength@worst"), min_trades=30)
    spans = [Span(100, 1.0, 0, 10**16), Span(100, 1.0, 10**16, 2 * 10**16)]
    judged = asked.judge(compute_metrics(accumulators, spans, account=account))
    reached = asked.natural(judged.objectives)[0].tolist()
    assert reached == [3.0 / 25.0**0.5, 0.6, -1.0 / 5.0**0.5]
    assert asked.pools
    assert not Goals(parse_objectives("strength@worst,trades@mean"), over="mean").pools
    with pytest.raises(ValueError, match="not pooled"):
        replace(THREE, over="pooled").judge(table({"trades": [20, 40]}, windows=2))
