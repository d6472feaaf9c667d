"""Some individuals of two populations, without putting all of both together first."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled_unlocked
from optimizer.search.compiled.fronts import Unsigned
from optimizer.search.compiled.sorting import Places
from optimizer.search.generation import Population

Number = TypeVar("Number", np.float64, np.int64)


def chosen(first: Population, second: Population, places: Places) -> Population:
    """What `Population.joined(first, second).take(places)` is, read-only."""
    violations = np.concatenate([first.violations, second.violations]).take(places)
    failures = np.concatenate([first.failures, second.failures]).take(places)
    return Population(
        genomes=_rows(first.genomes, second.genomes, places),
        objectives=_rows(first.objectives, second.objectives, places),
        violations=violations,
        failures=failures,
        lineage=_rows(first.lineage, second.lineage, places),
    ).frozen()


def _rows(
    first: npt.NDArray[Number], second: npt.NDArray[Number], places: Places
) -> npt.NDArray[Number]:
    """Rows [N, G] of two tables [P, G] and [Q, G] whose numbers have 64 bits."""
    rows = np.empty((len(places), first.shape[1]), dtype=first.dtype)
    copy_rows(_bits(first), _bits(second), places, rows.view(np.uint64))
    return rows


def _bits(table: npt.NDArray[Number]) -> Unsigned:
    """A table as the loop reads it: always read-only, so that one compiled form does."""
    bits = np.ascontiguousarray(table).view(np.uint64)
    bits.flags.writeable = False
    return bits


@compiled_unlocked
def copy_rows(first: Unsigned, second: Unsigned, places: Places, out: Unsigned) -> None:
    """Copy rows; those of `second` are counted on from those of `first`.

    Args:
        first: [P, G].
        second: [Q, G].
        places: [N], below P + Q.
        out: [N, G].
    """
    n_first = np.uint64(first.shape[0])
    for i in range(places.size):
        p = np.uint64(places[i])
        if p < n_first:
            for g in range(first.shape[1]):
                out[i, g] = first[p, g]
        else:
            for g in range(first.shape[1]):
                out[i, g] = second[p - n_first, g]
