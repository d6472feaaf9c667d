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
            faults += [f"seed {seed}: {fault}" for fault in read_hostile(watch)]
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
            faults += [f"seed {seed}: {fault}" for fault in read_hostile(watch, commands)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("names", [[], ["calmar"]], ids=["none", "one"])
def test_objectives_that_candidates_do_not_have_are_refused(place, names):
    """In one line, by whatever turns them into the signs that people know."""
    forge(place / "runs/changed", "header", lambda payload: payload["run"].update(objectives=names))
    for words in (("show", "changed", "--importance"), ("export", "changed", "x.csv")):
        more = ("--what", "individuals") if words[0] == "export" else ()
        code, out, err = call("runs", *words, *more)
        assert (code, out) == (4, ""), err
        assert f"the header names {len(names)} objective" in err


@pytest.mark.parametrize("count", [0, 3])
def test_genes_that_candidates_do_not_have_are_refused(place, count):
    """In one line, by what names each gene."""

    def change(payload):
        payload["run"]["genes"] = payload["run"]["genes"][:count]

    forge(place / "runs/changed", "header", change)
    code, out, err = call("runs", "show", "changed", "--importance")
    assert (code, out) == (4, ""), err
    assert f"the header names {count} genes, and candidates have 10" in err


@pytest.mark.parametrize(("bound", "value"), [("low", 10**6), ("high", -5), ("low", None)])
def test_genes_beyond_their_bounds_are_refused(place, bound, value):
    """In one line, by what writes each candidate as one of those that the bounds hold."""

    def change(record):
        gene = record["run"]["genes"][0]
        del gene[bound]
        gene |= {} if value is None else {bound: value}

    forge(place / "runs/changed", "header", change)
    code, out, err = call("runs", "export", "changed", "x.journal")
    assert (code, out) == (4, ""), err
    record = "the header bounds ema_fast by " if value else "between which bounds ema_fast lies"
    assert record in err


STUDY = ("export", "changed", "x.journal")
TABLE = ("export", "changed", "x.csv", "--what", "individuals")


@pytest.mark.parametrize("words", [STUDY, TABLE], ids=["study", "table"])
@pytest.mark.parametrize(("names", "expected"), [([], 4), ([""], 4), ([""] * 9, 0)])
def test_failures_without_a_name_stay_failures(place, words, names, expected):
    """A code without a name is refused, and an empty name makes nothing feasible."""
    read = [call("runs", *words)[0], (place / words[2]).read_text().count('"state":3')]
    assert read[0] == 0
    forge(
        place / "runs/changed", "header", lambda payload: payload["run"].update(failure_names=names)
    )
    code, _, err = call("runs", *words)
    assert (code, f"the header names {len(names)} failure" in err) == (expected, expected == 4), err
    assert (place / words[2]).read_text().count('"state":3') == read[1]
    assert words is TABLE or read[1] > 0


@pytest.mark.parametrize("words", [STUDY, TABLE], ids=["study", "table"])
@pytest.mark.parametrize("count", [0, 3, 12])
def test_genes_of_tables_and_studies_are_those_of_candidates(place, words, count):
    """Too many and too few are refused in one line."""

    def change(payload):
        genes = payload["run"]["genes"]
        payload["run"]["genes"] = (genes * 2)[:count]

    forge(place / "runs/changed", "header", change)
    code, _, err = call("runs", *words)
    assert (code, "defect" in err) == (4, False), err
