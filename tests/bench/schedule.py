"""How often a schedule on noise is called luck, and a planted edge found; and on real series.

    python -m tests.bench.schedule --edge 0 --seeds 9000:9010 [--null 39]
    python -m tests.bench.schedule --series FILE.parquet [--null 39]

A planted market has 13,140 hours and steps of 24 x 6 every 1,470 hours on 180 days; a file has 12
steps on an eighth of its time each. A line a market: stitched strength, trades, and how many
schedules on shuffled bars did as well; the rest is left after `--stop-after` of them.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from data import Bars, LoadOptions, load_bars
from optimizer.evidence.null import tally
from optimizer.evidence.strength import compute_strength
from optimizer.judging.null import NullJob
from optimizer.judging.schedule import NullScheduleSetup, StepSetup, choose_picks, stitch_picks
from optimizer.schedule.dates import Schedule
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task

HOUR_NS = 3600 * 10**9
SETTINGS = {
    "objectives": "strength,total_return,max_drawdown",
    "population": 24,
    "generations": 6,
    "min_trades": 10,
    "polish": 0,
    "threads": 1,
}
LENGTH, STEPS = 13_140, 12


def judge(bars: Bars, schedule: Schedule, searches: int, stop_after: int) -> str:
    """A market's line."""
    begun = time.perf_counter()
    task = make_task(bars, **SETTINGS)
    setup = StepSetup(task, schedule, engine=task.engine())
    by_number = dict(setup.run_in_step(range(len(setup.steps))))
    found = [by_number[number] for number in range(len(by_number))]
    stitched = stitch_picks(task, setup.steps, choose_picks(setup, found))
    strength = compute_strength([ledger.r for ledger in stitched.ledgers])
    value = strength.value if strength.is_defined else float("-inf")
    null, strengths = NullScheduleSetup(task, schedule, keep="none"), []
    counted = tally(value, strengths, stop_after)
    while counted.searches < searches and not counted.is_stopped:
        made = null.run(NullJob("shuffled", len(strengths) + 1)).strength
        strengths.append(float("-inf") if made is None else made)
        counted = tally(value, strengths, stop_after)
    trades = sum(map(len, stitched.ledgers))
    seconds = (time.perf_counter() - begun) / (1 + counted.searches)
    return (
        f"strength {value:.3f}, {trades} trades in {len(found)} steps, {counted.at_least} of "
        f"{counted.searches} did as well, p {float(counted.p):.3f}, {seconds:.2f} s a schedule"
    )


def list_markets(given: argparse.Namespace) -> Iterator[tuple[str, Bars, Schedule]]:
    """Markets that were asked for, by name, and the schedule of each."""
    if given.series is not None:
        bars = load_bars(f"parquet:{given.series}", LoadOptions(dedupe=True))
        span_ns = int(bars.timestamp[-1] - bars.timestamp[0])
        train_ns = span_ns // 8
        every_ns = -(-(span_ns - train_ns) // STEPS)
        yield given.series.stem, bars, Schedule(every_ns, train_ns, 0)
        return
    first, last = map(int, given.seeds.split(":"))
    for seed in range(first, last):
        bars = make_planted_market(seed, LENGTH, given.edge)
        yield str(seed), bars, Schedule(1470 * HOUR_NS, 180 * 24 * HOUR_NS, 0)


def main() -> None:
    """Judge each market."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edge", type=float, default=0.0)
    parser.add_argument("--seeds", default="9000:9010")
    parser.add_argument("--series", type=Path)
    parser.add_argument("--null", type=int, default=39)
    parser.add_argument("--stop-after", type=int, default=10)
    given = parser.parse_args()
    for name, bars, schedule in list_markets(given):
        print(f"{name}: {judge(bars, schedule, given.null, given.stop_after)}", flush=True)


if __name__ == "__main__":
    main()
