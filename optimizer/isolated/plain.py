"""Goals, settings and generations as plain values and arrays, and back to the last bit."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from engine.errors import EngineError, GenomeError, MemoryPlanError
from engine.wire import Array
from optimizer.constraints import Constraint
from optimizer.errors import ConfigError, OptimizerError
from optimizer.generation import LINEAGE, Generation, Population
from optimizer.objectives import Goals, Objective

COLUMNS = tuple(field.name for field in fields(Population))
"""Arrays of a population, in order."""

KINDS = ("float64", "float64", "float64", "int16", "int64")
"""Their types."""

NUMBERS = ("number", "evaluated", "seconds", "repaired", "rejected", "hypervolume")
"""What a generation tells beside its arrays."""

ERRORS: Mapping[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (OptimizerError, ConfigError, EngineError, GenomeError, MemoryPlanError)
}
"""What may be wrong with a search in any process, by name."""


def plain_goals(goals: Goals) -> dict[str, object]:
    """Goals as plain values."""
    return asdict(goals)


def goals_of(told: Mapping[str, Any]) -> Goals:
    """The goals that `plain_goals` told."""
    return Goals(
        tuple(Objective(**objective) for objective in told["objectives"]),
        told["min_trades"],
        tuple(Constraint(**constraint) for constraint in told["constraints"]),
        told["over"],
    )


def plain_generation(generation: Generation) -> tuple[dict[str, object], list[Array]]:
    """A generation as plain values, and the arrays of population, archive and memory."""
    told = {name: getattr(generation, name) for name in NUMBERS}
    groups = (generation.population, generation.archive)
    arrays: list[Array] = [getattr(group, name) for group in groups for name in COLUMNS]
    return told, [*arrays, generation.memory]


def generation_of(
    told: Mapping[str, Any], arrays: Sequence[Array], n_genes: int, n_objectives: int
) -> Generation:
    """The generation that `plain_generation` told.

    Args:
        told: Its numbers.
        arrays: Its arrays, which are copied; the copies are read-only.
        n_genes: G.
        n_objectives: O.

    Raises:
        ValueError, TypeError, KeyError: When it cannot be one.
    """
    *columns, memory = arrays
    n = len(COLUMNS)
    if len(columns) != 2 * n or memory.ndim != 1 or memory.dtype != np.float64:
        raise ValueError("these are not the arrays of a generation")
    widths = (n_genes, n_objectives, 0, 0, len(LINEAGE))
    population, archive = (_population(part, widths) for part in (columns[:n], columns[n:]))
    numbers = {name: told[name] for name in NUMBERS}
    for name in ("number", "evaluated", "repaired"):
        if not isinstance(numbers[name], int) or numbers[name] < 0:
            raise ValueError(f"{name} cannot be {numbers[name]!r}")
    return Generation(**numbers, population=population, archive=archive, memory=_kept(memory))  # type: ignore[arg-type]


def _population(arrays: Sequence[Array], widths: Sequence[int]) -> Population:
    """The individuals of five arrays, which have a width each, 0 for one without columns."""
    count = len(arrays[0])
    for array, kind, width in zip(arrays, KINDS, widths, strict=True):
        expected = (count, width) if width else (count,)
        if (array.dtype.name, array.shape) != (kind, expected):
            raise ValueError(f"an array is {array.dtype} {array.shape}, not {kind} {expected}")
    return Population(*map(_kept, arrays))  # type: ignore[arg-type]


def _kept(array: Array) -> Array:
    """A copy that stays as it is."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy
