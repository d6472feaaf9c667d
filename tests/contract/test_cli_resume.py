"""Going on with a recorded run, whatever has happened to it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from optimizer.errors import StoreError
from optimizer.run import record as record_module
from optimizer.store import RunStore
from tests.support.commands import SMALL
from tests.support.forging import change, flip, interrupt

pytestmark = pytest.mark.slow

NEWEST = 2
MARKET = ("--data", "csv:bars.csv")
RESUME = ("evolve", "--resume", "latest", *SMALL[-2:])


@pytest.fixture
def whole(command, recordings):
    """The result of an undisturbed, finished run."""
    return recordings.copy("held out")


@pytest.fixture
def path(whole):
    """Its folder."""
    return Path(whole["path"])


@pytest.fixture
def broken(path):
    """The same folder as if it had been stopped before its certificate."""
    interrupt(path)
    return path


def dump(path):
    """All that a run's tables hold."""
    with closing(sqlite3.connect(path / "run.sqlite")) as database:
        return list(database.iterdump())


def test_a_finished_run_is_shown_and_not_touched(command, whole, path):
    """The stored result, exit code 0, and nothing of the record changes."""
    before = dump(path)
    again = command("evolve", "--resume", whole["run"], "--json")
    assert again.code == 0
    # It was judged once more, in its own time.
    judged = {"resumed": "already finished", "judgement_s": again.json["judgement_s"]}
    assert again.json == {**whole, **judged}
    assert dump(path) == before


def test_latest_is_the_run_that_was_begun_last(command, whole, path):
    """Its result; another run begins and ends while the one before is owned."""
    interrupt(path)
    with RunStore.open(path, writable=True):
        other = command("evolve", *MARKET, *SMALL, "--seed", "2", "--json").json
    assert command(*RESUME, "--json").json["run"] == other["run"] != whole["run"]


def test_how_it_is_computed_may_change(command, whole, broken, monkeypatch):
    """Threads, memory, device and other libraries are free; the front is the same."""
    real = record_module.versions
    monkeypatch.setattr(record_module, "versions", lambda: {**real(), "numpy": "99.0"})
    again = command(*RESUME, "--threads", "1", "--memory", "4MB", "--json").json
    assert again["front_hash"] == whole["front_hash"]
    with RunStore.open(broken) as store:
        assert any("numpy" in line for note in store.resumptions for line in note["differences"])


def test_a_second_owner_is_refused_and_the_first_is_named(command, broken):
    """At once, by process; reading goes on."""
    with RunStore.open(broken, writable=True):
        outcome = command(*RESUME, "--json")
        assert (outcome.code, outcome.out, "process" in outcome.error) == (4, "", True)
        assert command("runs", "show", "latest").code == 0
        assert command("runs", "list", "--json").json[0]["status"] == "running"
    assert command(*RESUME, "--json").code == 0


DAMAGES = {
    "flipped": (lambda path: flip(path, NEWEST), 1, True),
    "gone": (lambda path: change(path, "DELETE FROM record WHERE name='2'"), 1, True),
    "two": (lambda path: (flip(path, NEWEST), flip(path, NEWEST - 1)), 0, False),
}


@pytest.mark.parametrize(("damage", "newest", "is_finished"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_newest_generation_is_made_again(
    command, whole, path, damage, newest, is_finished
):
    """From the newest sound one, which is named; the front is that of before."""
    if not is_finished:
        interrupt(path)
    damage(path)
    assert command("runs", "verify", "latest").code == 4
    outcome = command(*RESUME, "--json", "--quiet")
    assert outcome.code == 0
    assert f"going on from generation {newest}" in outcome.err
    assert all(line.startswith(("note: ", "report ")) for line in outcome.err.splitlines())
    assert outcome.json["front_hash"] == whole["front_hash"]
    assert command("runs", "verify", "latest").code == 4


def test_evidence_stays_with_the_front_that_is_found_again(command, recordings):
    """After a longer search it counts no more, which is said: the judged front is another one."""
    judged = recordings.copy("noise")
    flip(judged["path"], NEWEST)
    assert "of evidence on it stay" in command(*RESUME).err
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert (shown["front_hash"], shown["judgement"]) == (judged["front_hash"], judged["judgement"])
    outcome = command(*RESUME, "--generations", str(NEWEST + 1))
    assert "earlier result no longer count" in outcome.err
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["judgement"] != judged["judgement"]


def test_a_run_that_cannot_be_recorded_names_the_way_to_resume(command, monkeypatch, market):
    """Generations before the failure are kept; the command that is named goes on to the end."""
    record = RunStore.record

    def failing(store, generation):
        if generation.number == 1:
            raise StoreError("run.sqlite could not be written: needed 9 bytes, 1 are free there")
        record(store, generation)

    search = ("evolve", "--data", market, *SMALL, "--json", "--quiet")
    with monkeypatch.context() as patched:
        patched.setattr(RunStore, "record", failing)
        outcome = command(*search)
    assert (outcome.code, outcome.out) == (4, "")
    assert "needed 9 bytes, 1 are free there; " in outcome.error
    resumed = outcome.error.split("python -m optimizer ")[1].split()
    expected = command(*search).json["front_hash"]
    assert command(*resumed, "--json").json["front_hash"] == expected
