"""Going on with what was recorded, whatever has happened to it: part E of the faults."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore
from tests.support.forging import change, flip, interrupt

pytestmark = pytest.mark.slow

SEARCH = (
    "--population",
    "12",
    "--generations",
    "5",
    "--min-trades",
    "3",
    "--no-report",
    "--no-judge",
)
NEWEST = 5
MARKET = "csv:bars.csv"
"""In a file beside the run that a test may change."""


@pytest.fixture
def whole(command, recordings):
    """The result of an undisturbed, finished run."""
    return recordings.copy(*SEARCH)


@pytest.fixture
def broken(whole):
    """The directory of that run as if it had been stopped before its certificate."""
    interrupt(whole["path"])
    return Path(whole["path"])


def dump(path):
    """Everything that a run's tables hold."""
    with closing(sqlite3.connect(Path(path) / "run.sqlite")) as database:
        return list(database.iterdump())


def cut(path, share):
    """Leave only the first share of a database's bytes."""
    content = (path / "run.sqlite").read_bytes()
    (path / "run.sqlite").write_bytes(content[: int(len(content) * share)])


def test_latest_is_the_run_that_was_begun_last(command, whole):
    """Its result, and not that of the one before."""
    other = command("evolve", "--data", MARKET, *SEARCH, "--seed", "2", "--json").json
    again = command("evolve", "--resume", "latest", "--json").json
    assert again["run"] == other["run"] != whole["run"]


def test_a_finished_run_is_shown_and_not_touched(command, whole):
    """A message and the stored result, exit code 0, and nothing of the record changes."""
    before = dump(whole["path"])
    outcome = command("evolve", "--resume", whole["run"], "--json")
    assert outcome.code == 0
    # It was judged once more, in its own time.
    fields = {**whole, "resumed": "already finished", "judgement_s": outcome.json["judgement_s"]}
    assert outcome.json == fields
    assert dump(whole["path"]) == before
    shown = command("evolve", "--resume", whole["run"])
    assert f"run {whole['run']} had already finished; this is its result" in shown.out


@pytest.mark.parametrize("is_finished", [True, False], ids=["finished", "interrupted"])
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--seed", "7"), ["seed: recorded 1, now 7"]),
        (("--population", "13"), ["population: recorded 12, now 13"]),
        (("--bound", "max_hold=5:9"), ["genes.max_hold.high: recorded 384.0, now 9.0"]),
        (
            ("--strategy", "mean_reversion"),
            ["strategy: recorded 'seller_exhaustion', now 'mean_reversion'"],
        ),
        (
            ("--fee-bp", "1", "--slippage-bp", "2"),
            ["costs.fee_bp: recorded 5.0, now 1.0", "costs.slippage_bp: recorded 5.0, now 2.0"],
        ),
        (("--objectives", "sharpe"), ["objectives"]),
        (("--min-trades", "4"), ["min_trades: recorded 3, now 4"]),
        (("--crossover-eta", "7"), ["crossover_eta: recorded 15, now 7"]),
        (("--start", "1970-01-11"), ["window"]),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_run_never_goes_on_as_another(command, whole, flags, expected, is_finished):
    """What decides results and differs is refused by name, with both values."""
    if not is_finished:
        interrupt(whole["path"])
    before = dump(whole["path"])
    outcome = command("evolve", "--resume", "latest", *flags)
    assert (outcome.code, outcome.out) == (4, "")
    assert all(message in outcome.error for message in expected)
    assert dump(whole["path"]) == before


def test_one_changed_price_is_other_data(command, whole, broken):
    """Both hashes are named, and nothing is built on the old generations."""
    path = Path(MARKET.removeprefix("csv:"))
    header, first, *rest = path.read_text().splitlines()
    values = first.split(",")
    values[4] = repr(float(values[4]) * (1 + 2**-40))
    values[2] = repr(max(float(values[2]), float(values[4])))
    path.write_text("\n".join([header, ",".join(values), *rest, ""]))
    outcome = command("evolve", "--resume", "latest")
    assert (outcome.code, outcome.out) == (4, "")
    assert f"data_hash: recorded '{whole['data_hash']}', now '" in outcome.error


