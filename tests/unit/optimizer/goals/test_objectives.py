"""Metrics become objectives; what cannot be judged becomes infeasible with a name."""

from dataclasses import replace

import numpy as np
import pytest

from engine.accounts.derived import UNDEFINED, Span
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.metrics import METRICS, MetricTable, compute_metrics
from optimizer.errors import ConfigError
from optimizer.formatting import NEVER_LOST, metric
from optimizer.goals.constraints import parse_constraints
from optimizer.goals.objectives import (
    OBJECTIVES,
    Goals,
    Objective,
    parse_objective,
    parse_objectives,
)
from optimizer.search.ranking import survive

INF = float("inf")
NAN = float("nan")
GOALS = Goals(parse_objectives("sharpe,total_return,max_drawdown"), min_trades=30)
MEANS = replace(GOALS, over="mean")


def table(*individuals, windows=1):
    """Metrics of individuals; each is a dict of values (or of one value a window), else 0.

    Whether an individual is ruined stands among them.
    """
    values = np.zeros((len(individuals), windows, len(METRICS)))
    ruined = np.zeros(values.shape[:2], dtype=bool)
    for row, metrics in enumerate(individuals):
        ruined[row] = metrics.get("ruined", False)
        for name in metrics.keys() - {"ruined"}:
            values[row, :, METRICS.index(name)] = metrics[name]
    return MetricTable(values, np.zeros(values.shape, dtype=np.int8), ruined)


def test_every_objective_is_a_metric_of_its_own_name():
    """One word per thing, but for expectancy, which is the mean of R; the table is sorted."""
    assert set(OBJECTIVES) - {"expectancy"} <= set(METRICS)
    assert sorted(OBJECTIVES) == list(OBJECTIVES)
    metrics = {name: goal.metric for name, goal in OBJECTIVES.items()}
    assert metrics == {name: name for name in OBJECTIVES} | {"expectancy": "mean_r"}
    assert all(name == goal.name for name, goal in OBJECTIVES.items())


def test_losses_and_time_in_the_market_are_minimised():
    """Everything else is better when there is more of it."""
    minimised = {name for name, objective in OBJECTIVES.items() if not objective.maximise}
    assert minimised == {"exposure", "max_drawdown", "max_drawdown_r"}


def test_maximised_metrics_change_their_sign_inside():
    """Objectives are minimised inside, and `natural` turns them back."""
    metrics = table({"trades": 30, "sharpe": 0.5, "total_return": -0.1, "max_drawdown": 0.2})
    judged = GOALS.judge(metrics)
    assert judged.objectives.tolist() == [[-0.5, 0.1, 0.2]]
    assert GOALS.natural(judged.objectives).tolist() == [[0.5, -0.1, 0.2]]
    assert (judged.violations.tolist(), judged.failures.tolist()) == ([0.0], [0])


def test_natural_zero_has_no_sign():
    """A person never reads "-0"."""
    natural = GOALS.natural(np.array([[0.0, -0.0, -0.0]]))
    assert not np.signbit(natural).any()


def test_too_few_trades_is_the_missing_share():
    """The violation falls with every trade, and reaches 0 at the minimum."""
    judged = GOALS.judge(table(*({"trades": trades} for trades in (0, 15, 29, 30, 31))))
    assert judged.violations.tolist() == [1.0, 0.5, 1.0 / 30.0, 0.0, 0.0]
    assert [GOALS.failure_names[code] for code in judged.failures] == [
        *["too_few_trades"] * 3,
        "",
        "",
    ]
    assert np.isnan(judged.objectives[:3]).all()


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_undefined_metric_is_a_named_failure(value):
    """NaN and infinities never become objectives; the first undefined one gives the name."""
    judged = GOALS.judge(table({"trades": 99, "total_return": value, "max_drawdown": value}))
    assert GOALS.failure_names[judged.failures[0]] == "undefined:total_return"
    assert judged.violations.tolist() == [1.0 + 0.5 * (2 / 3 + 0.01)]
    assert np.isnan(judged.objectives).all()


def test_undefined_ranks_below_too_few_trades():
    """One trade short of the minimum is nearer to feasible than a metric without meaning."""
    judged = GOALS.judge(
        table({"trades": 99, "sharpe": NAN}, {"trades": 29}, {"trades": 30}, {"trades": 0})
    )
    assert survive(judged.objectives, judged.violations, 4).tolist() == [2, 1, 3, 0]


