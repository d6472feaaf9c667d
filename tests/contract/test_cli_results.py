"""What evolve finds is one thing, however it is computed, and every part of it agrees."""

from pathlib import Path

import numpy as np
import pytest

from engine.batch import Engine
from optimizer.config.run_config import RunConfig
from optimizer.goals.objectives import OBJECTIVES
from optimizer.run.task import prepare
from optimizer.search.evolution import front_hash
from optimizer.store import RunStore
from optimizer.store.result import FIGURES
from strategy import STRATEGIES
from tests.support.commands import SMALL, run, write_market

pytestmark = pytest.mark.slow

LARGER = ("--population", "24", "--generations", "6", "--min-trades", "3")
FIRST, SECOND = {"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "4242"}
TOP_KEYS = {
    "run",
    "path",
    "strategy",
    "data",
    "generation",
    "individuals",
    "infeasible",
    "objectives",
    "front",
    "front_hash",
    "data_hash",
    "certificate",
    "device",
    "timing",
}
CERTIFICATE_KEYS = {
    "individuals",
    "trades",
    "mismatches",
    "first_mismatch",
    "plain_individuals",
    "plain_bars",
    "uncompiled",
    "ledger_hash",
    "data_hash",
    "strategy",
    "engine_version",
    "device",
    "versions",
}


@pytest.fixture(scope="module")
def small_result(market, tmp_path_factory):
    """The result of a small search, as one strict object."""
    place = tmp_path_factory.mktemp("found")
    return run("evolve", "--data", market, *LARGER, "--json", cwd=place, env=FIRST).json


def test_the_result_has_every_key_that_programs_read(small_result):
    """Keys may be added, never lost."""
    assert set(small_result) >= TOP_KEYS
    assert set(small_result["certificate"]) >= CERTIFICATE_KEYS
    assert set(small_result["timing"]) >= {"search_s", "certificate_s", "evaluated"}
    for member in small_result["front"]:
        assert set(member) >= {"genes", "objectives", "metrics", "undefined"}
        assert list(member["metrics"]) == list(FIGURES)


def test_objectives_are_the_metrics_of_the_same_individual(small_result):
    """Every one, to the last bit, in its natural sign."""
    assert len(small_result["front"]) > 1
    for member in small_result["front"]:
        assert list(member["objectives"]) == small_result["objectives"]
        for name, value in member["objectives"].items():
            assert value == member["metrics"][name]


def test_front_hash_is_that_of_the_front_which_is_shown(small_result):
    """The result can be checked: genes and objectives read back exactly."""
    sign = np.array([-1.0 if OBJECTIVES[n].maximise else 1.0 for n in small_result["objectives"]])
    genomes = np.array([list(m["genes"].values()) for m in small_result["front"]], dtype=np.float64)
    objectives = np.array([list(m["objectives"].values()) for m in small_result["front"]]) * sign
    assert front_hash(genomes, objectives) == small_result["front_hash"]


def test_no_member_of_the_front_beats_another(small_result):
    """Each is best at something, and each has as many trades as were asked for."""
    sign = np.array([-1.0 if OBJECTIVES[n].maximise else 1.0 for n in small_result["objectives"]])
    values = np.array([list(m["objectives"].values()) for m in small_result["front"]]) * sign
    for value in values:
        assert not ((values <= value).all(axis=1) & (values < value).any(axis=1)).any()
    assert all(member["metrics"]["trades"] >= 3 for member in small_result["front"])


@pytest.mark.parametrize(
    "flags",
    ["--threads 1", "--threads 2", "--memory 4MB", "--memory 2GB", "--keep last", "--keep front"],
)
def test_how_it_is_computed_and_kept_changes_nothing(command, market, small_result, flags):
    """Threads, chunks and what is kept of older generations leave every bit of the front."""
    again = command("evolve", "--data", market, *LARGER, *flags.split(), "--json")
    assert again.code == 0
    assert again.json["front_hash"] == small_result["front_hash"]
    assert again.json["certificate"]["ledger_hash"] == small_result["certificate"]["ledger_hash"]


def test_the_order_in_which_python_hashes_changes_nothing(market, tmp_path, small_result):
    """A process with another hash seed finds the same front."""
    again = run("evolve", "--data", market, *LARGER, "--json", cwd=tmp_path, env=SECOND).json
    assert again["front_hash"] == small_result["front_hash"]
    assert again["certificate"]["ledger_hash"] == small_result["certificate"]["ledger_hash"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_evolves_to_a_certified_front(command, market, strategy):
    """Nothing on the way knows a strategy by name; a forecast is one that was fitted."""
    flags = ["--data", market]
    if getattr(STRATEGIES[strategy], "extra_columns", ()):
        asked = ("--model", "ridge", "--train", "800", "--refit", "800", "--out", "ridge.parquet")
        assert command("forecast", "fit", *flags, *asked).code == 0
        flags += ["--column-file", "forecast=ridge.parquet"]
    result = command("evolve", *flags, *LARGER, "--strategy", strategy, "--json").json
    assert result["strategy"] == strategy
    assert result["front"]
    assert result["certificate"]["mismatches"] == 0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_can_be_searched_for_alone(command, market, objective):
    """The best of the front has the best value; nothing undefined or infinite is in it."""
    arguments = ("--data", market, *SMALL, "--objectives", objective, "--json")
    result = command("evolve", *arguments).json
    assert result["objectives"] == [objective]
    assert len({member["objectives"][objective] for member in result["front"]}) == 1


def test_individuals_without_a_defined_objective_are_named_and_do_not_rank(command, tmp_path):
    """Without a trade there is no profit factor; who never loses has none, and ranks first."""
    spec = write_market(tmp_path / "short.csv", 1500)
    arguments = ("--data", spec, "--population", "60", "--generations", "0", "--min-trades", "0")
    goals = ("--objectives", "profit_factor,total_return")
    result = command("evolve", *arguments, *goals, "--json").json
    assert result["infeasible"]["undefined:profit_factor"] > 0
    assert result["front"]
    best, *_ = result["front"]
    assert best["undefined"]["profit_factor"] == "no_losses"
    assert best["objectives"]["profit_factor"] == 2**30 + best["metrics"]["trades"]
    assert " no losses " in command("runs", "show", "latest").out
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["infeasible"] == result["infeasible"]


def test_a_population_of_any_size_is_judged_as_in_small_chunks(command, market):
    """Five thousand at once: the recorded objectives are those of an engine with little memory."""
    size = ("--population", "5000", "--generations", "0", "--min-trades", "3")
    outcome = command("evolve", "--data", market, *size, "--objectives", "sharpe,trades", "--json")
    assert outcome.code == 0
    assert "5,000 individuals" in outcome.err
    with RunStore.open(Path(outcome.json["path"])) as store:
        population = store.last_generation().population
    config = RunConfig(data=market, objectives="sharpe,trades", min_trades=3)
    task = prepare(config)
    small = Engine(
        task.spec,
        task.markets.series,
        task.markets.windows,
        task.costs,
        device="cpu",
        memory_bytes=20_000_000,
    )
    order = np.random.default_rng(1).permutation(len(population))
    judged = task.goals.judge(task.metrics(*small.evaluate_account(population.genomes[order])))
    assert len(population) == 5000
    assert judged.objectives.tobytes() == population.objectives[order].tobytes()
    assert judged.failures.tolist() == population.failures[order].tolist()


def test_five_members_are_printed_by_default(command, market):
    """Those that differ most; the title names the flag for the others."""
    flags = ("--data", market, *SMALL, "--population", 64, "--generations", 4, "--front", "all")
    whole = command("evolve", *flags).out
    count = len(command("runs", "show", "latest", "--json").json["result"]["front"])
    assert count > 5
    assert f"Front: {count} members, * is the pick" in whole
    assert list_members(whole) == count
    few = command("runs", "show", "latest").out
    assert f"Front: {count} members, 5 of them that differ most (all: --front all)" in few
    assert list_members(few) == 5
    assert list_members(command("runs", "show", "latest", "--front", "all").out) == count


def list_members(printed):
    """Rows of the table of a front."""
    rows = printed.split("Front: ")[1].split("\n\n")[0].splitlines()[1:]
    return sum(row.split()[0].lstrip("*").isdigit() for row in rows)
