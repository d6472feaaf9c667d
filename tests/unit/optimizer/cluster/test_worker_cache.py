"""Setups are packed without their bars, kept by digest, and refused where a byte is another."""

import pickle

import numpy as np
import pytest

from optimizer.cluster import worker_cache
from optimizer.cluster.fingerprint import digest_folder
from optimizer.cluster.messages import JobResult, Lacks, Made, Work
from optimizer.cluster.worker_cache import Keep, Parcel, solve
from optimizer.errors import ConfigError
from tests.support.clusters import Hung
from tests.support.evidence import make_planted_market

BARS = make_planted_market(3, 400, 0)
SETUP = Hung(BARS)
HERE = Made({"engine": "4"}, "bits")


@pytest.fixture(autouse=True)
def _as_made_here(monkeypatch):
    """Nothing is compiled to say who this is."""
    monkeypatch.setattr("optimizer.cluster.worker_cache.made_here", lambda: HERE)


def work(parcel, job=("echo", 1), **changes):
    """A piece of work for a setup."""
    return Work(0, parcel.digest, job, HERE.digest, **changes)


def answer_parcel(parcel, lacks, keep, folder=None, **changes):
    """What comes of it once what was lacking is sent."""
    carried, where = parcel.pack_missing(lacks, folder)
    return solve(work(parcel, carried=carried, folder=where, **changes), keep=keep)


def test_a_setup_travels_once_and_its_bars_too():
    """First the setup is asked for, then its bars; then neither."""
    keep, parcel = Keep(), Parcel(SETUP)
    assert len(parcel.body) < 1000
    assert solve(work(parcel), keep=keep) == Lacks()
    lacks = answer_parcel(parcel, Lacks(), keep)
    assert lacks == Lacks(tuple(parcel.bars))
    assert answer_parcel(parcel, lacks, keep).result == 1
    assert isinstance(solve(work(parcel, ("echo", 2)), keep=keep), JobResult)
    other = Parcel(Hung(BARS, known={"another": 1}))
    assert other.digest != parcel.digest
    assert isinstance(answer_parcel(other, Lacks(), keep), JobResult)


def test_bars_and_results_are_the_same_to_the_last_bit():
    """Hash, notes, signs and NaN; what was worked out of bars is no part of the parcel."""
    before = Parcel(SETUP)
    assert BARS.content_hash
    parcel, keep = Parcel(SETUP), Keep()
    assert (parcel.digest, parcel.bars.keys()) == (before.digest, before.bars.keys())
    carried, _ = parcel.pack_missing(Lacks(tuple(parcel.bars)), None)
    unpacked = keep.unpack(parcel.digest, carried, "", 1)
    assert unpacked.bars is not BARS
    assert unpacked.bars.content_hash == BARS.content_hash
    assert unpacked.bars.notes == BARS.notes
    odd = np.array([np.nan, -0.0, np.inf, 5e-324, np.frombuffer(b"\1" * 6 + b"\xf8\x7f")[0]])
    sent = pickle.loads(pickle.dumps(work(parcel, ("echo", odd))))
    answer = pickle.loads(pickle.dumps(solve(sent, keep=keep)))
    assert answer.result.tobytes() == odd.tobytes()


@pytest.mark.parametrize("what", ["setup", "bars"])
def test_other_bytes_are_refused(what):
    """By what they came as."""
    parcel = Parcel(SETUP)
    carried, _ = parcel.pack_missing(Lacks(tuple(parcel.bars)), None)
    digest = parcel.digest if what == "setup" else next(iter(parcel.bars))
    carried[digest] = carried[digest][:-1] + b"x"
    with pytest.raises(ConfigError, match=f"{digest[:12]} has other bytes"):
        solve(work(parcel, carried=carried), keep=Keep())


def test_large_bars_are_read_from_a_shared_folder(tmp_path, monkeypatch):
    """Written once; who cannot read them lacks them still, and without a folder it is refused."""
    monkeypatch.setattr(worker_cache, "MOST_CARRIED", 1000)
    parcel = Parcel(SETUP)
    lacks = Lacks(tuple(parcel.bars))
    answer = answer_parcel(parcel, lacks, Keep(), tmp_path / "large")
    assert answer.result == 1
    (file,) = (tmp_path / "large").iterdir()
    assert file.name == next(iter(parcel.bars))
    carried, folder = parcel.pack_missing(lacks, tmp_path / "large")
    assert list(carried) == [parcel.digest]
    assert folder == str(tmp_path / "large")
    assert solve(work(parcel, carried=carried, folder="/nowhere"), keep=Keep()) == lacks
    file.write_bytes(b"x")
    with pytest.raises(ConfigError, match="other bytes"):
        answer_parcel(parcel, lacks, Keep(), tmp_path / "large")
    with pytest.raises(ConfigError, match="send"):
        parcel.pack_missing(lacks, None)


def test_who_would_find_other_bits_says_who_it_is(monkeypatch):
    """And does nothing; in words that name each version."""
    other = Made({"engine": "2", "numpy": "1"}, "others", device="cuda", host="b", cores=9)
    monkeypatch.setattr("optimizer.cluster.worker_cache.made_here", lambda: other)
    assert solve(work(Parcel(SETUP)), keep=Keep()) == other
    differences = ("engine 2, here 4", "numpy 1, here none", "bits of the sample others, here bits")
    assert other.differences(HERE) == differences
    same = Made(HERE.versions, HERE.bits, device="cuda", host="b", cores=9)
    assert same.digest == HERE.digest
    assert same.differences(HERE) == ()


def test_what_cannot_be_packed_is_refused():
    """Functions of a program, and what has none."""
    with pytest.raises(ConfigError, match="leave --cluster out"):
        Parcel(Hung(seen=lambda: None))
    kind = type("Mine", (Hung,), {"__module__": "__main__"})
    import __main__

    __main__.Mine = kind
    try:
        with pytest.raises(ConfigError, match="this program itself defines"):
            Parcel(kind())
    finally:
        del __main__.Mine


def test_a_digest_is_that_of_names_and_contents(tmp_path):
    """Whatever differs in a file or in its name is another digest; other files do not count."""
    (tmp_path / "a.py").write_text("x = 1\n")
    first = digest_folder(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    assert digest_folder(tmp_path) == first
    (tmp_path / "a.py").write_text("x = 2\n")
    second = digest_folder(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, digest_folder(tmp_path)}) == 3
