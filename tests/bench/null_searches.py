"""How fast null searches are made: by processes on the cores, and by one engine on a GPU.

    python -m tests.bench.null_searches [--population 512] [--generations 100] [--seconds 15]
    python -m tests.bench.null_searches --folds [--strategy adaptive_trend] [--cpcv 8,2]

First the search alone, its evaluations recorded: a generation of 1, 8 and 32 searches that advance
together. Then null searches of seller exhaustion on the sample, each way for so many seconds and
until its first searches have ended; without a GPU on the cores alone. A search must find the same
whichever way it was made, else nothing is printed. A way's rate is that after its first searches,
which wait for processes, devices and kernels to start. With the ways that are left at their default
all takes less than four minutes on a host with a GPU.

With `--folds` six folds instead, or combinatorial splits, each way to the end: by processes on the
cores, and after a search on the GPU by its engine, which processes ask or this process in step.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from engine.batch import Engine
from engine.runtime.gpus import why_no_cuda
from engine.runtime.machine import available_cores, describe_processor
from optimizer.config.run_config import resolve_config
from optimizer.evidence.splits import combinatorial, default_purge, walk_forward
from optimizer.judging.asking import AskingWorkers
from optimizer.judging.executors import share_device
from optimizer.judging.folds import FoldSetup
from optimizer.judging.null import NullJob, NullSearch, NullSetup
from optimizer.judging.workers import Executor, Pool, Workers
from optimizer.run import search as run_search
from optimizer.run.problem import Answer, Question, answer, judge_together
from optimizer.run.search import search as search_task
from optimizer.run.search import search_again
from optimizer.run.task import Task, prepare
from optimizer.search.in_step import run_in_step

TOGETHER = (1, 8, 32)
"""Searches that advance together beside the engine."""

MOST_JOBS = 2000


@dataclass(frozen=True)
class Row:
    """Null searches made one way."""

    way: str
    first_s: float  # until the first ended
    made: int
    last_s: float  # until the last of these
    rate: float | None  # a second after those that ended first
    # Milliseconds of a generation of all searches in step, where this process made them.
    engine_ms: float | None = None
    beside_ms: float | None = None


def record_answers(task: Task, engine: Engine) -> list[Answer]:
    """What an engine answers a search of the task, by generation."""
    asking, answers = search_again(task, task.problem(engine), None), []
    asked = next(asking)
    try:
        while True:
            answers.append(answer(engine, asked)._replace(judged=None))
            asked = asking.send(judge_together([asked], answers[-1:])[0])
    except StopIteration:
        return answers


def time_beside_engine(task: Task, engine: Engine, answers: Sequence[Answer], count: int) -> float:
    """Median milliseconds of a generation of so many searches together, evaluations left out."""
    asked_at: list[float] = []

    def answer_all(questions: Mapping[int, Question]) -> list[Answer]:
        recorded = [answers[len(asked_at)]] * len(questions)
        asked_at.append(time.perf_counter())
        return judge_together(list(questions.values()), recorded)

    searches = {n: search_again(task, task.problem(engine), None) for n in range(count)}
    list(run_in_step(searches, answer_all))
    # The first generation is drawn, and the last answer is about neighbours of the front.
    took = [after - before for before, after in pairwise(asked_at[1:-1])]
    return 1e3 * median(took)


def time_searches(
    way: str, executor: Executor, seconds: float, found: dict[NullJob, NullSearch]
) -> Row:
    """Make null searches for a while; each must be as it was found before, if it was."""
    jobs = [NullJob("shuffled", number) for number in range(1, MOST_JOBS + 1)]
    began, ends = time.perf_counter(), []
    with closing(executor.results(jobs)) as results:
        for job, search in results:
            ends.append(time.perf_counter() - began)
            if found.setdefault(job, search) != search:
                raise SystemExit(f"{way}: {job} found something else than it did another way")
            if ends[-1] > seconds and ends[-1] > 1.5 * ends[0]:
                break
    later = [end for end in ends if end > ends[0] + 0.25]
    rate = len(later) / (ends[-1] - ends[0]) if later else None
    return Row(way, ends[0], len(ends), ends[-1], rate)


class Clock:
    """Time that a function took, and how often it was called."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function, self.seconds, self.calls = function, 0.0, 0

    def __call__(self, *arguments: object) -> object:
        """Call it."""
        began = time.perf_counter()
        try:
            return self._function(*arguments)
        finally:
            self.seconds += time.perf_counter() - began
            self.calls += 1


def time_in_this_process(
    way: str, executor: Executor, seconds: float, found: dict[NullJob, NullSearch]
) -> Row:
    """As `time_searches`, with what engine and search take of a generation, a wave's start too."""
    evaluate = run_search.evaluate_groups
    run_search.evaluate_groups = clock = Clock(evaluate)
    began = time.perf_counter()
    try:
        row = time_searches(way, executor, seconds, found)
    finally:
        run_search.evaluate_groups = evaluate
    calls = max(clock.calls, 1)
    beside = time.perf_counter() - began - clock.seconds
    return replace(row, engine_ms=1e3 * clock.seconds / calls, beside_ms=1e3 * beside / calls)


