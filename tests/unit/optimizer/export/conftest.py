"""A market that exported programs trade."""

import pytest

from tests.support.exports import write_bars
from tests.support.worlds import make_bars


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """The path of 4,000 bars of a quarter of an hour."""
    path = tmp_path_factory.mktemp("market") / "bars.csv"
    write_bars(make_bars(3, 4000), path)
    return path
