"""A run that version 4 of the engine recorded: read as it stands, and not gone on with.

Its three windows were pooled when falls were still those of the worst one.
"""

import gzip
import shutil
from pathlib import Path

import pytest

from engine import ENGINE_VERSION

FORMER = Path(__file__).parents[1] / "support" / "older" / "engine_4"
REASON = f"engine_version: recorded 4, now {ENGINE_VERSION}"


@pytest.fixture
def former(tmp_path):
    """The folder of the run, in the folder of runs that commands look at."""
    folder = tmp_path / "runs" / "former"
    folder.mkdir(parents=True)
    shutil.copy(FORMER / "owner.lock", folder)
    (folder / "run.sqlite").write_bytes(gzip.decompress((FORMER / "run.sqlite.gz").read_bytes()))
    return folder


def test_it_is_listed_shown_and_reported(command, former):
    """Numbers are those that were recorded then, each with the window that it is of."""
    (result,) = command("runs", "list", "--json").json
    assert (result["id"], result["front_size"]) == ("former", 6)
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["front_hash"].startswith("ad0a6713eb01")
    assert shown["front"][0]["metrics"]["max_drawdown"] == pytest.approx(0.1207, abs=5e-5)
    for words in ((), ("--member", "0")):
        assert "worst window" in command("runs", "show", "latest", *words).out
    assert command("report", "latest").code == 0
    assert "former" in (former / "report.html").read_text(encoding="utf-8")


def test_it_is_verified_by_its_record_alone(command, former):
    """Its members are not replayed, and one line has the reason."""
    outcome = command("runs", "verify", "latest", "--json")
    assert (outcome.code, outcome.json["problems"], outcome.json["is_whole"]) == (4, [], False)
    assert REASON in command("runs", "verify", "latest").error
    assert command("runs", "verify", "latest", "--individuals", "0").code == 0


@pytest.mark.parametrize("words", ["evolve --resume latest --generations 3", "judge latest"])
def test_it_is_not_gone_on_with(command, former, words):
    """In one line, with both versions."""
    outcome = command(*words.split())
    assert (outcome.code, outcome.out) == (4, "")
    assert REASON in outcome.error
