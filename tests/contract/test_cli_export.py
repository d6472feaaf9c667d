"""What leaves a run: files that read back exactly, comparisons, and the run itself."""

import csv
import json
import shutil
from pathlib import Path
from wsgiref.util import setup_testing_defaults

import numpy as np
import pyarrow.parquet as pq
import pytest

from optimizer import load_run
from optimizer.atomic_write import write_output
from optimizer.store import RunStore, list_runs
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow

LARGER = (
    "--population",
    "24",
    "--generations",
    "4",
    "--min-trades",
    "3",
    "--no-report",
    "--no-judge",
)


@pytest.fixture
def result(command, recordings):
    """A finished run."""
    return recordings.copy(*LARGER)


@pytest.fixture
def market(result):
    """The market of the run, beside it."""
    return "csv:bars.csv"


@pytest.fixture
def store(result):
    """Its record."""
    with RunStore.open(Path(result["path"])) as store:
        yield store


def read_csv(name):
    """Rows of a CSV file, each a dict of texts."""
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_an_exported_front_reads_back_exactly(command, result, tmp_path):
    """Genes, objectives and metrics, in columns that say which is which, in every kind of file."""
    for kind in ("csv", "json", "parquet"):
        assert command("runs", "export", "latest", f"front.{kind}").code == 0
    table = pq.read_table("front.parquet")
    for place, member in enumerate(result["front"]):
        row = read_csv("front.csv")[place]
        for part in ("genes", "objectives", "metrics"):
            for name, value in member[part].items():
                text = row[f"{part}.{name}"]
                assert value is None if text == "" else float(text) == value
                assert table[f"{part}.{name}"][place].as_py() == value
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert json.loads((tmp_path / "front.json").read_text()) == shown


def test_generations_are_exported_one_a_row(command, result, store):
    """With what was evaluated, what was rejected and why, and how good the front was."""
    assert command("runs", "export", "latest", "all.csv", "--what", "generations").code == 0
    rows = read_csv("all.csv")
    assert [int(row["generation"]) for row in rows] == [0, 1, 2, 3, 4]
    for row, summary in zip(rows, store.generations(), strict=True):
        assert int(row["evaluated"]) == summary.evaluated
        assert int(row["rejected.too_few_trades"]) == summary.rejected.get("too_few_trades", 0)
        assert float(row["hypervolume"]) == summary.hypervolume


def test_individuals_are_exported_once_with_their_line(command, result, store):
    """Survivors of each generation, with the parents and the operator that the search noted."""
    assert command("runs", "export", "latest", "all.parquet", "--what", "individuals").code == 0
    rows = pq.read_table("all.parquet").to_pylist()
    genes = [name for name in rows[0] if name.startswith("genes.")]
    genomes = [tuple(row[name] for name in genes) for row in rows]
    assert len(set(genomes)) == len(genomes)
    for number in range(5):
        population = store.generation(number).population
        assert {tuple(genome) for genome in population.genomes.tolist()} <= set(genomes)
    newest = store.generation(4).population
    line = dict(zip(genomes, rows, strict=True))
    for genome, lineage in zip(newest.genomes.tolist(), newest.lineage.tolist(), strict=True):
        row = line[tuple(genome)]
        assert [row["serial"] if row["serial"] is not None else -1] == lineage[:1]
    for row in rows:
        assert (row["failure"] is None) == (row["violation"] == 0)
        assert (row["failure"] is None) == (row["objectives.strength"] is not None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x.csv", "--sample", "7"), "--sample is of a .journal alone"),
        (("x.py", "--as", "vectorbt", "--sample", "7"), "--sample is of a .journal alone"),
        (("x.journal", "--what", "front"), "--what is of a table"),
        (("x.py", "--as", "vectorbt", "--what", "front"), "--what is of a table"),
        (("x.csv", "--data", "sample"), "--data is where a program's bars are now: add --as"),
    ],
)
def test_flags_that_an_export_has_no_use_for_are_refused(command, result, words, message):
    """Nothing is written in spite of them."""
    refused = command("runs", "export", "latest", *words)
    assert (refused.code, message in refused.error) == (2, True), refused.err
    assert not Path(words[0]).exists()


def test_an_export_replaces_an_earlier_one_and_nothing_else(command, result):
    """A script may export again and again; bars and strategies stay."""
    for _ in range(2):
        assert command("runs", "export", "latest", "again.csv").code == 0
    for name, text, more in (
        ("others.csv", "timestamp,open,high\n", ()),
        ("mine.py", "from strategy import *\n", ("--as", "vectorbt", "--member", "0")),
    ):
        Path(name).write_text(text)
        refused = command("runs", "export", "latest", name, *more)
        assert (refused.code, "no earlier result of this kind" in refused.error) == (2, True), (
            refused.err
        )
        assert Path(name).read_text() == text


