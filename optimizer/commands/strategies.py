"""strategies: list those that ship, and begin one of your own."""

import shlex
from pathlib import Path

from optimizer.commands.console import Lines, plain_table, stdout
from optimizer.errors import ConfigError
from optimizer.shown import number
from optimizer.written import write_whole
from strategy import STRATEGIES
from strategy.narrow import AnyStrategy

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
        print_genes(console, spec)
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
    said = shlex.quote(path.as_posix())
    write_whole(path, BEGINNING.format(title=title, path=said, variable=path.stem.upper()))
    stdout().say(f"wrote {path}; check it: python -m optimizer strategies check {said}")


def print_genes(console: Lines, spec: AnyStrategy) -> None:
    """Print the genes of a strategy and their bounds."""
    bounds = ("low", "default", "high")
    table = plain_table("  gene", *bounds, "unit", right=bounds)
    for gene in spec.layout.genes:
        values = (number(getattr(gene, name)) for name in bounds)
        unit = "" if gene.unit == "1" else gene.unit
        table.add_row(f"  {gene.name}", *values, unit)
    console.print(table)
