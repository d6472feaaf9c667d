"""What workers of this machine cost and bear: ``python -m tests.bench.cluster [PART ...]``.

Parts are ``kills``, ``null``, ``shards`` and ``tasks``; all of them without any. Everything is
compared with what is found without workers before its time is told.
"""

import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from optimizer.cluster import sharded
from optimizer.cluster.address import parse_address
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.keeping import Parcel
from optimizer.cluster.searches import ClusterSearches
from optimizer.cluster.sharded import Sharded
from optimizer.cluster.shift import Asked, done
from optimizer.judging.judge import judge_run
from optimizer.judging.plan import Plan
from optimizer.session.evaluating import Here
from tests.support.clusters import Hung, own_workers, search_on_seven, searched
from tests.support.evidence import planted
from tests.support.judging import recorded_run, task_on

TURNS, RUNS, NULLS, ENDLESS = 3, 20, 200, 10**6

SPARED_S = 6.0
"""Who is killed before its first word is replaced only after a while, and nothing would go on."""


def main():
    """Measure the parts that are named."""
    parts = {"tasks": tasks, "null": null, "shards": shards, "kills": kills}
    for name in sys.argv[1:] or parts:
        parts[name]()


def tasks():
    """What a job costs that does nothing."""
    with Cluster(parse_address("local:2")) as cluster:
        parcel = Parcel(Hung(planted(1, 300, 0)))
        asked = [Asked(n, f"job {n}", parcel, ("echo", n)) for n in range(500)]
        list(done(cluster, asked[:8]))
        each = []
        for _ in range(TURNS):
            began = time.perf_counter()
            assert len(list(done(cluster, asked))) == len(asked)
            each.append(1000 * (time.perf_counter() - began) / len(asked))
    print(f"tasks: {min(each):.1f} ms each of 500 on two workers, median {median(each):.1f}")


def null():
    """A null of 200 searches by the local pool, by one worker and by two, in turns."""
    with tempfile.TemporaryDirectory() as folder, joined(1, 2) as clusters:
        settings = {"population": 32, "generations": 10, "polish": 0, "min_trades": 10}
        path = recorded_run(Path(folder), planted(1000, 8760, 0), **settings)
        plan = Plan(null=NULLS, stop_after=ENDLESS, folds=0, blocks=0)
        found = {"pool": [], **{f"local:{n}": [] for n in clusters}}
        results = []
        for turn in range(TURNS):
            for name, times in found.items():
                place = ClusterSearches(clusters[int(name[-1])]) if name != "pool" else None
                copy = shutil.copytree(path, Path(folder) / f"{turn}-{name}" / path.name)
                began = time.perf_counter()
                results.append(judge_run(copy, plan, {}, lambda *told: None, place=place).null)
                times.append(time.perf_counter() - began)
        assert results == results[:1] * len(results)
    print(f"null: {2 * NULLS} searches at most, {results[0].shuffled.run} shuffled ones each time")
    for name, times in found.items():
        print(f"  {name}: {min(times):.2f} s, median {median(times):.2f} of {TURNS} turns")
    searches = 1 if results[0].mirrored is None else 2
    one, two = min(found["local:1"]), min(found["local:2"])
    print(f"  two workers take {two / min(found['pool']):.3f} of the pool's time, ", end="")
    print(
        f"{one / two:.2f} times as fast as one; the model says {one:.2f} s for one becomes ", end=""
    )
    print(f"{one / 2 + 0.003 * searches * NULLS / 2:.2f}")


def shards():
    """A search on 100 symbols, here and on two workers: what of it is transport."""
    series = [replace(planted(n, 8760, 2), symbol=f"S{n}") for n in range(100)]
    for over in ("pooled", "worst"):
        given = {"population": 256, "generations": 8, "polish": 0, "min_trades": 10}
        task = task_on(*series, over_windows=over, **given)
        began = time.perf_counter()
        expected = searched(Here(task, task.engine()))
        alone = time.perf_counter() - began
        with joined(2) as clusters, watched() as calls:
            place = Sharded.of(clusters[2], task)
            began = time.perf_counter()
            assert searched(place) == expected
            spent = time.perf_counter() - began
        # The first begin and compute rows; the last replays the certificate.
        told = [(wall, busy) for wall, busy in calls[2:-1] if busy]
        wall, busy = (median(one) for one in zip(*told, strict=True))
        size = 256 * 100 * (24 * 8 if over == "pooled" else 9 * len(task.goals.metrics) + 1)
        print(
            f"shards, {over}: {alone:.1f} s here, {spent:.1f} s on two workers; a generation ",
            end="",
        )
        print(
            f"{wall:.3f} s, the busier worker {busy:.3f}, transport {1 - busy / wall:.1%}; ", end=""
        )
        model = busy + 2 * 0.0075 + size / 0.5e9
        print(f"{size / 1e6:.1f} MB come back, the model says {model:.3f} s")


def kills():
    """Searches and generations while workers are killed at random; 20 times the same."""
    task = search_on_seven(generations=20)
    expected = searched(Here(task, task.engine()))
    plan = Plan(null=40, stop_after=ENDLESS, folds=3, train=2, purge=8, blocks=0)
    chance, counts = random.Random(1), []
    with tempfile.TemporaryDirectory() as folder:
        path = recorded_run(Path(folder), planted(7, 900, 8), generations=12, polish=16)
        alone = shutil.copytree(path, Path(folder) / "alone" / path.name)
        judged = judge_run(alone, plan, {}, lambda *told: None)
        for number in range(RUNS):
            workers, cut = (1, 2, 4)[number % 3], (1, 3, 7)[number % 3]
            with joined(workers) as clusters, killing(chance) as killed:
                assert searched(Sharded.of(clusters[workers], task, cut)) == expected
                copy = shutil.copytree(path, Path(folder) / str(number) / path.name)
                place = ClusterSearches(clusters[workers])
                found = judge_run(copy, plan, {}, lambda *told: None, place=place)
                assert (found.null, found.folds) == (judged.null, judged.folds)
            counts.append(len(killed))
            print(
                f"  run {number}: {workers} workers, {cut} shards, {len(killed)} killed", flush=True
            )
    print(f"kills: {RUNS} runs, {sum(counts)} workers killed, fronts, p and folds the same")


@contextmanager
def killing(chance):
    """Kill a worker every one to six seconds, some seconds after it began at the earliest."""
    killed, over = [], threading.Event()

    def kill():
        while not over.wait(chance.uniform(1, 6)):
            begun = time.time() - SPARED_S
            if workers := [one for one in own_workers() if one.create_time() < begun]:
                one = chance.choice(workers)
                one.kill()
                killed.append(one.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@contextmanager
def joined(*counts):
    """Clusters of so many workers of this machine, by their number."""
    found = {}
    try:
        for count in counts:
            began = time.perf_counter()
            found[count] = Cluster(parse_address(f"local:{count}"))
            print(f"  local:{count} joined in {time.perf_counter() - began:.1f} s", flush=True)
        yield found
    finally:
        for one in found.values():
            one.__exit__()


@contextmanager
def watched():
    """How long each round of shards takes, and its longest job, seconds."""
    calls = []

    def timed(cluster, asked):
        began, longest = time.perf_counter(), 0.0
        for one in done(cluster, asked):
            longest = max(longest, one.seconds)
            yield one
        calls.append((time.perf_counter() - began, longest))

    sharded.done = timed
    try:
        yield calls
    finally:
        sharded.done = done


def median(values):
    """The middle one."""
    return statistics.median(values)


if __name__ == "__main__":
    main()
