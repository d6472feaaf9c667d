"""A run while it is recorded: its front, its trends, how long it takes, what judging found so far.

A look reads records since the last one, over a connection that only reads.
"""

import hashlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.progress import format_duration
from optimizer.errors import OptimizerError, StoreError
from optimizer.evidence.judgement import (
    derive_verdict,
    describe_expected,
    find_pick,
    list_unstated,
    read_judgements,
    read_opened_result,
)
from optimizer.evidence.null import read_null_so_far
from optimizer.evidence.verdict import Verdict
from optimizer.formatting import describe_formulas, evenly, format_gene, metric, number, words
from optimizer.report.charts.chart import BLUE, Chart, axis, line, plane
from optimizer.report.charts.front import front_2d
from optimizer.report.charts.judged import null_strengths
from optimizer.report.charts.progress import best_objective
from optimizer.report.tables import measure_progress
from optimizer.report.trades import Plain
from optimizer.run.runner import SearchPace
from optimizer.run.tables import resume_command
from optimizer.search.generation import Floats, Generation, final_front
from optimizer.store import GenerationSummary, RunStore
from optimizer.store.listing import FOREIGN, find_status
from optimizer.store.log import Chain, Reader
from optimizer.store.result import RunHeader
from optimizer.viewing.channels import ChannelState
from optimizer.viewing.pages import encode_json

MOST_MEMBERS = 200
"""Members of a growing front that are drawn and named, an even choice of more."""

MOST_EARLIER = 40
"""Generations before the first look whose best is read."""

MOST_DRAWN = 400
"""Points of a line."""


class Best(NamedTuple):
    """Objectives of a generation, [O] each, minimised; NaN without a feasible individual."""

    generation: int
    best: Floats
    median: Floats


class Candidate(NamedTuple):
    """A member of a front that was shown."""

    genome: Floats  # [G]
    generation: int  # in which it was seen first
    cells: list[str]  # objectives and genes as people read them


