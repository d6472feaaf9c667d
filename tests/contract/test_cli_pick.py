"""Just one answer: evolve names it, runs show prints it, backtest tries it on other bars."""

from pathlib import Path

import pytest

import optimizer
from tests.support.commands import SMALL, write_market


@pytest.fixture
def other(tmp_path):
    """Another market."""
    return write_market(tmp_path / "other.csv", seed=7)


def test_a_search_for_one_objective_gives_one_answer(command, market):
    """A front of one, named in the terminal, in JSON, when shown, and in Python."""
    flags = ("--data", market, *SMALL[:-1], "--objectives", "strength", "--folds", 0)
    result = command("evolve", *flags, "--json").json
    assert len(result["front"]) == 1
    pick = result["judgement"]["pick"]
    assert (pick["member"], "is_named" in pick) == (0, False)
    assert pick["genes"] == result["front"][0]["genes"]
    shown = command("runs", "show", "latest").out.splitlines()
    sentence = result["judgement"]["verdict"]["sentence"].partition(" Next: ")[0]
    assert shown.index(sentence) > len(shown) - 5
    assert shown[-1].startswith("Next: ")
    words = "Pick: Member 0, the strongest of the front: "
    assert [line for line in shown if line.startswith(words)]
    member = command("runs", "show", "latest", "--member", 0, "--json").json
    assert (member["is_pick"], member["genes"]) == (True, pick["genes"])
    assert "Pick: Member 0" in command("runs", "show", "latest", "--member", 0).out
    run = optimizer.load_run()
    assert (run.pick.member, dict(run.pick.genes)) == (0, pick["genes"])
    assert (
        optimizer.load_run(result["run"]).verdict.grade == result["judgement"]["verdict"]["grade"]
    )


def test_counts_of_individuals_agree(command, market):
    """All evaluations and the different ones among them stand in one sentence."""
    flags = ("--data", market, *SMALL[:-1], "--folds", 0, "--json")
    result = command("evolve", *flags).json
    tried, whole = result["judgement"]["trials"]["evaluated"], result["evaluated"]
    assert whole == result["timing"]["evaluated"] >= tried > 0
    text = command("runs", "show", "latest").out
    expected = f"{whole:,} candidates evaluated, {result['polished']:,} to polish the front"
    assert result["counted"] == f"{expected}, {tried:,} of them distinct"
    assert f"{result['counted']}, in " in text
    seconds = result["timing"]["search_s"] - result["timing"].get("compile_s", 0)
    assert seconds > 0
    rate = whole * result["data"]["bars"] / seconds
    assert result["timing"]["individual_bars_per_s"] == pytest.approx(rate)


def test_a_member_is_tried_on_other_bars_and_at_other_costs(command, market, other):
    """Its genes are the run's, its numbers those of the same genes given by hand."""
    run = command("evolve", "--data", market, *SMALL, "--json").json
    assert run["judgement"]["pick"]["member"] == run["front"].index(
        max(run["front"], key=lambda one: one["metrics"]["strength"])
    )
    genes = run["front"][0]["genes"]
    given = [f"--set={name}={value!r}" for name, value in genes.items()]
    for flags in (("--data", other), ("--data", other, "--fee-bp", 9), ("--fee-bp", 9)):
        result = command("backtest", "latest", "--member", 0, *flags, "--json").json
        bars = flags if "--data" in flags else ("--data", market, *flags)
        assert result["metrics"] == command("backtest", *bars, *given, "--json").json["metrics"]
        assert result["genes"] == genes
    assert result["metrics"] != run["front"][0]["metrics"]
    own = command("backtest", "latest", "--member", 0, "--data", market, "--json").json
    assert own["metrics"] == run["front"][0]["metrics"]


def test_what_contradicts_a_run_is_refused_by_name(command, market, other):
    """One line, before anything is computed."""
    count = len(command("evolve", "--data", market, *SMALL, "--json").json["front"])
    refused = {
        ("backtest", "latest", "--member", count): f"--member 0 to {count - 1}",
        ("runs", "show", "latest", "--member", count): f"--member 0 to {count - 1}",
        ("runs", "show", "none", "--member", 0): "no run",
        ("backtest", "none", "--member", 0): "no run",
        ("backtest", "--member", 0): "name a run",
        ("backtest", "latest", "--run", "latest", "--member", 0): "name the run once",
        ("backtest", "latest", "--member", 0, "--strategy", "seller_exhaustion"): "--strategy: ",
        ("backtest", "latest", "--member", 0, "--bound", "max_hold=2:9"): "--bound: ",
        ("backtest", "latest", "--member", 0, "--data", "gone.csv"): "gone.csv",
        ("backtest", "latest", "--member", 0, "--timeframe", "1h"): (
            "name bars of 15m, or shorter ones with --timeframe 15m"
        ),
    }
    for arguments, message in refused.items():
        outcome = command(*arguments)
        assert outcome.code != 0
        assert message in outcome.error, arguments


def test_bars_that_a_run_held_out_stay_closed(command, market, other):
    """Named as other bars they would be looked at uncounted."""
    command("evolve", "--data", market, *SMALL, "--holdout", "20%")
    member = ("backtest", "latest", "--member", 0)
    refused = command(*member, "--start", "1970-01-05").error
    (path,) = Path("runs").glob("*-*-*")
    assert f"nobody has opened them: python -m optimizer judge {path} --open" in refused
    assert "held_out" not in command(*member, "--data", market, "--json").json
    assert command(*member, "--data", other, "--json").code == 0


def test_what_genes_explain_is_told_alike_everywhere(command, market):
    """In the terminal, in JSON and in Python, with the method and what it does not say."""
    few = command("evolve", "--data", market, *SMALL, "--json").json["run"]
    assert "feasible trials on record" in command("runs", "show", few, "--importance").error
    flags = ("--population", 64, "--generations", 3, "--min-trades", 1, "--no-report", "--no-judge")
    run = command("evolve", "--data", market, *flags, "--json").json["run"]
    result = command("runs", "show", run, "--importance", "--json").json
    frame = optimizer.load_run(run).importance("max_drawdown")
    shares = result["objectives"]["max_drawdown"]
    assert (result["run"], list(shares["genes"])) == (run, list(frame.index))
    assert [gene["alone"] for gene in shares["genes"].values()] == frame["alone"].tolist()
    assert shares["noise"]["beyond"] == frame["beyond_noise"].iloc[0]
    out = command("runs", "show", run, "--importance").out
    assert "says nothing of the market" in out
    assert all(gene in out for gene in frame.index)
    assert f"{result['trials']} feasible trials" in out
    assert result["method"] in " ".join(out.split())
