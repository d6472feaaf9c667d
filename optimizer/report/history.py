"""How a search went, generation by generation, as far as it was kept."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from optimizer.formatting import evenly
from optimizer.report.charts.progress import LEVELS
from optimizer.search.generation import Floats, Population
from optimizer.store import GenerationSummary, RunStore
from optimizer.store.result import RunHeader
from optimizer.store.rows import front_population

MOST_GENERATIONS = 200
"""More than this are not read: an even choice of them looks the same."""


@dataclass(frozen=True, eq=False)
class History:
    """History of a run's generations."""

    generations: npt.NDArray[np.int64]
    # [N, O] best objective found by then, minimised; NaN without a feasible individual.
    best: Floats
    median: Floats  # [N, O] of the feasible individuals, minimised; NaN without one
    quantiles: Floats  # [N, G, 7] of the genes at `charts.progress.LEVELS`
    # [H] int64, generations with a hypervolume, whether kept or not.
    volume_generations: npt.NDArray[np.int64]
    volume: Floats  # [H] hypervolume of the best found so far, as a share of the last one's
    left_out: int  # generations that were recorded but are not shown
    only_fronts: bool  # whether of some of them only the front was kept


def read_history(path: Path, n_objectives: int) -> History:
    """The history of at most `MOST_GENERATIONS` of a run, the first and the last included."""
    with RunStore.open(path) as store:
        summaries = list(store.generations())
        kept = [
            summary
            for summary in summaries
            if summary.kept == "whole" or (summary.kept == "front" and summary.front)
        ]
        chosen = [kept[number] for number in evenly(len(kept), MOST_GENERATIONS)]
        populations = [_load_population(store, summary) for summary in chosen]
        header = RunHeader.read(store.header)
    for population, _ in populations:
        header.check_genes(population.genomes)
    feasible = [population.objectives[population.violations == 0] for population, _ in populations]
    nothing = np.full(n_objectives, np.nan)
    shown = [summaries[number] for number in evenly(len(summaries), MOST_GENERATIONS)]
    volume = np.array([summary.hypervolume for summary in shown])
    return History(
        generations=np.array([summary.number for summary in chosen], np.int64),
        best=_stack_rows([best.min(axis=0) if len(best) else nothing for _, best in populations]),
        median=_stack_rows([_median(values) if len(values) else nothing for values in feasible]),
        quantiles=_stack_rows(
            [np.quantile(population.genomes, LEVELS, axis=0).T for population, _ in populations]
        ),
        volume_generations=np.array([summary.number for summary in shown], np.int64),
        volume=volume / volume[-1] if len(volume) and volume[-1] > 0 else volume,
        left_out=len(summaries) - len(chosen),
        only_fronts=any(summary.kept == "front" for summary in chosen),
    )


def _load_population(store: RunStore, summary: GenerationSummary) -> tuple[Population, Floats]:
    """Population of a generation as far as it was kept, and objectives of the best until then."""
    if summary.kept == "front":
        front = store.front(summary.number)
        return front, front.objectives
    generation = store.generation(summary.number)
    population, archive = generation.population, generation.archive
    best = archive if len(archive) else front_population(population)
    return population, best.objectives


def _median(objectives: Floats) -> Floats:
    """Of each column; infinite where no number holds the sum of the two in the middle."""
    with np.errstate(over="ignore"):
        return np.asarray(np.median(objectives, axis=0), np.float64)


def _stack_rows(rows: list[Floats]) -> Floats:
    return np.stack(rows) if rows else np.empty((0, 0))
