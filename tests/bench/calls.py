"""How long calls of the engine take at many sizes, on every engine of this machine.

    python -m tests.bench.calls [--device cuda] [--populations 24,512] [--lengths 35040]

Random individuals of seller exhaustion on the sample, repeated end to end for longer series; rows
cached. On each length of series a certificate must be green, and engines must give the same bits at
every size, before anything is timed. Call: from genomes to accumulators in host memory, the median
of `--repeats`. On a GPU also the stages on the device, and how busy calls keep it.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from data.bars import Bars, Window
from engine.batch import Engine
from engine.devices import choose_backend
from engine.errors import EngineError
from engine.reference import Reference
from engine.replay.certificate import certify
from engine.runtime.machine import describe_processor, versions
from optimizer.cli.bench_calls import extend_bars, peak_memory_bytes, time_calls
from optimizer.config.run_config import resolve_config
from optimizer.run.task import prepare
from strategy import Strategy
from strategy.genes import Floats
from tests.support.slot_rows import list_rows

SINGLY = 4
"""Individuals that the reference is timed with; it takes one after another."""

VERIFIED_INDIVIDUALS = 4

LONG_CALL_S = 0.5
"""A call that takes longer is repeated three times, others as often as was asked for."""


@dataclass(frozen=True)
class Case:
    """One size.

    Args:
        individuals: P.
        bars: T of the series.
        windows: W, equal parts of it.
    """

    individuals: int
    bars: int
    windows: int


@dataclass(frozen=True)
class Line:
    """One engine at one size; times in seconds, whole calls from genomes to accumulators.

    Args:
        engine: Reference, or a device and its threads.
        case: The size; of the reference with the individuals that were timed.
        p20_s: 20th percentile of the repeats.
        p50_s: Median.
        p80_s: 80th percentile.
        stages_s: Time on the device of each stage after the rows, and of ``"all"``; empty where
            nothing is launched.
        floor_s: What moving the fewest bytes once would take at the measured copy bandwidth: one
            byte a bar of each distinct row, the prices, and the accumulators.
        device_bytes: Largest memory of the device so far.
    """

    engine: str
    case: Case
    p20_s: float
    p50_s: float
    p80_s: float
    stages_s: dict[str, float] = field(default_factory=dict)
    floor_s: float = 0.0
    device_bytes: int = 0

    @property
    def busy_share(self) -> float:
        """Share of a call that the device works."""
        return min(self.stages_s.get("all", 0.0) / self.p50_s, 1.0)


def time_engines(
    spec: Strategy,
    bars: Bars,
    draw: Callable[[int], Floats],
    cases: Sequence[Case],
    *,
    devices: Sequence[str],
    repeats: int = 20,
    memory_bytes: int | None = None,
) -> Iterator[Line]:
    """Time every engine at every size, in the order of series, windows and individuals.

    Args:
        spec: The strategy.
        bars: The series; repeated end to end, prices carried on, where a case needs more bars.
        draw: Gives so many individuals [P, G].
        cases: Sizes.
        devices: Names of devices, each an engine.
        repeats: Timed repeats of a call, at least 3.
        memory_bytes: As in `Engine`.

    Raises:
        EngineError: When engines disagree anywhere, in a single bit; no figure follows then.
    """
    for (n_bars, n_windows), group in itertools.groupby(
        sorted(cases, key=lambda case: (case.bars, case.windows, case.individuals)),
        key=lambda case: (case.bars, case.windows),
    ):
        series, windows = extend_bars(bars, n_bars), list_parts(n_bars, n_windows)
        engines = [
            Engine(spec, [series], windows, device=name, memory_bytes=memory_bytes)
            for name in devices
        ]
        for engine in engines:
            verify(engine, draw(VERIFIED_INDIVIDUALS))
        reference, genomes = Reference(spec, [series], windows), draw(SINGLY)
        seconds = time_calls(lambda r=reference, g=genomes: [*map(r.trades, g)], 1, warm_up=False)
        yield _line("reference", Case(SINGLY, n_bars, n_windows), seconds)
        for case in group:
            yield from _lines(engines, case, draw, repeats)


def list_parts(n_bars: int, n_windows: int) -> list[Window]:
    """A series in equal windows."""
    edges = np.linspace(0, n_bars, n_windows + 1).astype(int).tolist()
    return [Window(0, begin, end) for begin, end in itertools.pairwise(edges)]


def verify(engine: Engine, genomes: Floats) -> None:
    """Refuse an engine that the reference disagrees with."""
    certificate = certify(engine, genomes)
    if not certificate.is_green:
        raise EngineError(f"{engine.device} and reference disagree: {certificate.first_mismatch}")


def _lines(
    engines: Sequence[Engine],
    case: Case,
    draw: Callable[[int], Floats],
    repeats: int,
) -> Iterator[Line]:
    genomes = draw(case.individuals)
    expected: Floats | None = None
    for engine in engines:
        (first,) = time_calls(lambda engine=engine: engine.evaluate(genomes), 1)
        values = engine.evaluate(genomes)
        if expected is not None and expected.tobytes() != values.tobytes():
            raise EngineError(f"{engine.device} and {engines[0].device} disagree at {case}")
        expected = values
        times = 3 if first > LONG_CALL_S else repeats
        seconds = time_calls(lambda engine=engine: engine.evaluate(genomes), times)
        line = _line(f"{engine.device}, {engine.threads} threads", case, seconds)
        yield line if engine.device == "cpu" else _measure_gpu(line, engine, genomes, values.nbytes)


def _measure_gpu(line: Line, engine: Engine, genomes: Floats, result_bytes: int) -> Line:
    """The same with what only a GPU knows."""
    # Imported only here: it needs torch and Triton.
    from tests.bench.stages import copy_bytes_per_s, peak_device_bytes, stage_seconds

    bars, bandwidth = line.case.bars, copy_bytes_per_s(engine)
    moved = len(list_rows(engine.spec, genomes)) * bars + 32 * bars + result_bytes
    return replace(
        line,
        stages_s=stage_seconds(engine, genomes),
        floor_s=moved / bandwidth if bandwidth else 0.0,
        device_bytes=peak_device_bytes(engine),
    )


def _line(engine: str, case: Case, seconds: Sequence[float]) -> Line:
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return Line(engine, case, p20, p50, p80)


def format_line(line: Line) -> str:
    """A line for a terminal; times in milliseconds."""
    case = line.case
    rate = case.individuals * case.bars / line.p50_s / 1e9
    numbers = (line.p20_s, line.p50_s, line.p80_s)
    words = (
        f"{line.engine}: P {case.individuals:,}, {case.bars:,} bars, {case.windows} windows: "
        f"{' '.join(f'{s * 1e3:,.3f}' for s in numbers)} ms, {rate:,.4g} G individual-bars/s"
    )
    if not line.stages_s:
        return words
    stages = " ".join(f"{name} {s * 1e3:.3f}" for name, s in line.stages_s.items())
    return (
        f"{words}, busy {line.busy_share:.0%}, floor "
        f"{line.floor_s * 1e3:.3f}, {stages}, {line.device_bytes / 2**20:,.0f} MiB"
    )


def main() -> None:
    """Verify, then time, a line a size and engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--memory")
    parser.add_argument("--repeats", type=int, default=20)
    for flag, default in (("--populations", "24,512"), ("--lengths", "35040"), ("--windows", "1")):
        parser.add_argument(flag, type=lambda text: [*map(int, text.split(","))], default=default)
    asked = parser.parse_args()
    limits = {} if asked.memory is None else {"memory": asked.memory}
    task = prepare(resolve_config(None, {"device": asked.device, **limits}))
    sizes = itertools.product(asked.populations, asked.lengths, asked.windows)
    lines = time_engines(
        task.spec,
        task.markets.series[0],
        task.random_individuals,
        [Case(*size) for size in sizes],
        devices=list(dict.fromkeys(("cpu", choose_backend(asked.device).label))),
        repeats=asked.repeats,
        memory_bytes=task.config.memory,
    )
    print(f"{describe_processor()}, {versions()}; p20, median and p80 of a call")
    for line in lines:
        print(format_line(line), flush=True)
    print(f"peak memory {peak_memory_bytes() / 2**20:,.0f} MiB")


if __name__ == "__main__":
    main()
