"""Many sizes, all engines: one table on the same bars, every engine verified against the others."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from data.bars import Bars, Window
from engine.batch import Engine
from engine.bench.timing import peak_memory_bytes, seconds_of
from engine.costs import Costs
from engine.errors import EngineError
from engine.machine import describe_processor, versions
from engine.reference import Reference
from engine.replay.certificate import Certificate, certify
from strategy.genes import Floats
from strategy.spec import StrategySpec

SINGLY = 4
"""Individuals that the reference and the baseline are timed with; they take one after another."""

VERIFIED_INDIVIDUALS = 4

LOOP, LOOP_S = 100, 0.5
"""Populations of a loop, or as many as come in so many seconds."""

DISTINCT = 10
"""Orders of individuals that such a loop takes in turn."""

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


class Limits(NamedTuple):
    """What engines may use; see `Engine`."""

    threads: int | None = None
    memory_bytes: int | None = None


UNLIMITED = Limits()


@dataclass(frozen=True)
class Line:
    """One engine at one size; times in seconds, whole calls from genomes to accumulators.

    Args:
        engine: Reference, baseline, or a device and its threads.
        case: The size.
        timed_individuals: Individuals that were timed; fewer than P where one follows another.
        p20_s: 20th percentile of the repeats.
        p50_s: Median.
        p80_s: 80th percentile.
        individual_bars_per_s: Over the median.
        device_s: Time on the device of all stages after the rows; 0 where nothing is launched.
        stages_s: The same for each stage.
        loop_s: Of one population in a loop that hands over the next before it takes the results of
            the last; of a call where nothing is launched.
        busy_share: Share of such a loop that the device works.
        floor_s: What moving the fewest bytes once would take at the measured copy bandwidth: one
            byte a bar of each distinct row, the prices, and the accumulators.
        device_bytes: Largest memory of the device so far.
        trades: Of all individuals in all windows.
    """

    engine: str
    case: Case
    timed_individuals: int
    p20_s: float
    p50_s: float
    p80_s: float
    individual_bars_per_s: float
    device_s: float = 0.0
    stages_s: dict[str, float] = field(default_factory=dict)
    loop_s: float = 0.0
    busy_share: float = 0.0
    floor_s: float = 0.0
    device_bytes: int = 0
    trades: float = 0.0


@dataclass(frozen=True)
class Matrix:
    """The table.

    Args:
        certificates: Reference against each engine on each length of series; all green.
        lines: In the order of sizes, engine after engine.
        copy_bytes_per_s: Measured on the device, bytes read and written; 0 without one.
        peak_memory_bytes: Largest resident size of this process.
        machine: Processor and versions.
    """

    certificates: tuple[Certificate, ...]
    lines: tuple[Line, ...]
    copy_bytes_per_s: float
    peak_memory_bytes: int
    machine: dict[str, str]

    def as_dict(self) -> dict[str, object]:
        """All fields, ready for JSON."""
        return asdict(self)


def run_matrix(
    spec: StrategySpec,
    bars: Bars,
    draw: Callable[[int], Floats],
    cases: Sequence[Case],
    *,
    devices: Sequence[str],
    repeats: int = 20,
    limits: Limits = UNLIMITED,
    told: Callable[[Line], None] = lambda line: None,
) -> Matrix:
    """Time every engine at every size.

    Args:
        spec: The strategy.
        bars: The series; repeated end to end, prices carried on, where a case needs more bars.
        draw: Gives so many individuals [P, G].
        cases: Sizes.
        devices: Names of devices, each an engine.
        repeats: Timed repeats of a call, at least 3.
        limits: What engines may use.
        told: Called with each line as it is found.

    Returns:
        The table.

    Raises:
        EngineError: When engines disagree anywhere, in a single bit; no figure is given then.
    """
    certificates: list[Certificate] = []
    lines: list[Line] = []
    bandwidth = 0.0
    for (n_bars, n_windows), group in itertools.groupby(
        sorted(cases, key=lambda case: (case.bars, case.windows, case.individuals)),
        key=lambda case: (case.bars, case.windows),
    ):
        series = extended(bars, n_bars)
        windows = parts_of(n_bars, n_windows)
        engines = [
            Engine(
                spec,
                [series],
                windows,
                device=name,
                threads=limits.threads,
                memory_bytes=limits.memory_bytes,
            )
            for name in devices
        ]
        for engine in engines:
            certificates.append(_verified(engine, draw(VERIFIED_INDIVIDUALS)))
            bandwidth = bandwidth or engine.copy_bytes_per_s()
        slow = _slow_lines(spec, series, windows, draw, n_windows)
        for case in group:
            for line in itertools.chain(slow, _lines(engines, case, draw, repeats, bandwidth)):
                lines.append(line)
                told(line)
            slow = iter(())
    return Matrix(
        certificates=tuple(certificates),
        lines=tuple(lines),
        copy_bytes_per_s=bandwidth,
        peak_memory_bytes=peak_memory_bytes(),
        machine={"processor": describe_processor(), **versions()},
    )


def extended(bars: Bars, count: int) -> Bars:
    """So many bars of a series: its last ones, or itself again and again.

    Args:
        bars: The series.
        count: T.

    Returns:
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


