"""Error rates on foreign worlds: how often luck is taken for more, and an edge for luck.

    python -m tests.bench.error_rates --seeds 0:45 --kept FILE [--size small] [--worlds edge]

Markets of all worlds of `tests.support.null_worlds` that have no edge, or with `--worlds edge` of
those that have one, a seed of each world after the other. Each is searched once, and then the same
search is made on its shuffled bars, and where those do not say luck on its mirrored ones, until the
bet on them is decided; folds are left out. A market that is not luck is "found". Beside it stands
what other statistics say of the same pick and the same trials. `--size schedule` searches some of
these worlds again through time, and judges the stitched trades.

A line of JSON a market goes to the file as it ends; what stands there is not made again, so that a
command may be repeated, and ends after so many minutes. The tables of all that the file has are
printed at the end; `docs/error_rates.md` has similar worlds in one row.
"""

import argparse
import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from statistics import fmean, median

import numpy as np

from engine.runtime.machine import available_cores
from optimizer.evidence.betting import DEFAULT_SEARCHES, tally
from optimizer.evidence.bootstrap import choose_block_length, compare_with_nothing
from optimizer.evidence.cscv import build_cscv_record
from optimizer.evidence.null import KINDS as NULLS
from optimizer.evidence.null import NullJob, NullSetup
from optimizer.evidence.pick import Pick, select_pick
from optimizer.evidence.schedule import StepSettings
from optimizer.evidence.schedule_searches import NullScheduleSetup, StepSetup
from optimizer.evidence.sharpe import measure_sharpe
from optimizer.evidence.trials import JudgedTrials, build_daily_columns, count_effective_trials
from optimizer.run.runner import search
from tests.support.judging import make_task
from tests.support.null_worlds import EDGES, WORLDS, make_world

SETTINGS = {
    "objectives": "strength,total_return,max_drawdown",
    "population": 32,
    "generations": 10,
    "min_trades": 30,
    "polish": 0,
    "threads": 1,
    "memory": 2**30,
}

LENGTH = 8760
"""Bars of a series that is searched once."""

SIZES = {"small": (32, 10), "middle": (64, 25), "large": (128, 50), "schedule": (24, 6)}
"""Individuals and generations."""

STEPS = StepSettings("45d", "90d", 0, anchored=False, pick_by="strength")
"""Searches through time, on `STEPS_LENGTH` bars with `STEPS_TRADES` trades at least."""

STEPS_LENGTH, STEPS_TRADES = 720 * 24, 10

BLOCKS, RESAMPLES, MOST_TRIALS = 8, 499, 1024

KINDS = {"none": WORLDS, "edge": EDGES}
"""Worlds by their edge."""

STEPS_WORLDS = {
    "none": (
        "gaussian", "student", "skewed", "garch", "stochastic", "jumps", "rising",
        "volatility_regimes", "daily_rhythm", "climaxes",
    ),
    "edge": ("edge of 6", "edge of 8"),
}  # fmt: skip
"""The same of a schedule."""

DOUBT = 0.05
"""The level of all other statistics; the verdict's own is 0.01 on each kind of null market."""

CLAIMS: dict[str, Callable[[dict], bool]] = {
    "verdict": lambda row: row["grade"] == "found",
    "t-test": lambda row: row["t_p"] is not None and row["t_p"] <= DOUBT,
    "PSR": lambda row: row["psr"] is not None and row["psr"] >= 1 - DOUBT,
    "DSR": lambda row: row["dsr"] is not None and row["dsr"] >= 1 - DOUBT,
    "SPA": lambda row: row["spa_p"] is not None and row["spa_p"] <= DOUBT,
    "PBO": lambda row: row["pbo"] is not None and row["pbo"] <= DOUBT,
}
"""Which rows a statistic calls more than luck."""


def judge_market(world: str, seed: int, size: str) -> dict[str, object]:
    """The verdict on one market of a world."""
    began, judge = time.perf_counter(), judge_schedule if size == "schedule" else judge_search
    row = {"world": world, "seed": seed, "size": size} | judge(world, seed, size)
    return row | {"seconds": round(time.perf_counter() - began, 2)}


