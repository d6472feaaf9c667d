"""What a run recorded, as tables: its front, its generations, and every individual with its line.

Columns are plain lists, so that any kind of file can be made from them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from optimizer.errors import StoreError
from optimizer.goals.objectives import is_maximised
from optimizer.runs import RunStore
from optimizer.search.evolution import final_front
from optimizer.search.generation import LINEAGE, OPERATORS, UNKNOWN, Floats, Population, Serials
from optimizer.session.workflow import recorded_result

What = Literal["front", "generations", "individuals"]

Columns = dict[str, list[object]]
"""Name to values, all of the same length; None where a value is unknown or undefined."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """Individuals as the run recorded them, each once.

    Args:
        population: N of them, in the order in which they were first recorded.
        born: [N] int64, the first recorded generation that each is in.
    """

    population: Population
    born: np.ndarray[tuple[int], np.dtype[np.int64]]


def table_of(store: RunStore, what: What) -> Columns:
    """One table of a run.

    Args:
        store: The run, open for reading.
        what: ``front``, the certified members of a finished run, by the numbers that tables and
            report give them, with their metrics, also on bars that were held out;
            ``generations``, one row each; ``individuals``, every one that is still recorded, with
            its parents and the operator that made it.

    Raises:
        StoreError: When a run without a result is asked for its front, or is damaged.
    """
    if what == "front":
        return _front(require_result(store))
    return _generations(store) if what == "generations" else _individuals(store)


def require_result(store: RunStore) -> Mapping[str, object]:
    """The result of a run, its columns in the order in which they were found.

    Raises:
        StoreError: When it has none yet, with how to get one.
    """
    result = recorded_result(store)
    if result is None:
        raise StoreError(
            f"run '{store.run_id}' is {store.status} and has no front yet: "
            f"python -m optimizer evolve --resume {store.path}"
        )
    return result


def recorded_individuals(store: RunStore) -> Recorded:
    """Every individual that is still recorded, once.

    Args:
        store: The run, open for reading.

    Returns:
        Them, whole populations or fronts, as the run keeps them.

    Raises:
        StoreError: When the run is damaged, or has recorded nobody.
    """
    parts: list[Population] = []
    born: list[int] = []
    seen: set[bytes] = set()
    for number, population in _kept(store):
        keys = [genome.tobytes() for genome in population.genomes]
        new = [place for place, key in enumerate(keys) if key not in seen]
        seen.update(keys)
        parts.append(population.take(np.array(new, dtype=np.int64)))
        born += [number] * len(new)
    if not parts:
        raise StoreError(f"run '{store.run_id}' has recorded no individual that is still kept")
    names = [field.name for field in fields(Population)]
    together = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    return Recorded(Population(*together), np.array(born, dtype=np.int64))


def newest_front(store: RunStore) -> Population:
    """The front of a run: that of its result, polished, or else that of its newest generation.

    Args:
        store: The run, open for reading.

    Raises:
        StoreError: When it has recorded no generation.
    """
    last, result = store.last_generation(), store.result
    if last is None:
        raise StoreError(f"run '{store.run_id}' has recorded no generation yet")
    front, members = final_front(last), None if result is None else result.get("front")
    if not isinstance(members, list):
        return front
    tables = [
        np.array([[member[part][name] for name in names] for member in members], dtype=np.float64)
        for part, names in (
            ("genes", gene_names(store)),
            ("objectives", texts_of(store, "objectives")),
        )
    ]
    genomes, objectives = (table.reshape(len(members), -1) for table in tables)
    nothing = np.zeros(len(members))
    found = Population(genomes, objectives, nothing, nothing.astype(np.int16))
    # Signs are their own inverse, so the way back is the way there.
    return replace(natural(store, found), lineage=_lineage_of(genomes, front))


def _lineage_of(genomes: Floats, front: Population) -> Serials:
    """Lineage of each genome that is in a front; unknown parents and ``polish`` for the others."""
    known = {
        genome.tobytes(): line for genome, line in zip(front.genomes, front.lineage, strict=True)
    }
    polished = np.array([UNKNOWN, UNKNOWN, UNKNOWN, OPERATORS.index("polish")])
    return np.array([known.get(genome.tobytes(), polished) for genome in genomes]).reshape(-1, 4)


def gene_names(store: RunStore) -> list[str]:
    """Names of the genes, in the order of genomes."""
    genes = store.header.get("genes")
    return [str(gene["name"]) for gene in genes] if isinstance(genes, list) else []


def texts_of(store: RunStore, field: str) -> list[str]:
    """A list of texts in a run's header, such as its objectives."""
    value = store.header.get(field)
    return [str(text) for text in value] if isinstance(value, list) else []


def natural(store: RunStore, population: Population) -> Population:
    """The same individuals, objectives in the sign that people know."""
    signs = np.where([is_maximised(name) for name in texts_of(store, "objectives")], -1.0, 1.0)
    return Population(
        population.genomes,
        signs * population.objectives + 0.0,
        population.violations,
        population.failures,
        population.lineage,
    )


def _kept(store: RunStore) -> Iterator[tuple[int, Population]]:
    for summary in store.generations():
        if summary.kept == "whole":
            yield summary.number, store.generation(summary.number).population
        elif summary.kept == "front":
            yield summary.number, store.front(summary.number)


def _front(result: Mapping[str, object]) -> Columns:
    front = result["front"]
    members = list(front) if isinstance(front, list) else []
    columns: Columns = {"member": list(range(len(members)))}
    for part in ("genes", "objectives", "metrics"):
        for name in members[0][part] if members else ():
            columns[f"{part}.{name}"] = [member[part][name] for member in members]
    for part in ("objectives", "metrics"):
        for name in members[0].get("held_out", {}).get(part, ()) if members else ():
            told = [member["held_out"][part][name] for member in members]
            columns[f"held_out.{part}.{name}"] = told
    return columns


def _generations(store: RunStore) -> Columns:
    summaries = list(store.generations())
    columns: Columns = {
        "generation": [summary.number for summary in summaries],
        "individuals": [summary.individuals for summary in summaries],
        "front": [summary.front for summary in summaries],
        "evaluated": [summary.evaluated for summary in summaries],
        "repaired": [summary.repaired for summary in summaries],
        "hypervolume": [summary.hypervolume for summary in summaries],
        "seconds": [summary.seconds for summary in summaries],
        "kept": [summary.kept for summary in summaries],
    }
    for reason in texts_of(store, "failure_names")[1:]:
        columns[f"rejected.{reason}"] = [summary.rejected.get(reason, 0) for summary in summaries]
    return columns


def _individuals(store: RunStore) -> Columns:
    recorded = recorded_individuals(store)
    population = natural(store, recorded.population)
    columns: Columns = {"generation": list(recorded.born.tolist())}
    for place, name in enumerate(LINEAGE[:3]):
        numbers = population.lineage[:, place].tolist()
        columns[name] = [None if number == UNKNOWN else number for number in numbers]
    operators = population.lineage[:, LINEAGE.index("operator")].tolist()
    columns["operator"] = [None if code == UNKNOWN else OPERATORS[code] for code in operators]
    failures = texts_of(store, "failure_names")
    columns["failure"] = [failures[code] or None for code in population.failures.tolist()]
    columns["violation"] = list(population.violations.tolist())
    for place, name in enumerate(gene_names(store)):
        columns[f"genes.{name}"] = list(population.genomes[:, place].tolist())
    for place, name in enumerate(texts_of(store, "objectives")):
        values = population.objectives[:, place].tolist()
        columns[f"objectives.{name}"] = [value if value == value else None for value in values]
    return columns
