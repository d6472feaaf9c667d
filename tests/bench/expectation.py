"""What picks earn beside what is shown of them and what is expected.

    python -m tests.bench.expectation --seeds 3000:3020 --kept FILE

Markets of worlds of `tests.support.null_worlds`, with an edge and without. Each is searched once,
and so are shuffled copies of its bars and its folds; then the pick trades ten fresh years of the
same world. A line of JSON a market goes to the file as it ends, what stands there is not made
again, and the table of all that the file has is printed at the end.
"""

import math
from collections.abc import Callable, Iterable
from statistics import fmean

from optimizer.evidence.expectation import ExpectedRecord, expect
from optimizer.evidence.folds import FoldSetup, FoldsRecord, build_folds_record
from optimizer.evidence.null import NullJob, NullSetup
from optimizer.evidence.pick import Pick, select_pick
from optimizer.evidence.splits import walk_forward
from optimizer.run.runner import search
from optimizer.run.task import Task
from tests.bench.error_rates import LENGTH, SETTINGS, make_parser, measure_missing
from tests.support.judging import make_task
from tests.support.null_worlds import make_world

NULLS, YEARS, FIRST_FRESH = 12, 10, 1_000_000
"""Null searches and fresh years of each market, and the seed of the first year of market 0."""

USUAL = (
    "climaxes", "gaussian", "stable", "sessions", "volatility_regimes", "jumps",
    "edge of 6", "edge of 8", "edge of 12", "edge of 8 in the first half",
    "edge of 8 in one of three symbols", "edge of 8 in three symbols",
)  # fmt: skip
"""Worlds of the table."""


def measure_market(world: str, seed: int) -> dict[str, object]:
    """The pick of one market, its null searches and folds, and what it earns on fresh years."""
    row: dict[str, object] = {"world": world, "seed": seed}
    task = make_task(*make_world(world, seed, LENGTH), **SETTINGS)
    engine = task.engine()
    front = search(task, engine).front.genomes
    if not len(front):
        return row
    pick = select_pick(engine, front)
    setup = NullSetup(task, "none")
    strengths = [setup.run(NullJob("shuffled", number + 1)).strength for number in range(NULLS)]
    row |= {"strength": pick.strength.value, "mean_r": pick.mean_r.value, "strengths": strengths}
    return row | {"earned": measure_earned(world, seed, pick), "folds": measure_folds(task)}


def measure_earned(world: str, seed: int, pick: Pick) -> float | None:
    """Mean R of a pick on fresh years of its world; None without trades."""
    trades, sum_r = 0, 0.0
    for year in range(YEARS):
        bars = make_world(world, FIRST_FRESH + YEARS * seed + year, LENGTH)
        again = select_pick(make_task(*bars, **SETTINGS).engine(), pick.genome[None])
        trades += again.trades
        sum_r += again.trades * again.mean_r.value if again.trades else 0.0
    return sum_r / trades if trades else None


def measure_folds(task: Task) -> dict[str, object]:
    """Record of six folds."""
    markets = task.markets
    settings = {"folds": 6, "train": 4, "purge": 100, "anchored": False}
    splits = walk_forward(markets.series, markets.windows, folds=6, train_groups=4, purge=100)
    setup = FoldSetup(task, splits)
    picks = [setup.run(job) for job in range(len(splits))]
    return build_folds_record(task, splits, picks, settings).payload()


SOURCES: dict[str, Callable[[dict], ExpectedRecord | None]] = {
    "null searches": lambda row: expect(row["mean_r"], row["strength"], row["strengths"]),
    "folds": lambda row: expect(row["mean_r"], row["strength"], (), FoldsRecord.read(row["folds"])),
}


def print_table(rows: Iterable[dict]) -> None:
    """Bias, error and share within the interval, of each world and in all, by each source."""
    known = [row for row in rows if row.get("earned") is not None and row["mean_r"]]
    print("| from | world | markets | shown | earned | bias | error | error of shown | within |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for source, estimate in SOURCES.items():
        for world in ("all", *(w for w in USUAL if any(row["world"] == w for row in known))):
            pairs = [
                (made, row["earned"])
                for row in known
                if world in ("all", row["world"]) and (made := estimate(row)) is not None
            ]
            numbers = (
                fmean(made.shown for made, _ in pairs),
                fmean(earned for _, earned in pairs),
                fmean(made.mean - earned for made, earned in pairs),
                math.sqrt(fmean((made.mean - earned) ** 2 for made, earned in pairs)),
                math.sqrt(fmean((made.shown - earned) ** 2 for made, earned in pairs)),
            )
            within = fmean(made.low <= earned <= made.high for made, earned in pairs)
            cells = " | ".join(f"{value:.2f}" for value in numbers)
            print(f"| {source} | {world} | {len(pairs)} | {cells} | {within:.0%} |")


def main() -> None:
    """Measure what the file lacks, and print the table."""
    asked = make_parser("expectation").parse_args()
    jobs = [(world, seed) for seed in range(*asked.seeds) for world in USUAL]
    print_table(measure_missing(measure_market, jobs, asked))


if __name__ == "__main__":
    main()
