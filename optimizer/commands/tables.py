"""What a person reads of a result: tables of individuals and windows, the certificate."""

from collections.abc import Mapping, Sequence

import numpy as np
from rich.table import Table

from engine.replay.certificate import Certificate
from optimizer.goals.objectives import is_maximised
from optimizer.runs.result import Figure, Figures, Member, WindowDescription, noun_of, words_of
from optimizer.shown import counted, metric, number

SHOWN_INDIVIDUALS = 20

SHOWN_LABELS = 100


def shown_members(front: Sequence[Member], objectives: Sequence[str]) -> Mapping[int, Member]:
    """Those members of a front that are shown: all, or those that differ most.

    At most `SHOWN_INDIVIDUALS`, by their places in the front.

    Neighbours on a front are nearly the same: its first members would show one corner of it. The
    best in each objective are therefore followed by whoever is farthest from all that are chosen,
    each objective scaled to the range of the front.
    """
    if len(front) <= SHOWN_INDIVIDUALS:
        return dict(enumerate(front))
    signs = [-1.0 if is_maximised(name) else 1.0 for name in objectives]
    values = np.array([[member.objectives[name] for name in objectives] for member in front])
    values *= signs
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    chosen = list(dict.fromkeys([0, *scaled.argmin(axis=0).tolist()]))[:SHOWN_INDIVIDUALS]
    distance = np.min([((scaled - scaled[place]) ** 2).sum(axis=1) for place in chosen], axis=0)
    while len(chosen) < SHOWN_INDIVIDUALS and distance.max() > 0:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1))
    return {place: front[place] for place in sorted(chosen)}


def front_title(count: int, shown: int) -> str:
    """How many members a front has, and what is shown of them."""
    rest = f", shown are {shown} that differ most" if count > shown else ""
    return f"Front: {counted(count, 'individual')}{rest}"


def front_table(members: Mapping[int, Member], objectives: Sequence[str]) -> Table:
    """The best known compromises: objectives, then the metrics that put them in perspective."""
    said = {name.partition(":")[0] for name in objectives}
    beside = [name for name in ("trades", "win_rate", "mean_r", "exposure") if name not in said]
    table = Table(box=None)
    table.add_column("#", justify="right", style="dim")
    for name in objectives:
        table.add_column(heading(name), justify="right", style="bold")
    for name in beside:
        table.add_column(heading(name), justify="right")
    for place, individual in members.items():
        values = {**individual.objectives, **individual.metrics}
        shown = [metric(name, values.get(name)) for name in (*objectives, *beside)]
        table.add_row(str(place), *shown)
    return table


def genes_table(members: Mapping[int, Member]) -> Table:
    """The genes of the same individuals, in the same order."""
    table = Table(title="Their genes", title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    names = list(next(iter(members.values())).genes)
    for name in names:
        table.add_column(heading(name), justify="right")
    for place, individual in members.items():
        table.add_row(str(place), *(number(individual.genes[name]) for name in names))
    return table


def certificate_line(certificate: Certificate) -> str:
    """One line that says whether reference and engine agree."""
    hashes = f"ledger {certificate.ledger_hash[:12]}, data {certificate.data_hash[:12]}"
    return f"certificate: {words_of(certificate)} ({hashes})"


def heading(name: str) -> str:
    """A name over a narrow column: a word a line."""
    return name.replace("_", "\n")


def windows_table(
    windows: Sequence[WindowDescription], by_window: Mapping[str, Sequence[Figure]], title: str
) -> Table:
    """One individual, window by window [W]; those of one label below each other."""
    noun, has_held_out = noun_of(windows), any(window.is_held_out for window in windows)
    places: dict[str, list[int]] = {}
    for place, window in enumerate(windows):
        places.setdefault(window.label, []).append(place)
    rest = f" (the first {SHOWN_LABELS} of {len(places)})" if len(places) > SHOWN_LABELS else ""
    table = Table(title=title + rest, title_justify="left", box=None)
    table.add_column(noun, overflow="fold")
    if has_held_out:
        table.add_column("bars that were", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for name in ("bars", *by_window):
        table.add_column(heading(name), justify="right")
    for label in list(places)[:SHOWN_LABELS]:
        for nth, place in enumerate(places[label]):
            window = windows[place]
            cells = ["" if nth else label, window.first[:10], number(window.bars)]
            if has_held_out:
                cells.insert(1, "held out" if window.is_held_out else "searched on")
            table.add_row(*cells, *(metric(n, column[place]) for n, column in by_window.items()))
    return table


def held_out_table(members: Mapping[int, Member], objectives: Sequence[str]) -> Table:
    """Members of a front in the bars that they were found on, and in those held out."""
    title = "Held out: bars that the search never saw, beside those it saw"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    for name in ("trades", *objectives):
        table.add_column(heading(name), justify="right")
        table.add_column(f"held out\n{heading(name)}", justify="right", style="bold")
    for place, member in members.items():
        parts = (member, member.held_out or Figures(metrics={}))
        both = [{**part.metrics, **part.objectives} for part in parts]
        cells = (metric(n, part.get(n)) for n in ("trades", *objectives) for part in both)
        table.add_row(str(place), *cells)
    return table