def judge_search(world: str, seed: int, size: str) -> dict[str, object]:
    """The verdict on the pick of one search, and what others say of it."""
    population, generations = SIZES[size]
    settings = {**SETTINGS, "population": population, "generations": generations}
    task = make_task(*make_world(world, seed, LENGTH), **settings)
    engine = task.engine()
    outcome = search(task, engine, keeps_trials=True)
    row: dict[str, object] = dict.fromkeys(("t_p", "psr", "dsr", "spa_p", "pbo"))
    pick = select_pick(engine, outcome.front.genomes) if len(outcome.front) else None
    if pick is None or pick.trades < task.config.min_trades:
        return {**row, "grade": "too_little"}
    row |= compute_others(task, engine, outcome, pick)
    return row | grade(NullSetup(task, "none"), pick.strength.value)


def judge_schedule(world: str, seed: int, size: str) -> dict[str, object]:
    """The verdict on the trades of a schedule."""
    population, generations = SIZES[size]
    settings = {"population": population, "generations": generations, "min_trades": STEPS_TRADES}
    task = make_task(*make_world(world, seed, STEPS_LENGTH), **{**SETTINGS, **settings})
    setup = StepSetup(task, STEPS, engine=task.engine())
    picks = dict(setup.run_in_step(range(len(setup.steps))))
    traded = setup.trade([picks[number] for number in range(len(picks))])
    strength = traded.strength.number
    return grade(
        NullScheduleSetup(task, settings=STEPS), -math.inf if strength is None else strength
    )


def grade(setup: NullSetup | NullScheduleSetup, strength: float) -> dict[str, object]:
    """What a strength is called, and the null searches of each kind: how many, and which as good.

    They are made in the order of their numbers, until the bet on them is decided.
    """
    nulls: dict[str, tuple[int, list[int]]] = {}
    for kind in NULLS:
        values: list[float] = []
        while not (counted := tally(strength, values, DEFAULT_SEARCHES)).is_stopped:
            values.append(setup.run(NullJob(kind, len(values) + 1)).value)
        as_good = [number for number, value in enumerate(values, 1) if value >= strength]
        nulls[kind] = len(values), as_good
        if counted.is_luck:
            break
    return {"strength": strength, "nulls": nulls, "grade": "luck" if counted.is_luck else "found"}


def compute_others(task, engine, outcome, pick: Pick) -> dict[str, float | None]:
    """What other statistics say of the same pick, and of the same trials."""
    judged = JudgedTrials.of(task, outcome.trials)
    columns = build_daily_columns(task, engine, judged, outcome.front.genomes, pick, MOST_TRIALS)
    effective = count_effective_trials(columns.used)
    sharpe = measure_sharpe(columns.pick, columns.first, len(judged.genomes), effective)
    block = choose_block_length(columns.front)
    bootstrap = compare_with_nothing(columns.used, block, task.config.seed, RESAMPLES)
    ledgers = next(iter(engine.ledgers(pick.genome[None])))
    r = np.concatenate([ledger.r for ledger in ledgers])
    return {
        "t_p": compute_mean_p(r),
        "psr": sharpe.psr,
        "dsr": sharpe.dsr_effective,
        "spa_p": bootstrap.spa_p,
        "pbo": build_cscv_record(engine, judged.genomes, BLOCKS).pbo,
    }


def compute_mean_p(r: np.ndarray) -> float:
    """One-sided p that the mean of trades is not above 0, normal as there are at least thirty."""
    error = r.std(ddof=1) / math.sqrt(len(r))
    return 0.5 * math.erfc(r.mean() / error / math.sqrt(2)) if error > 0 else 1.0


