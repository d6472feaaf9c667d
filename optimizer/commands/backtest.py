"""backtest: one individual, its metrics and its ledger."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine.intrabar import Intrabar, intrabar_of
from engine.ledger import ACCUMULATORS, Ledger, Trade
from engine.metrics import METRICS, UNDEFINED
from engine.parity import data_hash
from engine.reference import Reference
from optimizer.commands.console import facts_table, stderr, stdout
from optimizer.commands.flags import parse_settings
from optimizer.commands.output import csv_text, print_json, write_whole
from optimizer.config import read_page, resolve_config
from optimizer.errors import ConfigError
from optimizer.generation import Floats
from optimizer.shown import counted, metric
from optimizer.task import Task, check_genome_fits, describe_data, ledger_rows, prepare
from strategy import GenomeLayout
from strategy.errors import GeneError


def backtest_command(
    flags: Mapping[str, object],
    config_file: Path | None,
    genes_file: Path | None,
    settings: Sequence[str],
    *,
    engine: str,
    trades: Path | None,
    as_json: bool,
) -> None:
    """Backtest one individual and print what it did."""
    task = prepare(resolve_config(config_file, flags))
    given = {} if genes_file is None else read_genes(genes_file)
    genome = genome_of(task.spec.layout, {**given, **parse_settings(settings)})
    check_genome_fits(task, genome)
    ledger, accumulators = _run(task, genome, engine)
    if trades is not None:
        write_whole(trades, csv_text(Trade._fields, ledger_rows(ledger)))
    table = task.metrics(accumulators[None])
    values, reasons = table.values[0, 0].tolist(), table.reasons[0, 0].tolist()
    intrabar = intrabar_of(ledger, task.bars, task.costs)
    found: dict[str, object] = {
        "strategy": task.spec.name,
        "engine": engine,
        "genes": task.spec.layout.decode(genome),
        "data": describe_data(task),
        "window": [task.window.start, task.window.end],
        "data_hash": data_hash([task.bars]),
        "accumulators": dict(zip(ACCUMULATORS, accumulators[0].tolist(), strict=True)),
        "metrics": dict(zip(METRICS, values, strict=True)),
        "undefined": {
            name: UNDEFINED[reason] for name, reason in zip(METRICS, reasons, strict=True) if reason
        },
        "intrabar": asdict(intrabar),
    }
    for note in task.bars.notes:
        stderr().say(f"note: {note}")
    if as_json:
        print_json(found)
    else:
        _print(task, found, trades)
        stdout().say(_intrabar_line(intrabar))


def read_genes(path: Path) -> dict[str, float]:
    """Read genes from a file.

    Args:
        path: A JSON object of gene name to number.

    Returns:
        The object.

    Raises:
        ConfigError: When the file is anything else.
    """
    try:
        # Whole numbers of any length become floats here, infinite ones among them.
        found = json.loads(
            read_page(path, "not genes"), object_pairs_hook=_without_repeats, parse_int=float
        )
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is no JSON object of genes ({error})") from None
    if not isinstance(found, dict):
        raise ConfigError(f'{path}: must hold one JSON object, such as {{"reward_r": 2.5}}')
    return found


def genome_of(layout: GenomeLayout, values: Mapping[str, float]) -> Floats:
    """Turn named values into a genome; genes that are not named keep their default.

    Args:
        layout: The genes.
        values: Gene name to value.

    Returns:
        [G] genome.

    Raises:
        ConfigError: Naming every gene that is unknown or has no legal value.
        GeneError: When a constraint is broken.
    """
    problems: list[str] = []
    for name, value in values.items():
        try:
            layout.gene(name).check(value)
        except GeneError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return layout.encode(values)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON, refused when a name stands in it twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"'{next(n for n in names if names.count(n) > 1)}' is given twice")
    return found


def _run(task: Task, genome: Floats, engine: str) -> tuple[Ledger, Floats]:
    """The ledger and the accumulators [1, A] of one individual."""
    if engine == "reference":
        reference = Reference(task.spec, [task.bars], [task.window], task.costs)
        (ledger,) = reference.trades(genome)
        return ledger, np.array([reference.fold(ledger)])
    batch = task.engine(device=engine)
    (ledger,) = batch.trades(genome)
    return ledger, batch.evaluate(genome[None])[0]


def _intrabar_line(found: Intrabar) -> str:
    line = (
        f"\nstop and target in one bar: {found.undecided} of {found.trades} trades "
        f"({found.share:.1%}), the stop is taken"
    )
    if found.undecided:
        line += (
            f"; had the target come first, the sum of R would be "
            f"{found.sum_r_target_first:.4g} instead of {found.sum_r:.4g}"
        )
    return line + (": bars are too coarse for this bracket" if found.is_too_coarse else "")


def _print(task: Task, found: Mapping[str, object], trades: Path | None) -> None:
    console = stdout()
    simulated = " (a SIMULATED market)" if task.bars.is_simulated else ""
    console.say(
        f"{task.spec.name} on {task.bars.symbol} {task.bars.timeframe}{simulated}, "
        f"{counted(len(task.window), 'bar')}, engine {found['engine']}"
    )
    genes, metrics, undefined = found["genes"], found["metrics"], found["undefined"]
    if isinstance(genes, dict) and isinstance(metrics, dict) and isinstance(undefined, dict):
        console.print()
        console.print(facts_table(genes, "Genes"))
        console.print()
        shown = {
            name: f"undefined: {undefined[name].replace('_', ' ')}"
            if name in undefined
            else metric(name, value)
            for name, value in metrics.items()
        }
        console.print(facts_table(shown, "Metrics"))
    if trades is not None:
        console.say(f"\nledger written to {trades}")
