"""Objectives that ask the neighbours too."""

import math

import numpy as np
import pytest

from optimizer.evidence.robust import list_neighbours
from optimizer.goals.near import axis_moves, compute_reach, neighbourhoods
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.run.problem import EngineProblem
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.searches import float_layout

BARS = make_planted_market(3, 1500, 6)


def make_goals(text, min_trades=5):
    """Goals of named objectives."""
    return Goals(parse_objectives(text), min_trades)


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
    goals = make_goals(text)
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


def test_values_do_not_depend_on_who_else_is_asked(task):
    """Alone, in another order, or in a crowd: the same bits."""
    problem = task.problem(task.engine())
    genomes = task.random_individuals(20)
    together = problem.measure_objectives(genomes)
    backwards = problem.measure_objectives(genomes[::-1].copy())[::-1]
    single = np.concatenate([problem.measure_objectives(genome[None]) for genome in genomes])
    assert together.tobytes() == backwards.tobytes() == single.tobytes()


def test_neighbours_are_those_of_the_plateau(task):
    """The same steps, clipped and repaired the same way, without its cloud."""
    assert compute_reach(float_layout(1)).tolist() == [0.05]
    layout, genome = task.spec.layout, task.spec.layout.defaults
    near = neighbourhoods(layout, genome[None])
    asked = {tuple(row) for row in near.genomes[near.indices[0]].tolist()}
    assert asked == set(around(layout, genome))
    cloud = {tuple(row) for row in list_neighbours(layout, genome, 0, 1).tolist()}
    assert asked - {tuple(genome.tolist())} <= cloud
