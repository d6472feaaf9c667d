"""Tables of a result: individuals, windows, the certificate."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from rich.table import Table

from engine.accounts.ledger import REASONS, Ledger
from optimizer.cli.console import WIDTH_OF_A_FILE, Lines, columns_table
from optimizer.formatting import (
    BESIDE_OBJECTIVES,
    EXPECTED,
    MARKED,
    choose_columns,
    format_count,
    format_gene,
    fraction,
    metric,
    number,
)
from optimizer.run.importance import Importance
from optimizer.store.result import (
    Figure,
    Figures,
    Member,
    WindowDescription,
    choose_noun,
    describe_windows,
)
from strategy.gene import GeneText

SHOWN_LABELS, SHOWN_WINDOWS = 100, 20

IMPORTANCE_WIDTH = 20
"""Columns that two shares of an objective take."""

PICK = "*"
"""Stands before the number of the member that is the one answer."""


def front_title(count: int, shown: int, pick: int | None = None) -> str:
    """Title of a front: number of members, how many are shown, and the mark of the pick."""
    rest = f", {shown} of them that differ most (all: --front all)" if count > shown else ""
    marked = "" if pick is None else f", {PICK} is the pick"
    return f"Front: {format_count(count, 'member')}{rest}{marked}"


def front_tables(
    members: Mapping[int, Member],
    objectives: Sequence[str],
    width: int = WIDTH_OF_A_FILE,
    pick: int | None = None,
    expected: Mapping[int, float] = MappingProxyType({}),
) -> list[Table]:
    """The best known compromises: objectives, then as many metrics beside them as there is room.

    Args:
        members: By their numbers.
        objectives: Names; where they are too wide for one table, others follow.
        width: Columns that there are.
        pick: Number of the one that is marked.
        expected: Mean R of those of which it is known.
    """
    first = next(iter(members.values()))
    known = {*BESIDE_OBJECTIVES, *first.metrics} - ({EXPECTED} if not expected else set())
    columns = choose_columns(objectives, known)
    rows = {}
    for member, individual in members.items():
        values = {**individual.metrics, **individual.objectives, EXPECTED: expected.get(member)}
        rows[member] = {name: metric(name, values.get(name)) for name in columns}
    blocks = _split_columns(columns, rows, width, PICK)
    # Columns that do not fit are among the metrics of each member in `runs show`.
    shown = [names for names in blocks if set(names) & {*objectives, MARKED}]
    return [_numbers_table(names, rows, bold=objectives, pick=pick) for names in shown]


def genes_tables(members: Mapping[int, Member], width: int = WIDTH_OF_A_FILE) -> list[Table]:
    """The genes of the same individuals, in the same order; below each other what is too wide.

    None where the strategy has no genes.
    """
    if not any(individual.genes for individual in members.values()):
        return []
    rows = {
        member: {name: format_gene(value) for name, value in individual.genes.items()}
        for member, individual in members.items()
    }
    blocks = _split_columns(list(next(iter(rows.values()))), rows, width)
    tables = [_numbers_table(names, rows) for names in blocks]
    tables[0].title, tables[0].title_justify = "Their genes", "left"
    return tables


def genes_table(genes: Mapping[str, GeneText]) -> Table:
    """Genes of one candidate, one a line."""
    return columns_table({"": {name: format_gene(v) for name, v in genes.items()}}, "Genes")


def _numbers_table(
    names: Sequence[str],
    rows: Mapping[int, Mapping[str, str]],
    bold: Sequence[str] = (),
    pick: int | None = None,
) -> Table:
    """A row a member, under its number."""
    table = Table(box=None)
    table.add_column("#", justify="right", style="dim", no_wrap=True)
    for name in names:
        style = "bold" if name in bold else ""
        table.add_column(heading(name), justify="right", style=style, no_wrap=True)
    for member, row in rows.items():
        mark = PICK if member == pick else ""
        table.add_row(f"{mark}{member}", *(row[name] for name in names))
    return table


def _split_columns(
    names: Sequence[str], rows: Mapping[int, Mapping[str, str]], width: int, mark: str = ""
) -> list[list[str]]:
    """Columns in as few groups as fit side by side, each behind the numbers of the members.

    `mark` is what may stand before a number.
    """
    first = max(len(mark) + len(str(member)) for member in rows) + 2
    blocks: list[list[str]] = [[]]
    left = width - first
    for name in names:
        words = heading(name).split("\n")
        wide = max(map(len, (*words, *(row[name] for row in rows.values())))) + 2
        if wide > left and blocks[-1]:
            blocks.append([])
            left = width - first
        blocks[-1].append(name)
        left -= wide
    return blocks


def metrics_table(candidate: Member) -> Table:
    """All metrics of a candidate, beside them those on bars that are held out."""
    columns = {"": _format_metrics(candidate)}
    if candidate.held_out is not None:
        columns = {
            "searched on": _format_metrics(candidate),
            "held out": _format_metrics(candidate.held_out),
        }
    return columns_table(columns, "Metrics")


def print_individual(
    console: Lines, candidate: Member, windows: Sequence[WindowDescription], over: str
) -> None:
    """Print genes, and metrics below what they mean over several windows."""
    if candidate.genes:
        console.print()
        console.print(genes_table(candidate.genes))
    console.print()
    if summary := describe_windows(windows, over):
        console.say(f"{summary[0].upper()}{summary[1:]}.")
    console.print(metrics_table(candidate))


def _format_metrics(part: Figures) -> dict[str, str]:
    """Metrics in words, with the reason of those that are undefined."""
    return {
        name: f"undefined: {part.undefined[name].replace('_', ' ')}"
        if name in part.undefined
        else metric(name, value)
        for name, value in part.metrics.items()
    }


def importance_tables(
    importance: Mapping[str, Importance], genes: Sequence[str], width: int
) -> list[Table]:
    """Shares of genes, those of the first objective greatest first; objectives as far as fit."""
    first = next(iter(importance.values()))
    order = np.argsort(-first.alone, kind="stable")
    widest = max(map(len, genes))
    at_once = max((width - widest - 2) // IMPORTANCE_WIDTH, 1)
    names, tables = list(importance), []
    for begin in range(0, len(names), at_once):
        table = Table(box=None)
        table.add_column("gene", no_wrap=True)
        shown = names[begin : begin + at_once]
        for name in shown:
            table.add_column(f"{heading(name)}\nalone", justify="right")
            table.add_column("\nbeyond", justify="right", vertical="bottom")
        for gene in order:
            cells = [
                fraction(float(share)) if share > noise else "-"
                for shares in (importance[name] for name in shown)
                for share, noise in zip(
                    (shares.alone[gene], shares.beyond[gene]), shares.noise, strict=True
                )
            ]
            table.add_row(genes[gene], *cells)
        sums = [cell for name in shown for cell in (fraction(importance[name].together), "")]
        table.add_row("all together", *sums, style="dim")
        tables.append(table)
    return tables


def heading(name: str) -> str:
    """A name over a narrow column: a word a line."""
    return name.replace("_", "\n")


def windows_table(
    windows: Sequence[WindowDescription], by_window: Mapping[str, Sequence[Figure]], title: str
) -> Table:
    """One individual, window by window [W]; those of one label below each other."""
    noun, has_held_out = choose_noun(windows), any(window.is_held_out for window in windows)
    by_label: dict[str, list[int]] = {}
    for index, window in enumerate(windows):
        by_label.setdefault(window.label, []).append(index)
    most = SHOWN_WINDOWS if noun == "window" else SHOWN_LABELS
    rest = f" (the first {most} of {len(by_label)}; --json has all)" if len(by_label) > most else ""
    table = Table(title=title + rest, title_justify="left", box=None)
    table.add_column(noun, overflow="fold")
    if has_held_out:
        table.add_column("bars that were", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for name in ("bars", *by_window):
        table.add_column(heading(name), justify="right")
    for label in list(by_label)[:most]:
        for nth, index in enumerate(by_label[label]):
            window = windows[index]
            cells = ["" if nth else label, window.first[:10], number(window.bars)]
            if has_held_out:
                cells.insert(1, "held out" if window.is_held_out else "searched on")
            table.add_row(*cells, *(metric(n, column[index]) for n, column in by_window.items()))
    return table


def held_out_table(members: Mapping[int, Member], objectives: Sequence[str]) -> Table:
    """Members of a front in the bars that they were found on, and in those held out."""
    title = "Held out: bars that the search never saw, beside those it saw"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    for name in ("trades", *objectives):
        table.add_column(heading(name), justify="right")
        table.add_column(f"held out\n{heading(name)}", justify="right", style="bold")
    for index, member in members.items():
        both_figures = (member, member.held_out or Figures(metrics={}))
        both = [{**part.metrics, **part.objectives} for part in both_figures]
        cells = (metric(n, part.get(n)) for n in ("trades", *objectives) for part in both)
        table.add_row(str(index), *cells)
    return table


def describe_exits(ledgers: Sequence[Ledger]) -> str:
    """Count of trades by the reason of their end, in words."""
    reasons = [reason for ledger in ledgers for reason in ledger.reason.tolist()]
    counts = ((name, reasons.count(code)) for code, name in enumerate(REASONS))
    named = [f"{number(count)} by {name.replace('_', ' ')}" for name, count in counts if count]
    return ", ".join(named) or "none ended"


def describe_doubtful(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """Stops that no price reaches, as that of a share above 1, and days that end at once."""
    count, session = sum(map(len, ledgers)), REASONS.index("session")
    trades = format_count(count, "trade")
    unreached = sum(int((ledger.stop <= 0).sum()) for ledger in ledgers)
    if unreached:
        yield f"{number(unreached)} of {trades} had a stop at 0 or below"
    at_once = sum(
        int(((ledger.reason == session) & (ledger.exit_bar == ledger.entry_bar)).sum())
        for ledger in ledgers
    )
    if at_once > count / 10:
        yield (
            f"{number(at_once)} of {trades} left by the session in the bar of their entry; a "
            "session that begins in the evening is session_exit(..., begins=1080) for 18:00"
        )
