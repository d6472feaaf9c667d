"""Genes of a strategy, words of the language, and a file to begin one of your own from."""

import inspect
import os
import sys
from importlib.machinery import PathFinder

from optimizer.cli.console import Lines, plain_table
from optimizer.formatting import number
from optimizer.processes import ROOT
from strategy import words
from strategy.indicator_registry import COLUMNS, KINDS
from strategy.model import Strategy
from strategy.row_words import COMPOSED

BEGINNING = '''"""{title}: say here in a sentence what it waits for.

Check it:   {check}
Search it:  {search}
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
    # A stop is needed: it defines R, the risk of a trade.
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


def list_signatures() -> dict[str, dict[str, str]]:
    """Calls and meanings of all words, by kind; columns need no words."""
    signatures: dict[str, dict[str, str]] = {"Columns": {}, "Indicators": {}}
    for name in words.__all__:
        word = getattr(words, name)
        if name in COLUMNS:
            signatures["Columns"][name] = ""
            continue
        heading = "Indicators"
        if name not in KINDS and name not in COMPOSED:
            made = getattr(inspect.signature(word).return_annotation, "__name__", "")
            heading = HEADINGS.get(made, "Stops, targets, exits and the rest")
        signatures.setdefault(heading, {})[_format_signature(name)] = _read_meaning(name)
    return signatures


def is_module(name: str) -> bool:
    """True if Python, a library or this project has a module of that name."""
    here = ("", os.getcwd())
    folders = [ROOT, *(folder for folder in sys.path if folder not in here)]
    known = {*sys.stdlib_module_names, *sys.builtin_module_names}
    return name in known or PathFinder.find_spec(name, folders) is not None


def print_genes(console: Lines, spec: Strategy) -> None:
    """Print the genes of a strategy and their bounds."""
    bounds = ("low", "default", "high")
    table = plain_table("  gene", *bounds, "unit", right=bounds)
    for gene in spec.layout.genes:
        values = (number(gene.show(getattr(gene, name))) for name in bounds)
        unit = "" if gene.unit == "1" else gene.unit
        if gene.options:
            unit = "one of " + ", ".join(gene.options)
        elif gene.step is not None:
            unit = f"{unit} in steps of {number(gene.step)}".strip()
        table.add_row(f"  {gene.name}", *values, unit)
    console.print(table)


def _format_signature(name: str) -> str:
    """A word with its arguments, without their types."""
    signature = inspect.signature(getattr(words, name))
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    return name + str(inspect.Signature(bare))


def _read_meaning(name: str) -> str:
    reads = KINDS[name].columns if name in KINDS else ()
    text = str(getattr(words, name).__doc__).splitlines()[0]
    return f"{text} It reads {', '.join(reads)}." if reads else text
