"""A scheduler and two workers that tests share, and the cluster as a person joins it."""

import pytest

from optimizer.cluster.address import parse_address
from optimizer.cluster.cluster import Cluster
from tests.support.clusters import begin_cluster


@pytest.fixture(scope="package")
def hosts(tmp_path_factory):
    """A scheduler with two workers, which no test may harm."""
    with begin_cluster(tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


@pytest.fixture
def cluster(hosts):
    """Its workers."""
    with Cluster(parse_address(str(hosts.file))) as cluster:
        yield cluster