class LiveRun:
    """A run that is watched."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mark: tuple[object, ...] | None = None
        self._last = ChannelState(b"")
        self._forget()

    def look(self) -> ChannelState:
        """State of the run as one line of JSON; with what cannot be read."""
        try:
            return self._read()
        except (OptimizerError, *FOREIGN) as error:
            self._mark = None
            self._forget()
            is_there = self.path.is_dir()
            what = str(error) if isinstance(error, OptimizerError) else f"no run holds {error!r}"
            headline = (
                " ".join(what.split())
                if is_there
                else f"Run {self.path.name} was deleted or moved."
            )
            state: Plain = {"phase": "unreadable" if is_there else "gone", "headline": headline}
            return ChannelState(encode_json(state), is_over=not is_there)

    def find_candidate(self, key: str) -> Candidate:
        """A member of a front that was shown lately, by its key there."""
        candidate = self._candidates.get(key)
        if candidate is None:
            raise StoreError("This candidate has left the front: choose another one.")
        return candidate

    def _forget(self) -> None:
        self._chain: Chain | None = None
        self._newest_link = b""
        self._summaries: list[GenerationSummary] = []
        self._pace = SearchPace()
        self._trend: list[Best] = []
        self._candidates: dict[str, Candidate] = {}

    def _read(self) -> ChannelState:
        with closing(Reader(self.path)) as reader:
            status, chain = find_status(self.path), reader.follow(self._chain)
            mark = status, chain.tail
            if mark == self._mark:
                return self._last
            self._take_rows(reader, chain)
            state: Plain = {"phase": "searching" if status == "running" else "interrupted"}
            state |= (
                self._describe_search(reader) if self._summaries else {"headline": "Beginning."}
            )
        if chain.result is not None:
            with RunStore.open(self.path) as store:
                state |= _describe_judging(store, is_owned=status == "running")
        elif status != "running":
            state["headline"] = f"Interrupted. Go on with: {resume_command(self.path)}"
        is_over = chain.result is not None and status != "running"
        self._mark, self._last = mark, ChannelState(encode_json(state), is_over)
        return self._last

    def _take_rows(self, reader: Reader, chain: Chain) -> None:
        """Take over the records since the last look."""
        known = len(self._summaries)
        shown = chain.generations[known - 1 : known]
        if known and [record.chain for record in shown] != [self._newest_link]:
            self._forget()
            known = 0
        new = reader.generations(known)
        self._summaries += new
        for summary in new:
            self._pace.add(summary.seconds, summary.evaluated)
        self._chain = chain
        if new:
            self._newest_link = chain.generations[-1].chain
        if not known:
            kept = [summary.number for summary in new if summary.kept == "whole"]
            earlier = [kept[index] for index in evenly(len(kept), MOST_EARLIER)]
            self._trend = [
                _measure_best(reader.generation(generation)) for generation in earlier[:-1]
            ]
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
        keys = self._name_members(header, genomes, objectives)
        planned = reader.planned
        return {
            "headline": f"Generation {newest.number:,} of {number(planned)}"
            + (": the front is polished and replayed" if newest.number == planned else ""),
            "facts": [
                *self._list_facts(planned, len(order)),
                *[("formula", line) for line in describe_formulas(header.formulas)],
            ],
            "columns": [words(name) for name in (*header.objectives, *header.gene_names)],
            "members": [{"key": key, "cells": self._candidates[key].cells} for key in keys],
            "charts": {
                "front": _draw_front(header.objectives, objectives, len(order)),
                "hypervolume": self._draw_hypervolume(),
                "best": self._draw_trends(header),
            },
        }

    def _name_members(self, header: RunHeader, genomes: Floats, objectives: Floats) -> list[str]:
        """Keys of members [F], which are kept by them: most are in many fronts."""
        keys = [hashlib.sha256(genome.tobytes()).hexdigest()[:20] for genome in genomes]
        new = [index for index, key in enumerate(keys) if key not in self._candidates]
        cells = _list_cells(header, objectives[new], genomes[new])
        generation = self._summaries[-1].number
        for index, row in zip(new, cells, strict=True):
            self._candidates[keys[index]] = Candidate(genomes[index], generation, row)
        # A member may be chosen a moment after it has left the front.
        shown = set(keys)
        left = [key for key in self._candidates if key not in shown]
        for key in left[:-MOST_MEMBERS]:
            del self._candidates[key]
        return keys

    def _list_facts(self, planned: int | None, front: int) -> list[tuple[str, str]]:
        """Numbers of a search, with their names."""
        newest = self._summaries[-1]
        left = max((planned or 0) - newest.number, 0)
        left_s = self._pace.estimate_seconds(left)
        time_left = "-" if left_s is None else format_duration(left_s)
        return [
            ("candidates evaluated", number(self._pace.evaluated)),
            ("candidates a second", number(float(f"{self._pace.individuals_per_s:.3g}"))),
            ("time left", time_left if left else "none"),
            ("members of the front", number(front)),
            ("hypervolume, first box = 1", number(newest.hypervolume)),
        ]

    def _draw_hypervolume(self) -> Chart:
        chosen = [self._summaries[index] for index in evenly(len(self._summaries), MOST_DRAWN)]
        volumes = np.array([summary.hypervolume for summary in chosen])
        numbers = np.array([summary.number for summary in chosen])
        drawn = [line(numbers, volumes, BLUE, "hypervolume")]
        alt = f"{number(float(volumes[-1]))} times the first box that a front spanned"
        up = axis("hypervolume", rangemode="tozero")
        return plane("hypervolume of the front", alt, drawn, "generation", up)

    def _draw_trends(self, header: RunHeader) -> list[Chart]:
        drawn = [self._trend[index] for index in evenly(len(self._trend), MOST_DRAWN)]
        generations = np.array([point.generation for point in drawn])
        best = header.natural(np.stack([point.best for point in drawn]))
        median = header.natural(np.stack([point.median for point in drawn]))
        return [
            best_objective(generations, name, best[:, index], median[:, index])
            for index, name in enumerate(header.objectives)
        ]


def _measure_best(generation: Generation) -> Best:
    found = generation.archive.objectives
    return Best(generation.number, *measure_progress(generation.population, found))


def _draw_front(names: tuple[str, ...], values: Floats, count: int) -> Chart:
    """Some of so many members by their last and their first objective.

    By their numbers where there is but one objective.
    """
    columns = {name: values[:, column] for column, name in enumerate(names)}
    if len(names) == 1:
        columns["member"] = np.arange(len(values), dtype=np.float64)
    x = "member" if len(names) == 1 else names[-1]
    free = [name for name in names[1:] if name != x]
    chart = front_2d(columns, x, names[0], free[0] if free else None)
    if len(values) == count:
        return chart
    return replace(chart, alt=f"of {count:,} members an even choice: {chart.alt}")


def _list_cells(header: RunHeader, objectives: Floats, genomes: Floats) -> list[list[str]]:
    """Members as people read them: their objectives, then their genes."""
    genes = header.show_genomes(genomes)
    return [
        [metric(name, value) for name, value in zip(header.objectives, row, strict=True)]
        + [format_gene(values[index]) for values in genes.values()]
        for index, row in enumerate(objectives.tolist())
    ]


def _describe_judging(store: RunStore, *, is_owned: bool) -> Plain:
    """The judgement of a run as far as it has come; nothing before the search is over."""
    result, judgement = read_opened_result(store)
    if result is None:
        return {}
    verdict, pick = derive_verdict(result, judgement), find_pick(result, judgement)
    strength = None if pick is None else pick.strength
    null = None if strength is None else read_null_so_far(store, strength)
    unstated = list_unstated(store.evidence, read_judgements(store))
    lines = [f"{left.what} so far" for left in unstated]
    if null is not None and judgement is None:
        lines += [f"On {name} bars: {kind.describe()}" for name, kind in null.kinds.items()]
    if judgement is None and is_owned:
        verdict = Verdict("not_judged", "The search is over and is being judged.")
    elif pick is not None and (expected := describe_expected(result, judgement, pick.member)):
        lines.append(f"Expected: {expected}")
    return {
        "phase": "judging" if is_owned else "finished",
        "headline": verdict.sentence,
        "grade": verdict.grade,
        "judging": lines,
        "null": None if null is None else null_strengths(null, strength),
    }
