"""Trials count as so many independent ones as they are different."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evidence.trials import count_effective_trials


@given(st.integers(0, 2**32), st.integers(3, 40), st.integers(1, 40))
def test_effective_trials_lie_between_one_and_all(seed, days, trials):
    """Either Gram matrix gives the same, and copies add nothing."""
    rng = np.random.Generator(np.random.PCG64(seed))
    table = rng.normal(0, 1, (days, trials))
    effective = count_effective_trials(table).value
    assert 1 - 1e-9 <= effective <= min(trials, days - 1) + 1e-6
    correlations = np.atleast_2d(np.corrcoef(table.T))
    roots = np.linalg.eigvalsh(correlations)
    roots = roots[roots >= 1e-10 * roots.max()]
    assert effective == pytest.approx(np.sqrt(roots).sum() ** 2 / roots.sum(), rel=1e-6)
    doubled = np.concatenate([table, table, np.full((days, 1), 0.1)], axis=1)
    assert count_effective_trials(doubled).value == pytest.approx(effective, rel=1e-6)


def test_effective_trials_of_many_are_those_at_even_places():
    """At most 1,024 are compared; quiet days count as often as there are."""
    rng = np.random.Generator(np.random.PCG64(5))
    columns = rng.normal(size=(60, 12)) @ rng.normal(size=(12, 3000))
    columns[rng.random(60) < 0.4] = 0.0
    few = columns[:, np.arange(1024) * 3000 // 1024]
    correlations = np.corrcoef(few.T)
    eigenvalues = np.linalg.eigvalsh(correlations)
    eigenvalues = eigenvalues[eigenvalues >= 1e-10 * eigenvalues.max()]
    expected = np.sqrt(eigenvalues).sum() ** 2 / eigenvalues.sum()
    assert count_effective_trials(columns).value == pytest.approx(expected, rel=1e-9)
