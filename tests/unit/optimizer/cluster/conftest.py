"""A scheduler in this process for each test, and messages."""

import logging

import pytest

from tests.support.clusters import play_cluster


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
