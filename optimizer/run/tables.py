"""Tables of a run's record: its front, its generations, and every individual with its line.

Columns are plain lists, so that any kind of file can be made from them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

import numpy as np

from data.shell import write_command
from optimizer.errors import StoreError
from optimizer.formatting import format_count
from optimizer.goals.objectives import is_maximised
from optimizer.search.generation import (
    LINEAGE,
    OPERATORS,
    UNKNOWN,
    Floats,
    Population,
    Serials,
    final_front,
)
from optimizer.store import RunStore
from optimizer.store.result import (
    Figures,
    Member,
    RunHeader,
    RunResult,
    load_result,
)

SHOWN_MEMBERS = 5
"""Members that a terminal and a notebook show."""

What = Literal["front", "generations", "individuals", "points"]

Columns = dict[str, list[object]]
"""Name to values, all of the same length; None where a value is unknown or undefined."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """Individuals as the run recorded them, each once."""

    population: Population  # N of them, in the order in which they were first recorded
    # [N] int64, the first recorded generation that each is in.
    born: np.ndarray[tuple[int], np.dtype[np.int64]]


def require_result(store: RunStore) -> RunResult:
    """The result of a run, refused with how to get one when it has none yet."""
    result = load_result(store)
    if result is None:
        raise StoreError(f"run '{store.run_id}' has no result yet: {resume_command(store.path)}")
    return result


def resume_command(run: Path) -> str:
    """The command that goes on with a run, as a person may type it."""
    return write_command("evolve", "--resume", run)


def recorded_individuals(store: RunStore) -> Recorded:
    """Every individual that is still recorded, once: whole populations or fronts, as kept.

    StoreError when the run is damaged, or has recorded no individual.
    """
    parts: list[Population] = []
    born: list[int] = []
    seen: set[bytes] = set()
    for number, population in _iter_populations(store):
        keys = [genome.tobytes() for genome in population.genomes]
        new = [index for index, key in enumerate(keys) if key not in seen]
        seen.update(keys)
        parts.append(population.take(np.array(new, dtype=np.int64)))
        born += [number] * len(new)
    if not parts:
        raise StoreError(f"run '{store.run_id}' has recorded no candidate that is still kept")
    names = [field.name for field in fields(Population)]
    together = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    RunHeader.read(store.header).check_genes(together[0])
    return Recorded(Population(*together), np.array(born, dtype=np.int64))


def newest_front(store: RunStore, known: RunResult | None = None) -> Population:
    """The front of a run: that of its result, polished, or else that of its newest generation.

    Members stand in the order of their numbers. The result is read if it is not `known` yet.
    StoreError when it has recorded no generation.
    """
    last, result = store.last_generation(), known or load_result(store)
    if last is None:
        raise StoreError(f"run '{store.run_id}' has recorded no generation yet")
    front = final_front(last)
    if result is None:
        return front.take(np.argsort(front.objectives[:, 0], kind="stable"))
    header, members = RunHeader.read(store.header), result.front
    header.check_genes(front.genomes)
    genomes = header.list_genomes(members)
    objectives = _table(header.objectives, [member.objectives for member in members])
    nothing = np.zeros(len(members))
    polished = Population(genomes, objectives, nothing, nothing.astype(np.int16))
    # Signs are their own inverse, so the way back is the way there.
    return replace(natural(header, polished), lineage=_find_lineage(genomes, front))


def _table(names: Sequence[str], rows: Sequence[Mapping[str, float]]) -> Floats:
    for name in names:
        if any(name not in row for row in rows):
            raise StoreError(f"the header names {name!r}, which a member of the result lacks")
    values = [[row[name] for name in names] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(names))


def _find_lineage(genomes: Floats, front: Population) -> Serials:
    """Lineage of each genome that is in a front; unknown parents and ``polish`` for the others."""
    known = {
        genome.tobytes(): line for genome, line in zip(front.genomes, front.lineage, strict=True)
    }
    polished = np.array([UNKNOWN, UNKNOWN, UNKNOWN, OPERATORS.index("polish")])
    return np.array([known.get(genome.tobytes(), polished) for genome in genomes]).reshape(-1, 4)


def natural(header: RunHeader, population: Population) -> Population:
    """The same individuals, objectives in the sign that people know.

    StoreError when the header describes others.
    """
    header.check_genes(population.genomes)
    codes, names = population.failures, format_count(len(header.failure_names), "failure")
    if not ((codes >= 0) & (codes < len(header.failure_names))).all():
        raise StoreError(
            f"the header names {names}, and candidates have codes {codes.min()} to {codes.max()}"
        )
    operators = population.lineage[:, LINEAGE.index("operator")]
    if not ((operators >= UNKNOWN) & (operators < len(OPERATORS))).all():
        raise StoreError("a candidate was made by an operator that there is not")
    return replace(population, objectives=header.natural(population.objectives))


def _iter_populations(store: RunStore) -> Iterator[tuple[int, Population]]:
    for summary in store.generations():
        if summary.kept == "whole":
            yield summary.number, store.generation(summary.number).population
        elif summary.kept == "front":
            yield summary.number, store.front(summary.number)


def front_table(result: RunResult) -> Columns:
    """The certified members of a finished run, by the numbers that tables and report give them.

    After held-out bars were opened, also figures there.
    """
    columns: Columns = {"member": list(range(len(result.front)))}
    for part in ("genes", "objectives", "metrics"):
        _add(columns, part, list(result.front))
    kept = [member.held_out for member in result.front if member.held_out is not None]
    for part in ("objectives", "metrics"):
        _add(columns, f"held_out.{part}", kept)
    return columns


def _add(columns: Columns, field: str, described: Sequence[Member | Figures]) -> None:
    """Add a column for each name in a part of members, or of their figures held out."""
    parts = [getattr(member, field.removeprefix("held_out.")) for member in described]
    for name in parts[0] if parts else ():
        columns[f"{field}.{name}"] = [part[name] for part in parts]


def list_generations(store: RunStore) -> Columns:
    """Generations of a run, a row each."""
    summaries = list(store.generations())
    columns: Columns = {"generation": [summary.number for summary in summaries]}
    for name in ("individuals", "front", "evaluated", "repaired", "hypervolume", "seconds", "kept"):
        columns[name] = [getattr(summary, name) for summary in summaries]
    for reason in RunHeader.read(store.header).failure_names[1:]:
        columns[f"rejected.{reason}"] = [summary.rejected.get(reason, 0) for summary in summaries]
    return columns


def list_individuals(store: RunStore) -> Columns:
    """Individuals that are still recorded, with their parents and the operator that made them."""
    recorded = recorded_individuals(store)
    header = RunHeader.read(store.header)
    population = natural(header, recorded.population)
    columns: Columns = {"generation": list(recorded.born.tolist())}
    for column, name in enumerate(LINEAGE[:3]):
        numbers = population.lineage[:, column].tolist()
        columns[name] = [None if number == UNKNOWN else number for number in numbers]
    operators = population.lineage[:, LINEAGE.index("operator")].tolist()
    columns["operator"] = [None if code == UNKNOWN else OPERATORS[code] for code in operators]
    failures = header.failure_names
    columns["failure"] = [failures[code] or None for code in population.failures.tolist()]
    columns["violation"] = list(population.violations.tolist())
    for name, shown in header.show_genomes(population.genomes).items():
        columns[f"genes.{name}"] = list(shown)
    for objective, name in enumerate(header.objectives):
        values = population.objectives[:, objective].tolist()
        columns[f"objectives.{name}"] = [value if value == value else None for value in values]
    return columns


def find_differing(
    front: Sequence[Member],
    objectives: Sequence[str],
    pick: int | None = None,
    most: int = SHOWN_MEMBERS,
) -> Mapping[int, Member]:
    """Members of a front that are shown, by number: all, or the pick and the most different ones.

    Neighbours on a front are nearly the same: its first members would show one corner of it. The
    best in each objective are therefore followed by those farthest from all that are chosen,
    each objective scaled to the range of the front.
    """
    if len(front) <= most:
        return dict(enumerate(front))
    signs = [-1.0 if is_maximised(name) else 1.0 for name in objectives]
    values = np.array([[member.objectives[name] for name in objectives] for member in front])
    values *= signs
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    first = [0 if pick is None else pick, 0, *scaled.argmin(axis=0).tolist()]
    chosen = list(dict.fromkeys(first))[:most]
    distance = np.min([((scaled - scaled[index]) ** 2).sum(axis=1) for index in chosen], axis=0)
    while len(chosen) < most and distance.max() > 0:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1))
    return {index: front[index] for index in sorted(chosen)}
