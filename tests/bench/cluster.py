"""What workers of this machine cost and bear: ``python -m tests.bench.cluster [PART ...]``.

Parts are ``kills``, ``null``, ``shards`` and ``tasks``; all of them without any. ``hosts`` is for a
large host with GPUs and takes some minutes there; ``hosts-small`` is the same for two cores.
Everything is compared with what is found without workers before its time is printed.
"""

import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from engine.runtime.machine import available_cores
from optimizer.cluster import sharded
from optimizer.cluster.address import parse_address
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.jobs import JobRequest, run_jobs
from optimizer.cluster.searches import ClusterSearches
from optimizer.cluster.sharded import on_workers
from optimizer.cluster.worker_cache import Parcel
from optimizer.judging.judge import judge_run
from optimizer.judging.null import NullJob, NullSetup
from optimizer.judging.plan import Plan
from tests.support.clusters import Hung, begin_cluster, own_workers, run_search, search_on_seven
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task, recorded_run


@dataclass(frozen=True)
class Size:
    """How much `hosts` does.

    Args:
        workers: Numbers of workers for whole searches.
        searches: Of each worker.
        population: Of a whole search, as are `generations`.
        symbols: Of the search that is divided, each of so many `bars`.
        wide: Population of that one.
    """

    workers: tuple[int, ...]
    searches: int
    population: int
    generations: int
    symbols: int
    bars: int
    wide: int


LARGE = Size(
    (1, 4, 16), searches=12, population=128, generations=20, symbols=100, bars=35_040, wide=512
)
SMALL = Size((1, 2), searches=4, population=16, generations=3, symbols=6, bars=2000, wide=32)

TURNS, RUNS, NULLS, ENDLESS = 3, 20, 200, 10**6

SPARED_S = 6.0
"""Who is killed before its first word is replaced only after a while, and nothing would go on."""


def main():
    """Measure the parts that are named."""
    parts = {"tasks": tasks, "null": null, "shards": shards, "kills": kills}
    named = {**parts, "hosts": lambda: hosts(LARGE), "hosts-small": lambda: hosts(SMALL)}
    for name in sys.argv[1:] or parts:
        named[name]()


def tasks():
    """What a job costs that does nothing."""
    with Cluster(parse_address("local:2")) as cluster:
        parcel = Parcel(Hung(make_planted_market(1, 300, 0)))
        asked = [JobRequest(n, f"job {n}", parcel, ("echo", n)) for n in range(500)]
        list(run_jobs(cluster, asked[:8]))
        each = []
        for _ in range(TURNS):
            began = time.perf_counter()
            assert len(list(run_jobs(cluster, asked))) == len(asked)
            each.append(1000 * (time.perf_counter() - began) / len(asked))
    print(f"tasks: {min(each):.1f} ms each of 500 on two workers, median {median(each):.1f}")


def null():
    """A null of 200 searches by the local pool, by one worker and by two, in turns."""
    with tempfile.TemporaryDirectory() as folder, join_clusters(1, 2) as clusters:
        settings = {"population": 32, "generations": 10, "polish": 0, "min_trades": 10}
        path = recorded_run(Path(folder), make_planted_market(1000, 8760, 0), **settings)
        plan = Plan(null=NULLS, stop_after=ENDLESS, folds=0, blocks=0)
        times_by_place = {"pool": [], **{f"local:{n}": [] for n in clusters}}
        results = []
        for turn in range(TURNS):
            for name, times in times_by_place.items():
                place = ClusterSearches(clusters[int(name[-1])]) if name != "pool" else None
                copy = shutil.copytree(path, Path(folder) / f"{turn}-{name}" / path.name)
                began = time.perf_counter()
                results.append(
                    judge_run(copy, plan, {}, lambda *progress: None, executors=place).null
                )
                times.append(time.perf_counter() - began)
        assert results == results[:1] * len(results)
    print(f"null: {2 * NULLS} searches at most, {results[0].shuffled.run} shuffled ones each time")
    for name, times in times_by_place.items():
        print(f"  {name}: {min(times):.2f} s, median {median(times):.2f} of {TURNS} turns")
    searches = 1 if results[0].mirrored is None else 2
    alone, two = min(times_by_place["local:1"]), min(times_by_place["local:2"])
    print(
        f"  two workers take {two / min(times_by_place['pool']):.3f} of the pool's time, ", end=""
    )
    print(
        f"{alone / two:.2f} times as fast as one; the model says {alone:.2f} s for one becomes ",
        end="",
    )
    print(f"{alone / 2 + 0.003 * searches * NULLS / 2:.2f}")


