"""A run has all files that a replay elsewhere needs, however often its owner was killed."""

import shutil
from pathlib import Path

import pytest

from tests.support.commands import SMALL
from tests.support.own_files import momentum_file

pytestmark = pytest.mark.slow

STRATEGY = momentum_file(
    '(moved(length("n", 5, 2, 20)) > 0.002) & (column("mood") + column("rate") > 0)'
)
FILES = ("mood.csv", "rate.csv")


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """Where a search with two column files and an own indicator is kept."""
    return tmp_path_factory.mktemp("searched")


@pytest.fixture
def found(command, market, searched):
    """Such a run, copied here, and what evolve printed of it."""
    Path("momentum.py").write_text(STRATEGY)
    for file in FILES:
        Path(file).write_text("known_at,value\n1970-01-01 00:00:00,1\n")
    printed = searched / "printed"
    if not printed.exists():
        flags = [flag for file in FILES for flag in ("--column-file", f"{Path(file).stem}={file}")]
        asked = ("--strategy", "momentum.py", "--holdout", "20%", *SMALL, *flags, "--json")
        outcome = command("evolve", "--data", market, *asked)
        assert outcome.code == 0, outcome.err
        shutil.copytree("runs", searched / "runs")
        printed.write_text(outcome.out)
    else:
        shutil.copytree(searched / "runs", "runs")
    (run,) = Path("runs").iterdir()
    return run


def list_copies(run):
    """Copies in a run, by name, with their bytes."""
    return {file.name: file.read_bytes() for file in (run / "columns").glob("*")}


def test_copies_of_a_finished_run_are_completed(command, found):
    """Where nothing else is left to do; a source that is gone as well is no matter then."""
    before = list_copies(found)
    assert set(FILES) == set(before)
    for file in FILES:
        (found / "columns" / file).unlink()
    Path(FILES[0]).rename("away")
    assert command("evolve", "--resume", "latest", "--trust").code == 4
    Path("away").rename(FILES[0])
    again = command("evolve", "--resume", "latest", "--trust")
    assert again.code == 0, again.err
    assert list_copies(found) == before
