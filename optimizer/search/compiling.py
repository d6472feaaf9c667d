"""Loops of the search compiled by another process, while this one is busy with those of the engine.

That happens once a machine. Loops are kept on disk, where either process finds what the other has
compiled, so that nobody waits: a loop that is not there when it is needed is compiled here.
"""

import atexit
import os
import subprocess
import sys
from functools import cache

import numpy as np

from engine.compiling.loops import is_missing
from optimizer.config.search import SearchSettings
from optimizer.search.compiled.blocks import rank_in_blocks
from optimizer.search.compiled.contributions import drop
from optimizer.search.compiled.sorting import orders_of
from optimizer.search.generation import Evaluation, Floats
from optimizer.search.state import begun
from optimizer.search.steps import Steps
from strategy import Gene, GenomeLayout, LessThan


@cache
def compile_beside() -> None:
    """Have another process compile the loops, if nobody ever did and there is a core for it."""
    if not is_missing(drop) or len(os.sched_getaffinity(0)) < 2:
        return
    command = [sys.executable, "-c", "from optimizer.search.compiling import main; main()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        command, env=environment, stdin=nothing, stdout=nothing, stderr=nothing
    )
    atexit.register(process.kill)


def main() -> None:
    """Compile all loops, by a search of a problem that takes no time."""
    settings = SearchSettings(population=32, generations=2, archive=8)
    problem = Corners()
    steps, state = Steps(problem, settings), begun(problem, settings, None)
    for number in range(settings.generations + 1):
        state = steps.step(state, number).state
    columns = np.array(state.population.objectives.T, order="C")
    rank_in_blocks(columns, orders_of(columns))


class Corners:
    """A problem of three objectives: the distances from three corners."""

    layout = GenomeLayout(
        (Gene("x", "int", 0, 90, 0), Gene("y", "int", 9, 99, 9), Gene("z", "float", 0, 99, 0)),
        (LessThan("x", "y"),),
    )
    n_objectives = 3
    failure_names = ("",)

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, 3]."""
        distances = ((genomes[:, None] - 99.0 * np.eye(3)) ** 2).sum(axis=2)
        nothing = np.zeros(len(genomes))
        return Evaluation(distances, nothing, nothing.astype(np.int16))
