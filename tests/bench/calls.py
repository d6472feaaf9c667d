"""Calls of the engine, verified by the reference before they are timed.

    python -m tests.bench.calls [--data SOURCE] [--strategy NAME] [--device cuda] [--bars 35040]

Nothing is printed when the verification is red. Every figure comes with the machine, the shapes,
and the median with the 20th and 80th percentile of its repeats.
"""

import argparse
import json
import timeit
from dataclasses import asdict, dataclass, replace

import numpy as np

from data import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.devices import choose_device
from engine.replay.certificate import certify
from engine.runtime.machine import describe_processor, versions
from engine.workload import Workload
from optimizer.config.run_config import resolve_config
from optimizer.run.task import prepare
from optimizer.store.result import refuse_red

VERIFIED_INDIVIDUALS = 12


@dataclass(frozen=True)
class CallTiming:
    """Seconds of a call over its repeats."""

    what: str  # what was timed
    individuals: int  # P
    bars: int
    p20_s: float
    p50_s: float
    p80_s: float
    individual_bars_per_s: float  # P times bars over the median


def extend_bars(bars, count):
    """So many bars of a series: its last ones, or itself again and again.

    Each repetition begins at the price at which the last one ended.
    """
    times = -(-count // len(bars))
    factor = float(bars.close[-1] / bars.open[0])
    scale = np.repeat(np.cumprod(np.r_[1.0, np.full(times - 1, factor)]), len(bars))
    step = int(bars.timestamp[-1] - bars.timestamp[0]) + bars.timeframe_ns
    later = np.repeat(np.arange(times, dtype=np.int64) * step, len(bars))
    prices = {
        name: (np.tile(getattr(bars, name), times) * scale)[-count:]
        for name in ("open", "high", "low", "close")
    }
    timestamp = (np.tile(bars.timestamp, times) + later)[-count:]
    return replace(bars, timestamp=timestamp, volume=np.tile(bars.volume, times)[-count:], **prices)


def time_cases(engine, create, genomes, bars, repeats):
    """Rows in the bank, every row computed, and one individual with its rows in the bank."""
    engine.evaluate(genomes)
    # The collector runs, as it does in a search.
    cached = timeit.repeat(
        lambda: engine.evaluate(genomes), "gc.enable()", repeat=repeats, number=1
    )
    yield summarise("rows cached", genomes, bars, cached)
    # A new bank each time; its pages are the system's to hand out, which is part of the price.
    engines = (create() for _ in range(max(3, repeats // 5)))
    cold = [
        timeit.timeit(lambda e=e: e.evaluate(genomes), "gc.enable()", number=1) for e in engines
    ]
    yield summarise("rows new", genomes, bars, cold)
    first = genomes[:1]
    engine.evaluate(first)
    alone = timeit.repeat(lambda: engine.evaluate(first), "gc.enable()", repeat=repeats, number=1)
    yield summarise("rows cached", first, bars, alone)


def summarise(what, genomes, bars, seconds):
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return CallTiming(what, len(genomes), bars, p20, p50, p80, len(genomes) * bars / p50)


def main(argv=None):
    """Verify, then time, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", action="append", help="bars of one symbol; the sample if unset")
    for flag in ("--strategy", "--device"):
        parser.add_argument(flag, help="as of evolve")
    parser.add_argument("--threads", type=int, help="as of evolve")
    parser.add_argument("--population", type=int, default=512, help="random candidates in a call")
    parser.add_argument("--bars", type=int, default=35_040, help="the last so many, repeated")
    parser.add_argument("--repeats", type=int, default=20, help="calls that are timed")
    asked = parser.parse_args(argv)
    names = ("data", "strategy", "device", "threads")
    task = prepare(resolve_config(None, {n: v for n in names if (v := getattr(asked, n))}))
    (series,) = task.markets.series
    bars, threads = extend_bars(series, asked.bars), task.config.threads
    work = asked.population * asked.bars * asked.repeats
    workload = Workload(work, 0, threads, calls=asked.repeats)
    device = choose_device(task.spec, task.config.device, workload, task.costs)

    def create():
        return Engine(task.spec, [bars], [Window.whole(bars)], threads=threads, device=device)

    engine, genomes = create(), task.random_individuals(asked.population)
    certificate = certify(engine, genomes[:VERIFIED_INDIVIDUALS])
    refuse_red(certificate)
    # Mean trades, so that a reader sees that the work was real.
    trades = float(engine.evaluate(genomes)[:, 0, ACCUMULATOR_INDEX["trades"]].mean())
    timings = time_cases(engine, create, genomes, asked.bars, asked.repeats)
    print(json.dumps({
        "certificate": certificate.as_dict(),
        "timings": [asdict(timing) for timing in timings],
        "device": f"{engine.device} ({device.reason})",
        "threads": engine.threads,
        "trades_per_individual": trades,
        "machine": {"processor": describe_processor(), **versions()},
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
