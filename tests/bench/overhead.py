"""What a generation costs beside evaluation: ours, stock DEAP's and pymoo's, in one run.

    python -m tests.bench.overhead [P ...]

512, 4,096 and 32,768 individuals when none is given.

Everything but the evaluation of DTLZ2 with three objectives and ten genes is timed: selection,
variation, ranking, survival, the archive and its hypervolume. A generation's time is the least of
several runs, because a machine that is shared only ever adds to a time; what is shown is the median
of all generations, and the longest, because a full archive costs more than a young one. DEAP, whose
ranking grows with the square of the population, is left out beyond 4,096.
"""

import argparse
import importlib.util
import random
import sys
import time
import warnings
from statistics import median

import numpy as np

from optimizer.config.search import SearchSettings
from optimizer.search.evolution import evolve
from tests.bench.problems import Function
from tests.bench.timed import TimedProblem

SIZES = (512, 4096, 32_768)
LIMITS_MS = {512: 3.0, 4096: 10.0, 32_768: 80.0}
ROUNDS = 5
MOST_FOR_DEAP = 4096
MOST = 2**20


class Forgetful(Function):
    """DTLZ2 that remembers nothing of what it was asked."""

    def evaluate(self, genomes):
        """Judge genomes [P, G]."""
        values = super().evaluate(genomes)
        self.seen.clear()
        return values


def timed_problem():
    """Ten genes, three objectives."""
    problem = Forgetful("dtlz2")
    problem.layout = type(problem.layout)(problem.layout.genes[:10])
    return TimedProblem(problem)


def ours(size, generations):
    """Seconds of each generation, evaluation left out."""
    problem = timed_problem()
    search = evolve(problem, SearchSettings(population=size, generations=generations))
    times = []
    while True:
        before, began = problem.seconds, time.perf_counter()
        if next(search, None) is None:
            return times[1:]
        times.append(time.perf_counter() - began - (problem.seconds - before))


def pymoo(size, generations):
    """As `ours`, with pymoo's NSGA2."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem as PymooProblem

    problem = timed_problem()

    class Stated(PymooProblem):
        def __init__(self):
            super().__init__(n_var=10, n_obj=3, xl=0.0, xu=1.0)

        def _evaluate(self, x, out, *args, **kwargs):
            out["F"] = problem.evaluate(x).objectives

    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        algorithm = NSGA2(pop_size=size)
        algorithm.setup(Stated(), termination=("n_gen", generations + 1), seed=1, verbose=False)
        while algorithm.has_next():
            before, began = problem.seconds, time.perf_counter()
            algorithm.next()
            times.append(time.perf_counter() - began - (problem.seconds - before))
    return times[1:]


def deap(size, generations):
    """As `ours`, with the operators of DEAP's NSGA-II example."""
    from deap import base, tools

    class Fitness(base.Fitness):
        weights = (-1.0, -1.0, -1.0)

    class Individual(list):
        def __init__(self, genes):
            super().__init__(genes)
            self.fitness = Fitness()

    problem = timed_problem()

    def judge(individuals):
        values = problem.evaluate(np.array(individuals)).objectives
        for individual, value in zip(individuals, values.tolist(), strict=True):
            individual.fitness.values = value

    random.seed(1)
    population = [Individual(random.random() for _ in range(10)) for _ in range(size)]
    judge(population)
    population = tools.selNSGA2(population, size)
    times = []
    for _ in range(generations):
        before, began = problem.seconds, time.perf_counter()
        children = [Individual(parent) for parent in tools.selTournamentDCD(population, size)]
        for child, other in zip(children[::2], children[1::2], strict=True):
            tools.cxSimulatedBinaryBounded(child, other, 20.0, 0.0, 1.0)
            tools.mutPolynomialBounded(child, 20.0, 0.0, 1.0, 0.1)
            tools.mutPolynomialBounded(other, 20.0, 0.0, 1.0, 0.1)
        judge(children)
        population = tools.selNSGA2(population + children, size)
        times.append(time.perf_counter() - began - (problem.seconds - before))
    return times


def population(text):
    """A size of the command line."""
    if not text.isdecimal() or not 8 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"P must be a whole number from 8 to {MOST:,}, got {text}")
    return int(text)


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.overhead",
        description="What a generation costs beside evaluation, in milliseconds: ours, pymoo's, "
        "stock DEAP's.",
        epilog="Exit 1 when ours takes longer than its limit, 2 when the sizes make no sense.",
    )
    parser.add_argument("sizes", metavar="P", type=population, nargs="*", help="individuals")
    return parser.parse_args()


def rivals(size, generations):
    """Times of pymoo and DEAP in milliseconds, a dash for what was not tried."""
    has_pymoo = importlib.util.find_spec("pymoo") is not None
    theirs = f"{median(pymoo(size, max(2, generations // 4))) * 1e3:.1f}" if has_pymoo else "-"
    # Its tournament takes multiples of four only.
    is_deaps = size <= MOST_FOR_DEAP and size % 4 == 0
    return theirs, f"{median(deap(size, 2)) * 1e3:.0f}" if is_deaps else "-"


def main() -> None:
    """Print the table; exit 1 when a limit is not kept."""
    sizes = read_arguments().sizes or SIZES
    if importlib.util.find_spec("pymoo") is None:
        print("pymoo is not installed and left out: pip install pymoo", file=sys.stderr)
    print(f"{'P':>9}{'ours ms':>10}{'longest':>9}{'limit':>8}{'pymoo ms':>11}{'DEAP ms':>11}")
    is_slow = False
    for size in sizes:
        generations = max(4, min(60, 40_000 // size))
        rounds = [ours(size, generations) for _ in range(ROUNDS)]
        times = [min(same) * 1e3 for same in zip(*rounds, strict=True)]
        theirs, stock = rivals(size, generations)
        limit = LIMITS_MS.get(size)
        is_slow |= limit is not None and median(times) > limit
        shown = "-" if limit is None else f"{limit:.0f}"
        row = f"{size:>9,}{median(times):>10.2f}{max(times):>9.2f}{shown:>8}"
        print(f"{row}{theirs:>11}{stock:>11}", flush=True)
    sys.exit(1 if is_slow else 0)


if __name__ == "__main__":
    main()
