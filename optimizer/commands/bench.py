"""bench: verify, then time; print nothing when the verification is red."""

from collections.abc import Mapping
from dataclasses import replace

from rich.table import Table

from data import Bars
from engine.bench import BenchResult, run_bench
from optimizer.commands.console import certificate_line, facts_table, stdout
from optimizer.commands.evolve import refuse_red
from optimizer.commands.output import print_json
from optimizer.commands.parity import random_individuals
from optimizer.config import resolve_config
from optimizer.errors import ConfigError
from optimizer.task import prepare


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
    found = run_bench(
        task.spec,
        _last(series, n_bars),
        genomes,
        repeats=repeats,
        threads=task.config.threads,
        device=task.config.device,
    )
    refuse_red(found.certificate.as_dict())
    if as_json:
        print_json(found.as_dict())
    else:
        _print(found)


def _print(found: BenchResult) -> None:
    console = stdout()
    console.say(certificate_line(found.certificate.as_dict()))
    console.print()
    table = Table(box=None)
    table.add_column("what")
    for heading in ("P", "bars", "p20 ms", "median ms", "p80 ms", "G individual-bars/s"):
        table.add_column(heading, justify="right")
    for timing in found.timings:
        times = (f"{s * 1e3:.2f}" for s in (timing.p20_s, timing.p50_s, timing.p80_s))
        rate = f"{timing.individual_bars_per_s / 1e9:.2f}"
        table.add_row(timing.what, f"{timing.individuals:,}", f"{timing.bars:,}", *times, rate)
    console.print(table)
    console.print()
    facts = {
        "device": f"{found.device}, {found.threads} threads",
        "trades of an individual": f"{found.trades_per_individual:.0f} on average",
        "peak memory": f"{found.peak_memory_bytes / 2**20:,.0f} MiB",
        **found.machine,
    }
    console.print(facts_table(facts))


def _last(bars: Bars, count: int) -> Bars:
    names = ("timestamp", "open", "high", "low", "close", "volume")
    return replace(bars, **{name: getattr(bars, name)[-count:] for name in names})
