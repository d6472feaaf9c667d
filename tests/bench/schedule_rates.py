"""Size and power of a schedule's p, and what searching again gains, on markets of known edges.

    python -m tests.bench.schedule_rates --kept FILE [--groups walks] [--most 30] [--minutes 9]

Walks have no edge, a constant edge stays as it is, a changing one is another in each quarter of the
bars. Each market has 720 days, of which a search sees 90; it is repeated every 45 days, 14 times.
Its p is that of a verdict: 99 schedules on shuffled bars, and where these do not say luck as many
on mirrored ones, each kind until five did as well, which leaves p at 0.01 and at 0.05 as they are.
Beside it stand other ways with the same bars: other rules, trainings from the first bar on, the
first pick kept for ever, and the pick of one search of the first 90 days with as many generations
as all fourteen together.

A line of JSON a market goes to the file as it ends; what stands there is not made again. The tables
of all that the file has are printed at the end.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import perf_counter

import numpy as np

from engine.runtime.machine import available_cores
from optimizer.evidence.null import MOST_P, tally
from optimizer.evidence.strength import compute_strength
from optimizer.evidence.verdict import FEWEST_SEARCHES
from optimizer.judging.null import KINDS, NullJob
from optimizer.judging.schedule import (
    NullScheduleSetup,
    StepPick,
    StepSetup,
    choose_picks,
    stitch_picks,
)
from optimizer.schedule.dates import parse_schedule
from tests.bench.error_rates import FOLLOW, FREE, compute_interval, judge_jobs, read_rows
from tests.support.judging import make_task
from tests.support.null_worlds import CHANGING, DAY, make_world

SETTINGS = {
    "objectives": "strength,total_return,max_drawdown",
    "population": 24,
    "generations": 6,
    "min_trades": 10,
    "polish": 0,
    "threads": 1,
    "memory": 2**30,
}
LENGTH, SCHEDULE = 720 * DAY, parse_schedule("45d", "90d", 0)

WALKS = ("gaussian", "student", "skewed", "garch", "stochastic", "jumps", "rising",
         "volatility_regimes", "daily_rhythm", "climaxes")  # fmt: skip
GROUPS: Mapping[str, tuple[Sequence[str], int]] = {
    "walks": (WALKS, 30),
    "constant": (("edge of 6", "edge of 8"), 30),
    "changing": (tuple(CHANGING), 20),
}
"""Worlds of each group, and how many markets of each."""

FIRST_SEED, STOP_AFTER, DOUBT = 700, 5, Fraction(1, 20)
WAYS = ("again", "near", "keep", "anchored", "first", "once")


def judge_market(group: str, world: str, seed: int) -> dict[str, object]:
    """P of the schedule on one market of a world, and R and strength of each way."""
    began, is_return = perf_counter(), world.startswith("AR")
    (bars,) = make_world(world, seed, LENGTH)
    spec, costs = (FOLLOW, FREE) if is_return else (None, None)
    task = make_task(bars, spec=spec, costs=costs, **SETTINGS)
    setup = StepSetup(task, SCHEDULE, engine=task.engine())
    count = len(setup.steps)
    again = search_steps(setup)
    longer = task.config.model_copy(update={"generations": task.config.generations * count})
    anchored = replace(setup, schedule=replace(SCHEDULE, is_anchored=True))
    picks = {
        "again": again,
        "near": search_steps(replace(setup, pick_by="near")),
        "keep": choose_picks(replace(setup, pick_by="keep"), again),
        "anchored": search_steps(anchored),
        "first": [replace(again[0], number=number) for number in range(count)],
        "once": [replace(setup, task=replace(task, config=longer)).run(0)] * count,
    }
    ways = {way: measure(setup, picks[way]) for way in WAYS}
    value = ways["again"]["strength"]
    null = tally_null(NullScheduleSetup(task, SCHEDULE), -math.inf if value is None else value)
    seconds = round(perf_counter() - began, 2)
    row = {"group": group, "world": world, "seed": seed, "ways": ways, "seconds": seconds}
    return row | {"null": null}


def search_steps(setup: StepSetup) -> list[StepPick]:
    """What the search of each step found."""
    results = dict(setup.run_in_step(range(len(setup.steps))))
    return [results[number] for number in range(len(results))]


def measure(setup: StepSetup, picks: Sequence[StepPick]) -> dict[str, float | int | None]:
    """R, trades and strength of the stitched ledger; None where that is undefined."""
    ledgers = stitch_picks(setup.task, setup.steps, picks).ledgers
    strength = compute_strength([ledger.r for ledger in ledgers])
    return {
        "r": float(sum(ledger.r.sum() for ledger in ledgers)),
        "trades": sum(map(len, ledgers)),
        "strength": strength.value if strength.is_defined else None,
    }


def tally_null(setup: NullScheduleSetup, value: float) -> dict[str, tuple[int, int, float]]:
    """How many null schedules did as well, of how many, and p, by kind of market."""
    counts: dict[str, tuple[int, int, float]] = {}
    for kind in KINDS:
        strengths: list[float] = []
        counted = tally(value, strengths, STOP_AFTER)
        while counted.searches < FEWEST_SEARCHES and not counted.is_stopped:
            made = setup.run(NullJob(kind, len(strengths) + 1)).strength
            strengths.append(-math.inf if made is None else made)
            counted = tally(value, strengths, STOP_AFTER)
        counts[kind] = counted.at_least, counted.searches, float(counted.p)
        if counted.p > MOST_P:
            break
    return counts


def group_rows(rows: Sequence[dict]) -> Iterator[tuple[str, list[dict]]]:
    """Rows of each world, and of each group together, by name."""
    for group, (worlds, _) in GROUPS.items():
        named = {world: [row for row in rows if row["world"] == world] for world in worlds}
        named[f"all {group}"] = [row for row in rows if row["group"] == group]
        yield from ((name, some) for name, some in named.items() if some)


def read_p(row: Mapping, kind: str) -> Fraction:
    """P of one kind of market, as a fraction: the float 0.01 is above a hundredth."""
    at_least, searches, _ = row["null"].get(kind, (0, 0, 1.0))
    return Fraction(at_least + 1, searches + 1)


def print_rates(rows: Sequence[dict]) -> None:
    """How many markets have a small p, with intervals."""
    print("| world | markets | shuffled, p <= 0.05 | shuffled, p <= 0.01 | both, p <= 0.01 |")
    print("| --- | --- | --- | --- | --- |")
    for name, some in group_rows(rows):
        shuffled, mirrored = ([read_p(row, kind) for row in some] for kind in KINDS)
        both = list(map(max, shuffled, mirrored))
        counts = (
            sum(p <= most for p in values)
            for values, most in ((shuffled, DOUBT), (shuffled, MOST_P), (both, MOST_P))
        )
        messages = [
            "{} ({:.1%} to {:.1%})".format(count, *compute_interval(count, len(some)))
            for count in counts
        ]
        print(f"| {name} | {len(some)} |", " | ".join(messages), "|")


def print_ways(rows: Sequence[dict], figure: str) -> None:
    """Mean figure of searching again, and how much more it is than that of each other way."""
    print(f"\n| {figure} of searching again |  |", " | ".join(f"- {way}" for way in WAYS[1:]), "|")
    print("| --- | --- |", " | ".join("---" for _ in WAYS[1:]), "|")
    for name, some in group_rows(rows):
        # Without trades there is no strength, and no gain.
        again, *others = ([row["ways"][way][figure] or 0.0 for row in some] for way in WAYS)
        messages = [format_mean(np.subtract(again, other)) for other in others]
        print(f"| {name} | {format_mean(np.array(again))} |", " | ".join(messages), "|")


def format_mean(values: np.ndarray) -> str:
    """A mean and its standard error; the latter of one value is not known."""
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{values.mean():.2f} ({error:.2f})"


def compile_kernels() -> None:
    """Make one null schedule of each strategy, so that processes find compiled loops."""
    for world, spec, costs in ((WALKS[0], None, None), (next(reversed(CHANGING)), FOLLOW, FREE)):
        task = make_task(*make_world(world, 0, LENGTH), spec=spec, costs=costs, **SETTINGS)
        NullScheduleSetup(task, SCHEDULE).run(NullJob("shuffled", 1))


def main(arguments: list[str] | None = None) -> None:
    """Judge what the file lacks, as far as time allows, and print the tables."""
    parser = argparse.ArgumentParser("python -m tests.bench.schedule_rates")
    parser.add_argument("--kept", type=Path, required=True, help="lines of JSON; gone on with")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--most", type=int, default=10**6, help="markets of a world")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--processes", type=int, default=available_cores())
    asked = parser.parse_args(arguments)
    known = list(read_rows(asked.kept))
    done = {(row["group"], row["world"], row["seed"]) for row in known}
    # Markets with an edge, whose null schedules are made to the end, come first.
    plan = [
        (group, world, FIRST_SEED + number)
        for group in reversed(GROUPS)
        if group in asked.groups
        for number in range(min(asked.most, GROUPS[group][1]))
        for world in GROUPS[group][0]
    ]
    jobs = [job for job in plan if job not in done]
    with ProcessPoolExecutor(1) as pool:
        pool.submit(compile_kernels).result()
    known += judge_jobs(judge_market, jobs, asked.kept, asked.processes, asked.minutes)
    print_rates(known)
    for figure in ("r", "strength"):
        print_ways(known, figure)
    print(f"{sum(row['seconds'] for row in known):,.0f} s of one core")
    if jobs:
        print(f"{len(jobs)} markets are left: the same command goes on")


if __name__ == "__main__":
    main()
