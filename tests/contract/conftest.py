"""What tests at the level of the command line share."""

import pytest

from tests.support.commands import Commands, write_market


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Commands(capsys)


@pytest.fixture(scope="session")
def market(tmp_path_factory):
    """A market of 3,000 bars in a file that no test may change."""
    return write_market(tmp_path_factory.mktemp("market") / "bars.csv")
