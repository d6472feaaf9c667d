"""bench: verify, then time; print nothing when the verification is red.

Every figure comes with the machine, the shapes, and the median with the 20th and 80th percentile
of its repeats.
"""

import resource
import sys
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from rich.table import Table

from data import Bars, Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.devices import choose_device
from engine.replay.certificate import certify
from engine.runtime.machine import describe_processor, versions
from engine.workload import Workload
from optimizer.cli.console import facts_table, plain_table, print_json, stdout
from optimizer.cli.tables import format_certificate
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.run.task import prepare
from optimizer.search.generation import Floats
from optimizer.store.result import refuse_red

VERIFIED_INDIVIDUALS = 12


@dataclass(frozen=True)
class CallTiming:
    """One line of the bench."""

    what: str  # what was timed
    individuals: int  # P
    bars: int  # bars of all windows
    p20_s: float  # 20th percentile of the repeats, seconds
    p50_s: float  # median, seconds
    p80_s: float  # 80th percentile, seconds
    individual_bars_per_s: float  # P times bars over the median


def time_engine(
    flags: Mapping[str, object], population: int, n_bars: int, repeats: int, *, as_json: bool
) -> None:
    """Bench the engine on the last bars of the data."""
    task = prepare(resolve_config(None, flags))
    if len(task.markets.series) > 1:
        raise ConfigError("bench takes the bars of one symbol; give --data once")
    (series,) = task.markets.series
    if n_bars > len(series):
        raise ConfigError(f"--bars {n_bars}: there are {len(series)} bars in {series.source}")
    bars, threads = extend_bars(series, n_bars), task.config.threads
    workload = Workload(population * n_bars * repeats, 0, threads, calls=repeats)
    device = choose_device(task.spec, task.config.device, workload, task.costs)

    def fresh() -> Engine:
        return Engine(task.spec, [bars], [Window.whole(bars)], threads=threads, device=device)

    engine, genomes = fresh(), task.random_individuals(population)
    certificate = certify(engine, genomes[:VERIFIED_INDIVIDUALS])
    refuse_red(certificate)
    # Mean trades, so that a reader sees that the work was real.
    trades = float(engine.evaluate(genomes)[:, 0, ACCUMULATOR_INDEX["trades"]].mean())
    timings = list(_time_cases(engine, fresh, genomes, n_bars, repeats))
    measured = {"device": engine.device, "threads": engine.threads, "trades_per_individual": trades}
    machine, peak = {"processor": describe_processor(), **versions()}, peak_memory_bytes()
    if as_json:
        timed = {
            "certificate": certificate.as_dict(),
            "timings": [asdict(timing) for timing in timings],
        }
        print_json({**timed, **measured, "peak_memory_bytes": peak, "machine": machine})
        return
    facts = {
        "device": f"{engine.device} ({device.reason}), {engine.threads} threads",
        "trades of a candidate": f"{trades:.0f} on average",
        "peak memory": f"{peak / 2**20:,.0f} MiB",
        **machine,
    }
    console = stdout()
    console.say(format_certificate(certificate))
    console.print()
    console.print(_table(timings))
    console.print()
    console.print(facts_table(facts))


def extend_bars(bars: Bars, count: int) -> Bars:
    """So many bars of a series: its last ones, or itself again and again.

    Each repetition begins at the price at which the last one ended.
    """
    times = -(-count // len(bars))
    factor = float(bars.close[-1] / bars.open[0])
    scale = np.repeat(np.cumprod(np.r_[1.0, np.full(times - 1, factor)]), len(bars))
    step = int(bars.timestamp[-1] - bars.timestamp[0]) + bars.timeframe_ns
    later = np.repeat(np.arange(times, dtype=np.int64) * step, len(bars))

    def extend_prices(prices: Floats) -> Floats:
        return (np.tile(prices, times) * scale)[-count:]

    return replace(
        bars,
        timestamp=(np.tile(bars.timestamp, times) + later)[-count:],
        open=extend_prices(bars.open),
        high=extend_prices(bars.high),
        low=extend_prices(bars.low),
        close=extend_prices(bars.close),
        volume=np.tile(bars.volume, times)[-count:],
    )


def time_calls(
    call: Callable[[], object], repeats: int, *, warm_up: bool = True
) -> Sequence[float]:
    """Seconds of each of so many repeats of a call, which warms up by one call before."""
    if warm_up:
        call()
    # The collector runs, as it does in a search.
    return timeit.repeat(call, "gc.enable()", repeat=repeats, number=1)


def peak_memory_bytes() -> int:
    """Largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _time_cases(
    engine: Engine, fresh: Callable[[], Engine], genomes: Floats, bars: int, repeats: int
) -> Iterator[CallTiming]:
    """Rows in the bank, every row computed, and one individual with its rows in the bank."""
    cached = time_calls(lambda: engine.evaluate(genomes), repeats)
    yield _summarise_times("rows cached", genomes, bars, cached)
    # A new bank each time; its pages are the system's to hand out, which is part of the price.
    cold: list[float] = []
    for _ in range(max(3, repeats // 5)):
        other = fresh()
        cold += time_calls(lambda other=other: other.evaluate(genomes), 1, warm_up=False)  # type: ignore[misc]
    yield _summarise_times("rows new", genomes, bars, cold)
    first = genomes[:1]
    yield _summarise_times(
        "rows cached", first, bars, time_calls(lambda: engine.evaluate(first), repeats)
    )


def _summarise_times(what: str, genomes: Floats, bars: int, seconds: Sequence[float]) -> CallTiming:
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return CallTiming(what, len(genomes), bars, p20, p50, p80, len(genomes) * bars / p50)


def _table(timings: Sequence[CallTiming]) -> Table:
    numbers = ("P", "bars", "p20 ms", "median ms", "p80 ms", "G individual-bars/s")
    table = plain_table("what", *numbers, right=numbers)
    for timing in timings:
        times = (f"{s * 1e3:.2f}" for s in (timing.p20_s, timing.p50_s, timing.p80_s))
        rate = f"{timing.individual_bars_per_s / 1e9:.2f}"
        table.add_row(timing.what, f"{timing.individuals:,}", f"{timing.bars:,}", *times, rate)
    return table