def shards():
    """A search on 100 symbols, here and on two workers: what of it is transport."""
    series = [replace(make_planted_market(n, 8760, 2), symbol=f"S{n}") for n in range(100)]
    for over in ("pooled", "worst"):
        given = {"population": 256, "generations": 8, "polish": 0, "min_trades": 10}
        task = make_task(*series, over_windows=over, **given)
        began = time.perf_counter()
        expected = run_search(task)
        alone = time.perf_counter() - began
        with join_clusters(2) as clusters, watch_shards() as calls:
            place = on_workers(clusters[2], task)
            began = time.perf_counter()
            assert run_search(task, place) == expected
            spent = time.perf_counter() - began
        # The first begin and compute rows; the last replays the certificate.
        messages = [(wall, busy) for wall, busy in calls[2:-1] if busy]
        wall, busy = (median(times) for times in zip(*messages, strict=True))
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


def hosts(size):
    """Whole searches on more and more workers, and one search on many symbols, also on GPUs."""
    count = torch.cuda.device_count()
    cores = available_cores()
    names = ", ".join(sorted({torch.cuda.get_device_name(n) for n in range(count)}))
    print(f"hosts: {cores} cores, {count} GPUs {names}", flush=True)
    print("| what | workers | seconds | of it transport | |\n| --- | --- | --- | --- | --- |")
    for part in (whole_searches(size, cores), time_divided(size, cores, min(count, 2))):
        for row in part:
            print(f"| {' | '.join(row)} |", flush=True)


def whole_searches(size, cores):
    """Rows of a null on workers of two cores each; its efficiency against one of them."""
    settings = {"population": size.population, "generations": size.generations, "polish": 0}
    task = make_task(
        make_planted_market(1000, 8760, 0), **settings, threads=min(2, cores), min_trades=10
    )
    setup = NullSetup(task)
    jobs = [
        NullJob("shuffled", number) for number in range(1, size.searches * size.workers[-1] + 1)
    ]
    checked = jobs[: size.searches]
    expected = [setup.run(job) for job in checked]
    alone = 0.0
    for workers in size.workers:
        with join_clusters(workers) as clusters:
            executor = ClusterSearches(clusters[workers]).executor(setup, len(jobs))
            # What a worker does first compiles loops.
            list(executor.results(jobs[: 2 * workers]))
            own = jobs[: size.searches * workers]
            began = time.perf_counter()
            actual = dict(executor.results(own))
            seconds = time.perf_counter() - began
        assert [actual[job] for job in checked] == expected
        alone = alone or seconds
        message = f"{len(own)} searches, efficiency {alone / seconds:.0%}"
        yield "whole searches", str(workers), f"{seconds:.2f}", "", message


