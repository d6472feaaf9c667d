"""The search: what each generation holds, how it breeds, repeats, polishes and stops."""

from itertools import pairwise

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.search import evolution as module
from optimizer.search.breeding import (
    ADAPTED,
    compute_rates,
    cross_simulated_binary,
    exchange_genes,
    move_by_difference,
    mutate_polynomial,
    repair_genomes,
    sample_genomes,
    select_parents,
    shares,
    update_credits,
)
from optimizer.search.evolution import (
    OFF_GRID,
    STEPS,
    front_hash,
    make_lattice,
    neighbours,
    stop_reason,
)
from optimizer.search.generation import (
    OPERATORS,
    UNKNOWN,
    Memory,
    final_front,
    from_numbers,
    to_numbers,
)
from optimizer.search.randomness import (
    PURPOSES,
    draw_words,
    scale_to_index,
    scale_to_unit,
    stream,
)
from optimizer.search.selection import Ranking, hypervolume
from strategy import STRATEGIES, Gene, GenomeLayout
from tests.support.searches import (
    Analytic,
    HalfForbidden,
    Hopeless,
    Zdt1,
    bits,
    evolve,
    explore,
    float_layout,
    int_layout,
    polished_front,
    settings,
)

SELLER = STRATEGIES["seller_exhaustion"].layout
SIZES = pytest.mark.parametrize("size", [1, 2, 5, 33], ids=lambda size: f"P{size}")


def run(problem, population, generations, **options):
    """All generations of a search."""
    return list(evolve(problem, settings(population, generations), **options))


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


def test_a_front_has_one_hash_and_no_other_front_has_it():
    """Members come in any order, a negative zero is a zero; the last bit and the shape count."""
    genomes, objectives = np.array([[1.0, 2.0], [0.0, 5.0]]), np.array([[0.5], [-0.0]])
    known = front_hash(genomes, objectives)
    assert front_hash(genomes[::-1], objectives[::-1] + 0.0) == known
    hashes = {
        known,
        front_hash(np.nextafter(genomes, 9.0), objectives),
        front_hash(genomes, np.nextafter(objectives, 9.0)),
        front_hash(np.array([[1.0], [0.0]]), np.array([[2.0, 0.5], [5.0, 0.0]])),
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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(0, 500), st.floats(0, 0.999))
def test_shares_divide_all_and_nothing_more(credits, count, offset):
    """Each part is its rate times the count, rounded down or up, and parts add up."""
    rates = compute_rates(credits)
    parts = shares(rates, count, offset)
    assert sum(parts) == count
    assert all(abs(part - rate * count) < 2.0 for part, rate in zip(parts, rates, strict=True))


def test_credit_moves_towards_what_was_admitted():
    """Of an operator's children half were admitted: its credit goes an eighth of the way."""
    made = {"cross": 2, "mutate": 1, "immigrate": 1}
    tried = [made.get(name, 0) for name in OPERATORS]
    credits = update_credits(
        (1.0,) * len(ADAPTED), tried, [int(name == "cross") for name in OPERATORS]
    )
    after = dict(zip(ADAPTED, credits, strict=True))
    assert after == {"cross": 0.9375, "exchange": 1.0, "difference": 1.0, "mutate": 0.875}


PROBLEMS = {"real": Zdt1(float_layout(5)), "whole": Analytic(int_layout((1, 20), (1, 20)))}
"""Genomes that are never drawn twice, and such that often are, in whose place others come."""


@pytest.mark.parametrize("name", PROBLEMS)
def test_lineage_leads_back_to_the_first_generation(name):
    """Serials are unique and rise; parents were judged before their children."""
    generations = list(evolve(PROBLEMS[name], settings(16, 12)))
    born = {}
    for generation in generations:
        for serial, mother, father, code in generation.population.lineage.tolist():
            born.setdefault(serial, (generation.number, mother, father, code))
    assert set(born) <= set(range(16 * 13))
    for serial, (number, mother, father, code) in born.items():
        assert serial // 16 == number
        assert mother < 16 * number
        assert father < 16 * number
        if OPERATORS[code] in ("cross", "exchange"):
            assert min(mother, father) >= 0
        if OPERATORS[code] in ("sample", "published", "immigrate"):
            assert mother == father == UNKNOWN
    kinds = {OPERATORS[code] for _, _, _, code in born.values()}
    assert {*ADAPTED, "sample", *["immigrate"] * (name == "whole")} <= kinds


OPTIONS = ("a", "b", "c", "d", "e")
LAYOUT = GenomeLayout(
    (
        Gene("kind", "int", 0, 4, 1, options=OPTIONS),
        Gene("some", "int", 1, 3, 2, options=OPTIONS),
        Gene("stepped", "float", 0.0, 0.3, 0.1, step=0.1),
        Gene("real", "float", 0.0, 1.0, 0.5),
        Gene("length", "int", 2, 9, 5),
    )
)
STEPPED = {0.0, 0.1, 0.2, 0.3}


