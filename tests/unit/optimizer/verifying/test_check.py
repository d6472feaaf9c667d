"""Digests made anew hide nothing that follows from other rows or from the bars."""

from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from optimizer.errors import StoreError
from optimizer.judging.judge import judge_run
from optimizer.judging.plan import Plan
from optimizer.run.runner import Observer, resume_run
from optimizer.store import RunStore
from optimizer.store.files import DATABASE
from optimizer.store.rows import Columns, front_population, pack, unpack
from optimizer.verifying.check import check_run
from tests.support.evidence import make_planted_market
from tests.support.forging import drop_evidence, forge
from tests.support.hostile import changing
from tests.support.judging import recorded_run


@pytest.fixture
def run(recordings, tmp_path, monkeypatch):
    """A copy of a judged run."""
    monkeypatch.chdir(tmp_path)
    return Path(recordings.copy("noise")["path"])


def check(run, individuals=1):
    """Outcome of a verification."""
    with RunStore.open(run) as store:
        return check_run(store, {}, individuals)


def find_problems(run, individuals=1):
    """Problems of a run in one text; empty for one that is whole."""
    try:
        found = check(run, individuals)
    except StoreError as error:
        return str(error)
    assert not individuals or found.is_whole == (not found.problems), found
    return "; ".join(found.problems)


def replacing(place, value):
    """Put a value at a place such as ``front.0.genes``; a callable is given the one before."""
    *way, last = [int(part) if part.isdecimal() else part for part in place.split(".")]

    def change(payload):
        inner = reduce(lambda found, part: found[part], way, payload)
        before = inner[last]
        inner[last] = value(before) if callable(value) else value
        assert inner[last] != before, "nothing was changed"

    return change


def more(value):
    """A greater number."""
    return value + 1 if isinstance(value, int) else value * 1.1 + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["symbols", "schedule", "own file"])
def test_an_honest_run_is_whole(recordings, tmp_path, monkeypatch, name):
    """Nothing of it is found anew otherwise than it was recorded."""
    monkeypatch.chdir(tmp_path)
    found = check(Path(recordings.copy(name)["path"]))
    assert (found.problems, found.unchecked, found.is_whole) == ((), (), True)
    assert found.certificate.mismatches == 0
    assert ("null searches" in found.not_recomputed) == (name == "schedule")


KINDS = {
    "lattice with regret": {"search": "lattice", "steps": {"ema_fast": 60}, "regret": 64},
    "plateau": {"generations": 40, "plateau": 2},
    "empty front": {"min_trades": 100_000},
    "summaries": {"keep": "last", "generations": 6, "polish": 0},
    "parts, worst": {"parts": 3, "over_windows": "worst", "fee_bp": 1.0},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_each_kind_is_whole(tmp_path, kind):
    """Also when it was gone on with."""
    path = recorded_run(tmp_path, make_planted_market(7, 1200, 0.5), **KINDS[kind])
    assert check(path).is_whole
    if kind == "summaries":
        resume_run(path, {"generations": 8}, Observer(), lambda: False)
        assert check(path).is_whole


HEADER = {
    "costs.fee_bp": more,
    "genes.0.low": more,
    "seed": more,
    "versions.engine": more,
}

RESULT = {
    "certificate.ledger_hash": "0" * 64,
    "front": lambda front: front[1:],
    "front.0": lambda member: {**member, "genes": {**member["genes"], "ema_fast": 33}},
    "front.0.metrics.trades": more,
    "evaluated": more,
    "hypervolume": more,
    "stopped_by": "plateau",
}

JUDGEMENT = {
    "pick.strength": more,
    "null.shuffled.objectives.total_return.p": 0.9,
    "robust.plateau": 0.99,
    "causal.mismatches": 4,
}

FORGED = [
    *(("header", "%", *row) for row in HEADER.items()),
    *(("result", "%", *row) for row in RESULT.items()),
    *(("evidence", "judgement", *row) for row in JUDGEMENT.items()),
    ("generation", "%", "hypervolume", more),
]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "name", "place", "value"), FORGED)
def test_a_value_that_does_not_follow_from_the_bars_is_found(
    recordings, run, table, name, place, value
):
    """In header, result, generations and judgement."""
    change = replacing(place, value)
    if table != "evidence":
        # One without a judgement, which is found anew too, and takes longer.
        run = Path(recordings.copy("held out")["path"])
    if table == "header":
        forge(run, table, lambda payload: change(payload["run"]))
    else:
        forge(run, table, change, name=name, number=1 if table == "generation" else None)
    try:
        assert not check(run).is_whole
    except StoreError:
        return