def time_divided(size, cores, gpus):
    """Rows of one search on many symbols: on the CPU, on one GPU, on workers of either."""
    series = [
        replace(make_planted_market(n, size.bars, 2), symbol=f"S{n}") for n in range(size.symbols)
    ]
    given = {"population": size.wide, "generations": 6, "polish": 0, "min_trades": 10}
    for over in ("pooled", "worst"):
        cpu = make_task(*series, over_windows=over, device="cpu", **given)
        began = time.perf_counter()
        expected = bits(run_search(cpu))
        seconds = time.perf_counter() - began
        yield f"{over}, in this process", "", f"{seconds:.2f}", "", "the whole search, CPU"
        if gpus:
            task = make_task(*series, over_windows=over, device="cuda:0", **given)
            began = time.perf_counter()
            assert bits(run_search(task)) == expected
            seconds = time.perf_counter() - began
            yield f"{over}, in this process", "", f"{seconds:.2f}", "", "the whole search, a GPU"
        kinds = [("cpu", max(2, cores // 4), {"CUDA_VISIBLE_DEVICES": ""})] + [
            ("cuda", gpus, {})
        ] * (gpus > 0)
        for device, workers, environment in kinds:
            with begin_workers(workers, device, environment) as cluster, watch_shards() as calls:
                task = make_task(*series, over_windows=over, device=device, **given)
                place = on_workers(cluster, task)
                began = time.perf_counter()
                assert bits(run_search(task, place)) == expected
                whole = time.perf_counter() - began
            messages = [(wall, busy) for wall, busy in calls[2:-1] if busy]
            wall, busy = (median(times) for times in zip(*messages, strict=True))
            share = f"{1 - busy / wall:.1%}"
            what = f"{over}, a generation of {size.wide} on {size.symbols} symbols, {device}"
            yield what, str(workers), f"{wall:.3f}", share, f"the whole search {whole:.2f} s"


def bits(found):
    """What was searched without where it was: its bits are the same on any device."""
    hashed, polished, trials, certificate = found
    assert certificate.is_green, certificate.first_mismatch
    return hashed, polished, trials, certificate.ledger_hash


@contextmanager
def begin_workers(count, device, environment):
    """A cluster of so many workers, each with cores of its own, or a GPU."""
    with tempfile.TemporaryDirectory() as folder, begin_cluster(folder, workers=0) as hosts:
        for number in range(count):
            own = environment or {"CUDA_VISIBLE_DEVICES": str(number)}
            hosts.worker("--name", f"{device}{number}", environment=own)
        hosts.wait(count)
        with Cluster(parse_address(str(hosts.file)), Path(folder) / "bars") as cluster:
            yield cluster


def kills():
    """Searches and generations while workers are killed at random; 20 times the same."""
    task = search_on_seven(generations=20)
    expected = run_search(task)
    plan = Plan(null=40, stop_after=ENDLESS, folds=3, train=2, purge=8, blocks=0)
    chance, counts = random.Random(1), []
    with tempfile.TemporaryDirectory() as folder:
        path = recorded_run(Path(folder), make_planted_market(7, 900, 8), generations=12, polish=16)
        alone = shutil.copytree(path, Path(folder) / "alone" / path.name)
        judged = judge_run(alone, plan, {}, lambda *progress: None)
        for number in range(RUNS):
            workers, cut = (1, 2, 4)[number % 3], (1, 3, 7)[number % 3]
            with join_clusters(workers) as clusters, killing(chance) as killed:
                assert run_search(task, on_workers(clusters[workers], task, cut)) == expected
                copy = shutil.copytree(path, Path(folder) / str(number) / path.name)
                place = ClusterSearches(clusters[workers])
                judgement = judge_run(copy, plan, {}, lambda *progress: None, executors=place)
                assert (judgement.null, judgement.folds) == (judged.null, judged.folds)
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
            if workers := [worker for worker in own_workers() if worker.create_time() < begun]:
                worker = chance.choice(workers)
                worker.kill()
                killed.append(worker.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@contextmanager
def join_clusters(*counts):
    """Clusters of so many workers of this machine, by their number."""
    clusters = {}
    try:
        for count in counts:
            began = time.perf_counter()
            clusters[count] = Cluster(parse_address(f"local:{count}"))
            print(f"  local:{count} joined in {time.perf_counter() - began:.1f} s", file=sys.stderr)
        yield clusters
    finally:
        for cluster in clusters.values():
            cluster.__exit__()


@contextmanager
def watch_shards():
    """How long each round of shards takes, and its longest job, seconds."""
    calls = []

    def time_shards(cluster, asked):
        began, longest = time.perf_counter(), 0.0
        for job in run_jobs(cluster, asked):
            longest = max(longest, job.seconds)
            yield job
        calls.append((time.perf_counter() - began, longest))

    # Refused where there is no such name any more.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharded, "run_jobs", time_shards)
        yield calls


def median(values):
    """The middle one."""
    return statistics.median(values)


if __name__ == "__main__":
    main()
