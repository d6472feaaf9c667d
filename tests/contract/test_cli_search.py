"""Ways to search and what is strived for, from the command line."""

from pathlib import Path

import pytest

from optimizer.store import RunStore, find_run
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

LATTICE = (
    "--search", "lattice", "--step", "reward_r=1.5", "--step", "max_hold=95",
    "--min-trades", "3", "--no-report", "--no-judge",
)  # fmt: skip

LARGER = (*SMALL, "--population", "48", "--generations", "3")


def test_a_lattice_is_searched_to_its_end(command, market):
    """Every point once."""
    outcome = command("evolve", "--data", market, *LATTICE)
    assert outcome.code == 0
    assert "diversity" not in outcome.out
    result = command("runs", "show", "latest", "--json").json["result"]
    assert result["timing"]["evaluated"] == 20
    assert (result["stopped_by"], result["polished"]) == ("generations", 0)
    again = command("evolve", "--resume", "latest", *SMALL[-2:], "--json").json
    assert (again["front_hash"], again["resumed"]) == (result["front_hash"], "already finished")


def test_stop_rules_end_a_run_that_can_resume(command, market):
    """It is finished, with the reason; with more evaluations it goes on as if never stopped."""
    wanted = ("evolve", "--data", market, *SMALL, "--generations", "6", "--json")
    whole = command(*wanted).json
    short = command(*wanted, "--max-evaluations", "30").json
    assert (short["stopped_by"], short["generation"]) == ("max_evaluations", 2)
    more = ("--max-evaluations", "900", "--no-report", "--no-judge", "--json")
    longer = command("evolve", "--resume", "latest", *more).json
    assert longer["front_hash"] == whole["front_hash"]
    timed = command(*wanted, "--max-seconds", "0.000001").json
    assert (timed["stopped_by"], timed["generation"]) == ("max_seconds", 0)


def test_constraints_hold_in_the_whole_front(command, market):
    """Who breaks a hard one is counted under its name; a soft one is an objective more."""
    goals = ("--objectives", "sharpe", "--constraint", "win_rate >= 60% soft",
             "--constraint", "max_drawdown <= 2%", "--constraint", "exposure < 0.25")  # fmt: skip
    result = command("evolve", "--data", market, *LARGER, *goals, "--json").json
    assert result["objectives"] == ["sharpe", "missed"]
    assert result["front"]
    assert result["infeasible"]["broken:max_drawdown<=0.02"] > 0
    for member in result["front"]:
        metrics = member["metrics"]
        assert metrics["max_drawdown"] <= 0.02
        assert metrics["exposure"] < 0.25
        assert (metrics["win_rate"] >= 0.6) == (member["objectives"]["missed"] == 0)
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["front"] == result["front"]


def test_a_constraint_that_nobody_keeps_leaves_no_front(command, market):
    """The search ends with the reasons why all are infeasible, and with a way on."""
    bound = ("--constraint", "win_rate > 0.99")
    result = command("evolve", "--data", market, *LARGER, *bound, "--json").json
    assert result["front"] == []
    assert result["infeasible"]["broken:win_rate>0.99"] > 0
    assert sum(result["infeasible"].values()) == result["evaluated"]
    with RunStore.open(find_run(Path("runs"), "latest")) as store:
        population = store.last_generation().population
    nearest = population.genomes[population.violations.argmin()]
    assert list(result["nearest"]["genes"].values()) == nearest.tolist()
    shown = command("runs", "show", "latest").out
    assert f"{result['nearest']['metrics']['trades']:.0f} trades" in shown
    assert "--constraint 'win_rate>0.99 soft'" in shown
