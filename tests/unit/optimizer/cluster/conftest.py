"""A scheduler and two workers that tests share, and one in this process for each."""

import logging

import pytest

from tests.support.clusters import begin_cluster, play_cluster


@pytest.fixture(scope="package")
def hosts(tmp_path_factory):
    """A scheduler with two workers, which no test may harm."""
    with begin_cluster(tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


@pytest.fixture
def played():
    """A scheduler in this process, without workers."""
    with play_cluster() as played:
        yield played


@pytest.fixture
def messages(caplog):
    """Messages of the log."""
    caplog.set_level(logging.INFO, "optimizer.cluster.cluster")
    return caplog
