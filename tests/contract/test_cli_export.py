"""What leaves a run: files that read back exactly, comparisons, and the run itself."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from optimizer import load_run
from optimizer.atomic_write import write_output
from optimizer.store import RunStore, list_runs
from optimizer.store.listing import list_run_folders
from tests.support.commands import SMALL, read_csv

pytestmark = pytest.mark.slow

DATA = ("--data", "csv:bars.csv")


@pytest.fixture
def store(noise):
    """Its record."""
    with RunStore.open(Path(noise["path"])) as store:
        yield store


def export(command, name, *flags):
    """Export the latest run, which must succeed."""
    return command.succeed("runs", "export", "latest", name, *flags)


def test_an_exported_front_reads_back_exactly(command, noise):
    """Genes, objectives and metrics by name, in every kind of file; member 0 is the best.

    Written twice it is replaced.
    """
    for kind in ("csv", "json", "parquet", "csv"):
        export(command, f"front.{kind}")
    table, rows = pq.read_table("front.parquet"), read_csv("front.csv")
    assert [row["member"] for row in rows] == [str(place) for place in range(len(noise["front"]))]
    for place, member in enumerate(noise["front"]):
        for part in ("genes", "objectives", "metrics"):
            for name, value in member[part].items():
                text = rows[place][f"{part}.{name}"]
                assert value is None if text == "" else float(text) == value
                assert table[f"{part}.{name}"][place].as_py() == value
    merits = [member["objectives"]["strength"] for member in noise["front"]]
    assert merits == sorted(merits, reverse=True) == load_run("latest").front["strength"].tolist()
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert json.loads(Path("front.json").read_text()) == shown


def test_individuals_are_exported_once_with_their_line(command, store):
    """Survivors of each generation, with the number that the search noted."""
    export(command, "all.parquet", "--what", "individuals")
    rows = pq.read_table("all.parquet").to_pylist()
    genes = [name for name in rows[0] if name.startswith("genes.")]
    line = {tuple(row[name] for name in genes): row for row in rows}
    assert len(line) == len(rows)
    for number in range(3):
        newest = store.generation(number).population
        assert {tuple(genome) for genome in newest.genomes.tolist()} <= set(line)
    for genome, lineage in zip(newest.genomes.tolist(), newest.lineage.tolist(), strict=True):
        serial = line[tuple(genome)]["serial"]
        assert [serial if serial is not None else -1] == lineage[:1]
    for row in rows:
        assert (row["failure"] is None) == (row["violation"] == 0)
        assert (row["failure"] is None) == (row["objectives.strength"] is not None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_study_holds_the_front_and_a_sample(command, noise, monkeypatch):
    """Every member with its genes and objectives; nothing is there before the file is written.

    Written twice it has no trial twice.
    """
    optuna = pytest.importorskip("optuna")
    before, seen = set(Path().iterdir()), []

    def write(to, content):
        seen.append(set(Path().iterdir()))
        write_output(to, content)

    monkeypatch.setattr("optimizer.cli.study.write_output", write)
    for _ in range(2):
        export(command, "study.journal", "--sample", "3")
    assert seen[0] == before
    assert set(Path().iterdir()) == before | {Path("study.journal")}
    backend = optuna.storages.journal.JournalFileBackend("study.journal")
    storage = optuna.storages.JournalStorage(backend)
    study = optuna.load_study(study_name=noise["run"], storage=storage)
    assert [way.name for way in study.directions] == ["MAXIMIZE", "MAXIMIZE", "MINIMIZE"]
    assert len(study.trials) == len(noise["front"]) + 3
    done = {tuple(t.params.values()): t.values for t in study.trials if t.state.name == "COMPLETE"}
    for member in noise["front"]:
        assert done[tuple(member["genes"].values())] == list(member["objectives"].values())
    for trial in study.trials:
        assert "generation" in trial.user_attrs
        assert trial.state.name == "COMPLETE" or "failure" in trial.user_attrs


def compare(command, *runs):
    """The comparison of runs, as JSON, each run one entry."""
    return command("runs", "compare", *runs, "--json").json["runs"]


def test_a_run_without_a_member_is_its_pick(command, noise):
    """Every command takes it, and says so in a line."""
    run, strengths = noise["run"], [member["metrics"]["strength"] for member in noise["front"]]
    assert len(strengths) > 1
    line = f"note: run {run}: member {np.argmax(strengths)} of its front, which is its pick"
    for words in ("backtest", "signal", "portfolio", "runs export --as vectorbt"):
        outcome = command(*words.split(), run, *["member.py"] * ("export" in words))
        assert line in outcome.err.splitlines(), words


def test_equal_and_different_runs_are_told_apart(command, noise):
    """What they were asked, what they found, and who beats whom; limits make no other question."""
    count = len(noise["front"])
    again = command("evolve", *DATA, *SMALL, "--plateau", "90", "--json").json
    for run in compare(command, noise["run"], again["run"]):
        assert (run["hypervolume"], run["beaten"]) == (1.0, [0.0, 0.0])
        assert (run["shared"], run["is_comparable"]) == ([count] * 2, True)
        assert run["expected"] is None
    other = command("evolve", *DATA, *SMALL, "--seed", "2", "--json").json
    outcome = command("runs", "compare", noise["run"], other["run"])
    assert (outcome.code, "seed: there 1, here 2" in outcome.out) == (0, True)
    first, second = compare(command, noise["run"], other["run"])
    assert second["is_comparable"]
    assert 0 < min(first["hypervolume"], second["hypervolume"]) < 1
    values = np.array([list(m["objectives"].values()) for m in noise["front"]])
    best = np.where([1, 1, 0], values.max(axis=0), values.min(axis=0))
    assert first["best"] == best.tolist()


def test_runs_that_asked_for_something_else_are_compared_as_far_as_they_can_be(command, noise):
    """On other bars there is no volume; with other objectives nothing can be compared."""
    asked = ("--timeframe", "1h", "--holdout", "20%", "--constraint", "max_drawdown<=0.9")
    other = command("evolve", *DATA, *SMALL, *asked, "--json").json
    text = command("runs", "compare", noise["run"], other["run"]).out
    for word in ("bars", "windows", "ema_fast", "'max_drawdown<=0.9'", "verdict"):
        assert word in text, word
    for word in ("hypervolume", "{", "(absent)"):
        assert word not in text, word
    sharpe = command("evolve", *DATA, *SMALL, "--objectives", "sharpe", "--json").json
    outcome = command("runs", "compare", noise["run"], sharpe["run"])
    assert (outcome.code, outcome.out) == (4, "")


def test_a_run_is_removed_only_when_that_is_meant(command, noise):
    """Without --yes nothing goes, nor while it is being recorded."""
    outcome = command("runs", "delete", "latest")
    assert (outcome.code, outcome.out, "--yes" in outcome.error) == (2, "", True)
    with RunStore.open(Path(noise["path"]), writable=True):
        assert command("runs", "delete", "latest", "--yes").code == 4
    assert [run.id for run in list_runs(Path("runs"))] == [noise["run"]]
    assert command("runs", "verify", "latest").code == 0
    assert command("runs", "delete", "latest", "--yes").code == 0
    assert list_run_folders(Path("runs")) == []
    assert command("runs", "delete", "latest", "--yes").code == 4
