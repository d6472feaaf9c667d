"""The result of evolve is one thing, however it is computed, and every part of it agrees."""

import json
from dataclasses import replace

import numpy as np
import pytest

from optimizer.goals.objectives import OBJECTIVES
from optimizer.run import task as task_module
from optimizer.search.evolution import front_hash
from optimizer.store.result import FIGURES
from tests.support.commands import SMALL, run, write_market

pytestmark = pytest.mark.slow

KEYS = {"run", "path", "strategy", "data", "generation", "individuals", "infeasible", "objectives",
        "front", "front_hash", "data_hash", "certificate", "device", "timing",
        "summary"}  # fmt: skip
CERTIFICATE_KEYS = {"individuals", "trades", "mismatches", "first_mismatch", "plain_individuals",
                    "plain_bars", "uncompiled", "ledger_hash", "data_hash", "strategy",
                    "engine_version", "device", "versions"}  # fmt: skip


def test_every_part_of_a_result_agrees(recordings):
    """Keys that programs read, objectives and metrics bit by bit, hash, counts, and dominance."""
    _, result = recordings.record("noise")
    assert set(result) >= KEYS
    assert set(result["certificate"]) >= CERTIFICATE_KEYS
    assert result["certificate"]["mismatches"] == 0
    assert result["timing"]["individual_bars_per_s"] > 0
    names, front = result["objectives"], result["front"]
    assert len(front) > 1
    for member in front:
        assert list(member["metrics"]) == list(FIGURES)
        assert member["objectives"] == {goal: member["metrics"][goal] for goal in names}
        assert member["metrics"]["trades"] >= 3
        unknown = {figure for figure, value in member["metrics"].items() if value is None}
        assert unknown == set(member["undefined"])
    sign = np.array([-1.0 if OBJECTIVES[goal].maximise else 1.0 for goal in names])
    values = np.array([list(member["objectives"].values()) for member in front]) * sign
    genomes = np.array([list(member["genes"].values()) for member in front], dtype=np.float64)
    assert front_hash(genomes, values) == result["front_hash"]
    for value in values:
        assert not ((values <= value).all(axis=1) & (values < value).any(axis=1)).any()
    (tried,) = (fact["value"] for fact in result["summary"] if fact["label"] == "Tried")
    counts = [result["evaluated"], result["polished"]]
    assert [int(word.replace(",", "")) for word in tried.split()[::3][:2]] == counts


def test_another_process_with_another_hash_seed_finds_the_same(tmp_path, recordings):
    """Also in the poorest of environments, in plain characters, with JSON alone on stdout."""
    folder, first = recordings.record("held out")
    named = tmp_path / "m\u00e4rkt \U0001f4c8.csv"
    named.write_bytes((folder / "bars.csv").read_bytes())
    env = {"PYTHONHASHSEED": "4242", "LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii",
           "TERM": "dumb"}  # fmt: skip
    asked = ("evolve", "--data", f"csv:{named}", *SMALL, "--holdout", "20%", "--json")
    again = run(*asked, cwd=tmp_path, env=env)
    assert again.code == 0, again.err
    assert again.json["front_hash"] == first["front_hash"]
    assert again.json["certificate"]["ledger_hash"] == first["certificate"]["ledger_hash"]
    assert "\x1b" not in again.out + again.err
    assert "m\\xe4rkt" in again.err


def test_candidates_without_a_defined_objective_are_named_and_do_not_rank(command, tmp_path):
    """Without a trade there is no profit factor; who never loses has none, and ranks first."""
    spec = write_market(tmp_path / "short.csv", 1500)
    asked = ("--data", spec, "--population", "60", "--generations", "0", "--min-trades", "0")
    goals = ("--objectives", "profit_factor,total_return", "--no-judge", "--no-report")
    result = command("evolve", *asked, *goals, "--json").json
    assert result["infeasible"]["undefined:profit_factor"] > 0
    best, *_ = result["front"]
    assert best["undefined"]["profit_factor"] == "no_losses"
    assert best["objectives"]["profit_factor"] == 2**30 + best["metrics"]["trades"]
    assert " no losses " in command("runs", "show", "latest").out
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["infeasible"] == result["infeasible"]


def test_a_market_without_trades_is_no_error(command, tmp_path):
    """A sentence with the reason takes the place of the table."""
    flat = write_market(tmp_path / "flat.csv", flat=1.0, silent=1.0)
    outcome = command.succeed("evolve", "--data", flat, *SMALL)
    assert "too few trades 24" in outcome.out
    assert "volume rules can never fire" in outcome.err
    result = command("runs", "show", "latest", "--json").json["result"]
    assert (result["front"], result["infeasible"]) == ([], {"too_few_trades": 24})
    result = command("backtest", "--data", flat, "--json").json
    assert (result["metrics"]["trades"], result["metrics"]["sharpe"]) == (0, None)
    assert result["undefined"]["sharpe"] == "no_trades"


def test_a_red_certificate_is_exit_code_1_with_the_mismatch_in_full(command, market, monkeypatch):
    """Engines that disagree are never passed over, and the run is shown all the same."""
    honest = task_module.certify
    lines = "individual 0, window 0: trade 3: exit differs", "  reference: a", "  engine:    b"
    monkeypatch.setattr(
        task_module,
        "certify",
        lambda *given, **how: replace(
            honest(*given, **how), mismatches=2, first_mismatch="\n".join(lines)
        ),
    )
    outcome = command("evolve", "--data", market, *SMALL, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["judgement_s"] > 0.0
    assert "2 MISMATCHES" in command("runs", "show", "latest").out
    assert "; ".join(map(str.strip, lines)) in outcome.err


def test_words_and_progress_part_and_a_simulated_market_says_so(command, market):
    """Results go to stdout, progress to stderr, and an invented market is never a real one."""
    real = command("evolve", "--data", market, *SMALL)
    for word in ("strength", "drawdown", "trades", "reward", "0 mismatches", "recorded in runs/"):
        assert word in real.out
    assert "generation 2 of 2" in real.err
    assert "SIMULATED" not in real.out + real.err
    sample = command("evolve", *SMALL, "--generations", "0", "--quiet")
    assert "SIMULATED market" in sample.out
    lines = sample.err.splitlines()
    assert all(line.startswith("note: ") for line in lines)
    assert any("simulated market" in line for line in lines)
    assert command("backtest", "--json").json["data"]["is_simulated"] is True
    assert "SIMULATED market" in command("backtest").out
    assert "a program invented it" in command("data", "show").out
