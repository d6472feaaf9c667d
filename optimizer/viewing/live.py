"""A run while it is recorded: its front, its trends, how long it takes, what judging found so far.

A look reads what was recorded since the last one, over a connection that only reads.
"""

import hashlib
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from optimizer.errors import OptimizerError, StoreError
from optimizer.report.charts.chart import BLUE, Chart, axis, scatter, words
from optimizer.report.charts.front import front_2d
from optimizer.report.charts.progress import best_objective
from optimizer.run.tables import resume_command
from optimizer.search.generation import Floats, Generation, final_front
from optimizer.shown import evenly, format_duration, format_gene, metric, number
from optimizer.store import GenerationSummary, RunStore
from optimizer.store.chain import Chain
from optimizer.store.listing import FOREIGN, find_status
from optimizer.store.reader import Reader
from optimizer.store.result import RunHeader
from optimizer.viewing.channels import ChannelState
from optimizer.viewing.encoding import encode_json
from optimizer.viewing.null_so_far import JudgingState, read_judging

MOST_MEMBERS = 500
"""Members of a growing front that are drawn and named, an even choice of more."""

MOST_EARLIER = 40
"""Generations before the first look whose best is read."""

MOST_DRAWN = 400
"""Points of a line."""

PACE = 20
"""Generations that say how fast a search is now."""

WARMING = 2
"""The first generations compile and say nothing of others, as in `optimizer.run.progress`."""

Plain = dict[str, object]


class Best(NamedTuple):
    """Objectives of a generation, [O] each, minimised; NaN without a feasible individual."""

    generation: int
    best: Floats
    median: Floats


