"""Power that is predicted beside the share of markets that is found, on worlds with an edge.

    python -m tests.bench.power --seeds 0:3 --kept FILE

For each seed and each of the worlds of `tests.bench.error_rates` that have an edge, power is
measured on one market; then other markets of the world, and as many shuffled ones without an edge,
are searched and held against the null searches of that measurement. Prediction is the curve of
power at the strength of the world's edge.

The strength of a world's edge is that of its best rule, on the mean of fresh years: of the picks of
a larger search on eight years of each world the one that is strongest on other years.

A line of JSON a market goes to the file as it ends, what stands there is not made again, and the
table of all that the file has is printed at the end.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np

from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.jobs.machine import ThisMachine
from optimizer.evidence.jobs.workers import Pool
from optimizer.evidence.null import NULL, NullJob, NullSearch, NullSetup
from optimizer.evidence.pick import SUM_R, TRADES, compute_strengths, select_pick
from optimizer.evidence.power import PlantedSearch, PowerRecord
from optimizer.evidence.power_searches import FIRST_MARKET, build_power_record
from optimizer.run.runner import search
from optimizer.run.task import Task
from optimizer.store import RunStore
from tests.bench.error_rates import (
    LENGTH,
    SETTINGS,
    compute_interval,
    make_parser,
    measure_missing,
    read_rows,
)
from tests.support.judging import make_task
from tests.support.null_worlds import EDGES, make_world

LARGER = {**SETTINGS, "population": 128, "generations": 30, "min_trades": 240}
"""Settings of the search on eight years for a world's best rule."""

LONG_YEARS, YEARS = 8, 12

FIRST_LONG, FIRST_YEAR, FIRST_OTHER = 1_000_000, 2_000_000, 3_000_000
"""Seeds of long markets, of fresh years, and of markets that are found or not."""

OTHERS = 40
"""Markets that are searched beside each measurement."""


def find_rules() -> list[np.ndarray]:
    """Genomes of the picks of larger searches, one of each world."""
    rules = []
    for world in EDGES:
        task = make_task(*make_world(world, FIRST_LONG, LONG_YEARS * LENGTH), **LARGER)
        engine = task.engine()
        rules.append(select_pick(engine, search(task, engine).front.genomes).genome)
    return rules


def measure_edge(world: str, rules: Sequence[np.ndarray]) -> dict[str, object]:
    """Strength of a world's best rule on a year, its mean R, and its trades a year.

    It is chosen on twelve years, and measured on twelve others.
    """
    strengths, sums = [], []
    for year in range(2 * YEARS):
        task = make_task(*make_world(world, FIRST_YEAR + year, LENGTH), **SETTINGS)
        _, account = task.engine().evaluate_account(np.array(rules))
        strengths.append(np.nan_to_num(compute_strengths(account)))
        sums.append(account[:, [TRADES, SUM_R]])
    best = int(np.mean(strengths[:YEARS], axis=0).argmax())
    trades, sum_r = np.sum(sums[YEARS:], axis=0)[best]
    strength = float(np.mean(strengths[YEARS:], axis=0)[best])
    return {"world": world, "edge": strength, "mean_r": sum_r / trades, "trades": trades / YEARS}


def measure_market(world: str, seed: int) -> dict[str, object]:
    """Power of the search on one market, and what is found of others."""
    task = make_task(*make_world(world, seed, LENGTH), **SETTINGS)
    setup = NullSetup(task, "none")
    with TemporaryDirectory() as folder, Pool() as pool, _make_store(folder) as store:
        record = build_power_record(store, setup, ThisMachine(pool), "cpu", _ignore)
        settings = {"null_keep": record.keep, "kind": "shuffled"}
        kept = Checkpoint(store, NULL, settings, NullSearch)
        nulls = [kept.known[number + 1].value for number in range(record.nulls)]
    # Far from the shuffled markets that edges were planted into.
    first = 2 * FIRST_MARKET
    without = [setup.run(NullJob("shuffled", first + number)) for number in range(OTHERS)]
    others = [
        _search_market(make_task(*make_world(world, FIRST_OTHER + number, LENGTH), **SETTINGS))
        for number in range(OTHERS * seed, OTHERS * (seed + 1))
    ]
    return {
        "world": world,
        "seed": seed,
        "power": record.payload(),
        "without": sum(_is_found(row, nulls) for row in without),
        "found": sum(_is_found(row, nulls) for row in others),
    }


def _search_market(task: Task) -> NullSearch:
    engine = task.engine()
    front = search(task, engine).front.genomes
    if not len(front):
        return NullSearch(1, 0, None)
    pick = select_pick(engine, front)
    return NullSearch(1, len(front), pick.strength.number, pick.trades)


def _is_found(row: NullSearch, nulls: Sequence[float]) -> bool:
    return PlantedSearch(row.number, row.members, row.strength, row.trades).is_found(nulls)


def _make_store(folder: str) -> RunStore:
    store = RunStore.create(Path(folder), "power", {})
    store.finish({"front": []})
    return store


def _ignore(told: object) -> None:
    pass


def print_table(rows: Sequence[dict]) -> None:
    """Predicted and realised shares of each world, and how often nothing is found as an edge."""
    print("| world | R a trade | trades a year | strength | predicted | found | difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    edges = {row["world"]: row for row in rows if "edge" in row}
    made = [row for row in rows if "power" in row]
    for world, edge in edges.items():
        some = [row for row in made if row["world"] == world]
        if not some:
            continue
        records = [PowerRecord.read(row["power"]) for row in some]
        predicted = fmean(record.find_rate(edge["edge"]) for record in records)
        found = fmean(row["found"] / OTHERS for row in some)
        numbers = (edge["mean_r"], edge["trades"], edge["edge"], predicted, found)
        cells = "{:.2f} | {:.0f} | {:.1f} | {:.2f} | {:.2f}".format(*numbers)
        print(f"| {world} | {cells} | {predicted - found:+.2f} |")
    none, total = sum(row["without"] for row in made), OTHERS * len(made)
    low, high = compute_interval(none, total)
    print(f"without an edge: {none} of {total} found, {low:.1%} to {high:.1%} (95 %)")


def main() -> None:
    """Measure what the file lacks, and print the table."""
    asked = make_parser("power").parse_args()
    known = {row["world"] for row in read_rows(asked.kept) if "edge" in row}
    if missing := [world for world in EDGES if world not in known]:
        rules = find_rules()
        with asked.kept.open("a") as file:
            file.writelines(json.dumps(measure_edge(world, rules)) + "\n" for world in missing)
    jobs = [(world, seed) for seed in range(*asked.seeds) for world in EDGES]
    print_table(measure_missing(measure_market, jobs, asked))


if __name__ == "__main__":
    main()
