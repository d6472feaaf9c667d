"""The bench of verdicts: forms are made as they say, and a figure that differs is found."""

import sqlite3
from functools import partial

import pytest

from optimizer.judging.asking import AskingWorkers
from optimizer.judging.executors import ThisMachine
from optimizer.judging.judge import judge_run
from optimizer.judging.plan import Plan
from optimizer.judging.workers import Pool, Workers
from tests.bench import verdicts
from tests.bench.verdicts import Form, fix_executors, list_differences, read_figures
from tests.support.evidence import make_planted_market
from tests.support.judging import recorded_run

PLAN = Plan(null=40, stop_after=2, folds=2, train=1, purge=8, blocks=4)


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory):
    """Database of a run that was judged."""
    path = recorded_run(tmp_path_factory.mktemp("run"), make_planted_market(7, 900, 0))
    judge_run(path, PLAN, {}, lambda *progress: None)
    return path / "run.sqlite"


@pytest.mark.parametrize("form", [Form("", processes=2), Form("", processes=1, wave=7)])
def test_forms_are_made_as_they_say(judged_run, tmp_path, monkeypatch, form):
    """By workers of such a form alone, and with the same figures as ever."""
    made = []
    for kind in (Workers, AskingWorkers):
        noted = partial(make_noted, kind, made)
        monkeypatch.setattr(verdicts, kind.__name__, noted)
    path = recorded_run(tmp_path, make_planted_market(7, 900, 0))
    with fix_executors(form), Pool() as pool:
        judge_run(path, PLAN, {}, lambda *progress: None, executors=ThisMachine(pool))
    expected = (AskingWorkers, 1, 7) if form.wave else (Workers, 2)
    assert made == [expected, expected]
    assert list_differences(read_figures(judged_run), read_figures(path / "run.sqlite")) == []


def make_noted(kind, made, setup, *form):
    """Workers, after their form is noted."""
    made.append((kind, *form[:-1]))
    return kind(setup, *form)


def test_null_searches_that_do_not_count_may_be_missing():
    """They are compared where both have them."""
    counts = {"judgement.null.shuffled.run": "12"}
    more = {**counts, "null/day/shuffled/13.strength": "1.0"}
    assert list_differences(counts, more) == list_differences(more, counts) == []
    assert len(list_differences({**more, "null/day/shuffled/13.strength": "2.0"}, more)) == 1
    assert len(list_differences(counts, {**counts, "null/day/shuffled/12.strength": "1.0"})) == 1


@pytest.mark.parametrize(
    ("table", "column", "before", "after", "figure"),
    [
        ("evidence", "payload", b'"genome":[', b'"genome":[1', "genome.0"),
        ("result", "payload", b'"strength":', b'"strength":1', "strength"),
        ("generation", "genomes", b"\0\0\0", b"\1\0\0", "generation/0.digests.0"),
    ],
)
def test_a_planted_difference_is_found(judged_run, table, column, before, after, figure):
    """One number of a row is changed."""
    plain = read_figures(judged_run)
    copy = judged_run.with_name(f"{table}.sqlite")
    with sqlite3.connect(judged_run) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        ((row, value),) = target.execute(f"SELECT rowid, {column} FROM {table} LIMIT 1")
        changed = value.replace(before, after, 1)
        target.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, row))
    assert changed != value
    (difference,) = list_differences(plain, read_figures(copy))
    assert figure in difference


def test_a_missing_figure_is_a_difference(judged_run):
    """Whichever of two forms lacks it."""
    plain = read_figures(judged_run)
    less = {name: figure for name, figure in plain.items() if name != "judgement.verdict.grade"}
    assert len(list_differences(plain, less)) == len(list_differences(less, plain)) == 1