def compute_interval(count: int, total: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    z, share = 1.96, count / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    spread = math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    spread *= z / (1 + z * z / total)
    return max(middle - spread, 0.0), min(middle + spread, 1.0)


def print_tables(rows: Sequence[dict[str, object]]) -> None:
    """Markets called more than luck by each statistic: of each size, of each world, and in all."""
    searched = [row for row in rows if row["size"] != "schedule"]
    if searched:
        print("| search | markets | too few trades |", " | ".join(CLAIMS), "|")
        print("| --- | --- | --- |", " | ".join("---" for _ in CLAIMS), "|")
        by_size = {size: [row for row in searched if row["size"] == size] for size in SIZES}
        for size, some in by_size.items():
            print_line("{} x {}".format(*SIZES[size]), some)
        for world in (*WORLDS, *EDGES):
            print_line(world, [row for row in searched if row["world"] == world])
        print_line("all", searched)
        for name, is_claimed in CLAIMS.items():
            print(f"{name}: {describe_share(list(map(is_claimed, searched)))}")
    steps = [row for row in rows if row["size"] == "schedule"]
    if steps:
        print("| world | markets | shuffled | both |\n| --- | --- | --- | --- |")
    for name in (*WORLDS, *EDGES, "all"):
        if some := [row for row in steps if name in ("all", row["world"])]:
            shuffled = describe_share(["mirrored" in row["nulls"] for row in some])
            both = describe_share([row["grade"] == "found" for row in some])
            print(f"| {name} | {len(some)} | {shuffled} | {both} |")
    made = [
        sum(count for count, _ in row["nulls"].values()) for row in rows if row["grade"] == "luck"
    ]
    print(f"luck after {fmean(made):.1f} null searches on the mean, {median(made):g} in the middle")
    print(f"{sum(row['seconds'] for row in rows):,.0f} s of one core")


def print_line(name: str, rows: Sequence[dict[str, object]]) -> None:
    """One line of the table, none without rows."""
    if rows:
        few = sum(row["grade"] == "too_little" for row in rows)
        counts = " | ".join(str(sum(map(is_claimed, rows))) for is_claimed in CLAIMS.values())
        print(f"| {name} | {len(rows)} | {few} | {counts} |")


def describe_share(claims: Sequence[bool]) -> str:
    """How many of all, with the 95 % interval of their share."""
    count, total = sum(claims), len(claims)
    return "{} of {} ({:.1%} to {:.1%})".format(count, total, *compute_interval(count, total))


def main() -> None:
    """Judge what the file lacks, as far as time allows, and print the tables."""
    parser = make_parser("error_rates")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--worlds", choices=KINDS, default="none", help="by their edge")
    asked = parser.parse_args()
    worlds = (STEPS_WORLDS if asked.size == "schedule" else KINDS)[asked.worlds]
    jobs = [(world, seed, asked.size) for seed in range(*asked.seeds) for world in worlds]
    print_tables(measure_missing(judge_market, jobs, asked))


def make_parser(name: str) -> argparse.ArgumentParser:
    """The flags of every measurement by seeds."""
    parser = argparse.ArgumentParser(f"python -m tests.bench.{name}")
    parser.add_argument("--seeds", required=True, metavar="FROM:TO", type=read_span,
                        help="TO is left out")  # fmt: skip
    parser.add_argument("--kept", type=Path, required=True, help="lines of JSON; gone on with")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--processes", type=int, default=available_cores())
    return parser


def read_span(text: str) -> tuple[int, int]:
    """First seed, and the one behind the last."""
    first, _, end = text.partition(":")
    return int(first), int(end)


def read_rows(path: Path) -> Iterator[dict[str, object]]:
    """Lines of a file; one that was cut off is left out."""
    for line in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def measure_missing(
    measure: Callable[..., dict], jobs: Sequence[tuple], asked: argparse.Namespace
) -> list[dict]:
    """Rows of the file, and of those jobs that it lacks; each is a line of it as it ends.

    A job is what its row begins with.
    """
    rows = list(read_rows(asked.kept))
    done = {tuple(row.values())[:length] for row in rows for length in (2, 3)}
    waiting = [job for job in jobs if job not in done]
    end = time.monotonic() + 60 * asked.minutes
    with ProcessPoolExecutor(asked.processes) as pool, asked.kept.open("a") as file:
        if asked.kept.stat().st_size and not asked.kept.read_bytes().endswith(b"\n"):
            file.write("\n")
        running: set[Future] = set()
        while running or (waiting and time.monotonic() < end):
            while waiting and len(running) < 2 * asked.processes and time.monotonic() < end:
                running.add(pool.submit(measure, *waiting.pop(0)))
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for job in ended:
                rows.append(job.result())
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    if waiting:
        print(f"{len(waiting)} markets are left: the same command goes on")
    return rows


if __name__ == "__main__":
    main()
