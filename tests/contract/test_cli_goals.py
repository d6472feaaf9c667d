"""What a person strives for, from the command line: objectives, constraints, windows."""

import pytest

pytestmark = pytest.mark.slow

LARGER = ("--population", "48", "--generations", "4", "--min-trades", "3")


def test_a_hard_constraint_holds_in_the_whole_front(command, market):
    """None in it breaks it, and those that did are counted under its name."""
    bound = ("--constraint", "max_drawdown <= 1%", "--constraint", "exposure < 0.25")
    result = command("evolve", "--data", market, *LARGER, *bound, "--json").json
    assert result["front"]
    for member in result["front"]:
        assert member["metrics"]["max_drawdown"] <= 0.01
        assert member["metrics"]["exposure"] < 0.25
    free = command("evolve", "--data", market, *LARGER, "--json").json
    assert any(member["metrics"]["max_drawdown"] > 0.01 for member in free["front"])


def test_a_constraint_that_nobody_keeps_leaves_no_front(command, market):
    """The search ends with the reasons why all are infeasible, and an empty front."""
    bound = ("--constraint", "win_rate > 0.99")
    result = command("evolve", "--data", market, *LARGER, *bound, "--json").json
    assert result["front"] == []
    assert result["infeasible"]["broken:win_rate>0.99"] > 0
    assert sum(result["infeasible"].values()) == result["evaluated"]
    shown = command("runs", "show", "latest").out
    assert f"Of {result['evaluated']:,} evaluated: " in shown
    assert f"Nearest: {result['nearest']['metrics']['trades']:.0f} trades, win_rate" in shown
    assert "where > 99.00% is asked" in shown
    loosened = ("--constraint", "win_rate>0.99 soft")
    assert "--constraint 'win_rate>0.99 soft'" in shown
    assert command("evolve", "--data", market, *LARGER, *loosened, "--json").json["front"]


def test_who_is_ruined_is_on_no_front(command, market):
    """With all of equity at risk one dear trade ends an account, which the search notes."""
    ruinous = ("--risk-fraction", "1", "--fee-bp", "2000")
    outcome = command("evolve", "--data", market, *LARGER, *ruinous, "--generations", "0")
    assert "the front is empty" in outcome.out
    result = command("runs", "show", "latest", "--json").json["result"]
    assert f"ruined {result['infeasible']['ruined']}" in outcome.out
    result = command(
        "backtest", "--data", market, *ruinous, "--set", "vol_z_min=0.5", "--json"
    ).json
    assert result["metrics"]["trades"] > 0
    assert (result["metrics"]["total_return"], result["metrics"]["max_drawdown"]) == (-1.0, 1.0)
    assert result["undefined"]["calmar"] == "ruined"


def test_a_soft_constraint_is_an_objective(command, market):
    """The front shows each member's distance from it; the result reads back as it was."""
    goals = ("--objectives", "sharpe", "--constraint", "win_rate >= 60% soft")
    result = command("evolve", "--data", market, *LARGER, *goals, "--json").json
    assert result["objectives"] == ["sharpe", "missed"]
    for member in result["front"]:
        is_kept = member["metrics"]["win_rate"] >= 0.6
        assert is_kept == (member["objectives"]["missed"] == 0)
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["front"] == result["front"]


def test_constraints_decide_results(command, market):
    """A run does not go on with another constraint, and names the difference."""
    command("evolve", "--data", market, *LARGER, "--constraint", "sharpe > -9")
    outcome = command("evolve", "--resume", "latest", "--constraint", "sharpe > -8")
    assert (outcome.code, outcome.out) == (4, "")
    assert "recorded 'sharpe>-9.0', now 'sharpe>-8.0'" in outcome.error


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--constraint", "max_drawdwn <= 3%"), "did you mean 'max_drawdown'"),
        (("--constraint", "max_drawdown ~ 3"), "must look like METRIC <= NUMBER"),
        (("--objectives", "sharpe:down"), "direction 'down' is unknown; known: max, min"),
        (("--over-windows", "median"), "use pooled, mean, worst, or q1 to q50"),
        (("--objectives", "sharpe,mean_r,expectancy"), "is the same as 'mean_r'"),
    ],
)
def test_wrong_goals_are_refused_before_any_work(command, market, flags, message):
    """Exit code 2 with one line, and no run is begun."""
    outcome = command("evolve", "--data", market, *LARGER, *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.error
    assert "no run" in command("runs", "list").out


def test_constraints_come_from_a_file_too(command, market, tmp_path):
    """What `config` prints with constraints reads back as the same."""
    given = ("--constraint", "trades >= 5", "--constraint", "sharpe > 0 soft")
    page = command("config", *given).out
    (tmp_path / "run.toml").write_text(page)
    assert command("config", "--config", str(tmp_path / "run.toml")).out == page
