"""Of all searches of a folder those are believed of which at most one in ten is false."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimizer.errors import StoreError
from optimizer.evidence.betting import tally
from optimizer.evidence.ledger import build_ledger, count_believed
from optimizer.store.listing import RunSummary, list_runs
from optimizer.store.searches import SEARCHES, hash_goals, list_noted
from tests.support.evidence import make_planted_market
from tests.support.judging import judge_briefly, recorded_run

NOISE = make_planted_market(7, 900, 0)


def run(name, question, wealth=None):
    """A run of a list."""
    return RunSummary(name, Path(name), "finished", question=question, wealth=wealth)


def test_believed_by_the_law():
    """The largest number of greatest e-values that are all great enough for it."""
    assert count_believed([150, 40, 3, 0.5, 0.1]) == 2
    assert count_believed([120, *[0.5] * 11]) == 1
    assert count_believed([110, *[0.5] * 11]) == 0
    assert count_believed([]) == 0
    # Ten of a hundred, each of 100, carry each other.
    assert count_believed([100.0] * 10 + [0.0] * 90) == 10
    assert count_believed([100.0] * 9 + [0.0] * 91) == 0


def test_seeds_of_a_question_are_one_search():
    """Their e-value is the mean, with 0 for one that was not judged."""
    runs = [run("a", "one", 110.0), run("b", "one"), run("c", "two", 60.0), run("d", None)]
    ledger = build_ledger(runs, ["one", "gone"], runs[0])
    assert (ledger.searches, ledger.removed, ledger.believed) == (4, 1, 2)
    assert (ledger.wealth, ledger.is_believed, ledger.needed) == (55.0, True, 20.0)
    assert not build_ledger(runs, [], runs[3]).is_believed
    assert build_ledger(runs, [], runs[0], fits=9).believed == 0


def test_goals_that_were_tried_on_the_same_bars_are_counted():
    """Each set once, whatever its seeds; those on other bars are another question."""
    tried = [("a", "one"), ("a", "one"), ("a", "two"), ("b", "three")]
    runs = [replace(run(f"{n}", f"{n}"), goals=goals) for n, goals in enumerate(tried)]
    assert "2 sets of goals were tried" in build_ledger(runs, [], runs[0]).describe()
    assert "sets of goals" not in build_ledger(runs, [], runs[3]).describe()
    bars = {"data_hash": "x", "windows": []}
    named = [{"identity": {**bars, "goals": {"objectives": [goal]}}} for goal in ("calm", "sharpe")]
    assert hash_goals(named[0]) != hash_goals(named[1])


def test_removed_runs_are_not_forgotten(tmp_path):
    """A folder knows the questions that were begun in it; a lost list is refused by its name."""
    first = recorded_run(tmp_path, NOISE, generations=1)
    recorded_run(tmp_path, NOISE, generations=1, seed=2)
    second = recorded_run(tmp_path, NOISE, generations=1, population=20)
    folder = second.parent
    assert len(list_noted(folder)) == 2
    shutil.rmtree(second)
    ledger = judge_briefly(first).ledger
    assert (ledger.searches, ledger.removed) == (2, 1)
    assert "Of 2 searches in this folder, 1 of them removed," in ledger.describe()
    assert {one.question for one in list_runs(folder)} < set(list_noted(folder))
    (folder / SEARCHES).write_text("{}")
    with pytest.raises(StoreError, match=SEARCHES):
        judge_briefly(first)


def test_streams_of_searches_are_believed_rightly():
    """200 runs, 20 with an edge: at most a tenth is false, and more are found than by p alone."""
    random, false, found, by_p = np.random.default_rng(3), [], [], []
    for _ in range(10):
        chances = np.where(np.arange(200) < 20, 0.0, random.random(200))
        counts = [tally(0.5, random.random(299) < chance, 299) for chance in chances]
        wealths = np.array([counted.wealth for counted in counts])
        believed = np.argsort(-wealths)[: count_believed(wealths)]
        false.append((believed >= 20).sum() / max(len(believed), 1))
        found.append((believed < 20).sum())
        by_p.append(sum(counted.p * len(counts) <= 0.05 for counted in counts))
    assert np.mean(false) <= 0.1
    assert np.mean(found) > np.mean(by_p) + 10
