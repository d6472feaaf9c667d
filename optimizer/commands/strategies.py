"""strategies: list those that ship, all words of the language, and begin one of your own."""

import inspect
import os
import shlex
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from optimizer.commands.console import Lines, plain_table, stdout
from optimizer.errors import ConfigError
from optimizer.processes import ROOT
from optimizer.shown import number
from optimizer.written import write_whole
from strategy import STRATEGIES, words
from strategy.kinds import COLUMNS, KINDS
from strategy.model import Strategy

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

HEADINGS = {
    "Term": "Other numbers and genes",
    "Claim": "Conditions",
    "Strategy": "The strategy itself",
}
"""By what a word makes."""


def list_command() -> None:
    """Print the strategies that ship, and their genes."""
    console = stdout()
    for spec in STRATEGIES.values():
        console.say(f"{spec.name}: {spec.summary}")
        print_genes(console, spec)
        console.print()
    console.say("one of your own: python -m optimizer strategies new NAME")


def words_command() -> None:
    """Print every word."""
    console = stdout()
    for heading, told in told_words().items():
        console.say(heading)
        if any(told.values()):
            for called, text in told.items():
                console.say(f"  {called}: {text}")
        else:
            console.say(f"  {', '.join(told)}")
        console.say("")
    console.say("They are joined by + - * / and abs, > < >= <=, & | ~.")
    console.say("A file to begin from: python -m optimizer strategies new NAME")


def told_words() -> dict[str, dict[str, str]]:
    """Every word as it is called and what it is, by what it makes; columns need no words."""
    found: dict[str, dict[str, str]] = {"Columns": {}, "Indicators": {}}
    for name in words.__all__:
        word = getattr(words, name)
        if name in COLUMNS:
            found["Columns"][name] = ""
            continue
        heading = "Indicators"
        if name not in KINDS:
            made = getattr(inspect.signature(word).return_annotation, "__name__", "")
            heading = HEADINGS.get(made, "Stops, targets, exits and the rest")
        found.setdefault(heading, {})[_format_signature(name)] = _meaning(name)
    return found


def new_command(name: str) -> None:
    """Write a file to begin a strategy from; never over another file."""
    path = Path(name if name.endswith(".py") else f"{name}.py")
    if not path.stem.isidentifier():
        raise ConfigError(f"'{path.stem}' is no name of a strategy: use letters, digits and _")
    if is_module(path.stem):
        raise ConfigError(
            f"'{path.stem}' is the name of a module: programs that are started beside such a file "
            f"would import it in its place; name it otherwise, such as {path.stem}_idea"
        )
    if path.exists():
        raise ConfigError(f"{path} is there already")
    title = path.stem.replace("_", " ").capitalize()
    said = shlex.quote(path.as_posix())
    write_whole(path, BEGINNING.format(title=title, path=said, variable=path.stem.upper()))
    stdout().say(f"wrote {path}; check it: python -m optimizer strategies check {said}")


def is_module(name: str) -> bool:
    """Whether Python, a library or this project has a module of that name."""
    here = ("", os.getcwd())
    folders = [ROOT, *(folder for folder in sys.path if folder not in here)]
    known = {*sys.stdlib_module_names, *sys.builtin_module_names}
    return name in known or PathFinder.find_spec(name, folders) is not None


def print_genes(console: Lines, spec: Strategy) -> None:
    """Print the genes of a strategy and their bounds."""
    bounds = ("low", "default", "high")
    table = plain_table("  gene", *bounds, "unit", right=bounds)
    for gene in spec.layout.genes:
        values = (number(getattr(gene, name)) for name in bounds)
        unit = "" if gene.unit == "1" else gene.unit
        table.add_row(f"  {gene.name}", *values, unit)
    console.print(table)


def _format_signature(name: str) -> str:
    """A word with its arguments, without their types."""
    signature = inspect.signature(getattr(words, name))
    bare = [
        one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()
    ]
    return name + str(inspect.Signature(bare))


def _meaning(name: str) -> str:
    reads = KINDS[name].columns if name in KINDS else ()
    text = str(getattr(words, name).__doc__).splitlines()[0]
    return f"{text} It reads {', '.join(reads)}." if reads else text
