"""backtest: one individual, its metrics and its ledger."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.intrabar import Intrabar, intrabar_of
from engine.ledger import ACCUMULATORS, Ledger, Trade
from engine.metrics import compute_metrics
from engine.reference import Reference
from engine.replay.certificate import data_hash
from optimizer.commands.console import columns_table, facts_table, stderr, stdout
from optimizer.commands.flags import parse_settings
from optimizer.commands.output import csv_text, print_json
from optimizer.commands.symbols import symbols_table
from optimizer.config.run_config import resolve_config
from optimizer.config.small_files import read_page
from optimizer.errors import ConfigError
from optimizer.search.generation import Floats
from optimizer.session.individuals import mean_metrics
from optimizer.session.markets import Markets
from optimizer.session.task import Task, check_genome_fits, describe_data, ledger_rows, prepare
from optimizer.shown import counted, metric
from optimizer.written import write_whole
from strategy import GenomeLayout
from strategy.errors import GeneError

if TYPE_CHECKING:
    from optimizer.report.single import Single

BY_SYMBOL = ("trades", "sum_r", "sharpe", "total_return", "max_drawdown")
"""Metrics that are shown symbol by symbol."""


def backtest_command(
    flags: Mapping[str, object],
    config_file: Path | None,
    genes_file: Path | None,
    settings: Sequence[str],
    *,
    engine: str,
    trades: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Backtest one individual and print what it did."""
    draw = None if plot is None else drawer_of(plot)
    task = prepare(resolve_config(config_file, flags))
    given = {} if genes_file is None else read_genes(genes_file)
    genome = genome_of(task.spec.layout, {**given, **parse_settings(settings)})
    check_genome_fits(task, genome)
    ledgers, accumulators = _run(task, genome, engine)
    if trades is not None:
        write_whole(trades, csv_text(*ledger_table(task.markets, ledgers)))
    found = _describe(task, genome, ledgers, accumulators) | {"engine": engine}
    for note in task.markets.notes:
        stderr().say(f"note: {note}")
    if plot is not None and draw is not None:
        write_whole(plot, draw(task, genome))
        (stderr() if as_json else stdout()).say(f"plot {plot}")
    if as_json:
        print_json(found)
        return
    _print(task, found)
    if trades is not None:
        stdout().say(f"\nledger written to {trades}")
    stdout().say(_intrabar_line(_intrabar(task, ledgers)))


def drawer_of(plot: Path) -> Callable[[Task, Floats], str | bytes]:
    """What draws an individual into a file of that name.

    Raises:
        ConfigError: When the name says no kind that is known.
    """
    # Drawing libraries are loaded only when something is to be drawn.
    if plot.suffix.lower() == ".html":
        from optimizer.report.page import page_html

        return lambda task, genome: page_html(_single(task, genome))
    if plot.suffix.lower() == ".png":
        from optimizer.report.picture import picture

        return lambda task, genome: picture(_single(task, genome))
    raise ConfigError(f"--plot {plot}: unknown kind of file; name it .html or .png")


def _single(task: Task, genome: Floats) -> "Single":
    from optimizer.report.single import Single

    return Single(task, genome)


