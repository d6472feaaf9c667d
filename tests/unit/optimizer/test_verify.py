"""A run is verified by its digests, its front on the reference, and its candidates."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimizer import verify
from optimizer.errors import ParityError
from optimizer.run.runner import Observer, resume_run
from optimizer.store import RunStore
from optimizer.store.files import DATABASE, OWNER
from optimizer.store.log import UNCOUNTED
from optimizer.verify import check_run
from tests.support.evidence import make_planted_market
from tests.support.hostile import changing, forge, rewrite_population
from tests.support.judging import recorded_run


@pytest.fixture
def run(recordings, tmp_path, monkeypatch):
    """A copy of a finished run."""
    monkeypatch.chdir(tmp_path)
    return Path(recordings.copy("held out")["path"])


def check(run, individuals=1):
    """Outcome of a verification."""
    with RunStore.open(run) as store:
        return check_run(store, {}, individuals)


def find_problems(run, individuals=1):
    """Problems of a run in one text; empty for one that is whole."""
    found = check(run, individuals)
    assert not individuals or found.is_whole == (not found.problems), found
    return "; ".join(found.problems)


KINDS = {
    "lattice": {"search": "lattice", "steps": {"ema_fast": 60}},
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
        resume_run(path, {"generations": 8}, Observer())
        assert check(path).is_whole


def test_a_run_without_its_count_is_replayed_and_not_whole(run):
    """Rows may miss at its end, and its members are as they were."""
    (run / OWNER).unlink()
    found = check(run)
    assert (found.problems, found.is_whole) == ((UNCOUNTED,), False)
    assert found.certificate.mismatches == 0


def test_members_that_the_reference_trades_otherwise_are_an_error(run, monkeypatch):
    """It is no damage of the record."""
    certify = verify.certify
    monkeypatch.setattr(verify, "certify", lambda *run: replace(certify(*run), mismatches=1))
    with pytest.raises(ParityError):
        check(run)


@pytest.mark.slow
def test_a_candidate_that_does_not_reach_its_objectives_is_found(run):
    """The bars say so, though its generation is an older one, off the front."""

    def change(columns):
        values = np.frombuffer(columns.objectives).copy()
        values[np.nanargmax(values)] += 1.0
        return columns._replace(objectives=values.tobytes())

    with changing(run / DATABASE) as connection:
        query = "SELECT id FROM record WHERE kind = 'generation' AND name = '1'"
        (place,) = connection.execute(query).fetchone()
        rewrite_population(connection, place, change)
    assert find_problems(run, 0) == ""
    assert "generation 1: a candidate" in find_problems(run)


def test_a_hash_of_another_front_is_found_without_bars(run):
    """Members and hash stand in one result."""
    Path("bars.csv").unlink()
    assert find_problems(run, 0) == ""
    forge(run, "result", lambda payload: payload.update(front_hash="0" * 64))
    assert "the front's hash: recorded '000" in find_problems(run, 0)
