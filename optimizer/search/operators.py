"""Operators on whole arrays: sampling, selection, crossover and mutation.

Every operator is a pure function of a random stream and arrays. It draws the same count of numbers
for the same shapes, uses only operations that IEEE 754 rounds exactly (no power, no logarithm),
and leaves its inputs alone, so equal streams give equal bits on every machine.

A gene with a step is varied as the whole number of its step. A gene without order is never moved
along; each operator documents its treatment.

The root of order eta + 1 in simulated binary crossover and polynomial mutation is a chain of
square roots, and the power a chain of squarings, which is why eta + 1 must be a power of two.

Sources: Deb and Agrawal, "Simulated binary crossover for continuous search space", Complex Systems
9, 1995; Deb and Goyal, "A combined genetic adaptive search (GeneAS) for engineering design",
Computer Science and Informatics 26, 1996; both in the bounded form of the authors' NSGA-II code.
"""

from collections.abc import Iterable

import numpy as np
from deap.base import Toolbox

from optimizer.config.settings import SearchSettings
from optimizer.config.values import ETAS
from optimizer.errors import ConfigError
from optimizer.search.archive import select_survival_rule
from optimizer.search.compiled.sorting import rising_orders
from optimizer.search.compiled.variation import choose_winners, cross, move, mutate, sample
from optimizer.search.generation import Floats, Indices, Problem
from optimizer.search.ranking import Ranking, rank_individuals
from strategy import GenomeLayout

FINE, COARSE = 63, 3
"""Distribution indices of small and of wide steps."""

__all__ = ["Toolbox", "make_toolbox"]


def plain(genomes: Floats) -> Floats:
    """Genomes [P, G] as compiled loops take them, copied only where they lie otherwise."""
    is_plain = genomes.flags.carray and genomes.dtype == np.float64
    return genomes if is_plain else np.require(genomes, np.float64, ["C", "W"])


def squarings(eta: int) -> int:
    """Count the squarings that make the power eta + 1, and the square roots that make its root.

    Raises:
        ConfigError: When `eta`, a distribution index, is none of `ETAS`.
    """
    if eta not in ETAS:
        raise ConfigError(
            f"eta must be one of {', '.join(map(str, ETAS))} "
            f"(one below a power of two, so that roots are exact everywhere), got {eta!r}"
        )
    return ETAS.index(eta) + 1


def sample_genomes(rng: np.random.Generator, layout: GenomeLayout, count: int) -> Floats:
    """Draw individuals [count, G] uniformly between their bounds, both included.

    Whole genes are uniform over whole values. Constraints are not repaired.
    """
    genomes = np.empty((count, len(layout)))
    draws = rng.random((count * len(layout),))
    sample(genomes, np.arange(count), count, draws, 0, layout.table)
    return genomes