def test_an_interrupted_run_exports_what_it_has(command, result):
    """Its generations and individuals; a front only when it is certified."""
    with RunStore.open(Path(result["path"])) as store:
        header = store.header
        RunStore.create(Path("runs"), "begun", header).close()
    assert command("runs", "export", "begun", "x.csv", "--what", "generations").code == 0
    outcome = command("runs", "export", "begun", "x.csv")
    assert (outcome.code, "has no front yet" in outcome.error) == (4, True)
    outcome = command("runs", "export", "begun", "x.json", "--what", "individuals")
    assert (outcome.code, "has recorded no candidate" in outcome.error) == (4, True)


def test_a_study_holds_the_front_and_a_sample(command, result, monkeypatch):
    """Every member with its genes and objectives; nothing is there before the file is written."""
    optuna = pytest.importorskip("optuna")
    before, seen = set(Path().iterdir()), []

    def write(to, content):
        seen.extend(Path().iterdir())
        write_output(to, content)

    monkeypatch.setattr("optimizer.cli.study.write_output", write)
    outcome = command("runs", "export", "latest", "study.journal", "--sample", "7")
    assert (outcome.code, set(seen)) == (0, before)
    assert "and 7 other candidates" in outcome.out
    backend = optuna.storages.journal.JournalFileBackend("study.journal")
    storage = optuna.storages.JournalStorage(backend)
    (study,) = optuna.get_all_study_summaries(storage)
    assert study.study_name == result["run"]
    assert [direction.name for direction in study.directions] == [
        "MAXIMIZE",
        "MAXIMIZE",
        "MINIMIZE",
    ]
    trials = optuna.load_study(study_name=study.study_name, storage=storage).trials
    assert len(trials) == len(result["front"]) + 7
    done = {tuple(t.params.values()): t.values for t in trials if t.state.name == "COMPLETE"}
    for member in result["front"]:
        assert done[tuple(member["genes"].values())] == list(member["objectives"].values())
    failed = [trial for trial in trials if trial.state.name == "FAIL"]
    assert all("failure" in trial.user_attrs for trial in failed)
    assert all("generation" in trial.user_attrs for trial in trials)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_dashboard_opens_a_study(command, result):
    """Its pages' own interface holds the study, its directions and every trial."""
    reason = "the dashboard is not installed"
    dashboard = pytest.importorskip("optuna_dashboard", reason=reason)
    backend = pytest.importorskip("optuna").storages.journal.JournalFileBackend
    storage = pytest.importorskip("optuna").storages.JournalStorage
    assert command("runs", "export", "latest", "study.journal", "--sample", "3").code == 0
    app = dashboard.wsgi(storage(backend("study.journal")))
    (study,) = request_json(app, "/api/studies")["study_summaries"]
    assert study["study_name"] == result["run"]
    assert study["directions"] == ["maximize", "maximize", "minimize"]
    answer = request_json(app, f"/api/studies/{study['study_id']}")
    trials = [trial for trial in answer["trials"] if trial["state"] == "Complete"]
    values = [list(member["objectives"].values()) for member in result["front"]]
    assert all(value in [trial["values"] for trial in trials] for value in values)
    assert len(answer["trials"]) == len(values) + 3


def request_json(app, path):
    """What a web application answers to a request, as JSON."""
    environment = {"PATH_INFO": path}
    setup_testing_defaults(environment)
    messages = []
    body = b"".join(app(environment, lambda status, *_: messages.append(status)))
    assert messages == ["200 OK"]
    return json.loads(body)


def test_a_member_is_exported_as_a_script(command, result, tmp_path):
    """The same text as in Python, which names at its head what differs; it compiles."""
    for platform in ("backtesting.py", "vectorbt"):
        arguments = ("member.py", "--as", platform, "--member", "0")
        assert command("runs", "export", "latest", *arguments).code == 0
        text = (tmp_path / "member.py").read_text(encoding="utf-8")
        assert text == load_run("latest").program(0, platform)
        assert "# What differs, and what that does:" in text
        compile(text, "member.py", "exec")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("member.txt", "--as", "vectorbt", "--member", "0"), "is named *.py"),
        (("member.py", "--as", "vectorbt", "--member", "99"), "--member 0 to"),
        (("member.py", "--member", "0"), "add --as"),
        (("member.py", "--as", "pine", "--member", "0"), "is named *.pine"),
        (("member.py", "--as", "jesse"), "is not one of"),
        (("steps.py", "--as", "vectorbt", "--schedule"), "judge it with --schedule"),
        (("steps.py", "--schedule"), "add --as"),
    ],
)
def test_a_program_that_cannot_be_is_refused(command, result, arguments, message):
    """In one line, which names the error."""
    outcome = command("runs", "export", "latest", *arguments)
    assert (outcome.code, message in outcome.error) == (2, True), outcome.error


