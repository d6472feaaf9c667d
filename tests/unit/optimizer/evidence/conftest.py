"""Processes that tests share, which each takes as a run before it left them."""

import pytest

from optimizer.evidence.jobs.workers import Pool


@pytest.fixture(scope="session")
def pool():
    """Processes that wait for the jobs of any test."""
    with Pool() as pool:
        yield pool