class LiveRun:
    """A run that is watched.

    Args:
        path: Its folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mark: tuple[object, ...] | None = None
        self._last = ChannelState(b"")
        self._forget()

    def look(self) -> ChannelState:
        """State of the run as one line of JSON; what cannot be read is said in it."""
        try:
            return self._read()
        except (OptimizerError, *FOREIGN) as error:
            self._mark = None
            is_there = self.path.is_dir()
            words = str(error) if is_there else f"Run {self.path.name} was deleted or moved."
            state: Plain = {"phase": "unreadable" if is_there else "gone", "headline": words}
            return ChannelState(encode_json(state), is_over=not is_there)

    def find_genome(self, key: str) -> tuple[Floats, int]:
        """Genome [G] of a member of a front that was shown, and its generation.

        Raises:
            StoreError: When no front that was shown lately has such a member.
        """
        if key not in self._genomes:
            raise StoreError("This candidate has left the front: choose another one.")
        return self._genomes[key]

    def _forget(self) -> None:
        self._chain: Chain | None = None
        self._tail = b""
        self._summaries: list[GenerationSummary] = []
        self._trend: list[Best] = []
        self._genomes: dict[str, tuple[Floats, int]] = {}

    def _read(self) -> ChannelState:
        with closing(Reader(self.path)) as reader:
            status, rows = find_status(self.path), reader.count_rows()
            chain = reader.follow(self._chain)
            mark = (status, chain.tail, tuple(rows.items()), reader.planned)
            if mark == self._mark:
                return self._last
            self._take_rows(reader, chain)
            state: Plain = {"phase": "searching" if status == "running" else "interrupted"}
            state |= (
                self._describe_search(reader) if self._summaries else {"headline": "Beginning."}
            )
        if rows["result"]:
            with RunStore.open(self.path) as store:
                judging = read_judging(store, is_owned=status == "running")
            if judging is not None:
                state |= _describe_judging(judging, is_owned=status == "running")
        elif status != "running":
            state["headline"] = f"Interrupted. Go on with: {resume_command(self.path)}"
        is_over = bool(rows["result"]) and status != "running"
        self._mark, self._last = mark, ChannelState(encode_json(state), is_over)
        return self._last

    def _take_rows(self, reader: Reader, chain: Chain) -> None:
        """Take over what the run has more than at the last look."""
        known = len(self._summaries)
        if known > len(chain.rows) or (known and self._tail != chain.rows[known - 1].chain):
            self._forget()
            known = 0
        new = [digests.decode_summary() for digests in chain.rows[known:]]
        self._summaries += new
        self._chain, self._tail = chain, chain.tail
        if not known:
            kept = [summary.number for summary in new if summary.kept == "whole"]
            earlier = [kept[place] for place in evenly(len(kept), MOST_EARLIER)]
            self._trend = [_measure_best(reader.generation(place)) for place in earlier[:-1]]
        if new:
            self._newest = reader.generation(new[-1].number)
            self._trend.append(_measure_best(self._newest))

    def _describe_search(self, reader: Reader) -> Plain:
        """Front and trends in charts, and numbers beside them."""
        header, newest = RunHeader.read(reader.header), self._summaries[-1]
        front = final_front(self._newest)
        header.check_genes(front.genomes)
        order = np.argsort(front.objectives[:, 0], kind="stable")
        shown = order[evenly(len(order), MOST_MEMBERS)]
        objectives, genomes = header.natural(front.objectives)[shown], front.genomes[shown]
        keys = [hashlib.sha256(genome.tobytes()).hexdigest()[:20] for genome in genomes]
        before = dict([*self._genomes.items()][-2 * MOST_MEMBERS :])
        # A member may be chosen a moment after it has left the front.
        self._genomes = before | {
            key: (genome, newest.number) for key, genome in zip(keys, genomes, strict=True)
        }
        planned = reader.planned
        return {
            "headline": f"Generation {newest.number:,} of {number(planned)}"
            + (": the front is polished and replayed" if newest.number == planned else ""),
            "facts": self._list_facts(planned, len(order)),
            "columns": [words(name) for name in (*header.objectives, *header.gene_names)],
            "members": _list_members(header, keys, objectives, genomes),
            "charts": {
                "front": _draw_front(header.objectives, objectives),
                "hypervolume": self._draw_hypervolume(),
                "best": self._draw_trends(header),
            },
        }

    def _list_facts(self, planned: int | None, front: int) -> list[tuple[str, str]]:
        """Numbers of a search, with their names."""
        newest = self._summaries[-1]
        recent = self._summaries[WARMING:][-PACE:]
        seconds = sum(summary.seconds for summary in recent)
        left = max((planned or 0) - newest.number, 0)
        rate, time_left = "-", "-"
        if seconds > 0:
            rate = number(float(f"{sum(summary.evaluated for summary in recent) / seconds:.3g}"))
            time_left = format_duration(seconds / len(recent) * left)
        return [
            ("candidates evaluated", number(sum(summary.evaluated for summary in self._summaries))),
            ("candidates a second", rate),
            ("time left", time_left if left else "none"),
            ("members of the front", number(front)),
            ("hypervolume, first box = 1", number(newest.hypervolume)),
        ]

    def _draw_hypervolume(self) -> Chart:
        chosen = [self._summaries[place] for place in evenly(len(self._summaries), MOST_DRAWN)]
        volumes = np.array([summary.hypervolume for summary in chosen])
        line = scatter(
            "lines",
            np.array([summary.number for summary in chosen]),
            volumes,
            line={"color": BLUE, "width": 2},
        )
        layout = {"xaxis": axis("generation"), "yaxis": axis("hypervolume", rangemode="tozero")}
        alt = f"{number(float(volumes[-1]))} times the first box that a front spanned"
        return Chart("hypervolume of the front", alt, [line], layout)

    def _draw_trends(self, header: RunHeader) -> list[Chart]:
        drawn = [self._trend[place] for place in evenly(len(self._trend), MOST_DRAWN)]
        generations = np.array([point.generation for point in drawn])
        best = header.natural(np.stack([point.best for point in drawn]))
        median = header.natural(np.stack([point.median for point in drawn]))
        return [
            best_objective(generations, name, best[:, place], median[:, place])
            for place, name in enumerate(header.objectives)
        ]


def _measure_best(generation: Generation) -> Best:
    """Best objectives that a search has found by a generation, and the middle of its population."""
    population, archive = generation.population, generation.archive
    feasible = population.objectives[population.violations == 0]
    nothing = np.full(population.objectives.shape[1], np.nan)
    with np.errstate(over="ignore"):
        median = np.median(feasible, axis=0) if len(feasible) else nothing
    best = archive.objectives.min(axis=0) if len(archive) else nothing
    return Best(generation.number, best, np.asarray(median, np.float64))


def _draw_front(names: tuple[str, ...], values: Floats) -> Chart:
    """Members by their last and their first objective; by their numbers where there is but one."""
    columns = {name: values[:, place] for place, name in enumerate(names)}
    if len(names) == 1:
        columns["member"] = np.arange(len(values), dtype=np.float64)
    x = "member" if len(names) == 1 else names[-1]
    free = [name for name in names[1:] if name != x]
    return front_2d(columns, x, names[0], free[0] if free else None)


def _list_members(
    header: RunHeader, keys: list[str], objectives: Floats, genomes: Floats
) -> list[Plain]:
    """Members as people read them: their objectives, then their genes."""
    genes = header.show_genomes(genomes)
    names = header.objectives
    return [
        {
            "key": key,
            "cells": [metric(name, value) for name, value in zip(names, row, strict=True)]
            + [format_gene(values[place]) for values in genes.values()],
        }
        for place, (key, row) in enumerate(zip(keys, objectives.tolist(), strict=True))
    ]


def _describe_judging(judging: JudgingState, *, is_owned: bool) -> Plain:
    return {
        "phase": "judging" if is_owned else "finished",
        "headline": judging.verdict.sentence,
        "grade": judging.verdict.grade,
        "judging": list(judging.lines),
        "null": judging.chart,
    }
