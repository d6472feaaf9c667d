"""strategies: list those that ship, begin one of your own, and check what a file says."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from data import Bars
from engine.compiling.forms import CompiledForm
from engine.language_reference import LanguageReference
from engine.ledger import REASONS, Ledger
from engine.replay.certificate import certify
from optimizer.commands.console import Lines, plain_table, stdout
from optimizer.commands.data import price_chart
from optimizer.commands.notes import COMPILES, note, telling
from optimizer.commands.tables import certificate_line
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.runs.result import refuse_red
from optimizer.session.task import Task, prepare
from optimizer.shown import counted, number
from optimizer.written import write_whole
from strategy import STRATEGIES
from strategy.files import load_strategy
from strategy.model import PARTS, Strategy
from strategy.narrow import AnyStrategy, NarrowSpec, in_words
from strategy.rows import first_value, warm_up_of
from strategy.rules import is_file
from strategy.wording import written

BEGINNING = '''"""{title}: say here in a sentence what it waits for.

Check it:   python -m optimizer strategies check {path}
Search it:  python -m optimizer evolve --strategy {path} --judge
All words:  python -m optimizer strategies words
"""

from strategy.words import *

# A row is a number at every bar. length(...) counts bars and may be searched: default, low, high.
trend = sma(close, length("slow", 200, 50, 400))
strength = rsi(close, 14)

{variable} = strategy(
    "Buys a dip in an uptrend.",
    # Conditions are joined by & and |, turned by ~; each comparison stands in brackets.
    long=(close > trend) & crosses_above(strength, gene("oversold", 35, 15, 45)),
    exit_long=strength > 65,
    # A stop is needed: it says what R, the risk of a trade, is.
    stop=beyond_bar(gene("stop", 1.5, 0.3, 4) * rma(true_range, 14)),
    target=r_multiple(gene("reward", 2, 0.5, 5)),
    max_hold=length("hold", 48, 5, 200),
)
'''


def list_command() -> None:
    """Print the strategies that ship, and their genes."""
    console = stdout()
    for spec in STRATEGIES.values():
        console.say(f"{spec.name}: {spec.summary}")
        _print_genes(console, spec)
        console.print()
    console.say("one of your own: python -m optimizer strategies new NAME")


def new_command(name: str) -> None:
    """Write a file to begin a strategy from; never over another file."""
    path = Path(name if name.endswith(".py") else f"{name}.py")
    if not path.stem.isidentifier():
        raise ConfigError(f"'{path.stem}' is no name of a strategy: use letters, digits and _")
    if path.exists():
        raise ConfigError(f"{path} is there already")
    title = path.stem.replace("_", " ").capitalize()
    write_whole(path, BEGINNING.format(title=title, path=path, variable=path.stem.upper()))
    stdout().say(f"wrote {path}; check it: python -m optimizer strategies check {path}")


@telling((COMPILES,), note)
def check_command(address: str, flags: Mapping[str, object]) -> None:
    """Say what a strategy does on some bars with its default genes, by both engines.

    Raises:
        StrategyError, IndicatorError: Naming the place in the file.
        ParityError: When the engines disagree.
    """
    if not is_file(address):
        raise ConfigError(f"'{address}' is no file of a strategy: name one, such as mine.py")
    load_strategy(address)
    task = prepare(resolve_config(None, {**flags, "strategy": address}), for_search=True)
    spec, console = task.spec, stdout()
    origin = in_words(spec)
    if origin is None:
        raise ConfigError(f"{address}: only a strategy in words can be checked")
    console.say(f"{origin.name}: {origin.summary}")
    how = "with kernels of its own" if isinstance(spec, NarrowSpec) else "read as data"
    console.say(f"{counted(len(origin.layout), 'gene')}; evaluated {how}")
    _print_parts(console, origin)
    _print_genes(console, origin)
    for bars in task.markets.searched:
        _print_rows(console, origin, bars)
    _print_trades(console, task, origin)


def _print_parts(console: Lines, strategy: Strategy) -> None:
    table = plain_table("", "says", is_folded=True)
    for name in PARTS:
        part = getattr(strategy, name)
        if part is not None and (name != "delay" or written(part) != "0"):
            table.add_row(name, written(part))
    console.print(table)


def _print_genes(console: Lines, spec: AnyStrategy) -> None:
    bounds = ("low", "default", "high")
    table = plain_table("  gene", *bounds, "unit", right=bounds)
    for gene in spec.layout.genes:
        values = (number(getattr(gene, name)) for name in bounds)
        table.add_row(f"  {gene.name}", *values, gene.unit)
    console.print(table)


def _print_rows(console: Lines, strategy: Strategy, bars: Bars) -> None:
    """Every row with the default genes: when it is known, and how often it then is not."""
    genes = strategy.layout.decode(strategy.layout.defaults)
    found = LanguageReference(strategy, [bars], [], form=CompiledForm()).rows(genes, 0)
    headings = ("warm-up", "first value", "then unknown")
    table = plain_table("row", *headings, right=headings, is_folded=True)
    warm_ups = {written(one): warm_up_of(one, genes) for one in strategy.expressions}
    for name, row in found.items():
        first = first_value(row)
        holes = int(np.isnan(row[first:]).sum())
        shown = number(first) if first < len(row) else "never"
        table.add_row(name, number(warm_ups[name]), shown, number(holes))
    console.print(table)


def _print_trades(console: Lines, task: Task, strategy: Strategy) -> None:
    """Signals and trades with the default genes, and where they lie."""
    genome = task.spec.layout.defaults
    engine = task.engine(device="cpu")
    certificate = certify(engine, genome[None])
    refuse_red(certificate)
    markets = task.markets
    for bars, window, signals, ledger in zip(
        [markets.series[one.series] for one in markets.windows],
        markets.windows,
        engine.signals(genome),
        engine.trades(genome),
        strict=True,
    ):
        console.say(f"{bars.symbol} {bars.timeframe}, bars {window.start} to {window.end - 1}:")
        for line in price_chart(bars):
            console.say(line)
        shorts = int((ledger.side < 0).sum())
        sides = f", {shorts} of them short" if strategy.goes_short else ""
        console.say(
            f"{counted(len(signals), 'signal')}, {counted(len(ledger), 'trade')}{sides}, "
            f"{ledger.rejected} rejected; {_ends(ledger)}"
        )
    console.say(certificate_line(certificate))


def _ends(ledger: Ledger) -> str:
    counts = np.bincount(ledger.reason, minlength=len(REASONS)).tolist()
    named = [
        f"{count} by {reason.replace('_', ' ')}"
        for reason, count in zip(REASONS, counts, strict=True)
        if count
    ]
    return ", ".join(named) or "none ended"
