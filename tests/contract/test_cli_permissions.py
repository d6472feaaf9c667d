"""Folders that may not be written, and runs of other people: errors that name them."""

import ctypes
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import SMALL
from tests.support.recording import quick_directory
from tests.support.signals import OFTEN, grow

pytestmark = pytest.mark.slow

LONGER = ("--generations", "3", "--json", "--quiet", "--no-report", "--no-judge")

MAY_WRITE_ALL = 1 << 1
"""Capability of root that permissions do not bind; without it root is as others."""

OF_A_RUN_THAT_IS_READ = [
    ("runs list", 0, "seller_exhaustion"),
    ("runs show latest", 0, "seller_exhaustion on bars"),
    ("runs verify latest", 0, "the record is whole"),
    ("runs export latest front.csv", 0, "written to front.csv"),
    ("runs source latest", 2, "has a strategy that came from no file"),
    ("runs tag latest good", 2, "labels.json cannot be written: Permission denied"),
    ("runs note latest good", 2, "labels.json cannot be written: Permission denied"),
    ("runs delete latest --yes", 4, "cannot be written (Permission denied)"),
    ("backtest --run latest", 0, "trades"),
    ("parity --run latest --individuals 1", 0, "0 mismatches"),
    ("report latest", 2, "report.html cannot be written: Permission denied; name another place"),
    ("report latest --out page.html", 0, "report page.html"),
    ("judge latest --quiet", 4, "cannot be written (Permission denied)"),
    ("evolve --resume latest --generations 3", 4, "(Permission denied): copy the run to a place"),
    ("evolve --data csv:bars.csv --generations 1", 4, "Permission denied"),
    ("signal latest --now 2030-01-01", 6, "stale"),
    ("watch latest --now 2030-01-01", 0, "cannot be written: this is not recorded"),
]
"""Commands, with exit code and words."""


@pytest.fixture
def place(monkeypatch):
    """A folder with a market in it that all users may read; commands run in it."""
    with quick_directory() as directory:
        directory.chmod(0o755)
        monkeypatch.chdir(directory)
        grow(2600)
        yield directory


@pytest.fixture
def own_run(command, place):
    """A run in that folder, by the user of the tests; all that commands need is loaded by it."""
    arguments = ("--data", "csv:bars.csv", *OFTEN, *SMALL, "--json", "--quiet")
    return command("evolve", *arguments).json


@contextmanager
def somebody_else(*folders):
    """Be a user who may read these folders and not write into them."""
    for folder in folders:
        folder.chmod(0o555)
    libc, header = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0)
    before, without = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    for sets in (before, without):
        assert libc.capget(header, sets) == 0
    without[0] &= ~MAY_WRITE_ALL
    assert libc.capset(header, without) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0
        for folder in folders:
            folder.chmod(0o755)


def test_each_command_reads_such_a_run_or_refuses_it_in_a_line(command, place, own_run):
    """Nothing of it changes; a watch says its line and that it is not recorded."""
    run = place / own_run["path"]
    assert command("judge", "latest", "--folds", "4", "--blocks", "0", "--quiet").code == 0
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for name in before:
        (run / name).chmod(0o444)
    with somebody_else(run.parent, run):
        for arguments, code, expected in OF_A_RUN_THAT_IS_READ:
            if arguments.startswith("watch"):
                grow(4000)
            outcome = command(*arguments.split())
            assert (outcome.code, expected in outcome.out + outcome.err) == (code, True), outcome
            assert "Traceback" not in outcome.err
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_folder_that_may_not_be_written_is_exit_code_4(command, place, own_run):
    """The run has nowhere to be recorded; nothing is left behind."""
    with somebody_else(place):
        outcome = command("evolve", "--data", "csv:bars.csv", *SMALL, *LONGER, "--runs", "others")
    assert (outcome.code, outcome.out) == (4, "")
    assert "Permission denied" in outcome.error
    assert not (place / "others").exists()


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
