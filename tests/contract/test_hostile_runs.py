"""Runs from elsewhere: nothing in them is executed, hangs a command or fills memory."""

import shutil

import pytest

from tests.support.commands import SMALL, write_market
from tests.support.forging import forge
from tests.support.hostile import (
    CANARY,
    READERS,
    Mutator,
    Watch,
    call,
    limited_memory,
    read_hostile,
)
from tests.support.hostile_arrays import harm_arrays
from tests.support.hostile_files import harm_files, remove
from tests.support.own_files import momentum_file


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


OWN = momentum_file('(moved(length("n", 5, 2, 20)) > 0.002) & (column("mood") > 0)')

WRITERS = (
    ("judge", "RUN", "--open", "--null", "0", "--quiet"),
    ("evolve", "--resume", "RUN", "--quiet", "--no-judge", "--no-report"),
    ("runs", "verify", "--individuals", "0", "RUN"),
    ("parity", "--individuals", "1", "--run", "RUN"),
)
"""Commands that read or write more beside the database."""


@pytest.fixture
def own_place(tmp_path, monkeypatch):
    """A folder with a run that has files beside its database, here and as `sound`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "momentum.py").write_text(OWN)
    (tmp_path / "mood.csv").write_text("known_at,value\n1970-01-01 00:00:00,1\n")
    data = ("--data", write_market(tmp_path / "bars.csv"), "--column-file", "mood=mood.csv")
    search = [flag for flag in SMALL if flag != "--no-judge"]
    asked = ("--strategy", "momentum.py", "--holdout", "20%", "--null", "0", "--folds", "2")
    code, _, err = call("evolve", *data, *search, *asked, "--quiet")
    assert code == 0, err
    recorded = next((tmp_path / "runs").glob("*/run.sqlite")).parent
    recorded.rename(tmp_path / "runs" / "sound")
    shutil.copytree("runs/sound", "runs/changed")
    return tmp_path


@pytest.mark.slow
def test_changed_files_beside_a_run_harm_nobody(own_place, watch, mutations):
    """As a changed database, each by many commands; a sound run is read and gone on with."""
    commands = (*READERS, *WRITERS)
    read_hostile(watch, commands)
    sound = [command for command in commands if "--importance" not in command]
    # Its indicator is no word of another program.
    sound = [command for command in sound if "--as" not in command]
    assert read_hostile(watch, sound, codes=(0,)) == []
    faults = []
    with limited_memory():
        for seed in range(max(mutations // 20, 3)):
            for path in (own_place / "runs" / "changed", own_place / "runs" / "looks.json"):
                remove(path)
            shutil.copytree("runs/sound", "runs/changed")
            harm_files(own_place / "runs" / "changed", seed)
            faults += [
                f"seed {seed}: {fault}" for fault in read_hostile(watch, choose(seed, commands, 3))
            ]
    assert not faults, "\n".join(faults)


def cut_genes(count):
    """A change of the header that leaves or makes so many genes."""
    return lambda run: run.update(genes=(run["genes"] * 2)[:count])


def bound(name, value):
    """A change of the bound of the first gene; None takes it away."""

    def change(run):
        gene = run["genes"][0]
        del gene[name]
        gene |= {} if value is None else {name: value}

    return change


STUDY = ("export", "changed", "x.journal")
TABLE = ("export", "changed", "x.csv", "--what", "individuals")
IMPORTANCE = ("show", "changed", "--importance")

HEADERS = [
    (IMPORTANCE, lambda run: run.update(objectives=[]), "0 objective"),
    (TABLE, lambda run: run.update(objectives=["calmar"]), "1 objective"),
    *((IMPORTANCE, cut_genes(count), f"{count} genes") for count in (0, 3)),
    *((words, cut_genes(count), "") for words in (STUDY, TABLE) for count in (0, 12)),
    *((STUDY, bound(name, value), "ema_fast")
      for name, value in (("low", 10**6), ("low", None))),
    *((words, lambda run: run.update(failure_names=[""]), "1 failure") for words in (STUDY, TABLE)),
]  # fmt: skip


@pytest.mark.parametrize(("words", "change", "word"), HEADERS)
def test_a_header_that_candidates_do_not_have_is_refused(place, words, change, word):
    """In one line: other objectives, genes, bounds or names of failures."""
    forge(place / "runs/changed", "header", lambda payload: change(payload["run"]))
    code, out, err = call("runs", *words)
    assert (code, out, "defect" in err) == (4, "", False), err
    assert word in err