def draw_stream():
    """A random stream."""
    return stream(1, 1, "mutate")


def population(count=400):
    """Legal genomes."""
    return sample_genomes(stream(1, 0, "initial"), LAYOUT, count)


def vary():
    """Children of each operator."""
    parents, ahead, behind = population(), population()[::-1], np.roll(population(), 7, axis=0)
    yield parents
    yield mutate_polynomial(draw_stream(), parents, LAYOUT, eta=15, probability=1.0)
    yield cross_simulated_binary(draw_stream(), parents, LAYOUT, eta=15, probability=1.0)
    yield move_by_difference(draw_stream(), parents, ahead, behind, LAYOUT)
    yield exchange_genes(draw_stream(), parents, ahead, 0.5)


@pytest.mark.parametrize("children", list(vary()))
def test_children_have_options_and_values_of_steps(children):
    """Within bounds; a repair changes no bit of them."""
    assert set(children[:, 0]) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert set(children[:, 1]) == {1.0, 2.0, 3.0}
    assert set(children[:, 2]) == STEPPED
    assert repair_genomes(LAYOUT, children)[0].tolist() == children.tolist()


def test_a_mutation_draws_another_option_each_as_likely():
    """Whatever the old one; as often as any gene is mutated."""
    genomes = np.repeat(LAYOUT.defaults[None], 30_000, axis=0)
    mutants = mutate_polynomial(draw_stream(), genomes, LAYOUT, eta=63, probability=0.5)
    counts = np.bincount(mutants[:, 0].astype(int), minlength=5)
    assert abs(counts[1] - 15_000) < 500
    assert np.abs(counts[[0, 2, 3, 4]] - 3750).max() < 250
    assert set(mutants[mutants[:, 1] != 2.0, 1]) == {1.0, 3.0}


def test_neighbours_are_all_other_options_and_the_next_steps():
    """When a front is polished: one gene moves, within its bounds, a real one by a part of them."""
    genome = LAYOUT.defaults.copy()
    genome[LAYOUT.index("length")] = 2.0
    near, origins = neighbours(LAYOUT, genome[None])
    moved = near != genome
    assert (moved.sum(axis=1) == 1).all()
    assert not origins.any()
    assert [sorted(near[rows, g].tolist()) for g, rows in enumerate(moved.T)] == [
        [0.0, 2.0, 3.0, 4.0], [1.0, 3.0], [0.0, 0.2], [0.5 - 1 / STEPS, 0.5 + 1 / STEPS], [3.0],
    ]  # fmt: skip


def test_values_run_from_bound_to_bound():
    """The high bound belongs to the grid where a step meets it, but for rounding."""
    grid = make_lattice(SELLER, {"reward_r": 1.5, "tr_z_min": 0.3, "max_hold": 100})
    assert grid.values[SELLER.index("reward_r")].tolist() == [0.5, 2.0, 3.5, 5.0]
    assert len(grid.values[SELLER.index("tr_z_min")]) == 10
    assert grid.values[SELLER.index("tr_z_min")][-1] == 3.0
    assert grid.values[SELLER.index("max_hold")].tolist() == [4.0, 104.0, 204.0, 304.0]
    assert grid.values[SELLER.index("ema_fast")].tolist() == [96.0]
    assert len(grid) == 4 * 10 * 4


def test_every_legal_point_is_judged_once(monkeypatch):
    """In chunks of any size; points that break a constraint are counted and not judged."""
    monkeypatch.setattr(module, "CHUNK", 7)
    problem = Analytic(int_layout((1, 6), (1, 6), ordered=True))
    generations = list(explore(problem, make_lattice(problem.layout, {"gene_0": 1, "gene_1": 1})))
    asked = np.concatenate(problem.asked)
    assert len(asked) == len(np.unique(asked, axis=0)) == 15
    assert (asked[:, 0] < asked[:, 1]).all()
    assert [g.number for g in generations] == list(range(6))
    assert sum(g.rejected.get(OFF_GRID, 0) for g in generations) == 21


