"""A run has all files that a replay elsewhere needs, however often its owner was killed."""

from pathlib import Path

import pytest

from optimizer.run import indicator_snapshot
from optimizer.store import RunStore
from tests.support.commands import SMALL
from tests.support.own_files import momentum_file

pytestmark = pytest.mark.slow

STRATEGY = momentum_file(
    '(moved(length("n", 5, 2, 20)) > 0.002) & (column("mood") + column("rate") > 0)'
)
FILES = ("mood.csv", "rate.csv")


@pytest.fixture
def search(command, market, tmp_path):
    """A function that searches with two column files and an own indicator."""
    (tmp_path / "momentum.py").write_text(STRATEGY)
    for file in FILES:
        (tmp_path / file).write_text("known_at,value\n1970-01-01 00:00:00,1\n")
    files = [flag for file in FILES for flag in ("--column-file", f"{Path(file).stem}={file}")]

    def search(*more):
        return command(
            "evolve", "--data", market, "--strategy", "momentum.py", *SMALL, *files, *more
        )

    return search


def list_copies():
    """Copies in the only run, by name, with their bytes."""
    (run,) = Path("runs").iterdir()
    files = [file for name in ("columns", "rows") for file in (run / name).glob("*")]
    return {file.name: file.read_bytes() for file in files}


def test_copies_of_a_finished_run_are_completed(command, search, tmp_path):
    """Also where nothing else is left to do; a source that is gone as well is no matter then."""
    finished = search("--json").json
    before = list_copies()
    for file in FILES:
        next(Path("runs").glob(f"*/columns/{file}")).unlink()
    (tmp_path / FILES[0]).rename(tmp_path / "away")
    assert command("evolve", "--resume", "latest").code == 4
    (tmp_path / "away").rename(tmp_path / FILES[0])
    again = command("evolve", "--resume", "latest", "--json")
    assert (again.code, again.json["front_hash"]) == (0, finished["front_hash"])
    assert list_copies() == before


def test_rows_of_an_earlier_result_do_not_stay(command, search):
    """A longer search has another front: files are those that evidence lists."""
    search()
    assert command("evolve", "--resume", "latest", "--generations", "6").code == 0
    (run,) = Path("runs").iterdir()
    with RunStore.open(run) as store:
        listed = indicator_snapshot.recorded_rows(store).rows
    assert {file.stem for file in (run / "rows").iterdir()} == set(listed)


def test_a_copy_without_an_end_is_named(command, search):
    """It is no fault of the output; the file that was named serves while it is there."""
    assert search().code == 0
    (run,) = Path("runs").iterdir()
    copy = run / "columns" / "rate.csv"
    with open(copy, "r+b") as file:
        file.truncate(10**11)
    for words in (("runs", "verify"), ("judge", "--null", "0"), ("evolve", "--generations", "3")):
        named = ("--resume", run.name) if words[0] == "evolve" else (run.name,)
        refused = command(*words, *named)
        assert refused.code == 4, refused.err
        assert f"{copy} cannot be read (is larger than " in refused.err
    copy.unlink()
    assert command("runs", "verify", run.name).code == 0


def test_a_file_in_place_of_the_copies_is_named(command, search):
    """Going on with the run does not fail on it."""
    assert search().code == 0
    (run,) = Path("runs").iterdir()
    (run / "columns").rename(run / "columns-before")
    (run / "columns").write_text("")
    refused = command("evolve", "--resume", run.name, "--generations", "3")
    assert refused.code == 4
    assert f"{run}/columns is a link or no folder, and is not followed" in refused.error


def test_a_row_that_became_a_link_is_no_defect(command, search):
    """Also where more rows are to be written beside it."""
    assert search("--holdout", "20%").code == 0
    (run,) = Path("runs").iterdir()
    row = next((run / "rows").glob("*.row"))
    row.unlink()
    row.symlink_to("nowhere")
    opened = command("judge", run.name, "--open", "--null", "0", "--folds", "0")
    assert opened.code == 0, opened.err
    assert row.is_symlink()