@pytest.mark.parametrize(
    "flags", ["--threads 1", "--memory 4MB", "--device cpu", "--max-bytes 1GB"]
)
def test_how_it_is_computed_may_change(command, whole, broken, flags):
    """Threads, memory and device are free, and the front is the same."""
    again = command("evolve", "--resume", "latest", *flags.split(), "--json").json
    assert again["front_hash"] == whole["front_hash"]


def test_other_libraries_are_recorded_and_allowed(command, whole, broken, monkeypatch):
    """A run goes on after an upgrade: some individuals are verified, and the change is kept."""
    from optimizer.run import header

    real = header.versions
    monkeypatch.setattr(header, "versions", lambda: {**real(), "numpy": "99.0"})
    again = command("evolve", "--resume", "latest", "--json").json
    assert again["front_hash"] == whole["front_hash"]
    assert command("runs", "verify", "latest").code == 0


def test_another_law_is_another_run(command, whole, broken, monkeypatch):
    """A run that an older engine began is not gone on with by a newer one."""
    from optimizer.run import identity

    monkeypatch.setattr(identity, "ENGINE_VERSION", identity.ENGINE_VERSION + 1)
    before = dump(broken)
    outcome = command("evolve", "--resume", "latest")
    assert (outcome.code, outcome.out) == (4, "")
    assert "engine_version: recorded" in outcome.error
    assert dump(broken) == before


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_a_second_owner_is_refused_and_told_who_the_first_is(command, broken, flags):
    """At once, by process and host; reading goes on."""
    with RunStore.open(broken, writable=True):
        outcome = command("evolve", "--resume", "latest", *flags)
        assert (outcome.code, outcome.out) == (4, "")
        assert "process" in outcome.error
        assert command("runs", "show", "latest").code == 0
        assert "running" in command("runs", "list").out
    assert command("evolve", "--resume", "latest", *flags).code == 0


def test_two_runs_at_once_do_not_meet(command, broken):
    """While one is owned another begins and ends."""
    with RunStore.open(broken, writable=True):
        assert command("evolve", "--data", MARKET, *SEARCH).code == 0


def test_a_copied_run_goes_on_by_itself(command, whole, broken, tmp_path):
    """Copy and original come to the same front, and neither changes the other."""
    shutil.copytree(broken, tmp_path / "copy" / "run")
    copied = command("evolve", "--resume", "./copy/run", "--json").json
    assert copied["path"] == "copy/run"
    assert command("runs", "show", str(broken), "--json").json["status"] == "interrupted"
    original = command("evolve", "--resume", str(broken), "--json").json
    assert copied["front_hash"] == original["front_hash"] == whole["front_hash"]


@pytest.mark.parametrize("is_finished", [True, False], ids=["finished", "interrupted"])
@pytest.mark.parametrize("damage", ["flipped", "empty", "cut", "gone"])
def test_a_damaged_newest_generation_is_made_again(command, whole, damage, is_finished):
    """The line names the damage and the generation it goes on from; the front is that of before."""
    path = whole["path"]
    if not is_finished:
        interrupt(path)
    if damage == "flipped":
        flip(path, NEWEST)
    elif damage == "gone":
        change(path, "DELETE FROM generation WHERE number=?", NEWEST)
    else:
        content = "x''" if damage == "empty" else "substr(genomes, 1, 100)"
        change(path, f"UPDATE generation SET genomes={content} WHERE number=?", NEWEST)
    assert command("runs", "verify", "latest").code == 4
    outcome = command("evolve", "--resume", "latest", "--json", "--quiet")
    assert outcome.code == 0
    assert "going on from generation 4" in outcome.err
    assert all(line.startswith(("note: ", "report ")) for line in outcome.err.splitlines())
    assert outcome.json["front_hash"] == whole["front_hash"]
    verified = command("runs", "verify", "latest")
    assert (verified.code, f"generation {NEWEST}" in verified.err) == (4, damage != "gone")


def test_evidence_stays_with_the_front_that_is_found_again(command, whole):
    """A judged run whose newest generation is damaged is a judged run afterwards."""
    judged = command("judge", "latest", "--folds", "0", "--null", "0", "--json").json["judgement"]
    flip(whole["path"], NEWEST)
    outcome = command("evolve", "--resume", "latest", "--no-judge", "--no-report")
    assert "of evidence on it stay" in outcome.err
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["front_hash"] == whole["front_hash"]
    assert shown["judgement"] == judged


