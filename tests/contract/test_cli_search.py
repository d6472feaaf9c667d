"""Ways to search from the command line: a lattice, guests, rules that stop, and their words."""

import json

import pytest

from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

STEPS = ("--step", "reward_r=1.5", "--step", "max_hold=95")
LATTICE = ("--search", "lattice", *STEPS, "--min-trades", "3", "--no-report", "--no-judge")


def test_a_lattice_is_searched_to_its_end_with_a_regret(command, market):
    """Every point once, the true front, and what share of it a genetic search found."""
    outcome = command("evolve", "--data", market, *LATTICE, "--population", "8", "--regret", "80")
    assert outcome.code == 0
    assert "regret: a genetic search that judged" in outcome.out
    assert "diversity" not in outcome.out
    result = command("runs", "show", "latest", "--json").json["result"]
    assert result["timing"]["evaluated"] == 20
    assert result["regret"]["points"] == 20
    assert result["regret"]["front"] == len(result["front"])
    assert 0 < result["regret"]["share"] <= 1
    assert (result["stopped_by"], result["polished"]) == ("generations", 0)


def test_a_finished_lattice_is_finished(command, market):
    """Taking it up again is a message and the recorded result."""
    first = command("evolve", "--data", market, *LATTICE, "--regret", "0", "--json").json
    assert first["regret"] is None
    again = command("evolve", "--resume", "latest", "--json").json
    assert (again["front_hash"], again["resumed"]) == (first["front_hash"], "already finished")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "a lattice needs the step of a gene, such as --step reward_r=0.5"),
        (("--step", "reward=1"), "did you mean 'reward_r'"),
        (("--step", "reward_r=x"), "--step 'reward_r=x' must look like"),
        (("--step", "reward_r=1", "--step", "reward_r=2"), "given twice"),
        (("--step", "reward_r=-1"), "the step of 'reward_r' must be a number above 0, got -1.0"),
        (("--step", "reward_r=1e-9"), "at most 100,000,000 are searched"),
    ],
)
def test_a_lattice_that_cannot_be_is_refused(command, market, flags, message):
    """One line and exit code 2, before a run is recorded."""
    outcome = command("evolve", "--data", market, "--search", "lattice", *flags)
    assert outcome.code == 2
    assert message in outcome.error
    assert "there are no runs" in command("runs", "list").out


def test_guests_come_from_an_export_and_from_a_run(command, market):
    """The front of one run begins the next; the same guests, the same front."""
    command("evolve", "--data", market, *SMALL)
    command("runs", "export", "latest", "front.json")
    command("runs", "export", "latest", "front.csv")
    first = command("runs", "list", "--json").json[0]["id"]
    wanted = ("evolve", "--data", market, *SMALL, "--seed", "5", "--polish", "0", "--json")
    hashes = {
        source: command(*wanted, "--warm-start", source).json["front_hash"]
        for source in ("front.json", "front.csv", first)
    }
    assert hashes["front.json"] == hashes["front.csv"]
    assert command(*wanted).json["front_hash"] not in hashes.values()


def test_a_run_that_never_began_needs_its_guests_again(command, market, tmp_path):
    """Guests are part of what decides a run: a file that is gone is named."""
    outcome = command("evolve", "--data", market, *SMALL, "--warm-start", "none.json")
    assert outcome.code == 2
    assert "none.json: No such file" in outcome.error


def test_stop_rules_end_a_run_that_can_resume(command, market):
    """It is finished, with the reason; with more evaluations it goes on as if never stopped."""
    wanted = ("evolve", "--data", market, "--population", "8", "--generations", "6")
    wanted = (*wanted, "--min-trades", "3", "--no-report", "--no-judge", "--json")
    whole = command(*wanted).json
    short = command(*wanted, "--max-evaluations", "30").json
    assert (short["stopped_by"], short["generation"]) == ("max_evaluations", 2)
    assert command("evolve", "--resume", "latest", "--json").json["resumed"]
    longer = command(
        "evolve",
        "--resume",
        "latest",
        "--max-evaluations",
        "900",
        "--no-report",
        "--no-judge",
        "--json",
    ).json
    assert longer["front_hash"] == whole["front_hash"]
    timed = command(*wanted, "--max-seconds", "0.000001").json
    assert (timed["stopped_by"], timed["generation"]) == ("max_seconds", 0)


def test_islands_and_many_objectives_run(command, market):
    """Knobs of the search reach it, and the front is certified."""
    names = "sharpe,total_return,max_drawdown,win_rate"
    outcome = command(
        "evolve", "--data", market, *SMALL, "--objectives", names, "--population", "24",
        "--islands", "3", "--migration", "1", "--immigrants", "0.1", "--json",
    )  # fmt: skip
    assert outcome.code == 0
    assert outcome.json["certificate"]["mismatches"] == 0
    assert json.loads(outcome.out)["objectives"] == names.split(",")
