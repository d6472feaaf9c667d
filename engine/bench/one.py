"""One size, one engine: verify first, then time."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from data.bars import Bars, Window
from engine.batch import Engine
from engine.bench.timing import (
    Timing,
    peak_memory_bytes,
    seconds_of,
    timing_of,
)
from engine.devices import Device
from engine.errors import EngineError
from engine.ledger import ACCUMULATOR_INDEX
from engine.machine import describe_processor, versions
from engine.replay.certificate import Certificate, certify
from strategy.genes import Floats
from strategy.spec import StrategySpec

VERIFIED_INDIVIDUALS = 12


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


def _time_forms(
    engine: Engine, fresh: Callable[[], Engine], genomes: Floats, bars: int, repeats: int
) -> Iterator[Timing]:
    yield timing_of(
        "rows cached", genomes, bars, seconds_of(lambda: engine.evaluate(genomes), repeats)
    )
    # A new bank each time; its pages are the system's to hand out, which is part of the price.
    cold = [_seconds_of_first_call(fresh(), genomes) for _ in range(max(3, repeats // 5))]
    yield timing_of("rows new", genomes, bars, cold)
    one = genomes[:1]
    yield timing_of("rows cached", one, bars, seconds_of(lambda: engine.evaluate(one), repeats))


def _seconds_of_first_call(engine: Engine, genomes: Floats) -> float:
    return seconds_of(lambda: engine.evaluate(genomes), 1, warm_up=False)[0]
