"""What was recorded as plain rows, as CSV and as JSON; numbers read back exactly."""

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from optimizer.generation import Population
from optimizer.runs.store import RunStore

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Text that starts so would be run as a formula by a spreadsheet."""

Cell = str | int | float | None
Row = Mapping[str, Cell]


def front_rows(store: RunStore, number: int) -> Iterator[Row]:
    """One row for each member of the front of a generation, in order of survival.

    Args:
        store: Open for reading.
        number: Of the generation.

    Yields:
        As `population_rows`.

    Raises:
        StoreError: When the generation was not recorded, not kept, or is damaged.
    """
    yield from population_rows(store.header, number, store.front(number))


def all_rows(store: RunStore) -> Iterator[Row]:
    """One row for each individual that is still recorded, oldest generation first.

    Of a generation of which only the front was kept, the front.

    Args:
        store: Open for reading.

    Yields:
        As `population_rows`.

    Raises:
        StoreError: When a generation is damaged.
    """
    for summary in store.generations():
        if summary.kept == "whole":
            population = store.generation(summary.number).population
        elif summary.kept == "front":
            population = store.front(summary.number)
        else:
            continue
        yield from population_rows(store.header, summary.number, population)


def population_rows(
    header: Mapping[str, object], number: int, population: Population
) -> Iterator[Row]:
    """Individuals as rows.

    Args:
        header: Names genes, objectives and failures where it has ``genes``, ``objectives`` and
            ``failure_names``, each a list of names or of mappings with a ``name``.
        number: Of the generation.
        population: Of P individuals.

    Yields:
        ``generation``, ``individual``, the genes, the objectives as the search minimises them
        (None where undefined), ``violation``, ``failure``.
    """
    genes = _names(header, "genes", population.genomes.shape[1], "gene")
    objectives = _names(header, "objectives", population.objectives.shape[1], "objective")
    whole = _whole_genes(header)
    for i in range(len(population)):
        row: dict[str, Cell] = {"generation": number, "individual": i}
        for name, value in zip(genes, population.genomes[i].tolist(), strict=True):
            row[name] = int(value) if name in whole and value.is_integer() else value
        for name, value in zip(objectives, population.objectives[i].tolist(), strict=True):
            # A gene and an objective may share a name; the gene came first.
            row[name if name not in row else f"objective_{name}"] = _finite(value)
        row["violation"] = _finite(float(population.violations[i]))
        row["failure"] = _failure(header, int(population.failures[i]))
        yield row


def write_csv(rows: Iterable[Row], stream: TextIO) -> int:
    """Write rows as CSV (RFC 4180) with a line of names; None is an empty cell.

    Args:
        rows: All with the keys of the first.
        stream: Opened with ``newline=""``.

    Returns:
        How many rows were written, the line of names not counted.
    """
    writer = csv.writer(stream)
    count = 0
    for count, row in enumerate(rows, start=1):
        if count == 1:
            writer.writerow([_harmless(name) for name in row])
        writer.writerow([_harmless(value) for value in row.values()])
    return count


def write_json(rows: Iterable[Row], stream: TextIO) -> int:
    """Write rows as a JSON array, one row a line.

    Args:
        rows: Without NaN.
        stream: Opened for text.

    Returns:
        How many rows were written.
    """
    count = 0
    for count, row in enumerate(rows, start=1):
        stream.write("[\n" if count == 1 else ",\n")
        stream.write(json.dumps(dict(row), allow_nan=False))
    stream.write("\n]\n" if count else "[]\n")
    return count


def _harmless(value: Cell) -> Cell:
    is_formula = isinstance(value, str) and value.startswith(FORMULA_STARTS)
    return f"'{value}" if is_formula else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _names(header: Mapping[str, object], key: str, count: int, word: str) -> Sequence[str]:
    names = _named(header.get(key))
    return names if len(names) == count else [f"{word}_{i}" for i in range(count)]


def _named(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [str(name) for name in value]
    if not isinstance(value, list):
        return []
    return [str(item["name"] if isinstance(item, Mapping) else item) for item in value]


def _whole_genes(header: Mapping[str, object]) -> frozenset[str]:
    genes = header.get("genes")
    items = genes if isinstance(genes, list) else []
    return frozenset(
        str(item["name"])
        for item in items
        if isinstance(item, Mapping) and item.get("kind") == "int"
    )


def _failure(header: Mapping[str, object], code: int) -> str:
    names = _named(header.get("failure_names"))
    return names[code] if 0 <= code < len(names) else str(code or "")