def test_a_study_is_written_whole_and_replaces_the_last(command, result):
    """Written twice it has no trial twice, and nothing lies beside it."""
    optuna = pytest.importorskip("optuna")
    before = {place.name for place in Path().iterdir()}
    for _ in range(2):
        assert command("runs", "export", "latest", "study.journal", "--sample", "0").code == 0
    assert {place.name for place in Path().iterdir()} == before | {"study.journal"}
    backend = optuna.storages.journal.JournalFileBackend("study.journal")
    storage = optuna.storages.JournalStorage(backend)
    study = optuna.load_study(study_name=result["run"], storage=storage)
    assert len(study.trials) == len(result["front"])


def test_export_writes_only_what_it_knows(command, result):
    """A file of another kind, and a place that is not there, are refused."""
    outcome = command("runs", "export", "latest", "front.xlsx")
    assert outcome.code == 2
    assert "name it .csv, .json, .parquet, .journal" in outcome.error
    for kind in ("csv", "parquet", "journal"):
        outcome = command("runs", "export", "latest", f"nowhere/front.{kind}")
        assert outcome.code == 2
        assert "cannot be written" in outcome.error


def test_equal_runs_compare_as_equal(command, market, result):
    """The same seed: the same front, all of it shared, nothing beaten."""
    other = command("evolve", "--data", market, *LARGER, "--json").json
    payload = command("runs", "compare", result["run"], other["run"], "--json").json
    for run in payload["runs"]:
        assert run["hypervolume"] == 1.0
        assert run["beaten"] == [0.0, 0.0]
        assert run["shared"] == [len(result["front"])] * 2
        assert run["differs"] == []


def test_different_runs_are_told_apart(command, market, result):
    """What they were asked, what they found, and who beats whom."""
    other = command("evolve", "--data", market, *LARGER, "--seed", "2", "--json").json
    outcome = command("runs", "compare", result["run"], other["run"])
    assert outcome.code == 0
    assert f"{other['run']} is another try at what {result['run']} was asked for:" in outcome.out
    assert "seed: there 1, here 2" in outcome.out
    payload = command("runs", "compare", result["run"], other["run"], "--json").json
    first, second = payload["runs"]
    assert second["is_comparable"]
    assert 0 < min(first["hypervolume"], second["hypervolume"]) < 1
    values = np.array([list(m["objectives"].values()) for m in result["front"]])
    best = np.where([1, 1, 0], values.max(axis=0), values.min(axis=0))
    assert first["best"] == best.tolist()


def test_what_runs_were_asked_for_is_compared(command, market, result):
    """Limits are shown and make no other question; another population does."""
    further = command("evolve", "--data", market, *LARGER, "--plateau", "90", "--json").json
    outcome = command("runs", "compare", result["run"], further["run"])
    assert f"{further['run']} is another try at what {result['run']}" in outcome.out
    assert "plateau: there None, here 90" in outcome.out
    larger = command("evolve", "--data", market, *SMALL, "--population", "9", "--json").json
    outcome = command("runs", "compare", further["run"], larger["run"])
    assert f"{larger['run']} was asked for something else than {further['run']}:" in outcome.out
    assert ", here 9" in outcome.out


@pytest.mark.parametrize(
    ("names", "code", "message"),
    [(["latest"], 2, "two runs or more"), (["latest", "latest"], 2, "each once")],
)
def test_a_run_is_not_compared_with_itself(command, result, names, code, message):
    """The comparison would be empty."""
    outcome = command("runs", "compare", *names)
    assert (outcome.code, message in outcome.error) == (code, True)


def test_a_run_with_an_empty_front_is_compared(command, result, tmp_path):
    """It has found nothing, beats no other and shares nothing."""
    flat = write_market(tmp_path / "flat.csv", flat=1.0, silent=1.0)
    other = command("evolve", "--data", flat, *SMALL, "--json").json
    assert other["front"] == []
    outcome = command("runs", "compare", result["run"], other["run"], "--json")
    assert outcome.code == 0
    first, second = outcome.json["runs"]
    assert (second["front"], second["best"], second["shared"]) == (0, [], [0, 0])
    # Other bars: nothing can be held against each other.
    assert (first["hypervolume"], second["hypervolume"]) == (None, None)
    assert first["beaten"] == second["beaten"] == []


