"""A scheduler and two workers that tests share, and one in this process for each."""

import logging

import pytest

from tests.support.clusters import Played, begin_cluster


@pytest.fixture(scope="package")
def hosts(tmp_path_factory):
    """A scheduler with two workers, which no test may harm."""
    with begin_cluster(tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


@pytest.fixture
def played(monkeypatch):
    """A scheduler in this process, without workers, and nothing compiled."""
    for name in ("cluster", "jobs"):
        monkeypatch.setattr(f"optimizer.cluster.{name}.made_here", Played.play_fingerprint)
    Played.made.clear()
    played = Played()
    yield played
    played.close()


@pytest.fixture
def messages(caplog):
    """Messages of the log."""
    caplog.set_level(logging.INFO, "optimizer.cluster.cluster")
    return caplog
