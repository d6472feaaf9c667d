"""What a person sets as a limit is one, and what cannot be meant is refused or noted."""

from pathlib import Path

import pytest

from engine.runtime.machine import available_cores
from optimizer.run.header import recorded_config
from optimizer.store import RunStore
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow


@pytest.fixture
def market(tmp_path):
    """A market of 3,000 bars in a file."""
    return write_market(tmp_path / "bars.csv")


def test_fewer_evaluations_than_a_generation_are_refused(command, market):
    """Nothing is evaluated and no run begun; the line names the limit that fits."""
    outcome = command("evolve", "--data", market, *SMALL, "--max-evaluations", 7)
    assert outcome.code == 2
    assert outcome.error == (
        "--max-evaluations 7 is fewer than the first generation of --population 8: "
        "use --population 7 or fewer, or a higher limit"
    )
    assert command("runs", "list", "--json").json == []


@pytest.mark.parametrize("limit", [8, 13, 16, 30])
def test_no_more_are_evaluated_than_the_limit(command, market, limit):
    """Polishing the front counts as well."""
    flags = (*SMALL, "--json", "--max-evaluations", limit)
    assert command("evolve", "--data", market, *flags).json["timing"]["evaluated"] <= limit


@pytest.mark.parametrize("name", ["evolve", "backtest", "parity", "bench"])
def test_more_threads_than_cores_are_refused(command, market, name):
    """It is the person's number that is wrong, not a device that failed."""
    outcome = command(name, "--data", market, "--threads", 100_000)
    most = available_cores()
    assert outcome.code == 2
    assert outcome.error == f"--threads 100,000: this machine has {most}, use 1 to {most}"


def test_threads_of_a_larger_machine_are_no_reason_to_refuse_its_run(command, market, monkeypatch):
    """They decide nothing, and were not asked for here."""
    begun = command("evolve", "--data", market, *SMALL, "--threads", 1, "--json").json
    with RunStore.open(Path(begun["path"])) as store:
        assert recorded_config(store, {}).threads == 1
        monkeypatch.setattr("optimizer.run.header.available_cores", lambda: 0)
        assert recorded_config(store, {}).threads is None
        assert recorded_config(store, {"threads": 5}).threads == 5


LATTICE = ("--search", "lattice", "--min-trades", "3", "--no-report", "--no-judge")
CROSSED = ("--bound", "ema_fast=100:192", "--bound", "ema_slow=96:104")


def test_a_lattice_without_a_legal_point_is_refused(command, market):
    """Its steps leave out every pair that the bounds allow."""
    steps = ("--step", "ema_fast=1", "--step", "ema_slow=4")
    assert command("evolve", "--data", market, *LATTICE, *CROSSED, *steps, "--json").code == 0
    steps = ("--step", "ema_fast=1", "--step", "ema_slow=9")
    crossed = ("--bound", "ema_fast=100:192", "--bound", "ema_slow=91:104")
    outcome = command("evolve", "--data", market, *LATTICE, *crossed, *steps)
    assert outcome.code == 2
    assert outcome.error == (
        "no point of the lattice is legal: 'ema_fast' must be below 'ema_slow', and is 100 at "
        "least where that is 100 at most: change --bound or --step"
    )


def test_a_lattice_without_a_feasible_point_finds_nothing(command, market):
    """No share of a front that does not exist is printed."""
    flags = (
        "--search",
        "lattice",
        "--step",
        "reward_r=0.5",
        "--min-trades",
        3000,
        "--no-report",
        "--no-judge",
    )
    assert "100.00%" not in command("evolve", "--data", market, *flags).out
    assert command("evolve", "--data", market, *flags, "--json").json["regret"] is None


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--fee-bp 0 --slippage-bp 0", "trades cost nothing"),
        ("--drop-bad-bars", "reach over what was dropped"),
        ("--sort --dedupe", "may pass as one series"),
        ("--price-offset 5", "shares of the raised price"),
    ],
)
def test_risky_pairs_of_flags_are_named(command, market, flags, words):
    """On stderr, and in what is recorded; one of the pair alone has no note."""
    outcome = command("backtest", "--data", market, *flags.split(), "--json")
    (line,) = [line for line in outcome.err.splitlines() if words in line]
    assert line.removeprefix("note: ") in outcome.json["data"]["notes"]
    outcome = command("evolve", "--data", market, *SMALL, *flags.split(), "--json")
    assert line in outcome.err.splitlines()
    assert words not in command("backtest", "--data", market, "--max-gap", "9d", "--fee-bp", 0).err
