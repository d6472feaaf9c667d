"""Importance separates a gene that decides from one that does not, or that came along."""

import numpy as np
import pytest

from optimizer.run.importance import importance


@pytest.fixture
def rng():
    """Words of one seed."""
    return np.random.default_rng(5)


def test_shares_of_a_sum_are_the_variances_of_its_parts(rng):
    """Independent parts of variance 4, 1 and 5: what bins leave within them is small."""
    genomes = rng.uniform(-1, 1, size=(8000, 3))
    noise = rng.normal(size=8000) * np.sqrt(5 / 3)
    ranking = importance(genomes, 2 * genomes[:, 0] + genomes[:, 1] + noise)
    assert ranking.alone == pytest.approx([0.4, 0.1, 0.0], abs=0.02)
    assert ranking.beyond == pytest.approx([0.4, 0.1, 0.0], abs=0.02)
    assert ranking.together == pytest.approx(0.5, abs=0.03)


def test_a_gene_that_came_along_explains_nothing_beyond(rng):
    """A copy with errors looks good alone, and adds nothing to the one that decides."""
    first = rng.integers(0, 8, size=2000).astype(float)
    genomes = np.stack([first, first + rng.normal(size=2000)], axis=1)
    ranking = importance(genomes, first)
    assert ranking.alone[1] > 0.5
    assert ranking.beyond[1] <= ranking.noise[1]
    assert ranking.beyond[0] > 10 * ranking.noise[1]


def test_each_option_of_a_gene_without_order_is_a_bin(rng):
    """However rare: bins by quantiles hide an option between two that are frequent."""
    option = rng.choice(3, size=1000, p=(0.49, 0.02, 0.49)).astype(float)
    genomes = np.stack([option, rng.uniform(size=1000)], axis=1)
    ordered = importance(genomes, option == 1.0)
    ranking = importance(genomes, option == 1.0, [True, False])
    assert ranking.alone[0] > 0.99
    assert ordered.alone[0] < 0.5
