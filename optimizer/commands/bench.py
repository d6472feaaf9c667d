"""bench: verify, then time; print nothing when the verification is red."""

from collections.abc import Mapping
from dataclasses import replace

from rich.table import Table

from data import Bars
from data.checks import COLUMNS
from engine.bench import BenchResult, Case, Limits, Line, Matrix, run_bench, run_matrix
from engine.devices import choose_backend, choose_device
from engine.workload import Workload
from optimizer.commands.console import facts_table, plain_table, print_json, stdout
from optimizer.commands.parity import random_individuals
from optimizer.commands.tables import certificate_line
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.runs.result import refuse_red
from optimizer.session.task import prepare


def bench_command(
    flags: Mapping[str, object], population: int, n_bars: int, repeats: int, *, as_json: bool
) -> None:
    """Bench the engine on the last bars of the data."""
    task = prepare(resolve_config(None, flags))
    if len(task.markets.series) > 1:
        raise ConfigError("bench takes the bars of one symbol; give --data once")
    (series,) = task.markets.series
    if n_bars > len(series):
        raise ConfigError(f"--bars {n_bars}: there are {len(series)} bars in {series.source}")
    genomes = random_individuals(task, population)
    work = Workload(population * n_bars * repeats, 0, task.config.threads)
    device = choose_device(task.config.device, work)
    found = run_bench(
        task.spec,
        _last(series, n_bars),
        genomes,
        repeats=repeats,
        threads=task.config.threads,
        device=device,
    )
    refuse_red(found.certificate)
    if as_json:
        print_json(found.as_dict())
    else:
        _print(found, device.reason)


def matrix_command(
    flags: Mapping[str, object],
    sizes: str,
    lengths: str,
    windows: str,
    repeats: int,
    *,
    as_json: bool,
) -> None:
    """Bench every engine of this machine at many sizes, on the data repeated end to end."""
    task = prepare(resolve_config(None, flags))
    (series,) = task.markets.series
    cases = [
        Case(individuals, bars, parts)
        for bars in _numbers("--lengths", lengths, 2)
        for parts in _numbers("--windows", windows, 1)
        for individuals in _numbers("--populations", sizes, 1)
        if parts <= bars // 2
    ]
    chosen = choose_backend(task.config.device)
    console = stdout()
    found = run_matrix(
        task.spec,
        series,
        lambda count: random_individuals(task, count),
        cases,
        devices=list(dict.fromkeys(("cpu", chosen.label))),
        repeats=repeats,
        limits=Limits(task.config.threads, task.config.memory),
        told=lambda line: None if as_json else console.say(_said(line)),
    )
    if as_json:
        print_json(found.as_dict())
        return
    console.print()
    console.print(_matrix_table(found))
    console.print()
    facts = {
        "verified": f"{len(found.certificates)} certificates green, engines equal in every bit",
        "copy bandwidth": f"{found.copy_bytes_per_s / 1e12:.2f} TB/s read and written",
        "peak memory": f"{found.peak_memory_bytes / 2**20:,.0f} MiB",
        **found.machine,
    }
    console.print(facts_table(facts))


def _numbers(flag: str, text: str, least: int) -> list[int]:
    try:
        numbers = [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < least:
        raise ConfigError(f"{flag} '{text}' must be whole numbers from {least}, as in 24,512")
    return numbers


def _said(line: Line) -> str:
    case = line.case
    return (
        f"{line.engine}: P {case.individuals:,}, {case.bars:,} bars, {case.windows} windows: "
        f"{line.p50_s * 1e3:,.3f} ms"
    )


def _matrix_table(found: Matrix) -> Table:
    numbers = ("P", "bars", "windows", "call ms", "G ind.-bars/s", "device ms", "loop ms", "busy",
               "floor ms", "stages ms")  # fmt: skip
    table = plain_table("engine", *numbers, right=numbers)
    for line in found.lines:
        case = line.case
        stages = " ".join(f"{name} {s * 1e3:.3f}" for name, s in line.stages_s.items())
        on_device = (
            (
                f"{line.device_s * 1e3:.3f}",
                f"{line.loop_s * 1e3:.3f}",
                f"{line.busy_share:.0%}",
                f"{line.floor_s * 1e3:.3f}",
            )
            if line.stages_s
            else ("", "", "", "")
        )
        table.add_row(
            line.engine, f"{case.individuals:,}", f"{case.bars:,}", f"{case.windows:,}",
            f"{line.p50_s * 1e3:,.2f}", f"{line.individual_bars_per_s / 1e9:,.4g}", *on_device,
            stages,
        )  # fmt: skip
    return table


def _print(found: BenchResult, reason: str) -> None:
    console = stdout()
    console.say(certificate_line(found.certificate))
    console.print()
    numbers = ("P", "bars", "p20 ms", "median ms", "p80 ms", "G individual-bars/s")
    table = plain_table("what", *numbers, right=numbers)
    for timing in found.timings:
        times = (f"{s * 1e3:.2f}" for s in (timing.p20_s, timing.p50_s, timing.p80_s))
        rate = f"{timing.individual_bars_per_s / 1e9:.2f}"
        table.add_row(timing.what, f"{timing.individuals:,}", f"{timing.bars:,}", *times, rate)
    console.print(table)
    console.print()
    facts = {
        "device": f"{found.device} ({reason}), {found.threads} threads",
        "trades of an individual": f"{found.trades_per_individual:.0f} on average",
        "peak memory": f"{found.peak_memory_bytes / 2**20:,.0f} MiB",
        **found.machine,
    }
    console.print(facts_table(facts))


def _last(bars: Bars, count: int) -> Bars:
    return replace(bars, **{name: getattr(bars, name)[-count:] for name in COLUMNS})
