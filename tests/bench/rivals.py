"""Searches that people would use instead: of pymoo, Optuna and DEAP, and random search.

Each gets the problem as its users would state it, and is stopped after the same evaluations.
Whole genes are rounded and broken constraints repaired inside the evaluation, alike for all.
"""

import random
import warnings

import numpy as np

from optimizer.search.breeding import sample_genomes
from optimizer.search.randomness import stream
from tests.bench.problems import Function, Market, RealWorld

POPULATION = 100
"""The default of pymoo, and what examples of DEAP use; Optuna keeps its own default of 50."""

Problem = Function | Market | RealWorld


def judge_genomes(problem: Problem, genomes):
    """Objectives [P, O] and violations [P] of any genomes within the bounds."""
    legal, _ = problem.layout.repair(np.asarray(genomes, dtype=np.float64))
    values = problem.evaluate(legal)
    return values.objectives, values.violations


def random_search(problem: Problem, evaluations: int, seed: int) -> None:
    """Uniform genomes."""
    genomes = sample_genomes(stream(seed, 0, "initial"), problem.layout, evaluations)
    for chunk in np.array_split(genomes, -(-evaluations // 1000)):
        judge_genomes(problem, chunk)


def pymoo_nsga2(problem: Problem, evaluations: int, seed: int) -> None:
    """`pymoo.algorithms.moo.nsga2.NSGA2` as it comes, violations as its constraint."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem as PymooProblem
    from pymoo.optimize import minimize

    layout = problem.layout

    class Stated(PymooProblem):
        def __init__(self):
            super().__init__(
                n_var=len(layout),
                n_obj=problem.n_objectives,
                n_ieq_constr=1,
                xl=layout.low,
                xu=layout.high,
            )

        def _evaluate(self, x, out, *args, **kwargs):
            objectives, violations = judge_genomes(problem, x)
            out["F"] = np.where(violations[:, None] > 0, 1e9, objectives)
            out["G"] = violations[:, None]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minimize(Stated(), NSGA2(pop_size=POPULATION), ("n_eval", evaluations), seed=seed)


def optuna_nsga2(problem: Problem, evaluations: int, seed: int) -> None:
    """`optuna.samplers.NSGAIISampler` as it comes, a generation of 50 at a time."""
    _ask_optuna(problem, "NSGAIISampler", evaluations, seed, 50)


def optuna_tpe(problem: Problem, evaluations: int, seed: int) -> None:
    """`optuna.samplers.TPESampler`, Optuna's default."""
    _ask_optuna(problem, "TPESampler", evaluations, seed, 1)


def _ask_optuna(problem: Problem, name: str, evaluations: int, seed: int, size: int) -> None:
    """A study that asks and answers so many trials at a time, violations as its constraint."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    layout = problem.layout
    distributions = {
        gene.name: optuna.distributions.IntDistribution(int(gene.low), int(gene.high))
        if gene.is_int
        else optuna.distributions.FloatDistribution(gene.low, gene.high)
        for gene in layout.genes
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = getattr(optuna.samplers, name)(
            seed=seed, constraints_func=lambda trial: (trial.user_attrs["violation"],)
        )
        study = optuna.create_study(directions=["minimize"] * problem.n_objectives, sampler=sampler)
        for _ in range(evaluations // size):
            trials = [study.ask(distributions) for _ in range(size)]
            genomes = [[trial.params[gene.name] for gene in layout.genes] for trial in trials]
            objectives, violations = judge_genomes(problem, genomes)
            objectives = np.where(violations[:, None] > 0, 1e9, objectives)
            for trial, values, violation in zip(trials, objectives, violations, strict=True):
                trial.set_user_attr("violation", float(violation))
                study.tell(trial, values.tolist())


def deap_nsga2(problem: Problem, evaluations: int, seed: int) -> None:
    """DEAP's NSGA-II example, its operators and settings; infeasible values are 1e9 and more."""
    from deap import base, creator, tools

    layout, size = problem.layout, POPULATION
    low, high = layout.low.tolist(), layout.high.tolist()
    if not hasattr(creator, f"Fitness{problem.n_objectives}"):
        weights = (-1.0,) * problem.n_objectives
        creator.create(f"Fitness{problem.n_objectives}", base.Fitness, weights=weights)
    fitness = getattr(creator, f"Fitness{problem.n_objectives}")
    creator.create("Individual", list, fitness=fitness)

    def judge(individuals):
        objectives, violations = judge_genomes(problem, individuals)
        worst = 1e9 * (1.0 + violations[:, None])
        values = np.where(violations[:, None] > 0, worst, objectives)
        for individual, value in zip(individuals, values.tolist(), strict=True):
            individual.fitness.values = value

    random.seed(seed)
    population = [
        creator.Individual(random.uniform(a, b) for a, b in zip(low, high, strict=True))
        for _ in range(size)
    ]
    judge(population)
    population = tools.selNSGA2(population, size)
    for _ in range(evaluations // size - 1):
        parents = tools.selTournamentDCD(population, size)
        children = [creator.Individual(parent) for parent in parents]
        for child, other in zip(children[::2], children[1::2], strict=True):
            if random.random() <= 0.9:
                tools.cxSimulatedBinaryBounded(child, other, 20.0, low, high)
            tools.mutPolynomialBounded(child, 20.0, low, high, 1.0 / len(low))
            tools.mutPolynomialBounded(other, 20.0, low, high, 1.0 / len(low))
        judge(children)
        population = tools.selNSGA2(population + children, size)


RIVALS = {
    "pymoo": pymoo_nsga2, "optuna": optuna_nsga2, "tpe": optuna_tpe, "deap": deap_nsga2,
    "random": random_search,
}  # fmt: skip