def ledger_table(
    markets: Markets, ledgers: Sequence[Ledger]
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Names and rows of all trades, with the times at which their bars of entry and exit open.

    Args:
        markets: Whose windows they are.
        ledgers: One a window, in the order of `Markets.all_windows`.

    Returns:
        Column names, and one row a trade; symbol and sample come first where there are several
        windows.
    """
    names = (*Trade._fields, "entry_time", "exit_time")
    rows: list[tuple[object, ...]] = []
    for window, ledger in zip(markets.all_windows, ledgers, strict=True):
        told = markets.describe(window)
        whose = (told["symbol"], told["sample"]) if len(ledgers) > 1 else ()
        stamps = markets.series[window.series].timestamp
        rows += [
            (*whose, *row, _utc(stamps[ledger.entry_bar[k]]), _utc(stamps[ledger.exit_bar[k]]))
            for k, row in enumerate(ledger_rows(ledger))
        ]
    return (*(("symbol", "sample") if len(ledgers) > 1 else ()), *names), rows


def _utc(stamp: int) -> str:
    """ISO time of nanoseconds since 1970, as other programs read it."""
    return f"{np.datetime64(int(stamp), 'ns').astype('datetime64[s]')}Z"


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


def _run(task: Task, genome: Floats, engine: str) -> tuple[tuple[Ledger, ...], Floats]:
    """The ledgers [W] and the accumulators [W, A] of one individual, in all windows."""
    markets = task.markets
    if engine == "reference":
        reference = Reference(task.spec, markets.series, markets.all_windows, task.costs)
        ledgers = tuple(reference.trades(genome))
        return ledgers, np.array([reference.fold(ledger) for ledger in ledgers])
    batch = task.full_engine(device=engine)
    return tuple(batch.trades(genome)), batch.evaluate(genome[None])[0]


def _describe(
    task: Task, genome: Floats, ledgers: Sequence[Ledger], accumulators: Floats
) -> dict[str, object]:
    markets = task.markets
    table = compute_metrics(accumulators[None], markets.spans(markets.all_windows))
    seen = len(markets.windows)
    found: dict[str, object] = {
        "strategy": task.spec.name,
        "genes": task.spec.layout.decode(genome),
        "data": describe_data(task),
        "data_hash": data_hash(markets.series),
        **mean_metrics(table, 0, slice(0, seen)),
    }
    if markets.held_out:
        found["held_out"] = mean_metrics(table, 0, slice(seen, None))
    found["windows"] = [
        {
            **markets.describe(window),
            "accumulators": dict(zip(ACCUMULATORS, accumulators[w].tolist(), strict=True)),
            **mean_metrics(table, 0, slice(w, w + 1)),
        }
        for w, window in enumerate(markets.all_windows)
    ]
    found["intrabar"] = asdict(_intrabar(task, ledgers))
    return found


def _intrabar(task: Task, ledgers: Sequence[Ledger]) -> Intrabar:
    """What hangs on the order within a bar, over the windows to search on."""
    markets = task.markets
    parts = [
        intrabar_of(ledger, markets.series[window.series], task.costs)
        for window, ledger in zip(markets.windows, ledgers, strict=False)
    ]
    return Intrabar(
        trades=sum(part.trades for part in parts),
        undecided=sum(part.undecided for part in parts),
        sum_r=sum(part.sum_r for part in parts),
        sum_r_target_first=sum(part.sum_r_target_first for part in parts),
    )


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


def _print(task: Task, found: Mapping[str, object]) -> None:
    console, markets = stdout(), task.markets
    simulated = " (a SIMULATED market)" if markets.is_simulated else ""
    console.say(
        f"{task.spec.name} on {markets.symbol} {markets.timeframe}{simulated}, "
        f"{counted(markets.n_bars, 'bar')}, engine {found['engine']}"
    )
    console.print()
    console.print(facts_table(_mapping(found["genes"]), "Genes"))
    console.print()
    columns = {"": _told(found)}
    if markets.held_out:
        columns = {"searched on": _told(found), "held out": _told(_mapping(found["held_out"]))}
    console.print(
        columns_table(columns, "Metrics" + (" (means)" if len(markets.series) > 1 else ""))
    )
    if len(markets.series) > 1:
        told = [_mapping(window) for window in _list(found["windows"])]
        by_window = {
            name: [_mapping(window["metrics"])[name] for window in told] for name in BY_SYMBOL
        }
        console.print()
        console.print(symbols_table(told, by_window, BY_SYMBOL, "Symbol by symbol"))


def _told(part: Mapping[str, object]) -> dict[str, str]:
    """Metrics in words, with the reason of those that are undefined."""
    undefined = _mapping(part["undefined"])
    return {
        name: f"undefined: {str(undefined[name]).replace('_', ' ')}"
        if name in undefined
        else metric(name, value)
        for name, value in _mapping(part["metrics"]).items()
    }


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
