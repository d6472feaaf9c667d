"""Choices, switches and steps in commands: given and shown by name, in whatever one reads."""

import pytest

from tests.support import examples
from tests.support.commands import write_market

pytestmark = pytest.mark.slow

STRATEGY = f"{examples.__file__}:CHOSEN_AVERAGE"


@pytest.fixture
def arguments(tmp_path):
    """Flags of a market of 3,000 bars and the strategy."""
    return "--data", write_market(tmp_path / "bars.csv"), "--strategy", STRATEGY


@pytest.fixture
def result(command, arguments):
    """A finished run within bounds of two averages and one source."""
    flags = ("--population", 24, "--generations", 3, "--min-trades", 3, "--no-judge", "--json")
    bounds = ("--bound", "average=ema:wma", "--bound", "source=hl2")
    return command("evolve", *arguments, *flags, *bounds).json


def test_a_run_shows_options_by_name(command, result, tmp_path):
    """In JSON, tables and exports; within the bounds, and on its steps."""
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
    page = next(tmp_path.glob("runs/*/report.html")).read_text()
    assert "hl2" in page


def test_what_a_run_wrote_is_read_by_name(command, arguments, result, tmp_path):
    """By a backtest, and by a search that begins with it."""
    path = tmp_path / "front.csv"
    command("runs", "export", "latest", path)
    member = command("backtest", *arguments, "--genes", path, "--member", 0, "--json").json
    assert member["genes"] == result["front"][0]["genes"]
    assert member["metrics"] == result["front"][0]["metrics"]
    again = command(
        "evolve", *arguments, "--warm-start", path, "--population", 16, "--generations", 1
    )
    assert again.code == 0
    flags = ("--run", "latest", "--member", 0, "--set", "average=sma")
    changed = command("backtest", *flags, "--json")
    assert changed.json["genes"]["average"] == "sma"


def test_a_lattice_has_every_option(command, arguments):
    """One gene of three options and one of 15 steps."""
    steps = ("--step", "average=1", "--step", "far=0.5")
    outcome = command("evolve", *arguments, "--search", "lattice", *steps, "--no-judge", "--json")
    assert outcome.json["evaluated"] == 3 * 8


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


def test_a_file_bounds_options_by_name(command, arguments, tmp_path):
    """One name, or the first and the last of several."""
    path = tmp_path / "run.toml"
    path.write_text('[bounds]\naverage = "wma"\nsource = ["close", "hl2"]\n')
    flags = ("--population", 8, "--generations", 1, "--min-trades", 0, "--no-judge", "--json")
    payload = command("evolve", *arguments, "--config", path, *flags).json
    assert {member["genes"]["average"] for member in payload["front"]} == {"wma"}