@pytest.mark.parametrize("chunk", [1, 10, 10_000])
def test_the_archive_is_the_true_front_whatever_the_chunk(monkeypatch, chunk):
    """The same front for any chunk, never truncated."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    problem = Zdt1(float_layout(2))
    grid = make_lattice(problem.layout, {"gene_0": 0.05, "gene_1": 0.1})
    *_, last = explore(problem, grid)
    truth = problem.compute_objectives(grid.points(0, len(grid)))
    truth = truth[moocore.is_nondominated(truth)]
    objectives = last.archive.objectives
    assert sorted(map(tuple, truth.tolist())) == sorted(map(tuple, objectives.tolist()))
    assert len(grid) == 21 * 11


def test_an_interrupted_grid_goes_on_with_the_same_bits(monkeypatch):
    """From any chunk on."""
    monkeypatch.setattr(module, "CHUNK", 16)
    problem = HalfForbidden(float_layout(2))
    grid = make_lattice(problem.layout, {"gene_0": 0.1, "gene_1": 0.1})
    whole = list(explore(problem, grid))
    for generation in whole:
        rest = list(explore(problem, grid, resume_from=generation))
        assert bits(rest) == bits(whole[generation.number + 1 :])


COUNTS = st.integers(0, 2**53 - 1)
FLOATS = st.floats(allow_nan=False)


@given(COUNTS, FLOATS, COUNTS, COUNTS, st.lists(FLOATS), COUNTS)
def test_numbers_lead_back(evaluated, best, grown, stirred, credits, seed):
    """Every field keeps every bit, whatever the number of operators and objectives."""
    low, high = np.random.default_rng(seed).normal(size=(2, 1 + seed % 5))
    memory = Memory(evaluated, best, grown, stirred, tuple(credits), low, high)
    copied = from_numbers(to_numbers(memory), len(low))
    assert to_numbers(copied).tobytes() == to_numbers(memory).tobytes()
    assert copied.credits == memory.credits
    assert (copied.evaluated, copied.grown_at, copied.stirred_at) == (evaluated, grown, stirred)
    assert copied.low.tobytes() == low.tobytes()


def test_the_better_of_two_wins_and_everybody_takes_part_equally_often():
    """By rank, then by wider crowding; of 64 the best is chosen twice and the worst never."""
    for ranking in (
        Ranking(np.array([1, 0]), np.array([np.inf, 0.0])),
        Ranking(np.array([0, 0]), np.array([0.5, 2.0])),
    ):
        assert {1} == set(select_parents(draw_stream(), ranking, 50).tolist())
    ranking = Ranking(np.arange(64), np.zeros(64))
    chosen = np.bincount(select_parents(draw_stream(), ranking, 64), minlength=64)
    assert (chosen[0], chosen[63], chosen.max()) == (2, 0, 2)


def test_polish_only_adds():
    """What the polished front dominates contains what the front did."""
    problem = Zdt1(float_layout(4))
    *_, last = evolve(problem, settings(20, 15))
    archive, count = polished_front(problem, last, at_most=500, keep=1000)
    box = np.zeros(2), np.array([1.1, 10.0])
    before, after = (hypervolume(a.objectives, *box) for a in (last.archive, archive))
    assert after > before
    assert 0 < count <= 500
    made = archive.lineage[archive.lineage[:, 3] == OPERATORS.index("polish")]
    assert len(made)
    assert (made[:, 0] >= 320).all()
    assert set(made[:, 1].tolist()) <= set(last.archive.lineage[:, 0].tolist())


def test_words_have_the_key_of_the_law():
    """The key is the seed, and the index above sixteen bits of purpose."""
    for purpose in ("null_body", "null_gap", "bootstrap", "reorder", "near", "null_mirror"):
        key = np.array([7, 5 << 16 | PURPOSES[purpose]], dtype=np.uint64)
        expected = np.random.Philox(key=key).random_raw(9)
        assert expected.tolist() == draw_words(7, 5, purpose, 9).tolist()


def test_the_largest_word_stays_inside():
    """A unit is below 1, and a place among m is at most m - 1."""
    edges = np.array([0, 2**64 - 1, 2**63], dtype=np.uint64)
    assert scale_to_unit(edges).tolist() == [0.0, 1 - 2.0**-53, 0.5]
    assert scale_to_index(edges, 3).tolist() == [0, 2, 1]
    assert scale_to_index(edges, 1).tolist() == [0, 0, 0]
    assert scale_to_index(edges, 2**53).tolist() == [0, 2**53 - 1, 2**52]


LIMITS = [
    # The next generation begins only when all of it is within the limit.
    *((Zdt1, "max_evaluations", limit, last)
      for limit, last in ((9, 0), (10, 0), (39, 2), (40, 3), (41, 3))),
    # A search that finds nothing feasible never grows.
    (Hopeless, "plateau", 7, 7),
    # After each generation two seconds have passed.
    (Zdt1, "max_seconds", 2.0, 0),
    (Zdt1, "max_seconds", 2.1, None),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "limit", "most", "last"), LIMITS)
def test_a_limit_ends_a_search(problem, limit, most, last):
    """By its name, and not before."""
    wanted = settings(10, 9, **{limit: most})
    found = evolve(problem(float_layout(3)), wanted)
    reasons = [stop_reason(wanted, generation, 2.0) for generation in found]
    stops = [(number, why) for number, why in enumerate(reasons) if why]
    assert stops[:1] == ([] if last is None else [(last, limit)])
