"""What one command writes another reads: members of fronts, by number, from runs and files."""

import csv
import os

import numpy as np
import pytest

from engine.replay.certificate import certify
from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow


@pytest.fixture
def market(tmp_path):
    """A market of 3,000 bars in a file."""
    return write_market(tmp_path / "bars.csv")


@pytest.fixture
def result(command, market):
    """A finished run with a front of several members."""
    flags = (
        "--population",
        24,
        "--generations",
        3,
        "--min-trades",
        3,
        "--no-report",
        "--no-judge",
        "--json",
    )
    payload = command("evolve", "--data", market, *flags).json
    assert len(payload["front"]) > 2
    return payload


@pytest.mark.parametrize(
    "what",
    [
        "run",
        "evolve --json",
        "runs show --json",
        "runs export front.json",
        "runs export front.csv",
        "backtest --json",
    ],
)
def test_a_member_is_backtested_from_whatever_holds_it(command, market, result, tmp_path, what):
    """By the number that it has everywhere, with the figures that its front has."""
    member = result["front"][2]
    path = tmp_path / ("front.csv" if what.endswith("csv") else "front.json")
    flags = ("--data", market, "--genes", path, "--member", 2)
    if what == "run":
        flags = ("--run", "latest", "--member", 2)
    elif what.startswith("runs export"):
        assert command("runs", "export", "latest", path).code == 0
    elif what == "backtest --json":
        path.write_text(command("backtest", "--run", "latest", "--member", 2, "--json").out)
        flags = flags[:-2]
    else:
        path.write_text(command("runs", "show", "latest", "--json").out)
        if what == "evolve --json":
            path.write_text(
                command("evolve", "--resume", "latest", "--json", "--no-report", "--no-judge").out
            )
    payload = command("backtest", *flags, "--json").json
    assert payload["genes"] == member["genes"]
    assert payload["metrics"] == member["metrics"]


def test_an_export_is_a_warm_start(command, market, result, tmp_path):
    """Members of a front are legal in the search that found them."""
    for name, what in (("f.json", "front"), ("f.csv", "front"), ("i.csv", "individuals")):
        exported = command("runs", "export", result["run"], tmp_path / name, "--what", what)
        assert exported.code == 0
        flags = ("--population", 200, "--generations", 0, "--no-report", "--no-judge", "--json")
        begun = command("evolve", "--data", market, *flags, "--warm-start", tmp_path / name)
        assert begun.code == 0


def test_a_member_has_to_be_chosen_and_to_be_there(command, market, result, tmp_path):
    """Nothing is guessed."""
    count = len(result["front"])
    path = tmp_path / "front.json"
    command("runs", "export", "latest", path)
    message = f"holds {count} candidates: --member 0 to {count - 1}"
    assert message in command("backtest", "--data", market, "--genes", path).error
    assert message in command("backtest", "--run", "latest").error
    assert message in command("backtest", "--run", "latest", "--member", count).error
    assert message in command("parity", "--run", "latest", "--member", count).error
    assert "add --genes or --run" in command("backtest", "--member", 1).error
    assert "leave one out" in command("backtest", "--run", "latest", "--genes", path).error
    assert command("parity", "--run", "latest", "--member", 1, "--json").json["individuals"] == 1


def test_a_search_begins_with_a_member_as_a_backtest_takes_it(command, market, result, tmp_path):
    """The same two flags, or a file and a number, name the same individual."""
    last = len(result["front"]) - 1
    path = tmp_path / "front.json"
    command("runs", "export", result["run"], path)
    flags = ("evolve", "--data", market, *SMALL, "--generations", 0, "--json", "--member", last)
    for source in (("--run", result["run"]), ("--run", "latest"), ("--warm-start", path)):
        begun = command(*flags, *source).json["run"]
        command("runs", "export", begun, tmp_path / "all.csv", "--what", "individuals")
        rows = csv.DictReader((tmp_path / "all.csv").read_text().splitlines())
        (first,) = [row for row in rows if row["operator"] == "warm_start"]
        genes = {name: float(first[f"genes.{name}"]) for name in result["front"][last]["genes"]}
        assert genes == result["front"][last]["genes"]
        command("runs", "delete", begun, "--yes")


def test_a_member_to_begin_with_has_to_be_there(command, market, result):
    """And a run has to be named whose member it is; a resumed run keeps its own."""
    count = len(result["front"])
    flags = ("evolve", "--data", market, *SMALL, "--member", count)
    assert f"--member 0 to {count - 1}" in command(*flags, "--run", "latest").error
    assert "add --run RUN or --warm-start FILE" in command(*flags).error
    changed = command("evolve", "--resume", result["run"], "--run", "latest", "--member", 0)
    assert (changed.code, "begin with the same candidates" in changed.error) == (4, True)


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
    assert "gene 'reward_r' is 99, its bounds are 0.5 to 5" in command(*flags).error
    outcome = command(*flags, "--repair", "--json")
    note = "1 of 1 candidates to begin with were repaired"
    assert f"note: {note}" in outcome.err.splitlines()
    assert note in outcome.json["data"]["notes"]


def test_the_hash_of_ledgers_can_be_made_again_from_the_front(market, result):
    """Members were certified in the order in which JSON has them."""
    task = prepare(RunConfig(data=market, min_trades=3))
    genomes = [task.spec.layout.encode(member["genes"]) for member in result["front"]]
    assert sorted(map(tuple, genomes)) != list(map(tuple, genomes))
    again = certify(task.full_engine("cpu"), np.array(genomes))
    assert again.ledger_hash == result["certificate"]["ledger_hash"]


@pytest.mark.parametrize(
    "flags",
    ["evolve --config", "backtest --genes", "backtest --config", "evolve --warm-start"],
)
@pytest.mark.timeout(30)
def test_a_pipe_is_refused_at_once(command, tmp_path, flags):
    """It is read-only."""
    os.mkfifo(tmp_path / "pipe.json")
    outcome = command(*flags.split(), tmp_path / "pipe.json")
    assert (outcome.code, outcome.error) == (2, f"{tmp_path}/pipe.json: is no plain file; name one")
