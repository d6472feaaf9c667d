"""What a person may ask for, in a file and on the command line: part C of the faults."""

import json
import os

import pytest

from optimizer.cli.shared import ALL, DATA, MARKET, TRADES
from optimizer.config.run_config import RunConfig, format_flag
from optimizer.run import runner
from optimizer.run.task import prepare
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

COUNT = "must be a whole number from 1 to 10,000,000, got"
SHARE = "must be a number from 0 to 1, got"

WRONG = [
    ("population", '"100"', None, COUNT),
    ("population", "true", "true", COUNT),
    ("population", "1e3", "1e3", COUNT),
    ("population", "2.5", "2.5", COUNT),
    ("population", "inf", "inf", COUNT),
    ("population", "nan", "nan", COUNT),
    ("population", "-5", "-5", COUNT),
    ("population", "0", "0", COUNT),
    ("population", "1" + "0" * 23, "1" + "0" * 23, COUNT),
    ("population", "[128]", None, COUNT),
    ("generations", "-1", "-1", "must be a whole number from 0 to 10,000,000, got -1"),
    ("seed", "-1", "-1", "must be a whole number from 0 to 9,223,372,036,854,775,807, got -1"),
    ("threads", "0", "0", "must be a whole number of at least 1, got 0"),
    ("crossover_probability", "1.5", "1.5", SHARE),
    ("mutation_probability", "nan", "nan", SHARE),
    ("mutation_probability", '"0.1"', None, SHARE),
    ("fee_bp", "inf", "inf", "must be a number from 0 to 10,000, got inf"),
    ("fee_bp", "1" + "0" * 400, "1" + "0" * 400, "must be a number from 0 to 10,000, got"),
    ("slippage_bp", "-0.1", "-0.1", "must be a number from 0 to 10,000, got -0.1"),
    ("risk_fraction", "0", "0", "must be a number above 0, at most 1, got 0"),
    ("mutation_eta", "20", "20", "must be one of 1, 3, 7, 15, 31, 63, got 20"),
    ("memory", '"lots"', "lots", "must be an amount of memory such as 512MiB, got 'lots'"),
    ("max_bytes", "-1", "-1", "must be an amount of memory such as 512MiB, got"),
    ("keep", '"some"', "some", "must be one of all, front, last, got 'some'"),
    ("runs", '""', "", "must be the name of a folder, got ''"),
    ("runs", r'"a\u0000b"', None, r"must be the name of a folder, got 'a\x00b'"),
    ("dedupe", '"yes"', None, "must be true or false, got 'yes'"),
    ("objectives", '["sharpe"]', None, "must be text, got ['sharpe']"),
    ("constraints", '"sharpe > 1"', None, "must be a list of texts, got 'sharpe > 1'"),
    ("over_windows", "1", None, "must be text, got 1"),
    ("budget", '"lots"', "lots", "must be an amount of memory such as 512MiB, got 'lots'"),
    ("data", "1979-05-27", None, "must be a source of bars, or a list of sources, got dat"),
]


