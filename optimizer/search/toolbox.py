"""The search's vocabulary: a DEAP toolbox with operators on whole arrays.

A person who knows DEAP finds `mate`, `mutate`, `select` and `evaluate` under their usual names and
may register another operator in their place. This module is the only one that imports DEAP.
"""

from deap.base import Toolbox

from optimizer.config.search import SearchSettings
from optimizer.search.operators import (
    cross_simulated_binary,
    exchange_genes,
    move_by_difference,
    mutate_polynomial,
    nudge_chance,
    nudge_genomes,
    sample_genomes,
    select_parents,
)
from optimizer.search.problem import Problem
from optimizer.search.ranking import rank_individuals
from optimizer.search.survival import select_survival_rule

__all__ = ["Toolbox", "make_toolbox"]


def make_toolbox(problem: Problem, settings: SearchSettings) -> Toolbox:
    """Bind the operators to a problem's genes and a run's settings.

    Args:
        problem: Genes and judgement.
        settings: Probabilities and distribution indices.

    Returns:
        A toolbox with these words, arrays in and arrays out:

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
