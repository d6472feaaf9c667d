"""Runs from elsewhere: nothing in them is executed, hangs a command or fills memory."""

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
from tests.support.hostile_arrays import harm_arrays


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    """What hears this process; it cannot be taken off again, so there is one."""
    return Watch(tmp_path_factory.getbasetemp())


@pytest.fixture
def place(tmp_path, monkeypatch, recordings):
    """A folder with a recorded run, here and once read, so that all modules are there."""
    folder, _ = recordings.record(*(flag for flag in SMALL if flag != "--no-judge"), *JUDGED)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    recorded = next((tmp_path / "runs").glob("*/run.sqlite")).parent
    recorded.rename(tmp_path / "runs" / "sound")
    monkeypatch.chdir(tmp_path)
    shutil.copytree("runs/sound", "runs/changed")
    return tmp_path


JUDGED = ("--null", "0", "--folds", "2", "--population", "32", "--keep", "all")
"""Enough trials to tell genes apart."""


def test_a_changed_run_harms_nobody(place, watch, mutations):
    """Every command ends soon, in one line and with a documented code, and writes only here."""
    # The first run of a command imports modules, and may ask the system what it is.
    read_hostile(watch)
    # Its strategy comes from no file.
    readers = [command for command in READERS if command[1] != "source"]
    assert read_hostile(watch, readers, codes=(0,)) == []
    faults = []
    with limited_memory():
        for seed in range(mutations):
            shutil.rmtree("runs/changed")
            shutil.copytree("runs/sound", "runs/changed")
            Mutator(place / CANARY, seed).change(place / "runs/changed/run.sqlite")
            faults += [f"seed {seed}: {fault}" for fault in read_hostile(watch, choose(seed))]
            if (place / CANARY).exists():
                faults.append(f"seed {seed}: a text of the record was executed")
                (place / CANARY).unlink()
    assert not faults, "\n".join(faults)


def choose(seed, commands=READERS, parts=5):
    """The list of runs and one of several parts of other commands, in turns."""
    return (commands[0], *commands[1 + seed % parts :: parts])


ONCE_HARMFUL = (4, 12, 21, 25, 41, 63, 81, 141, 286)
"""Seeds of genes and memories that are none, and of objectives whose squares are too great."""


def test_changed_numbers_harm_nobody(place, watch, mutations):
    """As above, where the numbers of populations are others and their digests too."""
    read_hostile(watch)
    faults = []
    with limited_memory():
        for seed in (*ONCE_HARMFUL, *range(mutations // 10)):
            shutil.rmtree("runs/changed")
            shutil.copytree("runs/sound", "runs/changed")
            harm_arrays(place / "runs/changed/run.sqlite", seed)
            faults += [f"seed {seed}: {fault}" for fault in read_hostile(watch, choose(seed))]
    assert not faults, "\n".join(faults)