@pytest.mark.parametrize(("name", "toml", "typed", "expected"), WRONG, ids=lambda v: str(v)[:24])
def test_a_wrong_value_is_refused_wherever_it_stands(
    command, tmp_path, name, toml, typed, expected
):
    """File and flag give the same words: the key as it stands there, type, range and value."""
    (tmp_path / "run.toml").write_text(f"{name} = {toml}\n")
    outcome = command("evolve", "--config", "run.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.error.startswith(f"run.toml: {name} {expected}")
    if typed is not None:
        flag = f"--{name.replace('_', '-')}"
        outcome = command("evolve", flag, typed)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.error.startswith(f"{flag} {expected}")
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_everything_wrong_in_file_and_flags_is_told_at_once(command, tmp_path):
    """One line names every key, whatever is wrong with it and wherever it was given."""
    (tmp_path / "run.toml").write_text(
        'population = "8"\nSeed = 1\nfee_bp = inf\nkeep = 3\n[bounds]\nema_fast = [1]\n'
    )
    error = command("evolve", "--config", "run.toml", "--threads", "x", "--risk-fraction=2").error
    for message in (
        "population must be",
        "Seed is unknown",
        "fee_bp must be",
        "keep must be",
        "bounds.ema_fast must be",
        "--threads must be",
        "--risk-fraction must be",
    ):
        assert message in error


NO_CONFIGURATIONS = {
    "binary": (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "is not text; name a TOML file"),
    "zeros": (b"\0" * 100, "run.toml: "),
    "nested": (b"a = " + b"[" * 3000 + b"]" * 3000, "nested too deep for a configuration"),
    "tables": (b"".join(b"[" + b"a." * n + b"a]\n" for n in range(600)), "run.toml: "),
    "large": (b"# " + b"x" * 1_000_000, "larger than 1,000,000 bytes; no configuration"),
    "json": (b'{"population": 8}', "run.toml: "),
    "cut": (b"population = ", "run.toml: Invalid value"),
    "twice": (b"seed = 1\nseed = 2\n", "run.toml: Cannot overwrite a value"),
}


@pytest.mark.parametrize("name", NO_CONFIGURATIONS)
def test_a_file_that_is_no_configuration_is_refused(command, tmp_path, name):
    """Whatever it holds, it is one line that names the file."""
    content, expected = NO_CONFIGURATIONS[name]
    (tmp_path / "run.toml").write_bytes(content)
    outcome = command("evolve", "--config", "run.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert expected in outcome.error


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a file without an end")
@pytest.mark.parametrize("arguments", ["evolve --config", "backtest --genes"])
def test_a_file_without_an_end_is_refused(command, arguments):
    """No more is read than a page, whatever size a file claims to have."""
    outcome = command(*arguments.split(), "/dev/zero")
    assert (outcome.code, outcome.out) == (2, "")
    assert "/dev/zero: is no plain file; name one" in outcome.error


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("ema_fast=50:20", "gene 'ema_fast': low 50.0 is above high 20.0"),
        ("ema_fast=2.5:20", "gene 'ema_fast': low must be whole, got 2.5"),
        ("ema_fast=2:20.5", "gene 'ema_fast': high must be whole, got 20.5"),
        ("ema_fast=nan:20", "--bound ema_fast must be [low, high], two finite numbers"),
        ("ema_fast=2:1e400", "--bound ema_fast must be [low, high], two finite numbers"),
        ("ema_fast=2:1e300", "gene 'ema_fast': high must be at most 2147483647"),
        ("ema_fats=2:20", "did you mean 'ema_fast'?"),
        ("max_hold=0:20", "gene 'max_hold': low must be at least 1 bar, got 0.0"),
        ("reward_r=-1:2", "gene 'reward_r': low must be above 0, got -1.0"),
        ("reward_r=0:2", "gene 'reward_r': low must be above 0, got 0.0"),
        ("ema_fast=700:701 ema_slow=300:400", "ema_slow"),
    ],
)
def test_bounds_that_no_genome_can_have_are_refused(command, market, tmp_path, bounds, expected):
    """Nothing is swapped, rounded or cut, and there is no run."""
    flags = [f"--bound={bound}" for bound in bounds.split()]
    outcome = command("evolve", "--data", market, *SMALL, *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert expected in outcome.error
    assert not (tmp_path / "runs").exists()


def test_equal_bounds_freeze_a_gene(command, market):
    """Every member of the front has that value, exactly."""
    frozen = ("--bound", "reward_r=2.7:2.7", "--bound", "max_hold=7:7")
    front = command("evolve", "--data", market, *SMALL, *frozen, "--json").json["front"]
    assert front
    assert {(m["genes"]["reward_r"], m["genes"]["max_hold"]) for m in front} == {(2.7, 7)}


def test_a_search_in_which_every_gene_is_frozen_runs(command, market):
    """One individual, judged and certified; a note names that there was nothing to vary."""
    genes = prepare(RunConfig(data=market)).spec.layout.genes
    frozen = [f"--bound={gene.name}={gene.default}:{gene.default}" for gene in genes]
    arguments = ("evolve", "--data", market, *SMALL, "--min-trades", "1", *frozen)
    assert "diversity 0: the bounds allow one candidate" in command(*arguments).out
    result = command(*arguments, "--json").json
    assert result["individuals"] == len(result["front"]) == 1
    assert result["front"][0]["genes"] == {gene.name: gene.default for gene in genes}


def test_fewer_individuals_than_asked_for_are_told(command, market):
    """Bounds with three points hold no more than three individuals."""
    genes = prepare(RunConfig(data=market)).spec.layout.genes
    frozen = [f"--bound={g.name}={g.default}:{g.default}" for g in genes if g.name != "max_hold"]
    bounds = (*frozen, "--bound=max_hold=5:7", "--min-trades", "1")
    printed = command("evolve", "--data", market, *SMALL, *bounds).out
    assert "low diversity: no more than 3 candidates where 8 were asked for" in printed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("evolve --bound ema_fast=1:9 --bound ema_fast=2:9", "'ema_fast' is given twice"),
        ("backtest --set reward_r=1 --set reward_r=2", "'reward_r' is given twice"),
        ("data show sample --data sample", "name the bars once"),
        ("parity --individuals 100000000000000", "--individuals"),
        ("bench --population 100000000000000", "--population"),
    ],
)
def test_what_is_ambiguous_or_absurd_is_refused(command, arguments, expected):
    """The last of two never wins in silence, and no machine is asked for what none has."""
    outcome = command(*arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert expected in outcome.error


def test_genes_of_any_length_are_read(command, market, tmp_path):
    """Whole numbers beyond every float are refused like infinity; floats are exact."""
    for digits in (400, 5000):
        (tmp_path / "genes.json").write_text('{"max_hold": 1' + "0" * digits + "}")
        outcome = command("backtest", "--data", market, "--genes", "genes.json")
        assert outcome.code == 2
        assert "gene 'max_hold': value must be a finite number" in outcome.error
    (tmp_path / "genes.json").write_text('{"reward_r": 2.7182818284590450907955982984}')
    result = command("backtest", "--data", market, "--genes", "genes.json", "--json").json
    assert result["genes"]["reward_r"] == 2.718281828459045


FLAGS = {
    "evolve": ALL,
    "config": ALL,
    "backtest": TRADES,
    "parity": (*TRADES, "seed"),
    "bench": (*MARKET, "device"),
    "data show": DATA,
}


@pytest.mark.parametrize("name", FLAGS)
def test_help_names_every_knob_that_a_command_offers(command, name):
    """The flag, its meaning, and its default where there is one."""
    text = " ".join(command(*name.split(), "--help-all").out.split())
    for field in FLAGS[name]:
        assert f"{format_flag(field)} " in text
        assert RunConfig.model_fields[field].description in text
    assert "[default: csv" not in text
    assert "[default: sample]" in text


def test_debug_shows_where_and_still_ends_with_the_line(command):
    """Anywhere on the command line; the code stays that of the error."""
    for arguments in (("--debug", "evolve", "--seed", "-1"), ("evolve", "--seed=-1", "--debug")):
        outcome = command(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        first, *_, last = outcome.err.splitlines()
        assert first == "Traceback (most recent call last):"
        assert last.startswith("error: --seed must be")


def test_too_little_memory_is_no_defect(command, monkeypatch):
    """The message names it, and the remedy."""

    def raise_exhausted(*args):
        raise MemoryError("Unable to allocate 72.8 TiB")

    monkeypatch.setattr(runner, "start_run", raise_exhausted)
    outcome = command("evolve")
    assert outcome.code == 2
    assert "not enough memory for this, ask for less (Unable to allocate 72.8 TiB)" in outcome.error


def test_a_bound_of_a_flag_and_a_table_of_a_file_meet_gene_by_gene(command, market, tmp_path):
    """What is typed replaces one gene's bounds and leaves the others of the file."""
    (tmp_path / "run.toml").write_text("[bounds]\nmax_hold = [5, 5]\nreward_r = [1.5, 1.5]\n")
    typed = ("--config", "run.toml", "--bound", "reward_r=2.5:2.5")
    result = command("evolve", "--data", market, *SMALL, *typed, "--json").json
    assert {(m["genes"]["max_hold"], m["genes"]["reward_r"]) for m in result["front"]} == {(5, 2.5)}
    header = command("runs", "show", "latest", "--json").json["header"]
    assert header["command"]["bounds"] == {"max_hold": [5.0, 5.0], "reward_r": [2.5, 2.5]}
    assert json.dumps(header, allow_nan=False)
