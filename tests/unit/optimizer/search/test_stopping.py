"""Rules that end a search before its last generation."""

import pytest

from optimizer.errors import ConfigError
from optimizer.search.evolution import evolve
from optimizer.search.stopping import StopRules
from tests.support.searches import Hopeless, Zdt1, float_layout, settings


def stopped_at(rules, problem, population=10, generations=60, seconds=0.0):
    """Generation and reason at which a search would end."""
    for generation in evolve(problem, settings(population, generations)):
        why = rules.reason(generation, population, seconds)
        if why:
            return generation.number, why
    return generations, ""


def test_no_rule_never_stops():
    """Without limits a search runs to its last generation."""
    assert stopped_at(StopRules(), Zdt1(float_layout(3)), generations=5) == (5, "")


@pytest.mark.parametrize(("limit", "last"), [(9, 0), (10, 0), (39, 2), (40, 3), (41, 3)])
def test_evaluations_are_never_exceeded(limit, last):
    """The next generation begins only when all of it is within the limit."""
    rules = StopRules(max_evaluations=limit)
    assert stopped_at(rules, Zdt1(float_layout(3))) == (last, "max_evaluations")


def test_a_plateau_is_so_many_generations_without_growth():
    """A search that finds nothing feasible never grows, so it ends at once after that many."""
    assert stopped_at(StopRules(plateau=7), Hopeless(float_layout(2))) == (7, "plateau")


def test_seconds_stop_after_the_generation():
    """Time that has passed ends a search; time that has not does not."""
    problem = Zdt1(float_layout(3))
    assert stopped_at(StopRules(max_seconds=2.0), problem, seconds=2.0) == (0, "max_seconds")
    assert stopped_at(StopRules(max_seconds=2.0), problem, generations=3, seconds=1.9) == (3, "")


@pytest.mark.parametrize("name", ["max_evaluations", "max_seconds", "plateau"])
def test_limits_are_above_zero(name):
    """A limit of nothing is a mistake."""
    with pytest.raises(ConfigError, match=f"{name} must be above 0, got 0"):
        StopRules(**{name: 0})
