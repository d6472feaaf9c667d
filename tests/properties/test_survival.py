"""Laws of ranking and survival, over populations with ties, duplicates and failures."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from optimizer.search.ranking import rank_individuals, survive

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def populations(draw):
    """Objectives [P, O] and violations [P]; infeasible rows may hold anything, also NaN."""
    shape = (draw(st.integers(1, 14)), draw(st.integers(1, 4)))
    objectives = draw(arrays.arrays(np.float64, shape, elements=NUMBERS))
    violations = draw(
        arrays.arrays(np.float64, shape[0], elements=st.sampled_from([0.0, 0.0, 0.5, 1.0, np.inf]))
    )
    junk = draw(arrays.arrays(np.float64, shape, elements=st.sampled_from([np.nan, -np.inf, 0.0])))
    return np.where(violations[:, None] > 0, junk, objectives), violations


def dominates(one, other):
    """Whether `one` is nowhere worse and somewhere better."""
    return bool((one <= other).all() and (one < other).any())


@given(populations())
def test_ranks_agree_with_the_definition(population):
    """A front is what remains undominated once the better fronts are taken away."""
    objectives, violations = population
    ranks = rank_individuals(objectives, violations).ranks
    feasible = np.flatnonzero(violations == 0)
    for i in feasible:
        above = [ranks[j] for j in feasible if dominates(objectives[j], objectives[i])]
        assert max(above, default=-1) + 1 == ranks[i]


@given(populations(), st.integers(0, 20))
def test_survival_keeps_every_nondominated_that_fits(population, keep):
    """None survives before one of a better rank, and as many survive as fit."""
    objectives, violations = population
    ranks = rank_individuals(objectives, violations).ranks
    chosen = survive(objectives, violations, keep)
    lost = np.setdiff1d(np.arange(len(ranks)), chosen)
    assert min(keep, len(ranks)) == len(chosen) == len(set(chosen.tolist()))
    assert (np.diff(ranks[chosen]) >= 0).all()
    if len(chosen) and len(lost):
        assert ranks[chosen].max() <= ranks[lost].min()


@given(populations(), st.randoms(use_true_random=False))
def test_ranking_is_invariant_to_order(population, shuffler):
    """Shuffling individuals shuffles ranks; equal points share the same crowding distances."""
    objectives, violations = population
    order = list(range(len(violations)))
    shuffler.shuffle(order)
    before = rank_individuals(objectives, violations)
    after = rank_individuals(objectives[order], violations[order])
    assert np.array_equal(before.ranks[order], after.ranks)

    def standing(ranking, of_rows):
        keys = [row.tobytes() if v == 0 else b"" for row, v in of_rows]
        return sorted(zip(keys, ranking.ranks.tolist(), ranking.crowding.tolist(), strict=True))

    rows = [(row + 0.0, v) for row, v in zip(objectives, violations, strict=True)]
    assert standing(before, rows) == standing(after, [rows[i] for i in order])