def select_parents(rng: np.random.Generator, ranking: Ranking, count: int) -> Indices:
    """Choose parents by binary tournaments, [count] indices into a ranked population.

    Contestants come from one random permutation of the population after another, so that each
    individual takes part equally often. The better rank wins, then the wider crowding; the one who
    was drawn first wins a tie.
    """
    n_individuals = len(ranking.ranks)
    n_permutations = -(-2 * count // n_individuals)
    draws = rng.random((n_permutations, n_individuals))
    chosen = np.empty(count, dtype=np.int64)
    choose_winners(rising_orders(draws).ravel(), ranking.ranks, ranking.crowding, chosen)
    return chosen


def cross_simulated_binary(
    rng: np.random.Generator,
    parents: Floats,
    layout: GenomeLayout,
    *,
    eta: int,
    probability: float,
    both: bool = True,
) -> Floats:
    """Cross neighbouring parents [P, G] (0 with 1, ...) by bounded simulated binary crossover.

    A pair is crossed with a probability, each of its genes then with chance 1/2; the last one of an
    odd number is only copied. Children [P, G], or with not `both` the first of each pair [P / 2,
    G], are inside their bounds, whole genes rounded. Genes on which a pair agrees stay as they are;
    where a pair that is crossed differs in a gene without order, each child has either parent's, as
    likely. Constraints are not repaired. `eta` is the distribution index, as of `squarings`.
    """
    n_squarings = squarings(eta)
    n_pairs = len(parents) // 2
    is_crossed = rng.random((n_pairs, 1)) < probability
    draws = rng.random((3, n_pairs, len(layout)))
    children = np.empty((len(parents) if both else n_pairs, len(layout)))
    if both and len(parents) % 2:
        children[-1] = layout.clip(parents[-1:])[0]
    cross(plain(parents), is_crossed, draws, layout.table, n_squarings, children)
    return children


def mutate_polynomial(
    rng: np.random.Generator,
    genomes: Floats,
    layout: GenomeLayout,
    *,
    eta: int,
    probability: float,
) -> Floats:
    """Move single genes of genomes [P, G], each with a probability, by bounded polynomial mutation.

    Mutants [P, G] are inside their bounds; a gene whose bounds are equal is frozen. A mutated whole
    gene moves by at least one, towards the inside where it stands at a bound; one without order
    becomes one of its other options, each as likely. Constraints are not repaired. `eta` is the
    distribution index, as of `squarings`.
    """
    return _mutate_parts(rng, genomes, layout, ((len(genomes), eta),), probability)


def exchange_genes(
    rng: np.random.Generator, mothers: Floats, fathers: Floats, share: float
) -> Floats:
    """Give each child [P, G] some genes of its father, with a chance, and the rest of its mother.

    It is inside the bounds when its parents are. Constraints are not repaired.

    Source: Syswerda, "Uniform crossover in genetic algorithms", 1989.
    """
    return np.where(rng.random(mothers.shape) < share, fathers, mothers)


def move_by_difference(
    rng: np.random.Generator, parents: Floats, ahead: Floats, behind: Floats, layout: GenomeLayout
) -> Floats:
    """Move parents [P, G] along differences [P, G] of two others, in some of their genes.

    Step and share of genes are drawn anew for each child: the step is uniform from 1/4 to 1, the
    chance of a gene is one of 1/8, 1/2 and 1. One gene at least moves. Where a child would leave
    its bounds it goes half of the way from its parent to the bound. A gene without order moves to
    where the difference ends, if it is one. Whole genes are rounded; constraints are not repaired.

    Source: Storn and Price, "Differential evolution", 1997; steps and shares are a house rule.
    """
    draws = rng.random((3, len(parents)))
    chances = rng.random(parents.shape)
    moved = np.empty(parents.shape)
    move(plain(parents), plain(ahead), plain(behind), draws, chances, layout.table, moved)
    return moved


def nudge_genomes(
    rng: np.random.Generator, genomes: Floats, layout: GenomeLayout, probability: float
) -> Floats:
    """Mutate genes of genomes [P, G] with a probability, half finely and half coarsely."""
    half = len(genomes) // 2
    parts = (half, FINE), (len(genomes) - half, COARSE)
    return _mutate_parts(rng, genomes, layout, parts, probability)


def nudge_chance(layout: GenomeLayout) -> float:
    """Chance of each gene to be nudged: one over the number of genes that are not frozen."""
    return 1.0 / max(1, int((layout.low < layout.high).sum()))


def _mutate_parts(
    rng: np.random.Generator,
    genomes: Floats,
    layout: GenomeLayout,
    parts: Iterable[tuple[int, int]],
    probability: float,
) -> Floats:
    """Mutants of genomes [P, G], so many at a time, each part with an index."""
    draws, mutants = rng.random((2 * genomes.size,)), np.array(genomes, np.float64, order="C")
    rows, first = np.arange(len(genomes)), 0
    for count, eta in parts:
        start, n_squarings = 2 * first * len(layout), squarings(eta)
        some = rows[first : first + count]
        mutate(mutants, some, count, draws, start, layout.table, float(probability), n_squarings)
        first += count
    return mutants


def make_toolbox(problem: Problem, settings: SearchSettings) -> Toolbox:
    """Bind the operators to a problem's genes and a run's settings: arrays in and arrays out.

    A person who knows DEAP finds `mate`, `mutate`, `select` and `evaluate` under their usual names
    and may register another operator in their place. The words:

    - ``sample(rng, count=n) -> [n, G]``
    - ``select(rng, ranking, count) -> [count]`` indices of parents
    - ``mate(rng, parents [P, G], both=True) -> [P, G]``; without both the first of each pair
    - ``mutate(rng, genomes [P, G]) -> [P, G]``
    - ``exchange(rng, mothers [P, G], fathers [P, G]) -> [P, G]``
    - ``differ(rng, parents [P, G], ahead [P, G], behind [P, G]) -> [P, G]``
    - ``nudge(rng, genomes [P, G]) -> [P, G]``
    - ``evaluate(genomes [P, G]) -> Evaluation``
    - ``rank(objectives [P, O], violations [P]) -> Ranking``
    - ``survive(objectives [P, O], violations [P], keep, ranking) -> [keep]``, best first
    """
    layout = problem.layout
    chance = settings.mutation_probability
    toolbox: Toolbox = Toolbox()
    toolbox.register("sample", sample_genomes, layout=layout)
    toolbox.register("select", select_parents)
    toolbox.register(
        "mate",
        cross_simulated_binary,
        layout=layout,
        eta=settings.crossover_eta,
        probability=settings.crossover_probability,
    )
    toolbox.register(
        "mutate",
        mutate_polynomial,
        layout=layout,
        eta=settings.mutation_eta,
        probability=nudge_chance(layout) if chance is None else chance,
    )
    toolbox.register("exchange", exchange_genes, share=0.5)
    toolbox.register("differ", move_by_difference, layout=layout)
    toolbox.register("nudge", nudge_genomes, layout=layout, probability=nudge_chance(layout))
    toolbox.register("evaluate", problem.evaluate)
    toolbox.register("rank", rank_individuals)
    toolbox.register("survive", select_survival_rule(settings.survival, problem.n_objectives))
    return toolbox
