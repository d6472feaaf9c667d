"""What one command writes another reads: members of fronts, by number, from runs and files."""

import csv

import numpy as np
import pytest

from engine.replay.certificate import certify
from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

MARKET = "csv:bars.csv"


@pytest.fixture
def result(command, recordings):
    """A finished run here, with a front of several members and the bars of it."""
    payload = recordings.copy("noise")
    assert len(payload["front"]) > 2
    return payload


@pytest.mark.parametrize(
    "what", ["run", "evolve --json", "export front.json", "export front.csv", "backtest --json"]
)
def test_a_member_is_backtested_from_whatever_holds_it(command, result, tmp_path, what):
    """By the number that it has everywhere, with the figures that its front has."""
    member = result["front"][2]
    path = tmp_path / ("front.csv" if what.endswith("csv") else "front.json")
    flags = ("--data", MARKET, "--genes", path, "--member", 2)
    if what == "run":
        flags = ("--run", "latest", "--member", 2)
    elif what.startswith("export"):
        assert command("runs", "export", "latest", path).code == 0
    elif what == "backtest --json":
        path.write_text(command("backtest", "--run", "latest", "--member", 2, "--json").out)
        flags = flags[:-2]
    else:
        path.write_text(command("evolve", "--resume", "latest", "--json", "--no-report").out)
    payload = command("backtest", *flags, "--json").json
    assert payload["genes"] == member["genes"]
    assert payload["metrics"] == member["metrics"]


def test_a_member_has_to_be_chosen_and_to_be_there(command, result, tmp_path):
    """Nothing is guessed: every command says which there are."""
    count = len(result["front"])
    path = tmp_path / "front.json"
    command("runs", "export", "latest", path)
    for asked in (
        ("backtest", "--data", MARKET, "--genes", path),
        ("backtest", "--run", "latest"),
        ("backtest", "--run", "latest", "--member", count),
        ("parity", "--run", "latest", "--member", count),
        ("evolve", "--data", MARKET, *SMALL, "--member", count, "--run", "latest"),
    ):
        outcome = command(*asked)
        assert outcome.code == 2
        assert f"--member 0 to {count - 1}" in outcome.error
    assert "add --genes or --run" in command("backtest", "--member", 1).error
    assert "--warm-start" in command("evolve", "--data", MARKET, *SMALL, "--member", 1).error
    assert "leave one out" in command("backtest", "--run", "latest", "--genes", path).error
    assert command("parity", "--run", "latest", "--member", 1, "--json").json["individuals"] == 1
    changed = command("evolve", "--resume", result["run"], "--run", "latest", "--member", 0)
    assert (changed.code, "same candidates" in changed.error) == (4, True)


def test_a_search_begins_with_a_member_as_a_backtest_takes_it(command, result, tmp_path):
    """The same two flags, or a file and a number, name the same individual."""
    last = len(result["front"]) - 1
    path = tmp_path / "front.json"
    command("runs", "export", result["run"], path)
    flags = ("evolve", "--data", MARKET, *SMALL, "--generations", 0, "--json", "--member", last)
    for source in (("--run", "latest"), ("--warm-start", path)):
        begun = command(*flags, *source).json["run"]
        command("runs", "export", begun, tmp_path / "all.csv", "--what", "individuals")
        rows = csv.DictReader((tmp_path / "all.csv").read_text().splitlines())
        (first,) = [row for row in rows if row["operator"] == "warm_start"]
        genes = {name: float(first[f"genes.{name}"]) for name in result["front"][last]["genes"]}
        assert genes == result["front"][last]["genes"]
        command("runs", "delete", begun, "--yes")


def test_a_warm_start_has_the_rules_of_a_backtest(command, market, tmp_path):
    """The same gene is refused with the same words; repair has to be asked for and is counted."""
    path = tmp_path / "genes.json"
    for text in ('{"ema_fast": 2.5}', '{"ema_fst": 20}', '{"ema_fast": 900, "ema_slow": 800}'):
        path.write_text(text)
        refused = command("backtest", "--data", market, "--genes", path)
        begun = command("evolve", "--data", market, *SMALL, "--warm-start", path)
        assert (refused.code, begun.code) == (2, 2)
        assert begun.error == f"{path}, candidate 0: {refused.error}"
    path.write_text('{"reward_r": 99}')
    flags = ("evolve", "--data", market, *SMALL, "--warm-start", path)
    assert "'reward_r' is 99" in command(*flags).error
    outcome = command(*flags, "--repair", "--json")
    assert any("repaired" in note for note in outcome.json["data"]["notes"])
    assert "repaired" in outcome.err


def test_the_hash_of_ledgers_can_be_made_again_from_the_front(result):
    """Members were certified in the order in which JSON has them."""
    task = prepare(RunConfig(data=MARKET, min_trades=3))
    genomes = [task.spec.layout.encode(member["genes"]) for member in result["front"]]
    assert sorted(map(tuple, genomes)) != list(map(tuple, genomes))
    again = certify(task.full_engine("cpu"), np.array(genomes))
    assert again.ledger_hash == result["certificate"]["ledger_hash"]
