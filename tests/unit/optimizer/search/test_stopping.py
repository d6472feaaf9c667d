"""Rules that end a search before its last generation."""

import pytest

from optimizer.search.evolution import stop_reason
from tests.support.searches import Hopeless, Zdt1, evolve, float_layout, settings


def find_stop(problem, generations=60, seconds=0.0, **limits):
    """Generation and reason at which a search would end."""
    wanted = settings(10, generations, **limits)
    for generation in evolve(problem, wanted):
        why = stop_reason(wanted, generation, seconds)
        if why:
            return generation.number, why
    return generations, ""


@pytest.mark.parametrize(("limit", "last"), [(9, 0), (10, 0), (39, 2), (40, 3), (41, 3)])
def test_evaluations_are_never_exceeded(limit, last):
    """The next generation begins only when all of it is within the limit."""
    assert find_stop(Zdt1(float_layout(3)), max_evaluations=limit) == (last, "max_evaluations")


def test_a_plateau_is_so_many_generations_without_growth():
    """A search that finds nothing feasible never grows, so it ends at once after that many."""
    assert find_stop(Hopeless(float_layout(2)), plateau=7) == (7, "plateau")


def test_seconds_stop_after_the_generation():
    """Time that has passed ends a search; time that has not does not."""
    problem = Zdt1(float_layout(3))
    assert find_stop(problem, seconds=2.0, max_seconds=2.0) == (0, "max_seconds")
    assert find_stop(problem, generations=3, seconds=1.9, max_seconds=2.0) == (3, "")
