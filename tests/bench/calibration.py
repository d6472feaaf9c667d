"""How often noise is called luck, and how often a planted edge is found.

    python -m tests.bench.calibration --edge 0 --seeds 5000:5300 --kept FILE [--processes 2]
    python -m tests.bench.calibration --series SPY.parquet --seeds 7000:7010 --kept FILE

Each seed makes a market: a planted one (`tests.support.evidence.make_planted_market`), or the first
shuffled copy of a file's bars. It is searched once, and then the same search is made on its
shuffled bars, and where those do not say luck on its mirrored ones, until the first that does as
well. Folds are left out: a market that is not luck is "found". The setting is that of the law of
evidence, section 7.

A line of JSON a market goes to the file as it ends; what stands there is not searched again.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from data import Bars, LoadOptions, Window, load_bars
from engine.runtime.machine import available_cores
from optimizer.evidence.null import MOST_P, tally
from optimizer.evidence.null_markets import NullMarkets
from optimizer.evidence.verdict import FEWEST_SEARCHES
from optimizer.judging.null import KINDS, NullJob, NullSetup
from optimizer.judging.pick import Pick, select_pick
from optimizer.run.search import search
from optimizer.run.task import Task
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task

SETTINGS = {
    "objectives": "strength,total_return,max_drawdown",
    "population": 32,
    "generations": 10,
    "min_trades": 30,
    "polish": 0,
    "threads": 1,
    "memory": 2**30,
}
LENGTH, STOP_AFTER = 8760, 1


def market(kind: float | Path, seed: int) -> Bars:
    """A planted market of an edge, or a shuffled copy of a file's bars."""
    if not isinstance(kind, Path):
        return make_planted_market(seed, LENGTH, kind)
    bars = load_bars(str(kind), LoadOptions(dedupe=True))
    return NullMarkets([bars], [Window.whole(bars)], seed, "none").shuffle_market(1)[0]


def name_market(kind: float | Path) -> dict[str, object]:
    """How a line of the file names a kind of market."""
    return {"series": kind.stem} if isinstance(kind, Path) else {"edge": kind}


def judge_market(
    seed: int, kind: float | Path, searches: int = FEWEST_SEARCHES
) -> dict[str, object]:
    """What a market is called, and from which null searches."""
    task = make_task(market(kind, seed), **SETTINGS)
    engine = task.engine()
    front = search(task, engine).front
    row: dict[str, object] = {"seed": seed, **name_market(kind), "members": len(front)}
    if not len(front):
        return {**row, "grade": "too_little"}
    return row | grade_pick(task, select_pick(engine, front.genomes), searches)


def grade_pick(task: Task, pick: Pick, searches: int = FEWEST_SEARCHES) -> dict[str, object]:
    """What a search's pick is called, and from which null searches."""
    row: dict[str, object] = {"strength": pick.strength.value, "trades": pick.trades}
    if pick.trades < task.config.min_trades:
        return {**row, "grade": "too_little"}
    setup = NullSetup(task, "none")
    for null in KINDS:
        verdicts = _tally(setup, null, pick.strength.value, searches)
        row |= {null: [verdicts.at_least, verdicts.searches]}
        if verdicts.p > MOST_P:
            return {**row, "grade": "luck", "by": null}
    return {**row, "grade": "found"}


def _tally(setup, kind: str, value: float, searches: int):
    """Null searches in the order of their numbers, up to the first that does as well."""
    strengths: list[float] = []
    while True:
        counts = tally(value, strengths, STOP_AFTER)
        if counts.is_stopped or counts.searches == searches:
            return counts
        search = setup.run(NullJob(kind, len(strengths) + 1))
        strengths.append(float("-inf") if search.strength is None else search.strength)


def known_rows(path: Path, kind: float | Path) -> dict[int, dict[str, object]]:
    """Markets of a kind that a file has already, by seed."""
    return {row["seed"]: row for row in read_rows(path) if name_market(kind).items() <= row.items()}


def read_rows(path: Path) -> Iterator[dict[str, object]]:
    """Lines of a file; one that was cut off is left out."""
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def ends_whole(path: Path) -> bool:
    """Whether the last line of a file was written to its end."""
    return path.read_bytes()[-1:] in (b"", b"\n")


def print_tally(rows, kind: float | Path) -> None:
    """Markets by grade, and by the tests that found luck."""
    grades = {name: sum(row["grade"] == name for row in rows) for name in GRADES}
    by_shuffled = sum(row.get("by") == "shuffled" for row in rows)
    shown = ", ".join(f"{count} {name}" for name, count in grades.items())
    ((name, value),) = name_market(kind).items()
    print(
        f"{name} {value}: {len(rows)} markets, {shown}; {by_shuffled} luck by shuffled bars alone"
    )
    print("found: " + (" ".join(str(r["seed"]) for r in rows if r["grade"] == "found") or "none"))


GRADES = ("luck", "found", "too_little")


def main(arguments: list[str]) -> None:
    """Judge what the file lacks, and print the tally of what was asked for."""
    parser = argparse.ArgumentParser("python -m tests.bench.calibration")
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--edge", type=float)
    kinds.add_argument("--series", type=Path, help="a file of bars, to be shuffled")
    parser.add_argument("--seeds", required=True, metavar="FROM:TO", help="TO is left out")
    parser.add_argument("--kept", type=Path, required=True, help="lines of JSON; gone on with")
    parser.add_argument("--processes", type=int, default=available_cores())
    parser.add_argument("--searches", type=int, default=FEWEST_SEARCHES)
    given = parser.parse_args(arguments)
    seeds = range(*map(int, given.seeds.split(":")))
    kind = given.series or given.edge
    known = known_rows(given.kept, kind)
    missing = [seed for seed in seeds if seed not in known]
    with ProcessPoolExecutor(given.processes) as pool, given.kept.open("a") as file:
        jobs = [pool.submit(judge_market, seed, kind, given.searches) for seed in missing]
        for done, job in enumerate(as_completed(jobs), 1):
            row = job.result()
            known[row["seed"]] = row
            # What a kill cut off ends here.
            file.write(("" if ends_whole(given.kept) else "\n") + json.dumps(row) + "\n")
            file.flush()
            print(f"{done} of {len(jobs)}: seed {row['seed']} {row['grade']}", file=sys.stderr)
    print_tally([known[seed] for seed in seeds], kind)


if __name__ == "__main__":
    main(sys.argv[1:])
