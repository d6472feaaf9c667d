"""Jobs are done once, setups and bars travel once and whole, and errors are named."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from optimizer.cluster import jobs as module
from optimizer.cluster.jobs import (
    FailedError,
    PackedSetup,
    Parcel,
    in_order,
    pack_setup,
    refuse_own_indicators,
    run_jobs,
)
from optimizer.errors import ConfigError, WorkersLostError
from strategy import words as w
from tests.support.clusters import PlayedSetup, make_jobs
from tests.support.evidence import make_planted_market
from tests.support.own_words import efficiency

BARS = make_planted_market(3, 400, 0)


def unpack(body, carried):
    """What a worker makes of a packed setup."""
    names, contents = zip(*carried, strict=True) if carried else ((), ())
    return PackedSetup(body, names, contents).unpack(contents, 1)


def test_every_job_is_done_once_by_a_setup_that_is_made_once(played):
    """On each worker, however many batches there are; results are the same to the last bit."""
    for name in "01":
        played.add(name)
    odd = np.array([np.nan, -0.0, np.inf, 5e-324, np.frombuffer(b"\1" * 6 + b"\xf8\x7f")[0]])
    made = PlayedSetup.made
    with played.join() as cluster:
        parcel = Parcel(cluster, PlayedSetup(BARS))
        other = Parcel(cluster, PlayedSetup(BARS, "another"))
        assert [bars.key for bars in parcel.bars] == [bars.key for bars in other.bars]
        for _ in range(3):
            jobs = [replace(job, job=("echo", odd)) for job in make_jobs(cluster, 9)]
            jobs = [replace(job, parcel=parcel) for job in jobs]
            results = dict(run_jobs(cluster, jobs))
            assert sorted(results) == list(range(9))
            assert {result.tobytes() for result in results.values()} == {odd.tobytes()}
        assert list(run_jobs(cluster, [])) == []
    assert PlayedSetup.made - made <= 2


def test_an_error_of_a_job_names_it_and_is_not_tried_again(played):
    """And what else was begun is taken back."""
    for name in "01":
        played.add(name)
    with played.join() as cluster:
        jobs = make_jobs(cluster, 9, "raise")
        begun = PlayedSetup.begun["raise"]
        with pytest.raises(FailedError, match=r"job \d: ValueError: no") as caught:
            list(run_jobs(cluster, [*make_jobs(cluster, 3), *jobs[3:]]))
        assert PlayedSetup.begun["raise"] - begun <= 4
        assert dict(run_jobs(cluster, make_jobs(cluster, 2))) == {0: 0, 1: 1}
        with pytest.raises(WorkersLostError, match="job 0 ended 4 workers"):
            list(run_jobs(cluster, make_jobs(cluster, 1, "lost")))
    assert [caught.value.exit_code, FailedError("x", ConfigError("x")).exit_code] == [1, 2]
    assert FailedError("x", MemoryError()).exit_code == 2


@pytest.mark.parametrize("error", [WorkersLostError("gone"), KeyboardInterrupt()])
def test_what_came_early_is_told_before_what_went_wrong(error):
    """One job that never ends must not cost what the others found."""

    def ending(order):
        yield from ((index, None) for index in order)
        raise error

    jobs = in_order(ending([1, 0, 5, 3, 4]))
    assert [next(jobs)[0] for _ in range(5)] == [0, 1, 3, 4, 5]
    with pytest.raises(type(error)):
        next(jobs)


def test_bars_are_the_same_to_the_last_bit():
    """Hash and notes; what was worked out of bars is no part of a setup."""
    before = pack_setup(PlayedSetup(BARS), None)
    assert BARS.content_hash
    body, carried = pack_setup(PlayedSetup(BARS), None)
    assert (body, carried) == before
    assert len(body) < 1000
    bars = unpack(body, carried).bars
    assert bars is not BARS
    assert (bars.content_hash, bars.notes) == (BARS.content_hash, BARS.notes)


def test_large_bars_are_read_from_a_shared_folder(tmp_path, monkeypatch):
    """Written once; without a folder, or where it cannot be read, they are refused."""
    monkeypatch.setattr(module, "MOST_CARRIED", 1000)
    monkeypatch.setattr(module, "own_address", lambda: "tcp://b:1")
    for _ in range(2):
        body, carried = pack_setup(PlayedSetup(BARS), tmp_path / "large")
        (file,) = (tmp_path / "large").iterdir()
        assert carried == []
        bars = unpack(body, carried).bars
        assert bars.content_hash == BARS.content_hash
        assert pack_setup(PlayedSetup(bars), None) == (body, [])
    file.write_bytes(b"x")
    with pytest.raises(ConfigError, match="other bytes"):
        unpack(body, carried)
    file.unlink()
    with pytest.raises(ConfigError, match=r"tcp://b:1 cannot read bars .* all hosts share"):
        unpack(body, carried)
    with pytest.raises(ConfigError, match="send"):
        pack_setup(PlayedSetup(BARS), None)


def test_bars_that_were_changed_on_their_way_are_refused(played, monkeypatch):
    """By what they came as."""
    played.add("0")
    honest = module.pack_setup

    def pack_otherwise(*arguments):
        body, ((digest, content),) = honest(*arguments)
        return body, [(digest, content[:-1] + b"x")]

    monkeypatch.setattr(module, "pack_setup", pack_otherwise)
    with played.join() as cluster, pytest.raises(FailedError, match="has other bytes") as refused:
        list(run_jobs(cluster, make_jobs(cluster, 1, bars=BARS)))
    assert refused.value.exit_code == 2


def test_what_cannot_be_packed_is_refused(monkeypatch):
    """Functions of a program, and what has none."""
    with pytest.raises(ConfigError, match="leave --cluster out"):
        pack_setup(PlayedSetup(name=lambda: None), None)
    kind = type("Mine", (PlayedSetup,), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Mine", kind, raising=False)
    with pytest.raises(ConfigError, match="this program itself defines"):
        pack_setup(kind(), None)


def test_an_own_indicator_is_refused_by_name():
    """Other hosts do not have its code."""
    spec = w.strategy("Own.", long=w.close > efficiency(9), stop=w.share(0.1))
    with pytest.raises(ConfigError, match="--cluster: own indicator 'efficiency'"):
        refuse_own_indicators(spec)
