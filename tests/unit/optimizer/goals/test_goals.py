"""Objectives and constraints: what metrics become, how far a value is off, and what is advised."""

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.metrics import METRICS, UNDEFINED, MetricTable, Span, compute_metrics
from optimizer.evidence.robust import list_neighbours
from optimizer.goals.advice import advise, describe_bounds, describe_nearest
from optimizer.goals.constraints import (
    LEAST_MISS,
    over_windows,
    parse_constraint,
    parse_constraints,
)
from optimizer.goals.near import axis_moves, compute_reach, neighbourhoods
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.run.problem import EngineProblem
from optimizer.search.selection import rank_individuals
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.searches import float_layout

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
    order = rank_individuals(judged.objectives, judged.violations).order()
    assert order.tolist() == [3, 2, 5, 6, 1, 0, 4]
    least = goals(objectives=f"{name}:min", min_trades=30).judge(metrics)
    assert rank_individuals(least.objectives, least.violations).order()[:2].tolist() == [6, 5]


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


@pytest.mark.parametrize(
    ("text", "values", "misses"),
    [
        ("max_drawdown <= 0.25", [0.1, 0.25, 0.5, np.nan], [0.0, 0.0, 0.5, 1.0]),
        ("sharpe >= 0", [0.0, -1.0, 3.0], [0.0, 0.5, 0.0]),
        ("sharpe >= -2", [-2.0, -4.0, -6.0], [0.0, 0.5, 2 / 3]),
        ("sharpe > 1e300", [1e300, np.nextafter(1e300, 2e300)], [LEAST_MISS, 0.0]),
    ],
)
def test_the_share_missed_is_worked_out_by_hand(text, values, misses):
    """Half at twice the bound, whatever its sign; at a strict bound nearly nothing."""
    assert parse_constraint(text).misses(np.array(values)).tolist() == misses


@pytest.mark.parametrize(
    ("how", "more_is_better", "expected"),
    [
        ("mean", True, 3.0),
        ("worst", True, 1.0),
        ("worst", False, 5.0),
        ("q1", True, 1.0),
        ("q25", True, 2.0),
        ("q25", False, 4.0),
        ("q50", True, 3.0),
    ],
)
def test_windows_are_taken_together_by_hand(how, more_is_better, expected):
    """Quantiles are members, the nearest on the worse side of the share asked for."""
    values = np.array([[3.0, 1.0, 2.0, 5.0, 4.0]])
    assert over_windows(values, how, more_is_better=more_is_better).tolist() == [expected]
    one = np.array([[0.1], [-7.3]])
    assert over_windows(one, how, more_is_better=more_is_better).tolist() == [0.1, -7.3]


@pytest.mark.parametrize(
    ("how", "endless"), [("mean", np.inf), ("worst", 1.0), ("q10", 1.0), ("q50", 2.0)]
)
def test_one_undefined_window_is_undefined(how, endless):
    """No way leaves it out; one without losses is as good as can be, a mean beyond all is none."""
    values = np.array([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0], [1.0, np.inf, 2.0]])
    found = over_windows(values, how, more_is_better=True)
    assert np.isnan(found).tolist() == [True, False, False]
    assert found[2] == endless
    if how == "mean":
        beyond = over_windows(np.array([[1.7e308, 1.7e308]]), how, more_is_better=True)
        assert np.isnan(beyond).all()


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


BARS = make_planted_market(3, 1500, 6)


@pytest.fixture(scope="module")
def task():
    """A search that prizes strength with its neighbours, on a small market."""
    return make_task(BARS, objectives="strength@near,max_drawdown", min_trades=5)


def around(layout, genome):
    """A member and its neighbours along each axis, each once, by the letter."""
    moved, _ = layout.repair(genome + axis_moves(layout))
    return list(dict.fromkeys([tuple(genome.tolist()), *map(tuple, moved.tolist())]))


def alone(problem, genomes):
    """What each of genomes reaches without its neighbours; None where infeasible."""
    plain = EngineProblem(problem.goals.alone, problem.spans, problem.engine)
    judged = plain.evaluate(np.array(genomes))
    values = plain.goals.natural(judged.objectives)
    return [
        None if broken else row
        for row, broken in zip(values.tolist(), judged.violations > 0, strict=True)
    ]


@pytest.mark.parametrize("text", ["strength@near", "max_drawdown@near", "trades:min@near"])
def test_the_worst_quarter_decides(task, text):
    """The ceil(m / 4)-th worst of a member and its neighbours, one member at a time."""
    goals = Goals(parse_objectives(text), min_trades=5)
    engine = task.engine()
    problem = EngineProblem(goals, task.problem(engine).spans, engine)
    genomes = task.random_individuals(12)
    genomes[0] = task.spec.layout.low  # neighbours beyond a bound are itself
    genomes[0], _ = task.spec.layout.repair(genomes[:1])
    reached = problem.measure_objectives(genomes)[:, 0].tolist()
    seen = 0
    for genome, actual in zip(genomes, reached, strict=True):
        values = alone(problem, around(task.spec.layout, genome))
        worst = -math.inf if goals.maximised[0] else math.inf
        ranked = sorted(
            (worst if value is None else value[0] for value in values),
            reverse=not goals.maximised[0],
        )
        expected = ranked[math.ceil(len(ranked) / 4) - 1]
        seen += math.isfinite(expected)
        # Whose worst quarter is infeasible is infeasible.
        assert math.isnan(actual) if math.isinf(expected) else actual == expected
    assert 0 < seen < 12


def test_neighbours_are_those_of_the_plateau(task):
    """The same steps, clipped and repaired the same way, without its cloud."""
    assert compute_reach(float_layout(1)).tolist() == [0.05]
    layout, genome = task.spec.layout, task.spec.layout.defaults
    near = neighbourhoods(layout, genome[None])
    asked = {tuple(row) for row in near.genomes[near.indices[0]].tolist()}
    assert asked == set(around(layout, genome))
    cloud = {tuple(row) for row in list_neighbours(layout, genome, 0, 1).tolist()}
    assert asked - {tuple(genome.tolist())} <= cloud
