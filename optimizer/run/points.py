"""Points of a lattice or candidates on record with all metrics, as a grid; and a goal tried."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.accounts.metrics import METRICS, MetricTable
from optimizer.errors import ConfigError
from optimizer.goals.arithmetic import REASONS, evaluate
from optimizer.goals.constraints import MEAN, POOLED, over_windows
from optimizer.goals.formulas import read_formula
from optimizer.goals.near import NEAR
from optimizer.goals.objectives import OBJECTIVES, Objective, is_maximised
from optimizer.run.problem import measure
from optimizer.run.tables import Columns, recorded_individuals
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from optimizer.search.lattice import CHUNK
from optimizer.store import RunStore

MOST_POINTS = 1_000_000
"""More are not evaluated again for a table."""

MOST_VALUES = 40
"""Values of a gene that a grid shows each by itself; of more, so many ranges of equal width."""

INFEASIBLE = "infeasible neighbours"


@dataclass(frozen=True, eq=False)
class Points:
    """Candidates, and what each reaches on the bars that were searched."""

    genomes: Floats  # [N, G]
    values: Floats  # [N, M], named by `METRICS`; NaN where undefined
    failures: tuple[str, ...]  # [N], why one is infeasible; empty where it is feasible


@dataclass(frozen=True, eq=False)
class Grid:
    """A metric over two genes."""

    x: Floats  # [X] values of the gene that runs from left to right, rising
    y: Floats  # [Y] values of the other one
    values: Floats  # [Y, X]; NaN where there is no candidate, or none with that metric
    counts: npt.NDArray[np.int64]  # [Y, X], candidates in each cell


def find_points(store: RunStore, task: Task, most: int | None = None) -> Floats:
    """Genomes [N, G]: all legal points of a lattice, else every candidate that is on record.

    Of a lattice with more than `most` points a sample of about so many, always the same.
    ConfigError when there are more than `MOST_POINTS`, and no sample will do; StoreError when the
    run is damaged, or has recorded no candidate that is still kept.
    """
    lattice = task.lattice
    if lattice is None:
        return recorded_individuals(store).population.genomes
    if most is not None and len(lattice) > most:
        numbers = np.random.Generator(np.random.Philox(key=0)).integers(0, len(lattice), most)
        digits = np.unravel_index(np.unique(numbers), lattice.sizes)
        points = lattice.genomes(np.stack(digits, axis=1))
    elif len(lattice) > MOST_POINTS:
        raise ConfigError(
            f"the lattice has {len(lattice):,} points, at most {MOST_POINTS:,} are listed: "
            "take wider steps, or export --what individuals"
        )
    else:
        points = lattice.points(0, len(lattice))
    return points[task.spec.layout.is_legal(points)]


def measure_points(task: Task, genomes: Floats) -> Points:
    """All metrics of genomes [N, G], on the bars that were searched."""
    engine, markets, goals = task.engine(device="cpu"), task.markets, task.goals
    spans = markets.spans(markets.windows)
    values, failures = np.empty((len(genomes), len(METRICS))), np.empty(len(genomes), np.int64)
    for begin in range(0, len(genomes), CHUNK):
        part = slice(begin, begin + CHUNK)
        table, _ = measure(engine, genomes[part], spans)
        values[part] = _taken_together(table, goals.over)
        failures[part] = goals.alone.judge(table, genomes=genomes[part]).failures
    names = goals.alone.failure_names
    return Points(genomes, values, tuple(names[code] for code in failures.tolist()))


def points_table(task: Task, points: Points) -> Columns:
    """Points as columns: genes, all metrics, and why one is infeasible."""
    layout = task.spec.layout
    columns: Columns = {}
    for gene, column in zip(layout.genes, points.genomes.T, strict=True):
        columns[f"genes.{gene.name}"] = [gene.show(value) for value in column.tolist()]
    for name, column in zip(METRICS, points.values.T, strict=True):
        plain = column.tolist()
        columns[f"metrics.{name}"] = [None if value != value else value for value in plain]
    columns["infeasible"] = [failure or None for failure in points.failures]
    return columns


def build_grid(
    genomes: Floats,
    genes: tuple[int, int],
    values: Floats,
    *,
    maximise: bool,
    most: int = MOST_VALUES,
) -> Grid:
    """A metric over two genes, of all candidates in a cell the best.

    Args:
        genomes: [N, G].
        genes: Columns of the gene from left to right, and of the one from bottom to top.
        values: [N] of the metric; NaN where it is undefined.
        maximise: Whether more of it is better.
        most: Values of a gene that are shown each by itself; of more so many ranges.
    """
    (x, columns), (y, rows) = (_axis(genomes[:, gene], most) for gene in genes)
    counts = np.zeros((len(y), len(x)), np.int64)
    np.add.at(counts, (rows, columns), 1)
    sign = 1.0 if maximise else -1.0
    best = np.full(counts.shape, -np.inf)
    known = np.isfinite(values)
    np.maximum.at(best, (rows[known], columns[known]), sign * values[known])
    return Grid(x, y, np.where(np.isfinite(best), sign * best, np.nan), counts)


def wants_more(metric: str) -> bool:
    """True if more of a metric or an objective is better; of what no search strives for, more."""
    return (metric in METRICS and metric not in OBJECTIVES) or is_maximised(metric)


def _axis(column: Floats, most: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Values that a gene [N] takes, or the middles of ranges; and the number of each among them."""
    values, numbers = np.unique(column, return_inverse=True)
    if len(values) <= most:
        return values, numbers.astype(np.int64)
    edges = np.linspace(values[0], values[-1], most + 1)
    inside = np.searchsorted(edges, column, side="right") - 1
    middles: Floats = (edges[1:] + edges[:-1]) / 2
    return middles, np.minimum(inside, most - 1).astype(np.int64)


def _taken_together(table: MetricTable, over: str) -> Floats:
    """Metrics [P, M] of all windows as one, or their means where they are not pooled."""
    if over == POOLED:
        return table.pooled.values[:, 0]
    return np.column_stack(
        [over_windows(table.column(name), MEAN, more_is_better=True) for name in table.names]
    )


@dataclass(frozen=True, eq=False)
class TriedGoal:
    """An objective of drawn candidates."""

    objective: Objective
    values: Floats  # [P], windows taken together; NaN where undefined
    undefined: Mapping[str, int]  # reasons, and how often each


def try_objective(task: Task, count: int) -> TriedGoal:
    """The first objective of a task for so many candidates, drawn within the bounds."""
    goals, objective = task.goals, task.goals.objectives[0]
    engine, genomes = task.engine(device="cpu"), task.random_individuals(count)
    problem = task.problem(engine)
    values = problem.measure_objectives(genomes)[:, 0]
    table, _ = measure(engine, genomes, problem.spans, goals.metrics)
    is_pooled = objective.over == POOLED or (goals.over == POOLED and objective.over in ("", NEAR))
    inputs = goals.read_inputs(table.pooled if is_pooled else table, genomes)
    reasons = evaluate(read_formula(objective.metric), inputs, explains=True).reasons
    counts: Counter[str] = Counter()
    for candidate in np.flatnonzero(np.isnan(values)).tolist():
        codes = [] if reasons is None else [code for code in reasons[candidate].tolist() if code]
        counts[REASONS[codes[0]] if codes else INFEASIBLE] += 1
    return TriedGoal(objective, values, dict(counts.most_common()))