def set_reasons(metrics, **reasons):
    """The same metrics, of which some are undefined for a reason, one of each individual."""
    table = metrics.reasons.copy()
    for name, whys in reasons.items():
        table[:, 0, METRICS.index(name)] = [UNDEFINED.index(why) for why in whys]
        metrics.values[table > 0] = NAN
    return replace(metrics, reasons=table)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("profit_factor", "no_losses"), ("sortino", "no_losses"), ("calmar", "no_drawdown")],
)
def test_who_never_loses_ranks_first(name, reason):
    """Of two without losses the one of more trades; what is undefined otherwise ranks last."""
    trades, values = (0, 29, 40, 41, 40, 40, 40), (0, 9, 0, 0, 0, 2.0**40, 3)
    rows = zip(trades, values, strict=True)
    whys = ["no_trades", "", reason, reason, "overflow", "", ""]
    metrics = set_reasons(table(*({"trades": n, name: x} for n, x in rows)), **{name: whys})
    judged = Goals(parse_objectives(name), min_trades=30).judge(metrics)
    assert survive(judged.objectives, judged.violations, 7).tolist() == [3, 2, 5, 6, 1, 0, 4]
    least = Goals(parse_objectives(f"{name}:min"), min_trades=30).judge(metrics)
    assert survive(least.objectives, least.violations, 2).tolist() == [6, 5]


def test_never_losing_keeps_a_floor_and_breaks_what_else_it_breaks():
    """`profit_factor >= 2` holds without a loss; a ceiling of it is undefined then."""
    metrics = set_reasons(
        table(*({"trades": 40, "exposure": share} for share in (0.4, 1.0))),
        profit_factor=["no_losses", "no_losses"],
    )
    bounded = goals("profit_factor >= 2", "exposure <= 0.5")
    judged = bounded.judge(metrics)
    assert judged.violations.tolist() == [0.0, 0.5]
    assert failures(bounded, judged) == ["", "broken:exposure<=0.5"]
    ceiling = goals("profit_factor <= 2")
    assert failures(ceiling, ceiling.judge(metrics)) == ["undefined:profit_factor<=2.0"] * 2


def test_a_failure_names_the_constraint_that_is_missed_most():
    """0.4 of 0.3 is a quarter, 0.1 of 0.5 nearly half; of equal misses the first is named."""
    bounded = goals("max_drawdown <= 0.3", "win_rate >= 0.5")
    rows = [(0.4, 0.1), (0.9, 0.4), (0.6, 0.0)]
    judged = bounded.judge(
        table(*({"trades": 40, "max_drawdown": fall, "win_rate": won} for fall, won in rows))
    )
    first, second = "broken:max_drawdown<=0.3", "broken:win_rate>=0.5"
    assert failures(bounded, judged) == [second, first, first]


@pytest.mark.parametrize(("over", "best"), [("mean", True), ("worst", False)])
def test_one_window_without_losses_leaves_the_others(over, best):
    """The mean of 2 and of no losses is the best there is, the worst of them is 2."""
    metrics = table(*[{"trades": 40, "sortino": 2.0}] * 2, windows=2)
    metrics.values[:, 1, METRICS.index("sortino")] = NAN
    whys = metrics.reasons.copy()
    whys[:, 1, METRICS.index("sortino")] = [
        UNDEFINED.index("no_trades"),
        UNDEFINED.index("no_losses"),
    ]
    aim = Goals(parse_objectives("sortino"), over=over)
    judged = aim.judge(replace(metrics, reasons=whys))
    reached = aim.natural(judged.objectives)[:, 0]
    assert judged.failures.tolist() == [3, 0]
    assert reached[1] == (NEVER_LOST + 40 if best else 2.0)
    assert metric("sortino@mean", reached[1]) == ("no losses" if best else "2")


def test_more_trades_are_nearer_to_defined():
    """Without a minimum, an individual with a trade is preferred to one with none."""
    goals = Goals(parse_objectives("sharpe"), min_trades=0)
    judged = goals.judge(table({"trades": 0, "sharpe": NAN}, {"trades": 1, "sharpe": NAN}))
    assert judged.violations.tolist() == [2.0, 1.75]


def test_fewer_undefined_objectives_are_nearer():
    """With equal trades, the individual with fewer undefined objectives is preferred."""
    row = {"trades": 50, "sharpe": NAN}
    judged = GOALS.judge(table(row | {"total_return": NAN}, row))
    assert judged.violations[1] < judged.violations[0]


def test_metrics_outside_the_objectives_do_not_matter():
    """An undefined metric that is no objective makes none infeasible."""
    judged = GOALS.judge(table({"trades": 30, "profit_factor": NAN}))
    assert judged.failures.tolist() == [0]


