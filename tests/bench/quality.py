"""Who finds the better front with the same evaluations: ours beside what people would pick.

    python -m tests.bench.quality --real FOLDER [--rivals NAME ...] -- [PROBLEM ...]

Problems of the RE suite need its file: ``--suite reproblem.py -- re21 re22``.

Each search judges 20,000 individuals, or --evaluations, with each of five --seeds; with --seconds
it has so much processor time instead. Rivals are given all that they ever
evaluated, whatever they would return: of that, the undominated. Ours is given its final archive.
Objectives are scaled so that the undominated of all searches span 0 to 1, the reference point lies
0.1 beyond, and the hypervolume is exact. Printed is the median over the seeds.
"""

import argparse
import contextlib
import sys
import time
from pathlib import Path

import moocore
import numpy as np

from optimizer.config.settings import SearchSettings
from tests.bench.problems import NAMES, make_problem
from tests.bench.rivals import RIVALS
from tests.support.searches import evolve, polished_front

EVALUATIONS = 20_000
MOST_IN_TIME = 10_000_000
SEEDS = (1, 2, 3, 4, 5)
POPULATION = 100
POLISH = 500
"""Evaluations of the 20,000 that our search leaves for the last touch."""
ARCHIVE = 2000
OURS = "ours"


class TimeUpError(Exception):
    """The processor time of a search is over."""


def stop_after(problem, seconds: float) -> None:
    """Let a problem judge nobody any more after so much processor time."""
    judge, end = problem.evaluate, time.process_time() + seconds

    def judge_in_time(genomes):
        if time.process_time() > end:
            raise TimeUpError
        return judge(genomes)

    problem.evaluate = judge_in_time


def our_settings(seed: int, evaluations: int) -> SearchSettings:
    """The defaults of the command line, but for population, archive and where to end."""
    generations = (evaluations - min(POLISH, evaluations // 10)) // POPULATION - 1
    return SearchSettings(
        population=POPULATION, generations=generations, archive=ARCHIVE, seed=seed
    )


def our_front(problem, seed: int, evaluations: int):
    """The final front of our search, polished where there is time."""
    settings = our_settings(seed, evaluations)
    most = min(POLISH, evaluations // 10)
    with contextlib.suppress(TimeUpError):
        for last in evolve(problem, settings):
            front = last.archive
        front, _ = polished_front(problem, last, at_most=most, keep=settings.archive)
    return front.objectives


def rival_front(problem, rival: str, seed: int, evaluations: int):
    """Undominated individuals among all that a rival ever saw."""
    with contextlib.suppress(TimeUpError):
        RIVALS[rival](problem, evaluations, seed)
    seen = np.concatenate(problem.seen)
    seen = seen[~np.isnan(seen).any(axis=1)]
    return seen[moocore.is_nondominated(seen)] if len(seen) else seen


def find_front(name: str, method: str, seed: int, given: argparse.Namespace):
    """The front of a search."""
    problem, most = make_problem(name, given.real, given.suite), given.evaluations
    if given.seconds:
        most = MOST_IN_TIME
        stop_after(problem, given.seconds)
    if method == OURS:
        front = our_front(problem, seed, most)
    else:
        front = rival_front(problem, method, seed, most)
    judged = sum(map(len, problem.seen))
    if judged > most:
        raise SystemExit(f"{method} judged {judged:,} individuals on {name}")
    return front


def volumes(fronts):
    """Hypervolume of each front, in the box of the undominated of all."""
    together = np.concatenate([front for part in fronts.values() for front in part if len(front)])
    best = together[moocore.is_nondominated(together)]
    low, extent = best.min(axis=0), np.ptp(best, axis=0)

    def volume(front):
        scaled = (front - low) / np.where(extent > 0, extent, 1.0)
        scaled = scaled[(scaled < 1.1).all(axis=1)] if len(front) else front
        return float(moocore.hypervolume(scaled, ref=1.1)) if len(scaled) else 0.0

    return {method: [volume(front) for front in part] for method, part in fronts.items()}


def main() -> None:
    """Measure and print the table; exit 1 when ours is below a rival somewhere."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="*", default=NAMES)
    parser.add_argument("--real", type=Path, required=True)
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=list(RIVALS))
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many, at most 5")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--seconds", type=float, help="of processor time, in place of evaluations")
    parser.add_argument("--suite", type=Path, help="reproblem.py, for problems re21 to cre51")
    given = parser.parse_args()
    methods = (OURS, *given.rivals)
    print(f"{'problem':<14}" + "".join(f"{method:>9}" for method in methods) + "  best")
    is_below = False
    for name in given.problems:
        began = time.perf_counter()
        fronts = {
            method: [find_front(name, method, seed, given) for seed in SEEDS[: given.seeds]]
            for method in methods
        }
        medians = {method: float(np.median(part)) for method, part in volumes(fronts).items()}
        best = max(medians, key=medians.get)
        is_below |= medians[OURS] < medians[best]
        row = "".join(f"{medians[method]:>9.4f}" for method in methods)
        print(f"{name:<14}{row}  {best}  ({time.perf_counter() - began:.0f} s)", flush=True)
    sys.exit(1 if is_below else 0)


if __name__ == "__main__":
    main()
