"""What a person may ask for, in a file and on the command line, and what comes of it."""

import os

import pytest

from optimizer.config.run_config import RunConfig
from optimizer.run import runner
from optimizer.run.task import prepare
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "toml", "typed", "expected"),
    [
        ("population", '"100"', "1e3", "must be a whole number"),
        ("seed", "-1", "-1", "must be a whole number from 0"),
        ("fee_bp", "inf", "1" + "0" * 400, "must be a number"),
        ("memory", '"lots"', "lots", "must be an amount"),
        ("keep", '"some"', "some", "must be one of"),
        ("objectives", '["sharpe"]', None, "must be text"),
        ("data", "1979-05-27", None, "must be a source"),
    ],
)
def test_a_wrong_value_is_refused_wherever_it_stands(
    command, tmp_path, name, toml, typed, expected
):
    """File and flag give the same words, after the key as it stands there."""
    (tmp_path / "run.toml").write_text(f"{name} = {toml}\n")
    flag = f"--{name.replace('_', '-')}"
    asked = [("run.toml: " + name, ("--config", "run.toml")), (flag, (flag, typed))]
    for told, words in asked[: 2 if typed else 1]:
        outcome = command("evolve", *words)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.error.startswith(f"{told} {expected}")
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_everything_wrong_in_file_and_flags_is_told_at_once(command, tmp_path):
    """One line names every key, whatever is wrong with it and wherever it was given."""
    (tmp_path / "run.toml").write_text(
        'population = "8"\nSeed = 1\nfee_bp = inf\nkeep = 3\n[bounds]\nema_fast = [1]\n'
    )
    error = command("evolve", "--config", "run.toml", "--threads", "x", "--risk-fraction=2").error
    for name in ("population", "Seed", "fee_bp", "keep", "bounds.ema_fast", "--threads",
                 "--risk-fraction"):  # fmt: skip
        assert f"{name} " in error


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a file without an end")
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "flags", ["evolve --config", "backtest --genes", "backtest --config", "evolve --warm-start"]
)
def test_files_without_an_end_are_refused_at_once(command, tmp_path, flags):
    """A pipe that nobody writes to, and a device that never ends, which is no name of a run."""
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", "/dev/zero")[: 1 if "warm" in flags else 2]:
        outcome = command(*flags.split(), path)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.error.startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ("ema_fast=50:20", ("'ema_fast'", "50.0", "20.0")),
        ("ema_fast=2.5:20", ("whole", "2.5")),
        ("ema_fast=2:20.5", ("whole", "20.5")),
        ("ema_fast=nan:20", ("--bound ema_fast", "finite")),
        ("ema_fast=2:1e300", ("2147483647",)),
        ("ema_fats=2:20", ("'ema_fast'?",)),
        ("max_hold=0:20", ("at least 1 bar",)),
        ("reward_r=0:2", ("above 0",)),
        ("ema_fast=700:701 ema_slow=300:400", ("ema_slow",)),
        ("ema_fast=1:9 ema_fast=2:9", ("'ema_fast' is given twice",)),
        ("ema_fst=1:2 ema_fast=9:2 max_hold=0:5", ("'ema_fst'", "9.0", "'max_hold'")),
    ],
)
def test_bounds_that_no_genome_can_have_are_refused(command, market, tmp_path, bounds, words):
    """Nothing is swapped, rounded or cut, all are told at once, and there is no run."""
    flags = [f"--bound={bound}" for bound in bounds.split()]
    outcome = command("evolve", "--data", market, *SMALL, *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert all(word in outcome.error for word in words)
    assert not (tmp_path / "runs").exists()


def test_equal_bounds_freeze_genes_and_few_points_are_told(command, market):
    """Every member has those values; where three are left, no more than three are searched."""
    genes = prepare(RunConfig(data=market)).spec.layout.genes
    frozen = [f"--bound={g.name}={g.default}:{g.default}" for g in genes if g.name != "max_hold"]
    flags = (*SMALL, *frozen, "--bound=max_hold=5:7", "--min-trades", "1", "--json")
    outcome = command("evolve", "--data", market, *flags)
    assert outcome.json["front"]
    for member in outcome.json["front"]:
        held = member["genes"].pop("max_hold")
        assert held in (5, 6, 7)
        assert all(member["genes"][g.name] == g.default for g in genes if g.name != "max_hold")
    assert outcome.json["individuals"] <= 3
    assert "3 candidates where 8" in command("runs", "show", "latest").out


def test_genes_of_any_length_are_read(command, market, tmp_path):
    """Whole numbers beyond every float are refused like infinity; floats are exact."""
    for digits in (400, 5000):
        (tmp_path / "genes.json").write_text('{"max_hold": 1' + "0" * digits + "}")
        outcome = command("backtest", "--data", market, "--genes", "genes.json")
        assert outcome.code == 2
        assert "finite" in outcome.error
    (tmp_path / "genes.json").write_text('{"reward_r": 2.7182818284590450907955982984}')
    result = command("backtest", "--data", market, "--genes", "genes.json", "--json").json
    assert result["genes"]["reward_r"] == 2.718281828459045


def test_too_little_memory_is_no_defect(command, monkeypatch):
    """The message names it, and the remedy."""

    def raise_exhausted(*args):
        raise MemoryError("Unable to allocate 72.8 TiB")

    monkeypatch.setattr(runner, "start_run", raise_exhausted)
    outcome = command("evolve")
    assert outcome.code == 2
    assert "72.8 TiB" in outcome.error


def test_a_bound_of_a_flag_and_a_table_of_a_file_meet_gene_by_gene(command, market, tmp_path):
    """What is typed replaces one gene's bounds and leaves the others of the file."""
    (tmp_path / "run.toml").write_text("[bounds]\nmax_hold = [5, 5]\nreward_r = [1.5, 1.5]\n")
    typed = ("--config", "run.toml", "--bound", "reward_r=2.5:2.5")
    result = command("evolve", "--data", market, *SMALL, *typed, "--json").json
    assert {(m["genes"]["max_hold"], m["genes"]["reward_r"]) for m in result["front"]} == {(5, 2.5)}
    header = command("runs", "show", "latest", "--json").json["header"]
    assert header["command"]["bounds"] == {"max_hold": [5.0, 5.0], "reward_r": [2.5, 2.5]}


def test_a_page_of_settings_reads_back_as_the_same(command, tmp_path):
    """Constraints and bounds of options by name among them."""
    given = ("--constraint", "trades >= 5", "--constraint", "sharpe > 0 soft")
    page = command("config", *given).out
    (tmp_path / "run.toml").write_text(page)
    assert command("config", "--config", "run.toml").out == page
