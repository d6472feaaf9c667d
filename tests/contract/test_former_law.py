"""A run that version 4 of the engine recorded: read as it stands, and not gone on with.

Its three windows were pooled when falls were still those of the worst one.
"""

import gzip
import shutil
from pathlib import Path

import pytest

from engine import ENGINE_VERSION

FORMER = Path(__file__).parents[1] / "support" / "older" / "engine_4"
REASON = f"what decides its results has changed: engine_version: recorded 4, now {ENGINE_VERSION}"
FRONT = "ad0a6713eb01"


@pytest.fixture
def former(tmp_path):
    """The folder of the run, in the folder of runs that commands look at."""
    folder = tmp_path / "runs" / "former"
    folder.mkdir(parents=True)
    shutil.copy(FORMER / "owner.lock", folder)
    (folder / "run.sqlite").write_bytes(gzip.decompress((FORMER / "run.sqlite.gz").read_bytes()))
    return folder


def test_it_is_listed_and_shown(command, former):
    """Numbers are those that were recorded then."""
    (result,) = command("runs", "list", "--json").json
    assert (result["id"], result["front_size"]) == ("former", 6)
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["front_hash"].startswith(FRONT)
    assert shown["front"][0]["metrics"]["max_drawdown"] == pytest.approx(0.1207, abs=5e-5)
    assert "max_drawdown is that of the worst window" in command("runs", "show", "latest").out
    member = command("runs", "show", "latest", "--member", "0").out
    assert "max_drawdown (worst window)" in member


def test_its_record_is_verified(command, former):
    """Every digest; its members are not replayed, and one line has the reason."""
    outcome = command("runs", "verify", "latest")
    assert outcome.code == 4
    assert "every digest is right, and the record does not contradict itself" in outcome.out
    (line,) = outcome.error.splitlines()
    assert "members were not replayed: run 'former'" in line
    assert f"its members cannot be judged again, {REASON}" in line
    assert command("runs", "verify", "latest", "--individuals", "0").code == 0


def test_it_is_reported(command, former):
    """A page of what was recorded."""
    assert command("report", "latest").code == 0
    assert "former" in (former / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("evolve", "--resume", "latest", "--generations", "3"), "it cannot be resumed"),
        (("judge", "latest"), "its members cannot be judged again"),
    ],
)
def test_it_is_not_resumed(command, former, words, why):
    """In one line, with both versions and what to do."""
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (4, "")
    (line,) = outcome.error.splitlines()
    assert f"run 'former': {why}, {REASON}" in line
    assert "use the version that recorded it, or start a new run" in line
