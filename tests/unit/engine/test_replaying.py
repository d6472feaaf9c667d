"""Processes that replay: fair shares, errors that are told, and nobody left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from data.bars import Window
from engine.costs import Costs
from engine.errors import EngineError
from engine.parity import compare_ledgers
from engine.reference import Reference
from engine.replaying import Market, Replayers, share_out
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(5, 600, jump=0.1)
MARKET = Market(SPEC, (BARS,), (Window.whole(BARS),), Costs())
ROOT = Path(__file__).parents[3]

LONG_WORK = """
from data.bars import Window
from engine.costs import Costs
from engine.replaying import Market, Replayers
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

if __name__ == "__main__":
    spec, bars = SHORT_SPECS["seller_exhaustion"], make_bars(5, 100_000, jump=0.1)
    market = Market(spec, (bars,), (Window.whole(bars),), Costs())
    with Replayers() as replayers:
        replays = replayers.replay(market, random_genomes(spec, 500, seed=1), 2)
        print("at work", flush=True)
        next(replays)
"""


def children_of(pid):
    """Processes that a process has begun and that are still there."""
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid):
    """Whether a process still runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end_all(replayers):
    """Kill the processes from outside, and wait until they are gone."""
    for process in replayers._processes:
        os.kill(process.pid, signal.SIGKILL)
        process._process.wait()


def wait_until(claim):
    """Wait until something holds; the suite's own limit ends it."""
    while not claim():
        time.sleep(0.01)


@pytest.mark.parametrize("shares", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("individuals", [0, 1, 2, 40])
def test_everyone_is_in_one_share(individuals, shares):
    """However many parts there are, nobody is left out and nobody is replayed twice."""
    parts = share_out(SPEC, random_genomes(SPEC, individuals, seed=1), shares)
    assert sorted(np.concatenate([*parts, np.empty(0, int)])) == list(range(individuals))
    assert len(parts) <= shares
    assert all(len(part) for part in parts)


def test_individuals_with_common_rows_stay_together():
    """Of many groups of equal genomes no more than one is cut by each border of shares."""
    genomes = np.repeat(random_genomes(SPEC, 12, seed=1), 10, axis=0)
    shuffled = np.random.default_rng(1).permutation(len(genomes))
    parts = share_out(SPEC, genomes[shuffled], 3)
    groups = [set((shuffled[part] // 10).tolist()) for part in parts]
    assert sum(len(group) for group in groups) <= 12 + 2


def test_new_rows_weigh_more_than_individuals():
    """Many who read the same rows cost as much as a few who each read their own."""
    alike = np.repeat(random_genomes(SPEC, 1, seed=2), 60, axis=0)
    different = random_genomes(SPEC, 20, seed=3)
    sizes = sorted(len(part) for part in share_out(SPEC, np.vstack([alike, different]), 2))
    assert sizes[0] < 30


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_answers_come_in_the_order_of_individuals(processes):
    """Whoever replayed them."""
    genomes = random_genomes(SPEC, 7, seed=4)
    reference = Reference(SPEC, (BARS,), MARKET.windows, MARKET.costs)
    with Replayers() as replayers:
        found = list(replayers.replay(MARKET, genomes, processes))
    for expected, actual in zip(reference.replay(genomes), found, strict=True):
        for (left, folded), (right, other) in zip(expected, actual, strict=True):
            assert folded == other
            assert compare_ledgers(left, right) == ""


def test_processes_that_stand_by_are_used(monkeypatch):
    """Whoever was started early does the work; none is started beside them."""
    with Replayers() as replayers:
        replayers.stand_by(2)
        replayers.stand_by(1)
        early = [process.pid for process in replayers._processes]
        assert len(list(replayers.replay(MARKET, random_genomes(SPEC, 5, seed=1), 2))) == 5
        assert [process.pid for process in replayers._processes] == early


def test_what_fails_there_is_told_here():
    """With the other process's own words."""
    broken = Market(SPEC, (BARS,), (Window(3, 0, 100),), Costs())
    with Replayers() as replayers:
        replays = replayers.replay(broken, random_genomes(SPEC, 4, seed=1), 2)
        with pytest.raises(EngineError, match=r"(?s)replaying individuals failed.*IndexError"):
            next(replays)


def test_a_process_that_is_killed_is_an_error():
    """Not an endless wait, and not a shorter front."""
    with Replayers() as replayers:
        replays = replayers.replay(MARKET, random_genomes(SPEC, 400, seed=1), 2)
        end_all(replayers)
        with pytest.raises(EngineError, match="ended from outside"):
            next(replays)


def test_a_process_that_is_killed_while_it_stands_by_is_an_error():
    """It is told when there is something to replay."""
    with Replayers() as replayers:
        replayers.stand_by(2)
        end_all(replayers)
        with pytest.raises(EngineError, match="ended from outside"):
            replayers.replay(MARKET, random_genomes(SPEC, 4, seed=1), 2)


def test_leaving_early_leaves_nobody_behind():
    """Whoever gives up ends the processes that are still at work."""
    bars = make_bars(5, 50_000, jump=0.1)
    long = Market(SPEC, (bars,), (Window.whole(bars),), Costs())
    with Replayers() as replayers:
        replayers.replay(long, random_genomes(SPEC, 200, seed=1), 2)
        started = [process.pid for process in replayers._processes]
        assert len(started) == 2
        assert all(map(is_alive, started))
    assert not any(map(is_alive, started))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are read from /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_processes_end_with_the_one_that_began_them(tmp_path, how):
    """However it ended: nothing goes on computing what nobody waits for."""
    (tmp_path / "long_work.py").write_text(LONG_WORK)
    with subprocess.Popen(
        [sys.executable, "long_work.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout.readline() == b"at work\n"
        children = children_of(process.pid)
        assert len(children) >= 2
        process.send_signal(how)
        process.wait()
        wait_until(lambda: not any(is_alive(child) for child in children))