def test_windows_count_through_their_mean():
    """Objectives and trades are averaged; one undefined window makes the metric undefined."""
    metrics = table(
        {"trades": [20, 40], "sharpe": [0.25, 0.75]},
        {"trades": [20, 39]},
        {"trades": [40, 40], "sharpe": [INF, -INF]},
        windows=2,
    )
    judged = MEANS.judge(metrics)
    assert judged.objectives[0].tolist() == [-0.5, 0.0, 0.0]
    assert [GOALS.failure_names[code] for code in judged.failures] == [
        "",
        "too_few_trades",
        "undefined:sharpe",
    ]


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
    goals = Goals(parse_objectives("strength,max_drawdown,strength@worst"), min_trades=30)
    spans = [Span(100, 1.0, 0, 10**16), Span(100, 1.0, 10**16, 2 * 10**16)]
    judged = goals.judge(compute_metrics(accumulators, spans, account=account))
    reached = goals.natural(judged.objectives)[0].tolist()
    assert reached == [3.0 / 25.0**0.5, 0.6, -1.0 / 5.0**0.5]
    assert goals.pools
    apart = Goals(parse_objectives("strength@worst,trades@mean"), over="mean")
    assert not apart.pools
    with pytest.raises(ValueError, match="were not pooled"):
        GOALS.judge(table({"trades": [20, 40]}, windows=2))


def test_ruin_in_one_window_is_ruin():
    """It is the reason whatever else is wrong, and all others are nearer to feasible."""
    lost = {"trades": 50, "ruined": [False, True]}
    judged = MEANS.judge(
        table(
            lost | {"ruined": [True, True]},
            lost,
            lost | {"trades": 0, "sharpe": NAN},
            {"trades": 50, "sharpe": NAN, "total_return": NAN, "max_drawdown": NAN},
            {"trades": 0},
            windows=2,
        )
    )
    assert failures(GOALS, judged)[:3] == ["ruined"] * 3
    assert judged.violations[:3].tolist() == [3.0, 2.5, 2.5]
    assert np.isnan(judged.objectives).all()
    assert survive(judged.objectives, judged.violations, 5).tolist() == [4, 3, 1, 2, 0]


def test_ruin_outranks_broken_constraints():
    """A ruined individual is further away than one that breaks every constraint."""
    bounded = goals("max_drawdown <= 0.25", "win_rate >= 0.5")
    judged = bounded.judge(
        table({"trades": 50, "ruined": True}, {"trades": 0, "max_drawdown": 1.0})
    )
    assert failures(bounded, judged) == ["ruined", "too_few_trades"]
    assert judged.violations[0] > judged.violations[1]


def test_failure_names_follow_the_objectives():
    """The codes of a run are none, too few trades, ruined, one for each objective in order."""
    assert GOALS.failure_names == (
        "",
        "too_few_trades",
        "ruined",
        "undefined:sharpe",
        "undefined:total_return",
        "undefined:max_drawdown",
    )


def test_no_individual_is_judged_without_complaint():
    """A table without rows gives an evaluation without rows."""
    judged = GOALS.judge(table())
    assert judged.objectives.shape == (0, 3)
    assert judged.failures.dtype == np.int16


def test_objectives_are_read_in_order():
    """Spaces around names do not count."""
    names = [objective.name for objective in parse_objectives(" trades , sharpe")]
    assert names == ["trades", "sharpe"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sharp", "did you mean 'sharpe'"),
        ("sharpe,profitfactor", "did you mean 'profit_factor'"),
        ("", "lack a name"),
        ("sharpe,,trades", "lack a name"),
        ("trades,sharpe_annual:min@worst", "'sharpe_annual' is called 'sharpe' now"),
    ],
    ids=["near_miss", "second", "empty", "gap", "former"],
)
def test_wrong_objectives_are_refused(text, message):
    """The message offers the nearest name or lists what is known."""
    with pytest.raises(ConfigError, match=message):
        parse_objectives(text)


def test_wrong_goals_are_refused():
    """Objectives repeat, are missing or have no metric; the minimum is negative."""
    sharpe = OBJECTIVES["sharpe"]
    with pytest.raises(ConfigError, match="'sharpe' is given more than once"):
        Goals((sharpe, sharpe))
    with pytest.raises(ConfigError, match="no objective"):
        Goals(())
    with pytest.raises(ConfigError, match="at least 0"):
        Goals((sharpe,), min_trades=-1)
    with pytest.raises(ConfigError, match="did you mean 'trades'"):
        Objective("activity", metric="trade", maximise=True)


def goals(*constraints, objectives="sharpe,max_drawdown", min_trades=10, over="mean"):
    """Goals with constraints as people write them."""
    return Goals(parse_objectives(objectives), min_trades, parse_constraints(constraints), over)


def failures(found, judged):
    """The failure of each individual by name."""
    return [found.failure_names[code] for code in judged.failures]