def test_runs_on_other_bars_are_compared_in_words(command, market, result):
    """Bars, windows and genes in words; no volume; verdict, pick and held-out bars side by side."""
    asked = ("--timeframe", "1h", "--holdout", "20%", "--constraint", "max_drawdown<=0.9")
    other = command("evolve", "--data", market, *LARGER, *asked, "--json").json
    outcome = command("runs", "compare", result["run"], other["run"])
    for words in (
        "bars: there",
        "windows: there",
        "held out",
        "bounds or defaults of ema_fast, ema_slow",
        "constraints: there none, here 'max_drawdown<=0.9'",
        "cannot be held against each other",
        "verdict",
        "closed",
    ):
        assert words in outcome.out, words
    for words in ("hypervolume", "Share of a front", "{", "(absent)"):
        assert words not in outcome.out, words


def test_runs_with_other_objectives_are_not_compared(command, market, result):
    """Both lists are named."""
    arguments = ("--data", market, *SMALL, "--objectives", "sharpe")
    other = command("evolve", *arguments, "--json").json
    outcome = command("runs", "compare", result["run"], other["run"])
    assert outcome.code == 4
    assert "nothing to compare" in outcome.error


def test_a_run_is_removed_only_when_that_is_meant(command, result):
    """Without --yes the line lists what would go, and nothing goes."""
    outcome = command("runs", "delete", "latest")
    assert (outcome.code, outcome.out) == (2, "")
    assert "add --yes" in outcome.error
    assert [run.id for run in list_runs(Path("runs"))] == [result["run"]]
    assert command("runs", "delete", "latest", "--yes").code == 0
    assert list(Path("runs").iterdir()) == []
    assert command("runs", "delete", "latest", "--yes").code == 4


def test_a_run_that_was_copied_into_a_project_is_removed_alone(command, result, tmp_path):
    """What else lies in that folder is named, and stays."""
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(Path(result["path"]) / "run.sqlite", project)
    (project / "thesis.tex").write_text("mine")
    for arguments, code in ([], 2), (["--yes"], 0):
        outcome = command("runs", "delete", str(project / "run.sqlite"), *arguments)
        assert outcome.code == code
        assert "what is not of the run stays: thesis.tex" in outcome.out + outcome.err
    assert [path.name for path in project.iterdir()] == ["thesis.tex"]


def test_a_run_that_is_being_recorded_is_not_removed(command, result):
    """Its owner is named, and it stays whole."""
    with RunStore.open(Path(result["path"]), writable=True):
        outcome = command("runs", "delete", "latest", "--yes")
    assert outcome.code == 4
    assert "is owned by process" in outcome.error
    assert command("runs", "verify", "latest").code == 0


def test_members_have_one_number_everywhere(command, result, tmp_path):
    """As JSON, exported and in Python, member 0 is the best in the first objective."""
    assert command("runs", "export", "latest", "front.csv").code == 0
    exported = read_csv("front.csv")
    assert [row["member"] for row in exported] == [str(n) for n in range(len(exported))]
    merits = [float(row["objectives.strength"]) for row in exported]
    assert merits == sorted(merits, reverse=True)
    assert merits == [member["objectives"]["strength"] for member in result["front"]]
    assert merits == load_run("latest").front["strength"].tolist()


def test_held_out_figures_are_exported(command, market, tmp_path):
    """Beside each number of the search stands that of the bars it never saw, once opened."""
    arguments = ("--data", market, *SMALL, "--holdout", "20%", "--quiet")
    assert command("evolve", *arguments).code == 0
    assert command("judge", "latest", "--open", "--folds", 0, "--blocks", 0, "--quiet").code == 0
    assert command("runs", "export", "latest", "front.csv").code == 0
    front = load_run("latest").front
    messages = [float(row["held_out.metrics.trades"]) for row in read_csv("front.csv")]
    assert messages == front["held_out_trades"].tolist()


def test_a_run_that_was_moved_says_where_it_is(command, result, tmp_path):
    """Its report goes beside it, not to where it was found."""
    (tmp_path / "runs").rename(tmp_path / "kept")
    shown = command("runs", "show", "latest", "--runs", "kept").out
    path = next((tmp_path / "kept").iterdir()).relative_to(tmp_path)
    assert f"recorded in {path}" in shown
    assert command("evolve", "--resume", "latest", "--runs", "kept", "--report").code == 0
    assert (path / "report.html").exists()
    assert not (tmp_path / "runs").exists()
