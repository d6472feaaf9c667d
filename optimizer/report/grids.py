"""Two genes against a metric: which candidates a heat map shows, and which two genes.

A genetic search has recorded the objectives of its candidates, so nothing is evaluated anew: on a
run of 512 candidates and 100 generations all metrics anew would take half of the report's time. A
lattice has recorded its front alone; its points, or a sample of them, are evaluated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.accounts.metrics import METRICS
from optimizer.errors import ConfigError
from optimizer.goals.objectives import find_metric
from optimizer.report.tables import Tables
from optimizer.report.trades import Ints
from optimizer.run.importance import count_needed, importance
from optimizer.run.points import MOST_VALUES, Grid, build_grid, find_points, measure_points
from optimizer.run.tables import recorded_individuals
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from strategy.errors import unknown

MOST_MEASURED = 2_000
"""Points of a lattice that a report evaluates: about a tenth of the time that it takes."""

MOST_JUDGED = 2_000
"""Candidates by which the two genes are chosen: more change nothing but the time."""

A_CELL, FEWEST_RANGES, MOST_RANGES = 10, 5, 20
"""Candidates a cell on average where genes have too many values to be shown each by itself, and
into how many ranges they are put then: smaller cells are mostly empty."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of a run and what they reach on the bars that were searched."""

    genomes: Floats  # [N, G]
    # [N] of one metric, in natural sign; NaN where it is undefined, and of infeasible ones,
    # such as those with too few trades: they are no choice.
    values: Floats
    # Whether they are points of a grid, which stand at few values of a gene.
    is_lattice: bool = False

    def grid(self, genes: tuple[int, int], *, maximise: bool) -> Grid:
        """The best of each cell over two genes; of a gene with many values in ranges."""
        ranges = min(max(int(np.sqrt(len(self.genomes) / A_CELL)), FEWEST_RANGES), MOST_RANGES)
        most = MOST_VALUES if self.is_lattice else ranges
        return build_grid(self.genomes, genes, self.values, maximise=maximise, most=most)


def is_lattice(run: Tables) -> bool:
    """True if a run judged every point of a grid."""
    return run.result is not None and run.result.search == "lattice"


def find_candidates(run: Tables, metric: str, most: int | None = None) -> Candidates:
    """Candidates on record with an objective, or evaluated anew with any other metric.

    Args:
        run: Of which they are.
        metric: An objective, or one of `engine.accounts.metrics.METRICS`.
        most: Points of a lattice to evaluate, a fixed sample of them; None for all.

    Raises:
        ConfigError: When there is no such metric, or there are too many points.
        DataError, StoreError: When the bars are needed and are gone or other ones.
    """
    if metric not in (*METRICS, *run.objectives):
        raise ConfigError(unknown("metric", metric, [*METRICS]))
    with RunStore.open(run.path) as store:
        if metric in run.objectives and not is_lattice(run):
            known = recorded_individuals(store).population
            values = run.header.natural(known.objectives)[:, run.objectives.index(metric)]
            return Candidates(known.genomes, np.where(known.violations == 0, values, np.nan))
        genomes = find_points(store, run.task, most)
    points = measure_points(run.task, genomes)
    if (base := find_metric(metric)) is not None:
        values = points.values[:, METRICS.index(base)]
    else:
        problem = run.task.problem(run.task.engine(device="cpu"))
        values = problem.measure_objectives(genomes)[:, run.objectives.index(metric)]
    is_feasible = [not why for why in points.failures]
    return Candidates(genomes, np.where(is_feasible, values, np.nan), is_lattice(run))


def choose_genes(
    candidates: Candidates, bounds: Floats, is_category: Sequence[bool]
) -> tuple[int, int] | None:
    """The two genes that explain most of the values, else those that vary most; None of fewer.

    Args:
        candidates: Of a search.
        bounds: [G, 2] of the genes.
        is_category: [G] whether a gene has no order.
    """
    genomes = candidates.genomes
    free = np.flatnonzero(np.ptp(genomes, axis=0) > 0) if len(genomes) else np.empty(0, np.int64)
    if len(free) < 2:
        return None
    unordered = [is_category[gene] for gene in free.tolist()]
    shares = _measure_variance_shares(candidates, free, unordered)
    if shares is None:
        span = np.maximum(bounds[free, 1] - bounds[free, 0], np.finfo(np.float64).tiny)
        shares = genomes[:, free].std(axis=0) / span
    first, second = free[np.argsort(-shares, kind="stable")[:2]].tolist()
    return first, second


def _measure_variance_shares(
    candidates: Candidates, free: Ints, is_category: Sequence[bool]
) -> Floats | None:
    """Shares of variance that free genes explain alone; None where trials are too few."""
    known = np.flatnonzero(np.isfinite(candidates.values))
    if len(known) < count_needed(len(free)):
        return None
    count = min(len(known), MOST_JUDGED)
    known = known[np.arange(count) * len(known) // count]
    genomes = candidates.genomes[np.ix_(known, free)]
    if not (np.ptp(genomes, axis=0) > 0).all():
        return None
    return importance(genomes, candidates.values[known], is_category).alone
