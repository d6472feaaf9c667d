"""What a person reads: tables of individuals, certificates and runs."""

import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table

from optimizer.shown import counted, metric, number

WIDTH_OF_A_FILE = 160
"""Columns when the output is no terminal, so that a table in a file is not cut."""

SHOWN_INDIVIDUALS = 20


class Lines(Console):
    """A console that takes text as it is, and also whole lines, which it never breaks.

    Args:
        stream: Where to write.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(
            file=stream,
            width=None if stream.isatty() else WIDTH_OF_A_FILE,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def say(self, text: str) -> None:
        """Print one line, however long, so that a program can read it as one."""
        self.print(text, soft_wrap=True)


def stdout() -> Lines:
    """The console of results."""
    return Lines(sys.stdout)


def stderr() -> Lines:
    """The console of progress and notes."""
    return Lines(sys.stderr)


def front_table(individuals: Sequence[Mapping[str, object]], objectives: Sequence[str]) -> Table:
    """The best known compromises: objectives, then the metrics that put them in perspective.

    Args:
        individuals: As `workflow.describe_individuals` gives them.
        objectives: Names, in order.

    Returns:
        A table of at most `SHOWN_INDIVIDUALS`, best in the first objective first.
    """
    beside = [
        name for name in ("trades", "win_rate", "mean_r", "exposure") if name not in objectives
    ]
    table = Table(title=_front_title(len(individuals)), title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    for name in objectives:
        table.add_column(_heading(name), justify="right", style="bold")
    for name in beside:
        table.add_column(_heading(name), justify="right")
    for place, individual in enumerate(individuals[:SHOWN_INDIVIDUALS]):
        values = _mapping(individual, "objectives") | _mapping(individual, "metrics")
        shown = [metric(name, values.get(name)) for name in (*objectives, *beside)]
        table.add_row(str(place), *shown)
    return table


def genes_table(individuals: Sequence[Mapping[str, object]]) -> Table:
    """The genes of the same individuals, in the same order."""
    table = Table(title="Their genes", title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    names = list(_mapping(individuals[0], "genes"))
    for name in names:
        table.add_column(_heading(name), justify="right")
    for place, individual in enumerate(individuals[:SHOWN_INDIVIDUALS]):
        genes = _mapping(individual, "genes")
        table.add_row(str(place), *(number(genes[name]) for name in names))
    return table


def facts_table(facts: Mapping[str, object], title: str = "") -> Table:
    """Names and values, one a line."""
    table = Table(title=title or None, title_justify="left", box=None, show_header=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, number(value))
    return table


def columns_table(columns: Mapping[str, Mapping[str, str]], title: str) -> Table:
    """Texts by column and by name; headings are shown where there is more than one column."""
    table = Table(title=title, title_justify="left", box=None, show_header=len(columns) > 1)
    table.add_column(style="dim")
    for heading in columns:
        table.add_column(heading, overflow="fold")
    for name in next(iter(columns.values())):
        table.add_row(name, *(column[name] for column in columns.values()))
    return table


def certificate_line(certificate: Mapping[str, object]) -> str:
    """One line that says whether reference and engine agree."""
    individuals, trades = certificate["individuals"], certificate["trades"]
    mismatches = certificate["mismatches"]
    verdict = "0 mismatches" if not mismatches else f"{mismatches} MISMATCHES"
    return (
        f"certificate: {counted(individuals, 'individual')} replayed by the reference, "
        f"{counted(trades, 'trade')}, "
        f"{verdict} (ledger {str(certificate['ledger_hash'])[:12]}, "
        f"data {str(certificate['data_hash'])[:12]})"
    )


def _front_title(count: int) -> str:
    shown = min(count, SHOWN_INDIVIDUALS)
    rest = f", the first {shown} shown" if count > shown else ""
    return f"Front: {counted(count, 'individual')}{rest}"


def _heading(name: str) -> str:
    return name.replace("_", "\n")


def _mapping(individual: Mapping[str, object], name: str) -> dict[str, object]:
    value = individual.get(name)
    return dict(value) if isinstance(value, Mapping) else {}
