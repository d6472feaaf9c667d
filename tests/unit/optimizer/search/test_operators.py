"""Sampling, selection, crossover and mutation: against DEAP, and on cases checked by hand."""

import numpy as np

from optimizer.search.operators import select_parents
from optimizer.search.randomness import stream
from optimizer.search.ranking import Ranking


def open_stream():
    """The same stream at its start, every time."""
    return stream(11, 2, "mutate")


def test_better_rank_wins_then_wider_crowding():
    """In every tournament between the two, the same one wins."""
    by_rank = Ranking(np.array([1, 0]), np.array([np.inf, 0.0]))
    by_crowding = Ranking(np.array([0, 0]), np.array([0.5, 2.0]))
    for ranking in (by_rank, by_crowding):
        assert {1} == set(select_parents(open_stream(), ranking, 50).tolist())


def test_every_individual_takes_part_equally_often():
    """With as many parents as individuals, the best is chosen exactly twice and the worst never."""
    ranking = Ranking(np.arange(64), np.zeros(64))
    chosen = np.bincount(select_parents(open_stream(), ranking, 64), minlength=64)
    assert chosen[0] == 2
    assert chosen[63] == 0
    assert chosen.max() == 2