@pytest.mark.slow
def test_an_individual_that_was_judged_otherwise_is_found(run):
    """The bars say so, though its generation is an older one, off the front."""
    with changing(run / DATABASE) as connection:
        names = ", ".join(Columns._fields)
        query = f"SELECT genes, objective_count, {names} FROM generation WHERE number = 1"
        genes, objectives, *arrays = connection.execute(query).fetchone()
        columns = Columns(*arrays)
        values = np.frombuffer(columns.objectives).copy()
        values[np.nanargmax(values)] += 1.0
        columns = columns._replace(objectives=values.tobytes())
        front = pack(front_population(unpack(columns, genes, objectives)))
        connection.execute(
            "UPDATE generation SET objectives = ?, whole_sha = ?, front_sha = ? WHERE number = 1",
            (columns.objectives, columns.digest(), front.digest()),
        )
    assert find_problems(run, 0) == ""
    assert "generation 1: a candidate" in find_problems(run)


BY_THE_RECORD = [
    ("result", "%", "front_hash", "0" * 64, "result.front_hash"),
    ("result", "%", "data_hash", "0" * 64, "result.data_hash"),
    ("evidence", "judgement", "verdict.grade", "robust", "verdict"),
    ("evidence", "judgement", "null.shuffled.run", 3, "null.shuffled.run"),
    ("evidence", "judgement", "null.shuffled.strengths.0", more, "strengths"),
    ("evidence", "null/%/shuffled/1", "strength", 99.0, "null.shuffled"),
    *(("evidence", "judgement", part, None, part) for part in ("pick", "null", "robust", "causal")),
]


@pytest.mark.parametrize(("table", "name", "place", "value", "word"), BY_THE_RECORD)
def test_a_record_that_contradicts_itself_is_found_without_bars(
    run, table, name, place, value, word
):
    """Hashes, verdict, null searches by their rows, and parts that are left out."""
    Path("bars.csv").unlink()

    assert find_problems(run, 0) == ""
    forge(run, table, replacing(place, value), name=name)
    found = find_problems(run, 0)
    assert word in found or "says nothing of" in found, found


@pytest.mark.parametrize("name", ["null/%/1", "null/%"])
def test_dropped_rows_of_evidence_are_found(run, name):
    """Whatever a judgement was made of is there, by whatever note of the owner."""
    (run / "owner.lock").unlink()
    drop_evidence(run, name)
    assert "judgement." in find_problems(run, 0)


class KilledError(Exception):
    """A judge that is killed."""


@pytest.mark.slow
def test_an_interrupted_judging_is_neither_whole_nor_damaged(recordings, tmp_path, monkeypatch):
    """The command that goes on is named."""
    monkeypatch.chdir(tmp_path)
    run = Path(recordings.copy("held out")["path"])

    def watch(now, number, *_):
        if now == "searches on shuffled bars" and number >= 2:
            raise KilledError

    with pytest.raises(KilledError):
        judge_run(run, Plan(folds=0, blocks=0, null=4, causal=True), {}, watch)
    found = check(run)
    assert (found.problems, found.unchecked, found.is_whole) == ((), (), False)
    assert "python -m optimizer judge" in found.unfinished[0]
