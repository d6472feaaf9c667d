"""Ways to search and what is strived for, from the command line."""

import json
from pathlib import Path

import pytest

from optimizer.store import RunStore, find_run
from optimizer.viewing.live import LiveRun
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


def test_a_formula_is_a_goal_like_any_other(command, market):
    """Its values are those of its metrics, also after a pause; it is shown by its name."""
    texts = ["calm = cagr / max(max_drawdown, 0.05)", "log(trades) * win_rate - 9 ^ 0.5@worst"]
    goals = (
        "--objective",
        texts[0],
        "--objective",
        texts[1],
        "--objectives",
        "max(gene.max_hold, 9):min",
        "--constraint",
        "trades * exposure <= trades",
    )
    wanted = ("evolve", "--data", market, *LARGER, "--min-trades", "3", *goals)
    whole = command(*wanted, "--json").json
    names = ["calm", "log(trades) * win_rate - 9 ^ 0.5@worst", "max(gene.max_hold, 9):min"]
    assert whole["objectives"] == names
    assert whole["formulas"] == {"calm": "cagr / max(max_drawdown, 0.05)"}
    for member in whole["front"]:
        metrics, reached = member["metrics"], member["objectives"]
        assert reached["calm"] == metrics["cagr"] / max(metrics["max_drawdown"], 0.05)
        assert reached[names[2]] == max(member["genes"]["max_hold"], 9)
    assert whole["front"]
    followed = json.loads(LiveRun(Path("runs", whole["run"])).look().message)
    assert followed["columns"][:3] == names
    assert ["formula", texts[0]] in followed["facts"]
    optuna = pytest.importorskip("optuna")
    command("runs", "export", "latest", "study.journal")
    backend = optuna.storages.journal.JournalFileBackend("study.journal")
    study = optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend))
    assert study.metric_names == names
    assert study.user_attrs["formulas"] == whole["formulas"]
    command(*wanted, "--generations", "1", "--no-report", "--no-judge")
    again = command("evolve", "--resume", "latest", "--generations", "3", "--json").json
    assert again["front_hash"] == whole["front_hash"]
    assert f"\n{texts[0]}\n" in command("runs", "show", "latest").out
    other = command(*wanted, "--resume", "latest", "--objectives", "sharpe")
    assert "it cannot be resumed" in other.err
    other = ("--objective", "calm = cagr", *goals[2:], "--no-report", "--no-judge", "--json")
    last = command(*wanted[: -len(goals)], *other).json["run"]
    assert "nothing to compare" in command("runs", "compare", whole["run"], last).err


def test_a_goal_is_tried_before_a_search(command, market):
    """Its values and their reasons, of candidates that are drawn."""
    shown = command("objectives", "check", "calm = cagr / (trades - trades)", "--data", market).out
    assert "calm: cagr / (trades - trades), more is better" in shown
    assert "undefined in 100.00% of 256 candidates: division by zero" in shown
    bound = command("objectives", "check", "trades >= 0", "--data", market).out
    assert "trades>=0.0: kept by 100.00% of 256 candidates" in bound


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
