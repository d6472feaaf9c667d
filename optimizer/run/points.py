"""Candidates of a record or a lattice, with all metrics; a grid, a goal tried, weight of genes.

Importance of a gene is the share of an objective's variance, over the trials of a search, that it
explains. It describes where this search went, and nothing of the market: a search tries most where
it found something, and genes that came along with a good one look good too. Hence two numbers a
gene:

- *alone*: variance between bins of the gene over all variance, the correlation ratio (Pearson 1905)
  less what chance adds (Kelley's epsilon squared, 1935). Where genes are independent it is Sobol's
  first-order index (1993).
- *beyond*: how much less of the variance, adjusted for chance, bins of all genes explain in a sum
  when this gene is left out (Darlington's usefulness, 1968). A gene that only came along has none.

Both have mean 0 where values are shuffled, and may fall below 0. *Noise* is the greatest that any
gene reached in `SHUFFLES` orders of the values: chance exceeds it once in `SHUFFLES` + 1 times.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
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
from optimizer.search.evolution import CHUNK
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.result import RunHeader

MOST_POINTS = 1_000_000
"""More are not evaluated again for a table."""

MOST_VALUES = 40
"""Values of a gene that a grid shows each by itself; of more, so many ranges of equal width."""

INFEASIBLE = "infeasible neighbours"

MOST_BINS, TRIALS_A_BIN, FEWEST_TRIALS = 10, 4, 40

MOST_TRIALS = 10_000
"""More are thinned evenly."""

SHUFFLES = 199

RIDGE = 1e-9
"""Share of the trials that is added to the squares of bins: two genes may be the same."""

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

METHOD = (
    "alone: share of variance between bins of the gene (epsilon squared); beyond: share that is "
    "lost when the gene is left out of a sum over bins of all genes (adjusted R squared)"
)


@dataclass(frozen=True, eq=False)
class Points:
    """Candidates, and what each reaches on the bars that were searched."""

    genomes: Floats  # [N, G]
    values: Floats  # [N, M], named by `METRICS`; NaN where undefined
    failures: tuple[str, ...]  # [N], why one is infeasible; empty of a feasible one


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


@dataclass(frozen=True, eq=False)
class Importance:
    """Shares of the variance of one objective."""

    trials: int  # that count
    alone: Floats  # [G], of each gene by itself
    beyond: Floats  # [G], of each gene beyond what all others explain
    together: float  # of all genes in a sum; the rest is their interplay
    noise: tuple[float, float]  # what chance reaches in `alone` and in `beyond`


def measure_run_importance(store: RunStore) -> dict[str, Importance]:
    """Importance of the genes of a run for each objective, over its recorded feasible trials.

    ConfigError when they are too few; StoreError when the run is damaged, or has recorded none.
    """
    recorded, header = recorded_individuals(store).population, RunHeader.read(store.header)
    objectives = header.natural(recorded.objectives)
    is_known = (recorded.violations == 0) & np.isfinite(objectives).all(axis=1)
    genomes, values = recorded.genomes[is_known], objectives[is_known]
    needed = count_needed(genomes.shape[1])
    if len(values) < needed:
        raise ConfigError(
            f"run '{store.run_id}' has {len(values)} feasible trials on record, and "
            f"{needed} are needed to tell genes apart: search with a larger --population "
            "and --keep all"
        )
    return {
        name: importance(genomes, values[:, column], header.is_category)
        for column, name in enumerate(header.objectives)
    }


def count_needed(genes: int) -> int:
    """Fewest trials by which so many genes are known apart."""
    return max(FEWEST_TRIALS, TRIALS_A_BIN * genes)


def importance(
    genomes: Floats, values: Floats, is_category: Sequence[bool] | None = None
) -> Importance:
    """Share of the variance of finite values [N] that each gene of genomes [N, G] explains.

    Each value of a gene without an order, as `is_category` [G] flags, is a bin.
    """
    count = min(len(values), MOST_TRIALS)
    chosen = np.arange(count) * len(values) // count
    most = min(max(count // (TRIALS_A_BIN * genomes.shape[1]), 2), MOST_BINS)
    unordered = is_category or [False] * genomes.shape[1]
    bins = [
        _bins(gene, np.unique(gene)[:-1] if is_each else _quantile_edges(gene, most))
        for gene, is_each in zip(genomes[chosen].T, unordered, strict=True)
    ]
    owner = np.repeat(np.arange(len(bins)), [columns.shape[1] for columns in bins])
    design, shuffled = np.concatenate(bins, axis=1), _shuffle_values(values[chosen])
    gram = design.T @ design + RIDGE * count * np.eye(len(owner))
    moments = design.T @ shuffled
    inverse = np.asarray(np.linalg.inv(gram), np.float64)
    slopes = inverse @ moments
    explained = (moments * slopes).sum(axis=0)
    together = _adjust_r_squared(explained, len(owner), count)
    alone, beyond = [], []
    for gene in range(len(bins)):
        is_own = owner == gene
        least, lost = _length(gram, moments, is_own), _length(inverse, slopes, is_own)
        others = _adjust_r_squared(explained - lost, int((~is_own).sum()), count)
        alone.append(_adjust_r_squared(least, int(is_own.sum()), count))
        beyond.append(together - others)
    by_itself, added = np.array(alone), np.array(beyond)
    noise = float(by_itself[:, 1:].max()), float(added[:, 1:].max())
    return Importance(count, by_itself[:, 0], added[:, 0], float(together[0]), noise)


def _quantile_edges(gene: Floats, most: int) -> Floats:
    """Upper ends of bins of about as many trials each, but the last."""
    edges: Floats = np.unique(np.quantile(gene, np.arange(1, most) / most))
    return edges


def _bins(gene: Floats, edges: Floats) -> Floats:
    """A column a bin but the last, 1 within it, less its mean."""
    number = np.searchsorted(edges, gene, side="left")
    columns = (number[:, None] == np.unique(number)[:-1]).astype(np.float64)
    centred: Floats = columns - columns.mean(axis=0)
    return centred


def _length(matrix: Floats, vectors: Floats, is_own: Mask) -> Floats:
    """Of the parts v that one gene owns of vectors [K, V], v^T M^-1 v by its block M, [V].

    With the Gram matrix and moments: the part that its bins explain by least squares; with the
    inverse and the slopes of all bins: the part that all lose without its own.
    """
    part = vectors[is_own]
    lengths: Floats = (part * np.linalg.solve(matrix[np.ix_(is_own, is_own)], part)).sum(axis=0)
    return lengths


def _shuffle_values(values: Floats) -> Floats:
    """Values as they are, then in other orders, of mean 0 and length 1, [N, 1 + SHUFFLES]."""
    # A power of two changes no digit, and keeps squares of great numbers finite.
    scaled = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    centred = scaled - scaled.mean()
    length = float(np.sqrt((centred**2).sum()))
    unit = centred / length if length > 0 else centred
    orders = [
        np.argsort(np.random.Philox(key=[0, shuffle]).random_raw(len(values)))
        for shuffle in range(SHUFFLES)
    ]
    return np.stack([unit, *(unit[order] for order in orders)], axis=1)


def _adjust_r_squared(explained: Floats, columns: int, count: int) -> Floats:
    """R squared less what as many columns explain of noise; of one gene's bins epsilon squared."""
    adjusted: Floats = 1 - (1 - explained) * (count - 1) / (count - 1 - columns)
    return adjusted