def test_a_hard_constraint_makes_infeasible():
    """Who breaks it has its name, no objectives, and a violation that grows with the distance."""
    bounded = goals("max_drawdown <= 0.25")
    rows = ({"trades": 50, "max_drawdown": fall} for fall in (0.25, 0.5, 0.75))
    judged = bounded.judge(table(*rows))
    assert failures(bounded, judged) == ["", *["broken:max_drawdown<=0.25"] * 2]
    assert judged.violations.tolist() == [0.0, 0.5, 0.5 / 0.75]
    assert np.isnan(judged.objectives[1:]).all()


def test_the_first_broken_constraint_gives_the_name():
    """All of them add to the violation."""
    bounded = goals("max_drawdown <= 0.5", "sharpe >= 1", "win_rate > 0 soft")
    both = {"trades": 50, "max_drawdown": 1.0, "sharpe": 0.0, "win_rate": 0.5}
    judged = bounded.judge(table(both, both | {"max_drawdown": 0.1}))
    assert failures(bounded, judged) == ["broken:max_drawdown<=0.5", "broken:sharpe>=1.0"]
    assert judged.violations.tolist() == [1.0, 0.5]


def test_feasible_comes_first_then_what_is_nearest():
    """Feasible, broken, too few trades as well as broken, undefined: in this order."""
    bounded = goals("max_drawdown <= 0.25")
    judged = bounded.judge(
        table(
            {"trades": 50, "sharpe": NAN},
            {"trades": 1, "max_drawdown": 0.5},
            {"trades": 50, "max_drawdown": 0.5, "sharpe": 9.0},
            {"trades": 50, "max_drawdown": 0.2, "sharpe": -9.0},
        )
    )
    assert survive(judged.objectives, judged.violations, 4).tolist() == [3, 2, 1, 0]


def test_an_undefined_bound_is_no_bound_kept():
    """A constraint on an undefined metric makes infeasible, under a name of its own."""
    bounded = goals("profit_factor >= 1")
    judged = bounded.judge(table({"trades": 50, "profit_factor": NAN}))
    assert failures(bounded, judged) == ["undefined:profit_factor>=1.0"]
    soft = goals("profit_factor >= 1 soft")
    judged = soft.judge(table({"trades": 50, "profit_factor": NAN}))
    assert failures(soft, judged) == ["undefined:profit_factor>=1.0"]


def test_soft_constraints_are_one_more_objective():
    """An individual that misses them stays feasible, with its distance from them."""
    soft = goals("max_drawdown <= 0.25 soft", "sharpe >= 0 soft")
    rows = ({"trades": 50, "max_drawdown": fall} for fall in (0.1, 0.5))
    judged = soft.judge(table(*rows))
    assert soft.names == ("sharpe", "max_drawdown", "missed")
    assert soft.maximised == (True, False, False)
    assert soft.natural(judged.objectives).tolist() == [[0.0, 0.1, 0.0], [0.0, 0.5, 0.25]]
    assert judged.violations.tolist() == [0.0, 0.0]


def test_windows_are_taken_as_the_run_or_the_objective_says():
    """An objective's own word wins over that of the run."""
    metrics = table({"trades": [30, 10], "sharpe": [1.0, 3.0]}, windows=2)
    assert goals(over="worst").judge(metrics).objectives[0, 0] == -1.0
    assert goals(objectives="sharpe@mean", over="worst").judge(metrics).objectives[0, 0] == -2.0
    strict = goals(over="worst", min_trades=11)
    assert failures(strict, strict.judge(metrics)) == ["too_few_trades"]
    assert goals("sharpe@worst >= 1", min_trades=20).judge(metrics).violations.tolist() == [0.0]


def test_a_turned_objective_is_minimised():
    """Few trades may be what is wanted."""
    turned = goals(objectives="trades:min")
    assert turned.judge(table({"trades": 40})).objectives.tolist() == [[40.0]]
    assert turned.maximised == (False,)
    assert parse_objective("trades:max") == OBJECTIVES["trades"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trades:up", "direction 'up' is unknown"),
        ("sharpe@median", "use pooled, mean, worst"),
        ("sharpe worst", "must look like"),
        ("sharp,calmr", "'sharp' is unknown.*'calmr' is unknown"),
    ],
)
def test_wrong_objective_forms_are_refused(text, message):
    """The message lists what there is, and names every one that is wrong."""
    with pytest.raises(ConfigError, match=message):
        parse_objectives(text)


def test_the_same_objective_twice_is_refused():
    """Under another name it is still the same; over other windows it is another."""
    with pytest.raises(ConfigError, match="'expectancy' is the same as 'mean_r'"):
        goals(objectives="mean_r,expectancy")
    with pytest.raises(ConfigError, match="'sharpe@mean' is the same as 'sharpe'"):
        goals(objectives="sharpe,sharpe@mean")
    assert goals(objectives="sharpe@mean,sharpe@worst").names == ("sharpe@mean", "sharpe@worst")
