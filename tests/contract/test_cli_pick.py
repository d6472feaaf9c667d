"""Just one answer: evolve names it, runs show prints it, backtest tries it on other bars."""

from pathlib import Path

import pytest

import optimizer
from tests.support.commands import write_market


@pytest.fixture
def run(command, recordings):
    """A run on noise that was judged."""
    return recordings.copy("noise")


def test_a_member_is_tried_on_other_bars_and_at_other_costs(command, run):
    """Its genes are the run's, its numbers those of the same genes given by hand."""
    front = run["front"]
    strengths = [one["metrics"]["strength"] for one in front]
    assert run["judgement"]["pick"]["member"] == strengths.index(max(strengths))
    write_market(Path("other.csv"), seed=7)
    member, genes = ("backtest", "latest", "--member", 0, "--json"), front[0]["genes"]
    given = [f"--set={name}={value!r}" for name, value in genes.items()]
    for flags in (("--data", "other.csv"), ("--data", "other.csv", "--fee-bp", 9), ("--fee-bp", 9)):
        result = command(*member, *flags).json
        bars = flags if "--data" in flags else ("--data", "bars.csv", *flags)
        assert result["metrics"] == command("backtest", *bars, *given, "--json").json["metrics"]
        assert result["genes"] == genes
    assert result["metrics"] != front[0]["metrics"]
    assert command(*member, "--data", "bars.csv").json["metrics"] == front[0]["metrics"]


def test_genes_explain_the_same_everywhere(command, market, run):
    """In the terminal, in JSON and in Python, with the method."""
    assert "feasible trials" in command("runs", "show", "latest", "--importance").error
    flags = ("--population", 64, "--generations", 3, "--min-trades", 1, "--no-report", "--no-judge")
    name = command("evolve", "--data", market, *flags, "--json").json["run"]
    result = command("runs", "show", name, "--importance", "--json").json
    frame = optimizer.load_run(name).importance("max_drawdown")
    shares = result["objectives"]["max_drawdown"]
    assert (result["run"], list(shares["genes"])) == (name, list(frame.index))
    assert [gene["alone"] for gene in shares["genes"].values()] == frame["alone"].tolist()
    assert shares["noise"]["beyond"] == frame["beyond_noise"].iloc[0]
    out = " ".join(command("runs", "show", name, "--importance").out.split())
    assert all(gene in out for gene in frame.index)
    assert f"{result['trials']} feasible trials" in out
    assert result["method"] in out
