"""The bench: verify first, then time; a red verification prints no figure.

Every figure comes with the machine, the shapes, and the median with the 20th and 80th percentile
of its repeats.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from data.bars import Bars, Window
from engine.batch import Engine
from engine.devices import Device
from engine.errors import EngineError
from engine.ledger import ACCUMULATOR_INDEX
from engine.machine import describe_processor, versions
from engine.replay.certificate import Certificate, certify
from strategy.genes import Floats
from strategy.spec import StrategySpec

VERIFIED_INDIVIDUALS = 12


@dataclass(frozen=True)
class Timing:
    """One line of the bench.

    Args:
        what: What was timed.
        individuals: P.
        bars: Bars of all windows.
        p20_s: 20th percentile of the repeats, seconds.
        p50_s: Median, seconds.
        p80_s: 80th percentile, seconds.
        individual_bars_per_s: P times bars over the median.
    """

    what: str
    individuals: int
    bars: int
    p20_s: float
    p50_s: float
    p80_s: float
    individual_bars_per_s: float


@dataclass(frozen=True)
class BenchResult:
    """What a bench found.

    Args:
        certificate: The verification that came first; timings are empty when it is red.
        timings: One line a form.
        device: Where the batch engine ran.
        threads: Cores that it used.
        trades_per_individual: Mean trades, so that a reader sees that the work was real.
        peak_memory_bytes: Largest resident size of this process so far.
        machine: Processor and versions.
    """

    certificate: Certificate
    timings: tuple[Timing, ...]
    device: str
    threads: int
    trades_per_individual: float
    peak_memory_bytes: int
    machine: dict[str, str]

    def as_dict(self) -> dict[str, object]:
        """All fields, ready for JSON."""
        return asdict(self)


def run_bench(
    spec: StrategySpec,
    bars: Bars,
    genomes: Floats,
    *,
    repeats: int = 20,
    threads: int | None = None,
    device: str | Device = "auto",
) -> BenchResult:
    """Verify the engine on these bars, then time it.

    Args:
        spec: The strategy.
        bars: The series; the whole of it is the window.
        genomes: [P, G] the population that is timed.
        repeats: Timed repeats of each form, at least 3.
        threads: Cores of the CPU backend; all when None.
        device: As in `Engine`.

    Returns:
        Rows cached (a population whose rows are in the bank), rows new (every row computed), and
        one individual with rows cached.

    Raises:
        EngineError: When there are fewer than 3 repeats, or no individual.
    """
    if repeats < 3 or not len(genomes):
        raise EngineError(f"a bench needs 3 repeats and an individual, got {repeats} repeats")
    windows = [Window.whole(bars)]

    def fresh() -> Engine:
        return Engine(spec, [bars], windows, threads=threads, device=device)

    engine = fresh()
    certificate = certify(engine, genomes[:VERIFIED_INDIVIDUALS])
    timings: tuple[Timing, ...] = ()
    found = engine.evaluate(genomes)
    if certificate.is_green:
        timings = tuple(_time_forms(engine, fresh, genomes, len(bars), repeats))
    return BenchResult(
        certificate=certificate,
        timings=timings,
        device=engine.device,
        threads=engine.threads,
        trades_per_individual=float(found[:, 0, ACCUMULATOR_INDEX["trades"]].mean()),
        peak_memory_bytes=peak_memory_bytes(),
        machine={"processor": describe_processor(), **versions()},
    )


def extended(bars: Bars, count: int) -> Bars:
    """So many bars of a series: its last ones, or itself again and again.

    Each repetition begins at the price at which the last one ended.
    """
    times = -(-count // len(bars))
    factor = float(bars.close[-1] / bars.open[0])
    scale = np.repeat(np.cumprod(np.r_[1.0, np.full(times - 1, factor)]), len(bars))
    step = int(bars.timestamp[-1] - bars.timestamp[0]) + bars.timeframe_ns
    later = np.repeat(np.arange(times, dtype=np.int64) * step, len(bars))

    def carried_on(prices: Floats) -> Floats:
        return (np.tile(prices, times) * scale)[-count:]

    return replace(
        bars,
        timestamp=(np.tile(bars.timestamp, times) + later)[-count:],
        open=carried_on(bars.open),
        high=carried_on(bars.high),
        low=carried_on(bars.low),
        close=carried_on(bars.close),
        volume=np.tile(bars.volume, times)[-count:],
    )


def seconds_of(
    call: Callable[[], object], repeats: int, *, warm_up: bool = True
) -> Sequence[float]:
    """Seconds of each of so many repeats of a call, which warms up by one call before."""
    if warm_up:
        call()
    found: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def peak_memory_bytes() -> int:
    """Largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _time_forms(
    engine: Engine, fresh: Callable[[], Engine], genomes: Floats, bars: int, repeats: int
) -> Iterator[Timing]:
    yield _timing_of(
        "rows cached", genomes, bars, seconds_of(lambda: engine.evaluate(genomes), repeats)
    )
    # A new bank each time; its pages are the system's to hand out, which is part of the price.
    cold = [_seconds_of_first_call(fresh(), genomes) for _ in range(max(3, repeats // 5))]
    yield _timing_of("rows new", genomes, bars, cold)
    one = genomes[:1]
    yield _timing_of("rows cached", one, bars, seconds_of(lambda: engine.evaluate(one), repeats))


def _seconds_of_first_call(engine: Engine, genomes: Floats) -> float:
    return seconds_of(lambda: engine.evaluate(genomes), 1, warm_up=False)[0]


def _timing_of(what: str, genomes: Floats, bars: int, seconds: Sequence[float]) -> Timing:
    """One line of the bench from the seconds of its repeats."""
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return Timing(what, len(genomes), bars, p20, p50, p80, len(genomes) * bars / p50)
