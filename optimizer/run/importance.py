"""How much of an objective's variance, over the trials of a search, each gene explains.

It describes where this search went, and nothing of the market: a search tries most where it found
something, and genes that came along with a good one look good too. Hence two numbers a gene:

- *alone*: variance between bins of the gene over all variance, the correlation ratio (Pearson 1905)
  less what chance adds (Kelley's epsilon squared, 1935). Where genes are independent it is Sobol's
  first-order index (1993).
- *beyond*: how much less of the variance, adjusted for chance, bins of all genes explain in a sum
  when this gene is left out (Darlington's usefulness, 1968). A gene that only came along has none.

Both have mean 0 where values are shuffled, and may fall below 0. *Noise* is the greatest that any
gene reached in `SHUFFLES` orders of the values: chance exceeds it once in `SHUFFLES` + 1 times.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.errors import ConfigError
from optimizer.run.tables import recorded_individuals
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.result import RunHeader

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

    With the Gram matrix and moments it is what least squares of its bins explain; with the inverse
    and the slopes of all bins it is what they explain less without its own.
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