def test_evidence_that_a_longer_search_removes_is_told(command, whole):
    """What was judged is another search then."""
    command("judge", "latest", "--folds", "0", "--null", "0")
    longer = ("--generations", str(NEWEST + 1), "--no-judge", "--no-report")
    outcome = command("evolve", "--resume", "latest", *longer)
    assert "of evidence on the run's earlier result are removed" in outcome.err
    assert command("runs", "verify", "latest").code == 0


def test_two_damaged_generations_are_both_named(command, whole, broken):
    """The newest sound one is taken, however far back it lies."""
    flip(broken, NEWEST)
    flip(broken, NEWEST - 1)
    outcome = command("evolve", "--resume", "latest", "--json")
    assert outcome.json["front_hash"] == whole["front_hash"]
    for message in ("generation 5", "generation 4", "going on from generation 3"):
        assert message in outcome.err


def test_no_sound_generation_is_exit_code_4(command, whole, broken):
    """A run never begins again from nothing by itself."""
    for number in range(NEWEST + 1):
        flip(broken, number)
    before = dump(broken)
    outcome = command("evolve", "--resume", "latest")
    assert (outcome.code, outcome.out) == (4, "")
    assert "no recorded generation can be used" in outcome.error
    assert dump(broken) == before


def test_a_cut_database_is_used_as_far_as_it_is_sound(command, broken):
    """Without its end it is not gone on with, but another run begins from what is sound."""
    cut(broken, 0.75)
    with RunStore.open(broken) as store:
        sound = store.recover().number
    assert 0 <= sound < NEWEST
    shown = command("runs", "show", "latest")
    assert (shown.code, f"{sound} of {NEWEST}" in shown.out) == (0, True)
    outcome = command("evolve", "--resume", "latest")
    assert (outcome.code, outcome.out) == (4, "")
    begun = outcome.error.split("python -m optimizer ")[1].split()
    assert command(*begun, "--data", MARKET, *SEARCH, "--json").code == 0


def test_a_database_without_a_sound_generation_is_exit_code_4(command, broken):
    """There is nothing to go on from, with an error."""
    cut(broken, 0.5)
    outcome = command("evolve", "--resume", "latest")
    assert (outcome.code, outcome.out) == (4, "")
    assert "no recorded generation can be used: generation 0 cannot be read" in outcome.error


def test_a_run_that_cannot_be_recorded_names_the_way_to_resume(command, whole, monkeypatch):
    """What was recorded is kept; the line names what failed and the command that goes on."""
    record = RunStore.record

    def failing(store, generation):
        if generation.number == 3:
            raise StoreError("run.sqlite could not be written: needed 9 bytes, 1 are free there")
        record(store, generation)

    with monkeypatch.context() as patched:
        patched.setattr(RunStore, "record", failing)
        outcome = command("evolve", "--data", MARKET, *SEARCH, "--json", "--quiet")
    assert (outcome.code, outcome.out) == (4, "")
    assert "needed 9 bytes, 1 are free there; what was recorded is kept, " in outcome.error
    resumed = outcome.error.split("go on with: python -m optimizer ")[1].split()
    assert command(*resumed, "--json").json["front_hash"] == whole["front_hash"]


def test_on_a_network_file_system_the_other_journal_records(command, whole, monkeypatch):
    """The refusal names it; begun so, a run goes on to the same front, and is judged."""
    monkeypatch.setattr("optimizer.store.space.find_network_kind", lambda path: "nfs4")
    refused = command("evolve", *SEARCH)
    assert refused.code != 0
    assert "or begin them with --journal delete" in refused.error
    search = "evolve", "--data", MARKET, *SEARCH, "--journal", "delete", "--json"
    begun = command(*search).json
    interrupt(begun["path"])
    resumed = command("evolve", "--resume", "latest", "--json").json
    assert whole["front_hash"] == begun["front_hash"] == resumed["front_hash"]
    assert command("judge", "latest", "--folds", 0, "--quiet").code == 0
    assert not list(Path("runs").glob("*/run.sqlite-*"))
