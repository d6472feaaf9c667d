"""Runs that somebody else sent: nothing in them is executed, hangs a command or fills memory."""

import shutil

import pytest

from tests.support.commands import SMALL
from tests.support.hostile import (
    CANARY,
    READERS,
    Mutator,
    Watch,
    limited_memory,
    read_hostile,
)


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    """What hears this process; it cannot be taken off again, so there is one."""
    return Watch(tmp_path_factory.getbasetemp())


@pytest.fixture
def place(tmp_path, monkeypatch, recordings):
    """A folder with a recorded run, here and once read, so that all modules are there."""
    folder, _ = recordings.made(*(flag for flag in SMALL if flag != "--no-judge"), *JUDGED)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    recorded = next((tmp_path / "runs").glob("*/run.sqlite")).parent
    recorded.rename(tmp_path / "runs" / "sound")
    monkeypatch.chdir(tmp_path)
    shutil.copytree("runs/sound", "runs/changed")
    return tmp_path


JUDGED = ("--null", "0", "--folds", "2", "--population", "32", "--keep", "all")
"""Enough trials to tell genes apart."""


def test_a_sound_run_is_read_without_a_fault(place, watch):
    """What the mutations are compared with: all commands read it to a good end."""
    read_hostile(watch)
    # Its strategy comes from no file.
    readers = [command for command in READERS if command[1] != "source"]
    assert read_hostile(watch, readers, codes=(0,)) == []


def test_a_changed_run_harms_nobody(place, watch, mutations):
    """Every command ends soon, in one line and with a documented code, and writes only here.

    The first runs of a command import modules, and may ask the system what it is.
    """
    read_hostile(watch)
    faults = []
    with limited_memory():
        for seed in range(mutations):
            shutil.rmtree("runs/changed")
            shutil.copytree("runs/sound", "runs/changed")
            Mutator(place / CANARY, seed).change(place / "runs/changed/run.sqlite")
            faults += [f"seed {seed}: {fault}" for fault in read_hostile(watch)]
            if (place / CANARY).exists():
                faults.append(f"seed {seed}: a text of the record was executed")
                (place / CANARY).unlink()
    assert not faults, "\n".join(faults)
