"""How a search went, generation by generation, as far as it was kept."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from optimizer.generation import Floats, Population
from optimizer.report.charts.progress import LEVELS
from optimizer.report.pick import hypervolume
from optimizer.runs import GenerationSummary, RunStore
from optimizer.search import front_of

MOST_GENERATIONS = 200
"""More than this are not read: an even choice of them looks the same."""

MOST_FOR_HYPERVOLUME = 4
"""With more objectives than this a hypervolume takes too long."""


@dataclass(frozen=True, eq=False)
class History:
    """What generations of a run looked like.

    Args:
        generations: [N] int64, their numbers.
        best: [N, O] best objective of the front, minimised; NaN without one.
        median: [N, O] of the feasible individuals, minimised; NaN without one.
        quantiles: [N, G, 7] of the genes at `charts.progress.LEVELS`.
        volume: [N] hypervolume of the front as a share of the last one's; NaN where unknown.
        left_out: Generations that were recorded but are not shown.
        only_fronts: Whether of some of them only the front was kept.
    """

    generations: npt.NDArray[np.int64]
    best: Floats
    median: Floats
    quantiles: Floats
    volume: Floats
    left_out: int
    only_fronts: bool


def read_history(path: Path, n_objectives: int) -> History:
    """Read a run's generations.

    Args:
        path: Directory of the run.
        n_objectives: O.

    Returns:
        The history of at most `MOST_GENERATIONS` of them, the first and the last included.

    Raises:
        StoreError: When the run is damaged.
    """
    with RunStore.open(path) as store:
        summaries = list(store.generations())
        kept = [summary for summary in summaries if summary.kept != "summary"]
        chosen = _evenly(kept, MOST_GENERATIONS)
        populations = list(_populations(store, chosen))
    feasible = [one.objectives[one.violations == 0] for one in populations]
    fronts = [one.objectives[front_of(one)] for one in populations]
    nothing = np.full(n_objectives, np.nan)
    volume = np.full(len(chosen), np.nan)
    if n_objectives <= MOST_FOR_HYPERVOLUME and populations:
        volume = hypervolume(fronts)
        volume = volume / volume[-1] if volume[-1] > 0 else volume
    return History(
        generations=np.array([summary.number for summary in chosen], np.int64),
        best=_stacked([one.min(axis=0) if len(one) else nothing for one in fronts]),
        median=_stacked([np.median(one, axis=0) if len(one) else nothing for one in feasible]),
        quantiles=_stacked([np.quantile(one.genomes, LEVELS, axis=0).T for one in populations]),
        volume=volume,
        left_out=len(summaries) - len(chosen),
        only_fronts=any(summary.kept == "front" for summary in chosen),
    )


def _populations(store: RunStore, chosen: Sequence[GenerationSummary]) -> Iterator[Population]:
    """What was kept of each generation; an empty front has no quantiles and is left out."""
    for summary in chosen:
        if summary.kept == "whole":
            yield store.generation(summary.number).population
        else:
            yield store.front(summary.number)


def _evenly(summaries: Sequence[GenerationSummary], most: int) -> list[GenerationSummary]:
    usable = [one for one in summaries if one.kept == "whole" or one.front]
    if not usable:
        return []
    at = np.linspace(0, len(usable) - 1, min(len(usable), most)).round().astype(int)
    return [usable[i] for i in np.unique(at).tolist()]


def _stacked(rows: list[Floats]) -> Floats:
    return np.stack(rows) if rows else np.empty((0, 0))
