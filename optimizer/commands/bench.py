"""bench: verify, then time; print nothing when the verification is red."""

from collections.abc import Mapping
from dataclasses import replace

from data import Bars
from data.checks import COLUMNS
from engine.bench import BenchResult, run_bench
from engine.devices import choose_device
from engine.workload import Workload
from optimizer.commands.console import facts_table, plain_table, print_json, stdout
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
    genomes = task.random_individuals(population)
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
