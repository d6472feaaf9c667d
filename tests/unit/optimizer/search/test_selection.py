"""Fronts, survivors and archives are those of plain definitions, of moocore and of DEAP."""

from math import comb

import moocore
import numpy as np
import pytest
from deap import base
from deap.tools import emo
from hypothesis import given
from hypothesis import strategies as st

from optimizer.search.compiled import choosing, fronts
from optimizer.search.compiled.choosing import choose_survivors, keep_compromises
from optimizer.search.compiled.contributions import CELLS, MOST
from optimizer.search.compiled.fronts import rising_orders
from optimizer.search.generation import Floats, Population, empty_population
from optimizer.search.selection import (
    ARCHIVE_ROUNDS,
    REFERENCE,
    ROUNDS,
    associate_directions,
    compute_box,
    contributions,
    directions,
    extend_archive,
    find_compromises,
    first_front,
    hypervolume,
    is_nondominated,
    normalise_objectives,
    rank_and_choose,
    rank_individuals,
    rank_survivors,
    select_survival_rule,
    survive,
    survive_by_hypervolume,
    survive_by_reference,
    truncate_front,
)
from tests.support.looping import each


def draw_front(seed, count):
    """Points of many kinds: on a sphere, in a cube, ties, copies, crowds, and one far off."""
    rng = np.random.default_rng([seed, count])
    cube = rng.random((count, 3))
    outlier = np.where(np.arange(count) == count // 2, 1.0, 1e-5)[:, None]
    kinds = [
        1.0 - cube / np.sqrt((cube**2).sum(axis=1, keepdims=True)),
        cube,
        np.round(cube, 1),
        cube[rng.integers(0, count, count)],
        0.5 + cube * 2.0**-51,
        cube * outlier,
        np.column_stack([cube[:, 0], 1.0 - cube[:, 0], cube[:, 2] * outlier[:, 0]]),
        (cube - 0.5) * 2.0**1023,
    ]
    return kinds[seed % len(kinds)]


def round_to_cells(objectives):
    """The definition: whole cells of objectives in units of the front's extent."""
    halves = objectives * 0.5
    low, high = halves.min(axis=0), halves.max(axis=0)
    scaled = (halves - low) / np.where(high > low, high - low, 1.0)
    return np.floor(scaled * CELLS).astype(np.int64)


def compute_volumes(cells):
    """What each of cells [F, 3] alone dominates: box by box of the grid that all of them span."""
    edges = [np.unique([*cells[:, j], REFERENCE]) for j in range(3)]
    covers = [cells[:, j, None] <= edges[j][:-1] for j in range(3)]
    covers = covers[0][:, :, None, None] & covers[1][:, None, :, None] & covers[2][:, None, None, :]
    x, y, z = (np.diff(edge).astype(object) for edge in edges)
    boxes = x[:, None, None] * y[:, None] * z
    is_alone = covers & (covers.sum(axis=0) == 1)
    return [sum(boxes[own].tolist()) for own in is_alone]


def stated_contributions(objectives, volumes=compute_volumes):
    """The definition: volumes, and above all of them the best of each objective."""
    contributions = np.array(volumes(round_to_cells(objectives)))
    contributions[objectives.argmin(axis=0)] = MOST
    return contributions


def stated_truncated(objectives, keep, rounds, stated=stated_contributions):
    """The definition: in rounds those leave that contribute least, of equals the later one."""
    places = np.arange(len(objectives))
    step = -(-(len(places) - keep) // rounds)
    while len(places) > keep:
        missed = stated(objectives[places]).tolist()
        leaving = sorted(range(len(places)), key=lambda i: (missed[i], -i))
        places = np.delete(places, leaving[: min(step, len(places) - keep)])
    return places


def numbers_to_keep(count):
    """One, a third, all but one, all, and more than there are."""
    return {1, count // 3 + 1, max(1, count - 1), count, count + 5}


@pytest.mark.parametrize("count", [1, 3, 24])
@each("seed", range(24))
def test_contributions_and_truncation_are_as_defined(seed, count):
    """Ties, copies and members that others dominate included; in one round and in four."""
    objectives = draw_front(seed, count)
    assert stated_contributions(objectives).tolist() == contributions(objectives).tolist()
    for keep in numbers_to_keep(count):
        for rounds in (1, 4):
            expected = stated_truncated(objectives, keep, rounds)
            assert expected.tolist() == truncate_front(objectives, keep, rounds).tolist()


ODD = np.array([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1.7e308, -1.7e308, np.inf, -np.inf])

KINDS = ("random", "rounded", "whole", "copies", "sphere", "chain")


def draw_values(seed, count):
    """Numbers with many equals, with few, or with none."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(-3, 4, count).astype(np.float64),
        rng.choice(ODD, count),
        rng.normal(size=count) * 10.0 ** rng.integers(-300, 300, count),
        np.full(count, 7.0),
        rng.random(count),
        1.0 + rng.integers(0, 9, count) * 2.0**-52,
    ][seed % 6]


def draw_objectives(kind, count, n_objectives=3, seed=0):
    """Individuals: on a sphere none is dominated, in a chain each is a front."""
    rng = np.random.default_rng([KINDS.index(kind), count, n_objectives, seed])
    points = rng.random((count, n_objectives))
    return {
        "random": points,
        "rounded": np.round(points, 1),
        "whole": rng.integers(-4, 5, points.shape) * 0.5,
        "copies": points[rng.integers(0, count // 2 + 1, count)],
        "sphere": points / np.sqrt((points**2).sum(axis=1, keepdims=True)),
        "chain": np.repeat(points[:, :1], n_objectives, axis=1),
    }[kind]


@pytest.mark.parametrize("count", [0, 1, 2, 63, 1000, 20_000])
@each("seed", range(12))
def test_rising_orders_are_those_of_a_stable_sort(seed, count):
    """Equal numbers, both zeros among them, stay in the order of their places, whatever else.

    Numbers that differ in their last bits only, of which a word has no room, are ordered.
    """
    rows = np.array([draw_values(seed, count), draw_values(seed + 1, count)])
    assert np.argsort(rows, axis=1, kind="stable").tolist() == rising_orders(rows).tolist()


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@each("seed", range(12))
def test_ranks_best_and_copies_are_as_defined(seed, kind, n_objectives):
    """Moocore's ranks; the first front has all of its equals, the best only the first of them."""
    count = 1 + 10 * seed
    objectives = draw_objectives(kind, count, n_objectives, seed)
    ranks = rank_individuals(objectives, feasible(objectives)).ranks.tolist()
    if n_objectives in (2, 3):
        assert moocore.pareto_rank(objectives).tolist() == ranks
        assert moocore.is_nondominated(objectives).tolist() == is_nondominated(objectives).tolist()
    assert [rank == 0 for rank in ranks] == first_front(objectives).tolist()
    violations = np.random.default_rng(seed).integers(0, 2, count).astype(np.float64)
    seen, expected = set(), []
    for row, violation in zip(objectives.tolist(), violations, strict=True):
        expected.append(violation == 0 and tuple(row) in seen)
        seen |= {tuple(row)} if violation == 0 else set()
    assert expected == rank_individuals(objectives, violations).is_copy.tolist()


UNKNOWN = np.empty(0, dtype=np.int64)
"""Ranks of no elders."""

POOLS = ("random", "rounded", "grid", "sphere", "copies", "huge")


def pool(kind, rng, count):
    """Objectives and violations of individuals, of whom none, some or all are feasible."""
    objectives = rng.random((count, 3))
    if kind == "rounded":
        objectives = np.round(objectives, 1)
    elif kind == "grid":
        objectives = rng.integers(-1, 2, (count, 3)) * 1.0
    elif kind == "sphere":
        objectives /= np.linalg.norm(objectives, axis=1)[:, None]
    elif kind == "copies" and count:
        objectives[rng.integers(0, count, count // 3)] = objectives[0]
    elif kind == "huge":
        objectives[:5] *= 1e305
    is_failed = rng.random(count) < rng.choice([0.0, 0.2, 0.9, 1.0])
    violations = np.where(is_failed, np.round(rng.random(count), 1) + 0.1, 0.0)
    objectives[is_failed] = np.nan
    return objectives, violations


def find_survivors(objectives, violations, keep):
    """Survivors, their ranks and crowding distances by the plain definition."""
    ranking = rank_individuals(objectives, violations)
    order = survive_by_hypervolume(objectives, violations, keep, ranking)
    kept = rank_survivors(ranking, objectives, violations, order)
    return order, kept.ranks, kept.crowding


def as_bytes(arrays):
    """Arrays as bytes."""
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("factor", [0.3, 1.0, 2.0])
@each("seed", range(12))
def test_survivors_are_those_of_the_definition_whatever_is_known_of_elders(kind, factor, seed):
    """Who goes on, in which order, how ranked: ties, copies, infeasible ones, any number kept.

    Newcomers of several generations are better, alike or worse; with others behind elders.
    """
    rng = np.random.default_rng([seed, POOLS.index(kind)])
    count = 900 if seed == 0 else 300 if seed < 3 else int(rng.integers(1, 60))
    objectives, violations = pool(kind, rng, count)
    keep = int(rng.integers(1, count + 5))
    elders = UNKNOWN
    for generation in range(1, 5):
        expected = find_survivors(objectives, violations, keep)
        actual = choose_survivors(objectives, violations, keep, elders, (ROUNDS, REFERENCE))
        assert as_bytes(actual) == as_bytes(expected)
        chosen, elders, _ = actual
        newcomers = pool(kind, rng, int(rng.integers(0, 2 * keep + 1)))
        some = np.concatenate([chosen, chosen[: int(rng.integers(0, 3))]])
        better = newcomers[0] * factor**generation
        objectives = np.concatenate([objectives[some], better])
        violations = np.concatenate([violations[some], newcomers[1]])


@pytest.mark.parametrize("kind", POOLS)
@each("seed", range(40))
def test_compromises_are_those_of_the_definition(kind, seed):
    """Who is kept, and the hypervolume in every bit, with and without a box."""
    rng = np.random.default_rng([seed, POOLS.index(kind)])
    count = 900 if seed == 0 else int(rng.integers(0, 120))
    objectives, violations = pool(kind, rng, count)
    feasible = np.flatnonzero(violations == 0)
    low = high = np.full(3, np.nan)
    if seed % 3 and feasible.size:
        low, high = compute_box(objectives[feasible[: int(rng.integers(1, 40))]])
    keep, rounds = int(rng.integers(1, count + 5)), (ARCHIVE_ROUNDS, REFERENCE)
    with np.errstate(divide="ignore", invalid="ignore"):
        places, size = find_compromises(objectives, violations, keep, low, high)
    kept, volume = keep_compromises(objectives, violations, keep, rounds, (low, high))
    assert kept.tolist() == places.tolist()
    assert np.float64(volume).tobytes() == np.float64(size).tobytes()


def test_more_fronts_than_the_table_holds_are_ranked_by_others(monkeypatch):
    """The pass says so, and what comes of it is what the plain definition says."""
    monkeypatch.setattr(fronts, "MOST_ENTRIES", 64)
    monkeypatch.setattr(choosing, "_KEPT", type("Fresh", (), {"workspace": None})())
    objectives, violations = np.arange(90.0)[:, None] + np.zeros((90, 3)), np.zeros(90)
    assert choose_survivors(objectives, violations, 60, UNKNOWN, (ROUNDS, REFERENCE)) is None
    order, kept = rank_and_choose(survive_by_hypervolume, objectives, violations, 60, UNKNOWN)
    expected = find_survivors(objectives, violations, 60)
    assert as_bytes((order, kept.ranks, kept.crowding)) == as_bytes(expected)


def make_population(objectives, violations=None):
    """Individuals numbered by their only gene."""
    objectives = np.array(objectives, dtype=float)
    count = len(objectives)
    violations = np.zeros(count) if violations is None else np.array(violations)
    genomes = np.arange(count, dtype=float)[:, None]
    return Population(genomes, objectives, violations, (violations > 0).astype(np.int16))


def test_a_newcomer_drives_out_whom_it_dominates_and_not_its_equal():
    """Those who were there first stand first, and stay where a newcomer only equals them."""
    before, _ = extend_archive(empty_population(1, 2), make_population([[0, 3], [2, 1]]), 10)
    after, admitted = extend_archive(before, make_population([[0, 3], [1, 1], [3, 0]]), 10)
    assert after.objectives.tolist() == [[0, 3], [1, 1], [3, 0]]
    assert admitted.tolist() == [1, 2]
    assert after.genomes[0, 0] == before.genomes[0, 0]


@given(st.integers(0, 2**16), st.integers(1, 40), st.integers(1, 4))
def test_an_archive_holds_all_that_nobody_dominates(seed, count, n_objectives):
    """Fed in any pieces, it is the set of undominated objectives of all individuals ever seen."""
    rng = np.random.default_rng(seed)
    objectives = rng.integers(0, 5, size=(count, n_objectives)).astype(float)
    archive = empty_population(1, n_objectives)
    for part in np.array_split(objectives, 3):
        archive, _ = extend_archive(archive, make_population(part), 1000)
    expected = {
        tuple(row)
        for row in objectives.tolist()
        if not ((objectives <= row).all(axis=1) & (objectives < row).any(axis=1)).any()
    }
    assert sorted(expected) == sorted(map(tuple, archive.objectives.tolist()))


@pytest.mark.parametrize("n_objectives", [2, 3, 4, 5])
def test_a_full_archive_keeps_the_best_of_each_objective(n_objectives):
    """Ends of the front stay, and who stays keeps the order that he had."""
    front = draw_objectives("sphere", 60, n_objectives)
    places = truncate_front(front, 2 * n_objectives)
    assert set(front.argmin(axis=0).tolist()) <= set(places.tolist())
    assert (np.diff(truncate_front(front, 17)) > 0).all()
    assert len(truncate_front(front, 17)) == 17
    assert truncate_front(front, 99).tolist() == list(range(60))


def test_of_copies_the_later_one_leaves():
    """Two that contribute the same: the older stays; the best in each objective always does."""
    front = np.array([[0.0, 4.0], [1.0, 2.0], [2.0, 1.0], [4.0, 0.0], [1.0, 2.0]])
    assert contributions(front)[4] == contributions(front)[1] == 0.0
    assert np.isinf(contributions(front)).tolist() == [True, False, False, True, False]
    assert 4 not in truncate_front(front, 4)


def test_hypervolume_counts_in_units_of_the_box():
    """The corner of a box dominates all of it, its middle a quarter, what is beyond nothing."""
    low, high = np.array([0.0, 10.0]), np.array([2.0, 30.0])
    assert hypervolume(np.array([[0.0, 10.0]]), low, high) == 1.0
    assert hypervolume(np.array([[1.0, 20.0]]), low, high) == 0.25
    assert hypervolume(np.array([[2.0, 10.0], [0.0, 31.0]]), low, high) == 0.0
    assert hypervolume(np.array([[-2.0, 10.0]]), low, high) == 2.0
    assert hypervolume(np.array([[0.5], [1.0]]), low[:1], high[:1]) == 0.75


def test_box_reaches_beyond_the_worst():
    """Ends of the first front lie inside it, also where an objective never varies."""
    low, high = compute_box(np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert low.tolist() == [1.0, 5.0]
    assert high.tolist() == [3.2, 5.1]


emo_assign = emo.assignCrowdingDist


class Individual:
    """What DEAP's selection needs of an individual: a fitness, here to be minimised."""

    def __init__(self, index, values):
        self.index = index
        kind = type("Minimised", (base.Fitness,), {"weights": (-1.0,) * len(values)})
        self.fitness = kind(tuple(values))


def individuals(objectives):
    """DEAP individuals that remember their row."""
    return [Individual(i, row) for i, row in enumerate(objectives.tolist())]


def population(seed):
    """A random population; of three kinds one has partial ties, one is full of duplicates."""
    rng = np.random.default_rng(seed)
    n_individuals, n_objectives = int(rng.integers(1, 40)), int(rng.integers(1, 5))
    objectives = rng.normal(size=(n_individuals, n_objectives))
    if seed % 3 == 1:
        objectives = rng.integers(0, 4, size=objectives.shape).astype(np.float64)
    if seed % 3 == 2:
        objectives = objectives[rng.integers(0, n_individuals, size=n_individuals)]
    return objectives


def feasible(objectives):
    """No violations, [P]."""
    return np.zeros(len(objectives))


def crowd_in_lexicographic_order(front):
    """DEAP's crowding of a front that is listed as we list it."""
    emo_assign(sorted(front, key=lambda member: member.fitness.values))


@each("seed", range(150))
def test_ranks_and_crowding_equal_deap(seed):
    """Fronts are the sets that DEAP finds, and crowding distances are DEAP's to the last bit."""
    objectives = population(seed)
    members = individuals(objectives)
    fronts = emo.sortNondominated(members, len(members))
    expected_ranks, expected_crowding = np.empty(len(members)), np.empty(len(members))
    for number, front in enumerate(fronts):
        crowd_in_lexicographic_order(sorted(front, key=lambda member: member.index))
        for member in front:
            expected_ranks[member.index] = number
            expected_crowding[member.index] = member.fitness.crowding_dist
    ranking = rank_individuals(objectives, feasible(objectives))
    assert np.array_equal(expected_ranks, ranking.ranks)
    assert np.array_equal(expected_crowding, ranking.crowding)


@each("seed", range(150))
def test_survivors_equal_deap_but_for_the_tie_at_the_cut(seed, monkeypatch):
    """Survivors are those of `selNSGA2`; among equals at the cut, ours are the earliest."""
    objectives = population(seed)
    keep = (len(objectives) + 1) // 2
    if seed % 3 == 1:
        monkeypatch.setattr(emo, "assignCrowdingDist", crowd_in_lexicographic_order)
    deaps = {member.index for member in emo.selNSGA2(individuals(objectives), keep)}
    ranking = rank_individuals(objectives, feasible(objectives))
    standing = list(zip(ranking.ranks.tolist(), (-ranking.crowding).tolist(), strict=True))
    ours = survive(objectives, feasible(objectives), keep, ranking).tolist()
    at_cut = standing[ours[-1]]
    tied = [i for i in range(len(objectives)) if standing[i] == at_cut]
    assert sorted(standing[i] for i in deaps) == [standing[i] for i in ours]
    assert deaps - set(tied) == set(ours) - set(tied)
    assert [i for i in ours if i in tied] == tied[: len(set(ours) & set(tied))]


RULES = [survive, survive_by_hypervolume, survive_by_reference]


def mixed_pool(seed, n_objectives=3, count=60):
    """Objectives and violations, some of them copies, some infeasible."""
    rng = np.random.default_rng(seed)
    objectives = rng.random((count, n_objectives))
    objectives[rng.integers(0, count, count // 5)] = objectives[0]
    violations = np.where(rng.random(count) < 0.2, rng.random(count), 0.0)
    objectives[violations > 0] = np.nan
    return objectives, violations


def test_automatic_is_by_the_number_of_objectives():
    """Hypervolume up to three, reference directions beyond, whatever else was asked for by name."""
    assert select_survival_rule("auto", 3) is survive_by_hypervolume
    assert select_survival_rule("auto", 4) is survive_by_reference
    assert select_survival_rule("crowding", 4) is survive
    assert select_survival_rule("reference", 2) is survive_by_reference


@pytest.mark.parametrize("rule", RULES)
@each("seed", range(40))
def test_survivors_are_ranked_by_what_was_known_of_all(rule, seed):
    """What is carried over to survivors equals ranking them anew, bit for bit.

    All of the fronts before the one that is cut survive, or one of equals, so that each that
    was dominated still is by one of the front before; infeasible ones survive only when all
    feasible ones do, and the nearest of them first.
    """
    objectives, violations = mixed_pool(seed, n_objectives=1 + seed % 4)
    if seed % 3 == 0:
        objectives = np.round(objectives, 1)
    if seed % 5 == 0:
        objectives[:5] *= 1e305
    before = rank_individuals(objectives, violations)
    for keep in (0, 1, 7, 30, 47, 55, 60, 99):
        chosen = rule(objectives, violations, keep, before)
        assert len(chosen) == len(set(chosen.tolist())) == min(keep, 60)
        assert (np.diff(violations[chosen]) >= 0).all()
        anew = rank_individuals(objectives[chosen], violations[chosen])
        known = rank_survivors(before, objectives, violations, chosen)
        assert anew.ranks.tolist() == known.ranks.tolist()
        assert anew.crowding.tolist() == known.crowding.tolist()


def curved_front(seed: int, count: int = 80, n_objectives: int = 4) -> Floats:
    """Points on a part of a sphere, in objectives of very different size."""
    rng = np.random.default_rng(seed)
    points = np.abs(rng.normal(size=(count, n_objectives)))
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    return points * np.array([1.0, 10.0, 0.1, 5.0])[:n_objectives] + 3.0


@pytest.mark.parametrize("parts", [1, 2, 4, 7])
def test_directions_are_those_of_das_and_dennis(parts):
    """As many as DEAP makes for so many parts, and the same set."""
    expected = emo.uniform_reference_points(4, parts)
    actual = directions(4, comb(parts + 3, 3))
    assert sorted(map(tuple, np.round(expected, 12).tolist())) == sorted(
        map(tuple, np.round(actual, 12).tolist())
    )


@each("seed", range(20))
def test_normalised_and_associated_as_in_deap(seed):
    """Same intercepts, same niche of everyone, same distance but for rounding."""
    points = curved_front(seed)
    points -= points.min(axis=0)  # DEAP takes intercepts for those of moved objectives
    best, worst = points.min(axis=0), points.max(axis=0)
    extremes = emo.find_extreme_points(points, best)
    intercepts = emo.find_intercepts(extremes, best, worst, worst)
    lines = directions(4, 80)
    niches, distances = emo.associate_to_niche(points, lines, best, intercepts)
    ours = normalise_objectives(points, np.ones(len(points), dtype=bool))
    nearest, squares = associate_directions(ours, lines)
    np.testing.assert_allclose(ours, (points - best) / (intercepts - best + 1e-16), rtol=1e-9)
    is_near = np.abs(np.sqrt(np.maximum(squares, 0)) - distances) < 1e-7
    assert is_near.all()
    assert (nearest == niches).mean() > 0.97  # equally near directions may change places
