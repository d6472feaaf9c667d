"""The bench: verify first, then time; a red verification prints no figure.

Every figure comes with the machine, the shapes, and the median with the 20th and 80th percentile
of its repeats.
"""

import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from data.bars import Bars, Window
from engine.batch import Engine
from engine.errors import EngineError
from engine.ledger import ACCUMULATOR_INDEX
from engine.parity import Certificate, certify, versions
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
    device: str = "auto",
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
        peak_memory_bytes=_peak_memory_bytes(),
        machine={"processor": describe_processor(), **versions()},
    )


def _time_forms(
    engine: Engine, fresh: Callable[[], Engine], genomes: Floats, bars: int, repeats: int
) -> Iterator[Timing]:
    yield _timing("rows cached", genomes, bars, _seconds(lambda: engine.evaluate(genomes), repeats))
    # A new bank each time; its pages are the system's to hand out, which is part of the price.
    cold = [_seconds_of_first_call(fresh(), genomes) for _ in range(max(3, repeats // 5))]
    yield _timing("rows new", genomes, bars, cold)
    one = genomes[:1]
    yield _timing("rows cached", one, bars, _seconds(lambda: engine.evaluate(one), repeats))


def _seconds_of_first_call(engine: Engine, genomes: Floats) -> float:
    return _seconds(lambda: engine.evaluate(genomes), 1, warm_up=False)[0]


def _seconds(call: Callable[[], object], repeats: int, *, warm_up: bool = True) -> Sequence[float]:
    if warm_up:
        call()
    found: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def _timing(what: str, genomes: Floats, bars: int, seconds: Sequence[float]) -> Timing:
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return Timing(what, len(genomes), bars, p20, p50, p80, len(genomes) * bars / p50)


def _peak_memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def describe_processor() -> str:
    """Name of the processor and how many cores the system shows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    except OSError:
        names = []
    return f"{names[0]}, {len(names)} cores" if names else platform.processor() or "unknown"
