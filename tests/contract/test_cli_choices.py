"""Choices, switches and steps in commands: given and shown by name, in whatever one reads."""

import contextlib
import io
import json
import shutil

import pytest

from optimizer.__main__ import main
from tests.support import examples
from tests.support.commands import write_market

pytestmark = pytest.mark.slow

GIVEN = ("--data", "csv:bars.csv", "--strategy", f"{examples.__file__}:CHOSEN_AVERAGE")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, recordings):
    """Folder of a run within bounds of two averages and one source, and what it printed."""
    recordings.record("noise")
    folder, printed = tmp_path_factory.mktemp("choices"), io.StringIO()
    write_market(folder / "bars.csv", 2000)
    few = ("--population", "16", "--generations", "2", "--min-trades", "3", "--no-judge", "--json")
    bounds = ("--bound", "average=ema:wma", "--bound", "source=hl2")
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        assert main(["evolve", *GIVEN, *few, *bounds, "--quiet"]) == 0
    return folder, json.loads(printed.getvalue())


@pytest.fixture
def result(command, recorded, tmp_path):
    """The run, copied here."""
    shutil.copytree(recorded[0], tmp_path, dirs_exist_ok=True)
    return recorded[1]


def test_a_run_shows_and_reads_options_by_name(command, result, tmp_path):
    """In JSON, tables, exports and pages; within the bounds, and on its steps."""
    assert result["front"]
    for member in result["front"]:
        genes = member["genes"]
        assert genes["average"] in ("ema", "wma")
        assert genes["source"] == "hl2"
        assert {genes["busy"], genes["shorts"], genes["leaves"]} <= {"off", "on"}
        assert genes["far"] % 0.25 == 0
    shown = command("runs", "show", "latest").out
    assert "hl2" in shown
    assert "source is at its" not in shown
    for name, what in (("front.csv", "front"), ("all.csv", "individuals")):
        command("runs", "export", "latest", tmp_path / name, "--what", what)
        assert ",hl2," in (tmp_path / name).read_text()
    assert "hl2" in next(tmp_path.glob("runs/*/report.html")).read_text()
    given = ("--genes", "front.csv", "--member", 0, "--json")
    member = command("backtest", *GIVEN, *given).json
    assert member["genes"] == result["front"][0]["genes"]
    assert member["metrics"] == result["front"][0]["metrics"]
    few = ("--population", 8, "--generations", 0, "--no-judge", "--no-report")
    assert command("evolve", *GIVEN, "--warm-start", "front.csv", *few).code == 0
    flags = ("--run", result["run"], "--member", 0, "--set", "average=sma")
    assert command("backtest", *flags, "--json").json["genes"]["average"] == "sma"


def test_a_study_has_categories_and_steps(command, result):
    """As Optuna knows them, with every trial among them."""
    optuna = pytest.importorskip("optuna")
    assert command("runs", "export", "latest", "study.journal").code == 0
    backend = optuna.storages.journal.JournalFileBackend("study.journal")
    study = optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend))
    trial = study.trials[0]
    assert trial.distributions["average"].choices == ("ema", "wma")
    assert trial.distributions["far"].step == 0.25
    assert {trial.params["average"] for trial in study.trials} == {"ema", "wma"}


def test_a_file_bounds_options_by_name_and_a_lattice_has_each(command, tmp_path):
    """One name, or the first and the last of several; one gene of two, and one of 8 steps."""
    write_market(tmp_path / "bars.csv", 1000)
    (tmp_path / "run.toml").write_text('[bounds]\naverage = ["sma", "ema"]\nsource = "hl2"\n')
    steps = ("--search", "lattice", "--step", "average=1", "--step", "far=0.5")
    flags = ("--config", "run.toml", "--min-trades", 0, "--no-judge", "--no-report", "--json")
    outcome = command("evolve", *GIVEN, *flags, *steps)
    assert outcome.code == 0, outcome.err
    assert outcome.json["evaluated"] == 2 * 8
    assert {member["genes"]["source"] for member in outcome.json["front"]} == {"hl2"}
