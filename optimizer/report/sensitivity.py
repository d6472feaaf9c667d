"""What happens near an individual: each gene moved alone, and pairs of genes moved together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from optimizer.search.generation import Evaluation, Floats
from optimizer.search.polish import STEPS
from optimizer.search.problem import Problem
from strategy import Gene, GenomeLayout

POINTS = 15
"""Values of a gene that moves alone, the individual's own not counted."""

PAIR_POINTS = 9
"""Values of each gene of a pair, likewise."""


@dataclass(frozen=True, eq=False)
class Line:
    """An individual with one gene moved.

    Args:
        values: [N] that it takes, ascending; the individual's own is one of them.
        objectives: [N, O] minimised; NaN where the genome is illegal or infeasible.
    """

    gene: int
    values: Floats
    objectives: Floats


@dataclass(frozen=True, eq=False)
class Plane:
    """An individual with two genes moved.

    Args:
        genes: Numbers of the genes, x and y.
        x: [N] values of the first.
        y: [M] values of the second.
        objectives: [M, N, O] minimised; NaN where the genome is illegal or infeasible.
    """

    genes: tuple[int, int]
    x: Floats
    y: Floats
    objectives: Floats


def gene_values(gene: Gene, own: float, points: int) -> Floats:
    """Values [N] of a gene, ascending: a lattice over its bounds, `own`, and near neighbours.

    They lie one step away (1 for whole genes, 1/128 of the span for others, as in polishing),
    and 1% of the span.
    """
    spread = np.linspace(gene.low, gene.high, points)
    steps = near_steps(gene)
    if gene.is_int:
        spread = np.rint(spread)
    beside = np.concatenate([own - steps, own + steps])
    beside = beside[(beside >= gene.low) & (beside <= gene.high)]
    return np.unique(np.concatenate([spread, [own], beside]))


def near_steps(gene: Gene) -> Floats:
    """How far the near neighbours of an individual lie along a gene, two steps."""
    span = gene.high - gene.low
    if gene.is_int:
        return np.array([1.0, max(round(span / 100), 1)])
    return np.array([span / STEPS, span / 100])


def move_each(
    problem: Problem, genomes: Floats, points: int = POINTS
) -> tuple[tuple[Line, ...], ...]:
    """Move each gene of each individual [N, G] alone, all in one batch; a line a gene."""
    plans = []
    for genome in genomes:
        for g, gene in enumerate(problem.layout.genes):
            values = gene_values(gene, float(genome[g]), points)
            moved = np.repeat(genome[None], len(values), axis=0)
            moved[:, g] = values
            plans.append((g, values, moved))
    objectives = _judged(problem, [moved for _, _, moved in plans])
    lines = [
        Line(g, values, found) for (g, values, _), found in zip(plans, objectives, strict=True)
    ]
    n_genes = len(problem.layout)
    return tuple(tuple(lines[i : i + n_genes]) for i in range(0, len(lines), n_genes))


def move_pairs(
    problem: Problem,
    genome: Floats,
    pairs: Sequence[tuple[int, int]] | None = None,
    points: int = PAIR_POINTS,
) -> tuple[Plane, ...]:
    """Move pairs of an individual's genes [G] together, all in one batch; one plane a pair.

    Every pair of genes that can move when `pairs` is None.
    """
    genes = problem.layout.genes
    free = [g for g, gene in enumerate(genes) if gene.low < gene.high]
    plans = []
    for i, j in combinations(free, 2) if pairs is None else pairs:
        x, y = (gene_values(genes[g], float(genome[g]), points) for g in (i, j))
        moved = np.repeat(genome[None], len(x) * len(y), axis=0)
        moved[:, i] = np.tile(x, len(y))
        moved[:, j] = np.repeat(y, len(x))
        plans.append(((i, j), x, y, moved))
    objectives = _judged(problem, [moved for *_, moved in plans])
    return tuple(
        Plane(pair, x, y, found.reshape(len(y), len(x), -1))
        for (pair, x, y, _), found in zip(plans, objectives, strict=True)
    )


def size_of_pairs(layout: GenomeLayout, points: int = PAIR_POINTS) -> int:
    """About how many individuals `move_pairs` evaluates for one individual."""
    free = sum(gene.low < gene.high for gene in layout.genes)
    return free * (free - 1) // 2 * (points + 3) ** 2


def robustness(
    layout: GenomeLayout, lines: Sequence[Line], objective: int, genome: Floats
) -> float:
    """The worst of an objective (minimised) over the near neighbours along each gene.

    +inf when one of them is infeasible. A smaller number is better.
    """
    worst = -np.inf
    for line in lines:
        reach = near_steps(layout.genes[line.gene]).max() * (1 + 1e-9)
        is_near = np.abs(line.values - genome[line.gene]) <= reach
        near = line.objectives[is_near, objective]
        worst = max(worst, float(np.where(np.isnan(near), np.inf, near).max()))
    return worst


def _judged(problem: Problem, parts: Sequence[Floats]) -> list[Floats]:
    """Minimised objectives of several lots of genomes, evaluated as one; NaN where illegal."""
    if not parts:
        return []
    genomes = np.concatenate(parts)
    is_legal = problem.layout.is_legal(genomes)
    objectives = np.full((len(genomes), problem.n_objectives), np.nan)
    if is_legal.any():
        found: Evaluation = problem.evaluate(genomes[is_legal])
        objectives[is_legal] = found.objectives
    edges = np.cumsum([len(part) for part in parts])[:-1]
    return np.split(objectives, edges)
