"""Folders that may not be written, and runs of other people: errors that name them."""

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import SMALL, write_market
from tests.support.recording import quick_directory

pytestmark = pytest.mark.slow

NOBODY = 65534
LONGER = ("--generations", "3", "--json", "--quiet", "--no-report", "--no-judge")


@pytest.fixture
def place(monkeypatch):
    """A folder with a market in it that all users may read; commands run in it."""
    with quick_directory() as directory:
        directory.chmod(0o755)
        write_market(directory / "bars.csv")
        monkeypatch.chdir(directory)
        yield directory


@pytest.fixture
def own_run(command, place):
    """A run in that folder, by the user of the tests; all that commands need is loaded by it."""
    arguments = ("--data", "csv:bars.csv", *SMALL, "--json", "--quiet", "--no-report", "--no-judge")
    return command("evolve", *arguments).json


@contextmanager
def somebody_else(*folders):
    """Be a user who may read these folders and not write into them."""
    for folder in folders:
        folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        prefix = Path(sys.prefix).resolve()
        if not all(folder.stat().st_mode & 0o001 for folder in (prefix, *prefix.parents)):
            pytest.skip("another user could not read the environment that the tests run in")
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        for folder in folders:
            folder.chmod(0o755)


def test_a_folder_that_may_not_be_written_is_exit_code_4(command, place, own_run):
    """The run has nowhere to be recorded; nothing is left behind."""
    with somebody_else(place):
        outcome = command("evolve", "--data", "csv:bars.csv", *SMALL, *LONGER, "--runs", "others")
    assert (outcome.code, outcome.out) == (4, "")
    assert "Permission denied" in outcome.error
    assert not (place / "others").exists()


def test_a_run_of_another_user_is_read_but_not_resumed(command, place, own_run):
    """Its front is shown; to own or to remove it is refused in one line, and it stays whole."""
    run = place / own_run["path"]
    for file in run.iterdir():
        file.chmod(0o444)
    with somebody_else(run.parent, run):
        shown = command("runs", "show", "latest", "--json").json
        resumed = command("evolve", "--resume", "latest", *LONGER)
        removed = command("runs", "delete", "latest", "--yes")
    assert shown["result"]["front_hash"] == own_run["front_hash"]
    assert (resumed.code, resumed.out) == (4, "")
    assert "cannot be written (Permission denied): copy the run to a place that" in resumed.error
    assert removed.code == 4
    assert command("runs", "verify", "latest").code == 0


def test_a_copy_of_another_users_run_resumes(command, place, own_run):
    """The way out that the error names."""
    copied = place / "copy"
    shutil.copytree(place / own_run["path"], copied)
    for path in (copied, *copied.iterdir()):
        path.chmod(0o777)
    with somebody_else(place / own_run["path"]):
        again = command("evolve", "--resume", "./copy", *LONGER).json
    assert again["generation"] == 3
    assert Path(again["path"]).name == "copy"
