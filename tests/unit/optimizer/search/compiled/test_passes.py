"""Passes of three objectives choose what the plain definitions of survival and archive choose."""

import numpy as np
import pytest

from optimizer.search.archive import (
    ARCHIVE_ROUNDS,
    REFERENCE,
    ROUNDS,
    compute_box,
    find_compromises,
    rank_and_choose,
    survive_by_hypervolume,
)
from optimizer.search.compiled import choosing, fronts
from optimizer.search.compiled.choosing import choose_survivors, keep_compromises
from optimizer.search.ranking import rank_individuals, rank_survivors
from tests.support.looping import each

UNKNOWN = np.empty(0, dtype=np.int64)
"""Ranks of no elders."""

KINDS = ("random", "rounded", "grid", "sphere", "copies", "huge")


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


@pytest.mark.parametrize("kind", KINDS)
@each("seed", range(40))
def test_survivors_are_those_of_the_definition(kind, seed):
    """Who goes on, in which order, how ranked: ties, copies, infeasible ones, any number kept."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    count = 900 if seed == 0 else int(rng.integers(1, 120))
    objectives, violations = pool(kind, rng, count)
    keep = int(rng.integers(1, count + 5))
    expected = find_survivors(objectives, violations, keep)
    actual = choose_survivors(objectives, violations, keep, UNKNOWN, (ROUNDS, REFERENCE))
    assert as_bytes(actual) == as_bytes(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.3, 1.0, 2.0])
@each("seed", range(12))
def test_ranks_of_elders_decide_nothing(kind, factor, seed):
    """Whether newcomers are better, alike or worse, for generations; with others behind elders."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    objectives, violations = pool(kind, rng, 300 if seed < 3 else int(rng.integers(1, 60)))
    keep = int(rng.integers(1, len(violations) + 1))
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


@pytest.mark.parametrize("kind", KINDS)
@each("seed", range(40))
def test_compromises_are_those_of_the_definition(kind, seed):
    """Who is kept, and the hypervolume in every bit, with and without a box."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
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
