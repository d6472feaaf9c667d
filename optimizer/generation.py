"""What a search hands on: evaluations, populations and generations, all frozen."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Evaluation:
    """What the engine found out about a population.

    Args:
        objectives: [P, O], all to be minimised; a row is NaN where `violations` is not 0.
        violations: [P], 0 for a feasible individual, else how far from feasible it is (> 0).
        failures: [P] int16, 0 for a feasible individual, else a code into the problem's
            `failure_names`.
    """

    objectives: Floats
    violations: Floats
    failures: Codes


@dataclass(frozen=True)
class Population:
    """Individuals with what is known of them, in the order of survival (best first).

    Args:
        genomes: [P, G].
        objectives: [P, O], as in `Evaluation`.
        violations: [P], as in `Evaluation`.
        failures: [P], as in `Evaluation`.
    """

    genomes: Floats
    objectives: Floats
    violations: Floats
    failures: Codes

    def __len__(self) -> int:
        return len(self.genomes)


@dataclass(frozen=True)
class Generation:
    """One step of a search, complete enough to go on from.

    Args:
        number: 0 for the initial population.
        population: The survivors.
        evaluated: Individuals that were sent to the engine in this generation.
        seconds: Wall time of this generation.
        repaired: Individuals whose genes broke a constraint and were repaired.
        rejected: Name of a failure to how many of the evaluated individuals had it.
    """

    number: int
    population: Population
    evaluated: int
    seconds: float
    repaired: int
    rejected: Mapping[str, int]