def parts_of(n_bars: int, n_windows: int) -> list[Window]:
    """A series in equal windows."""
    edges = np.linspace(0, n_bars, n_windows + 1).astype(int).tolist()
    return [Window(0, begin, end) for begin, end in itertools.pairwise(edges)]


def _verified(engine: Engine, genomes: Floats) -> Certificate:
    certificate = certify(engine, genomes)
    if not certificate.is_green:
        raise EngineError(f"{engine.device} and reference disagree: {certificate.first_mismatch}")
    return certificate


def _slow_lines(
    spec: StrategySpec,
    series: Bars,
    windows: list[Window],
    draw: Callable[[int], Floats],
    n_windows: int,
) -> Iterator[Line]:
    """The engines that take one individual after another, once for each series."""
    genomes = draw(SINGLY)
    reference = Reference(spec, [series], windows)
    calls: dict[str, Callable[[], object]] = {
        "reference": lambda: [reference.trades(genome) for genome in genomes]
    }
    if spec.name == "seller_exhaustion" and n_windows == 1:
        # Only here: it needs torch, which takes two seconds to import.
        from engine.bench.baseline import Baseline

        calls["tensors and a loop, CPU"] = lambda: Baseline(spec, series, Costs(), "cpu").evaluate(
            genomes
        )
    for name, call in calls.items():
        seconds = seconds_of(call, 1, warm_up=False)
        yield _line(name, Case(SINGLY, len(series), n_windows), SINGLY, seconds)


def _lines(
    engines: Sequence[Engine],
    case: Case,
    draw: Callable[[int], Floats],
    repeats: int,
    bandwidth: float,
) -> Iterator[Line]:
    genomes = draw(case.individuals)
    expected: Floats | None = None
    for engine in engines:
        (first,) = seconds_of(lambda engine=engine: engine.evaluate(genomes), 1)  # type: ignore[misc]
        found = engine.evaluate(genomes)
        if expected is not None and not np.array_equal(
            expected.view(np.int64), found.view(np.int64)
        ):
            raise EngineError(f"{engine.device} and {engines[0].device} disagree at {case}")
        expected = found
        times = 3 if first > LONG_CALL_S else repeats
        seconds = seconds_of(lambda engine=engine: engine.evaluate(genomes), times)  # type: ignore[misc]
        line = _line(f"{engine.device}, {engine.threads} threads", case, case.individuals, seconds)
        stages = engine.stage_seconds(genomes)
        loop_s = _seconds_in_a_loop(engine, genomes, line.p50_s) if stages else line.p50_s
        device_s = stages.pop("all", 0.0)
        moved = engine.distinct_rows(genomes) * case.bars + 32 * case.bars + found.nbytes
        yield replace(
            line,
            trades=float(found[:, :, 0].sum()),
            stages_s=stages,
            device_s=device_s,
            loop_s=loop_s,
            busy_share=min(device_s / loop_s, 1.0),
            floor_s=moved / bandwidth if stages else 0.0,
            device_bytes=engine.peak_device_bytes() if stages else 0,
        )


def _seconds_in_a_loop(engine: Engine, genomes: Floats, call_s: float) -> float:
    """Seconds of one population, the same individuals in another order, among many."""
    count = max(3, min(LOOP, int(LOOP_S / call_s)))
    rng = np.random.default_rng(0)
    populations = [rng.permutation(genomes) for _ in range(min(count, DISTINCT))]
    turns = [populations[i % len(populations)] for i in range(count)]

    def loop() -> None:
        for _ in engine.evaluate_each(turns):
            pass

    return float(np.median(seconds_of(loop, 3))) / count


def _line(engine: str, case: Case, timed: int, seconds: Sequence[float]) -> Line:
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return Line(engine, case, timed, p20, p50, p80, timed * case.bars / p50)
