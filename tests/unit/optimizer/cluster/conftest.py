"""A scheduler and two workers that tests share."""

import pytest

from tests.support.clusters import begin_cluster


@pytest.fixture(scope="package")
def hosts(tmp_path_factory):
    """A scheduler with two workers, which no test may harm."""
    with begin_cluster(tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts
