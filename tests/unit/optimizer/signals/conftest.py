"""A run on a market that grows, which tests of signals share."""

import pytest

from tests.support.signals import GrowingMarket


@pytest.fixture(scope="package")
def market(tmp_path_factory):
    """A run, and a file that any test may cut anew."""
    return GrowingMarket(tmp_path_factory.mktemp("growing"))
