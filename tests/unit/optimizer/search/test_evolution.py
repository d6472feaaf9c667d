"""The search: what each generation holds, how it repeats, and where it stops."""

from itertools import pairwise

import moocore
import numpy as np
import pytest

from optimizer.search.evolution import front_hash
from optimizer.search.generation import Population, final_front
from optimizer.search.operators import sample_genomes
from optimizer.search.randomness import stream
from strategy import STRATEGIES
from tests.support.searches import (
    Analytic,
    HalfForbidden,
    Hopeless,
    Zdt1,
    bits,
    evolve,
    float_layout,
    settings,
)

SELLER = STRATEGIES["seller_exhaustion"].layout
SIZES = pytest.mark.parametrize("size", [1, 2, 5, 33], ids=lambda size: f"P{size}")


def run(problem, population, generations, **options):
    """All generations of a search."""
    return list(evolve(problem, settings(population, generations), **options))


def list_population(genomes, objectives, violations=None):
    """A population as lists spell it."""
    genomes, objectives = np.array(genomes, dtype=float), np.array(objectives, dtype=float)
    violations = np.zeros(len(genomes)) if violations is None else np.array(violations)
    return Population(genomes, objectives, violations, (violations > 0).astype(np.int16))


@SIZES
def test_every_population_size_runs(size):
    """Odd, even, one: each generation holds as many distinct individuals as asked."""
    generations = run(HalfForbidden(SELLER, 3), size, 6)
    assert [generation.number for generation in generations] == list(range(7))
    for generation in generations:
        # The best come first: feasible before infeasible, and these by violation.
        assert (np.diff(generation.population.violations) >= 0).all()
        assert not generation.population.genomes.flags.writeable
        genomes = generation.population.genomes
        assert genomes.shape == (size, len(SELLER))
        assert len(np.unique(genomes, axis=0)) == size
        assert generation.evaluated == size
        assert SELLER.is_legal(genomes).all()


def test_search_beats_random_sampling():
    """With the same evaluations the front encloses more than that of a uniform sample."""
    problem = Zdt1(float_layout(8))
    *_, last = run(problem, 40, 60)
    sample = sample_genomes(stream(1, 0, "initial"), problem.layout, 40 * 61)
    reference = [1.1, 10.0]
    volume = moocore.hypervolume(last.population.objectives, ref=reference)
    drawn = moocore.hypervolume(problem.compute_objectives(sample), ref=reference)
    best = 1.1 * 10.0 - 1.0 / 3.0  # all but what lies below f2 = 1 - sqrt(f1)
    assert drawn < 0.9 * volume
    assert 0.99 * best < volume <= best


def test_search_without_a_feasible_individual_runs_to_its_end():
    """Infeasible individuals are counted by reason, and the violation still gives a direction."""
    problem = Hopeless(float_layout(3))
    generations = run(problem, 10, 15)
    assert len(generations) == 16
    assert all(dict(g.rejected) == {"too_few_trades": g.evaluated} for g in generations)
    assert not len(generations[-1].archive)
    first, last = generations[0].population, generations[-1].population
    assert last.violations.mean() < first.violations.mean()


def test_front_hash_ignores_order_and_sign_of_zero():
    """Members may come in any order; a negative zero is a zero."""
    genomes = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 1.0]])
    objectives = np.array([[0.5], [-0.0], [0.25]])
    order = [2, 0, 1]
    expected = front_hash(genomes, objectives)
    assert front_hash(genomes[order], objectives[order] + 0.0) == expected


def test_front_hash_sees_every_bit_and_the_shape():
    """The last bit of any number, and how numbers are divided into genes, change the hash."""
    genomes, objectives = np.array([[1.0, 2.0]]), np.array([[0.5, 0.25]])
    hashes = {
        front_hash(genomes, objectives),
        front_hash(np.nextafter(genomes, 9.0), objectives),
        front_hash(genomes, np.nextafter(objectives, 9.0)),
        front_hash(np.array([[1.0]]), np.array([[2.0, 0.5, 0.25]])),
        front_hash(np.empty((0, 2)), np.empty((0, 2))),
        front_hash(np.empty((0, 3)), np.empty((0, 2))),
    }
    assert len(hashes) == 6


VARIANTS = {
    "plain": {}, "restart": {"patience": 1, "on_stagnation": "restart"},
    "immigrants": {"patience": 1, "immigrants": 0.2}, "elite": {"elite": 0.5, "archive": 5},
    "crowding": {"survival": "crowding", "adapt": False}, "reference": {"survival": "reference"},
}  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_way_to_search_resumes_with_the_same_bits(variant):
    """All that decides is in the generation that was kept; how many follow decides nothing."""
    problem = HalfForbidden(SELLER, 3)
    wanted = settings(24, 9, **VARIANTS[variant])
    whole = list(evolve(problem, wanted))
    for generation in whole[::3]:
        rest = list(evolve(problem, wanted, resume_from=generation))
        assert bits(rest) == bits(whole[generation.number + 1 :])
    assert [generation.evaluated for generation in whole] == [24] * 10
    assert bits(list(evolve(problem, settings(24, 3, **VARIANTS[variant])))) == bits(whole[:4])
    if variant != "restart":  # nothing stagnates so soon; it has a test of its own
        seed = 7 + (variant == "plain")
        other = list(evolve(problem, settings(24, 9, seed=seed)))
        assert bits(whole)[-1] != bits(other)[-1]


def test_the_archive_is_what_nobody_ever_seen_dominates():
    """It equals the front of everything that was sent to the engine."""
    problem = Zdt1(float_layout(4))
    *_, last = evolve(problem, settings(15, 25))
    seen = problem.compute_objectives(np.concatenate(problem.asked))
    front = seen[moocore.is_nondominated(seen)]
    assert sorted(map(tuple, front.tolist())) == sorted(
        map(tuple, last.archive.objectives.tolist())
    )
    assert final_front(last).genomes.tolist() == sorted(last.archive.genomes.tolist())


def test_restart_keeps_the_archive_and_changes_the_population():
    """After stagnation all are new, and nothing of the front is lost."""
    problem = Analytic(float_layout(1))
    wanted = settings(8, 30, patience=2, on_stagnation="restart")
    generations = list(evolve(problem, wanted))
    restarts = 0
    for before, after in pairwise(generations):
        old = {row.tobytes() for row in before.population.genomes}
        restarts += not old & {row.tobytes() for row in after.population.genomes}
        assert after.hypervolume >= before.hypervolume
    assert restarts