def iter_rows(task: Task, seconds: float) -> Iterator[Row]:
    """Each way that this machine has."""
    setup, outcomes, cores = NullSetup(task), {}, available_cores()
    one_core = {"threads": 1, "device": "cpu"}
    on_cores = replace(task, config=task.config.model_copy(update=one_core))
    with Pool() as pool:
        workers = Workers(replace(setup, task=on_cores), cores, pool)
        yield time_searches(f"{cores} processes on the cores", workers, seconds, outcomes)
    if why_no_cuda():
        return
    with Pool() as pool:
        executor = share_device(setup, MOST_JOBS, "cuda", pool)
        yield time_searches("on the GPU", executor, seconds, outcomes)
    with Pool() as pool:
        alone = replace(task, config=task.config.model_copy(update={"threads": 1}))
        executor = share_device(replace(setup, task=alone), MOST_JOBS, "cuda", pool)
        yield time_in_this_process("on the GPU, one process", executor, seconds, outcomes)


def time_folds(task: Task, cpcv: str | None) -> Iterator[tuple[str, float]]:
    """Seconds of all folds, or of combinatorial splits, each way; all pick the same."""
    series, windows, purge = task.markets.series, task.markets.uncut, default_purge(task.spec)
    splits = walk_forward(series, windows, folds=6, train_groups=3, purge=purge)
    if cpcv is not None:
        count, tests = map(int, cpcv.split(","))
        splits = combinatorial(series, windows, count=count, tests=tests, purge=purge)
    jobs, cores = range(len(splits)), available_cores()
    count = min(cores, len(splits))
    settings = {"threads": max(cores // count, 1), "device": "cpu"}
    alone = replace(task, config=task.config.model_copy(update=settings))
    ways: dict[str, Callable[[Pool], Executor]] = {
        f"{count} processes on the cores": lambda pool: Workers(
            FoldSetup(alone, splits), count, pool
        )
    }
    if not why_no_cuda():
        engine = task.engine("cuda")
        search_task(task, engine)
        setup = FoldSetup(task, splits, engine=engine)
        asking = max(1, min(cores - 1, len(splits)))
        ways[f"{asking} processes that ask the GPU"] = lambda pool: AskingWorkers(
            setup, asking, len(splits), pool
        )
        ways["in step on the GPU"] = lambda pool: AskingWorkers(setup, 1, len(splits), pool)
    picks = None
    for way, choose in ways.items():
        for turn in ("", ", again"):
            with Pool() as pool:
                began = time.perf_counter()
                results = dict(choose(pool).results(jobs))
                yield way + turn, time.perf_counter() - began
            picks = picks or results
            if results != picks:
                raise SystemExit(f"{way}: folds picked something else than they did another way")


def print_rows(rows: Sequence[Row]) -> None:
    """One line a way."""
    head = ("null searches", "first s", "made", "after s", "a second", "398 in s", "engine ms",
            "beside ms")  # fmt: skip
    print("{:<38}{:>9}{:>7}{:>9}{:>10}{:>10}{:>11}{:>11}".format(*head))
    for row in rows:
        whole = row.first_s + 398 / row.rate if row.rate else None
        numbers = (row.rate, whole, row.engine_ms, row.beside_ms)
        shown = ("-" if number is None else f"{number:.2f}" for number in numbers)
        line = (row.way, f"{row.first_s:.1f}", row.made, f"{row.last_s:.1f}", *shown)
        print("{:<38}{:>9}{:>7}{:>9}{:>10}{:>10}{:>11}{:>11}".format(*line))


def main() -> None:
    """Record, time, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.null_searches")
    parser.add_argument("--population", type=int, default=512)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--strategy", default="seller_exhaustion")
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--cpcv")
    asked = parser.parse_args()
    sizes = {"population": asked.population, "generations": asked.generations}
    settings = {**sizes, "device": "cpu", "strategy": asked.strategy}
    task = prepare(resolve_config(None, settings))
    print(f"{describe_processor()}; {asked.population} x {asked.generations}")
    if asked.folds or asked.cpcv:
        for way, seconds in time_folds(task, asked.cpcv):
            print(f"{way:<45}{seconds:>9.2f} s")
        return
    engine = task.engine()
    answers = record_answers(task, engine)
    for count in TOGETHER:
        took = min(time_beside_engine(task, engine, answers, count) for _ in range(3))
        print(f"beside the engine, {count} together: {took:.2f} ms, a search {took / count:.3f}")
    print_rows(list(iter_rows(task, asked.seconds)))


if __name__ == "__main__":
    main()
