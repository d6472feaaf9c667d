"""What tests at the level of the command line share."""

from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.browser import chromium
from tests.support.commands import Commands, write_market
from tests.support.vendor import KEY, FakeClock, running_vendor

__all__ = ["chromium"]
"""One browser for all files: a fixture that two of them import would start twice."""


@pytest.fixture
def command(capsys, tmp_path, monkeypatch, recordings):
    """Run a command in an empty folder."""
    # The note of a first search that it compiles loops is no part of a command's output.
    recordings.record("noise")
    monkeypatch.chdir(tmp_path)
    return Commands(capsys)


@pytest.fixture
def noise(command, recordings):
    """What evolve printed of the run ``noise``, which lies here."""
    return recordings.copy("noise")


@pytest.fixture
def held_out(command, recordings):
    """What evolve printed of the run ``held out``, which lies here."""
    return recordings.copy("held out")


@pytest.fixture
def path(held_out):
    """The folder of that run."""
    return Path(held_out["path"])


@pytest.fixture(scope="session")
def market(tmp_path_factory):
    """A market of 3,000 bars in a file that no test may change."""
    return write_market(tmp_path_factory.mktemp("market") / "bars.csv")


FORMS = (KEY, quote(KEY, safe=""), b64encode(KEY.encode()).decode().rstrip("="))
"""The canary as it is, in an address, and in base64."""


@pytest.fixture
def client():
    """The vendor's client that is used where both are installed."""


@pytest.fixture
def vendor(client, monkeypatch, tmp_path_factory, command, caplog):
    """A vendor on loopback that is configured as a person would; its key is found nowhere after."""
    place = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    monkeypatch.setenv("POLYGON_API_KEY", KEY)
    monkeypatch.delenv("MASSIVE_API_KEY", raising=False)
    clock = FakeClock()
    monkeypatch.setattr("data.vendor.client.time", clock)
    caplog.set_level("DEBUG")
    with running_vendor() as running:
        running.key, running.clock = KEY, clock
        running.settings = place / "config" / "exhaustion-optimizer" / "vendors.toml"
        running.cache = place / "cache" / "exhaustion-optimizer"
        running.settings.parent.mkdir(parents=True)
        text = f'[polygon]\nurl = "{running.url}"\ncalls_per_minute = 100000\n'
        running.settings.write_text(text)
        yield running
    assert_no_key(caplog.text, "the log")
    for outcome in command.outcomes:
        assert_no_key(outcome.out + outcome.err, "a stream")
    for call in running.calls:
        assert_no_key(call.path, "an address")
    for path in [*place.rglob("*"), *Path.cwd().rglob("*")]:
        if path.is_file():
            assert_no_key(path.read_bytes().decode("latin-1"), path)


def assert_no_key(text, where):
    """No form of the canary is in a text."""
    for form in FORMS:
        assert form not in text, where
