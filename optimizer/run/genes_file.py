"""Individuals in files: what people write by hand, and what commands print or export."""

import contextlib
import csv
import io
import json
from collections import ChainMap
from collections.abc import Mapping, Sequence
from pathlib import Path

from optimizer.config.run_config import read_page
from optimizer.errors import ConfigError
from optimizer.search.generation import LINEAGE, Floats
from strategy import GenomeLayout
from strategy.errors import GeneError

PREFIX = "genes."
"""Prefix of the columns of genes in an exported table."""

OTHERS = ("objectives.", "metrics.", "held_out.")
"""Prefixes of other columns of exported tables."""

BESIDE = frozenset(("member", "generation", "operator", "failure", "violation", *LINEAGE))
"""Names of other columns of exported tables."""

LARGEST_BYTES = 64_000_000
"""A list of individuals is shorter; anything larger is something else."""

Values = Mapping[str, object]
"""Name of a gene to its value, as it was written."""


def read_individuals(path: Path) -> list[Values]:
    """Individuals of a ``.csv`` file, or of JSON under any other name.

    JSON is an object of genes, or a list of such; what `evolve --json`, `backtest --json` and
    `runs show --json` print, and what `runs export` writes. CSV has a column a gene.

    Raises:
        ConfigError: When the file cannot be read, or is of another form.
    """
    try:
        text = read_page(path, "not genes", LARGEST_BYTES)
        if path.suffix == ".csv":
            return _rows(csv.DictReader(io.StringIO(text)))
        # Whole numbers of any length become floats here, infinite ones among them.
        content = json.loads(text, object_pairs_hook=_without_repeats, parse_int=float)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError, csv.Error) as error:
        raise ConfigError(f"{path}: holds no genes that can be read ({error})") from None
    return [_member(path, member) for member in _members(content)]


def chosen_individual(path: Path, member: int | None) -> Values:
    """One individual of a file, number `member`, which may be None if there is only one."""
    individuals = read_individuals(path)
    return individuals[chosen_member(str(path), len(individuals), member)]


def chosen_member(where: str, count: int, member: int | None) -> int:
    """The place of an individual among so many; None means the only one.

    Raises:
        ConfigError: When there is none, no such one, or several to choose from.
    """
    if member is None and count == 1:
        return 0
    if member is None or member >= count:
        between = f"--member 0 to {count - 1}" if count else "there is nothing to choose"
        raise ConfigError(f"{where} holds {count} candidates: {between}")
    return member


def encode_genome(layout: GenomeLayout, *given: Mapping[str, object]) -> Floats:
    """Turn named values into a genome [G]; later ones win, genes without any keep their default.

    Raises:
        ConfigError: Naming every gene that is unknown or has no legal value.
        GeneError: When a constraint is broken.
    """
    problems: list[str] = []
    numbers: dict[str, float] = {}
    values = ChainMap(*(layout.name_genes(each) for each in reversed(given)))
    for name, value in values.items():
        try:
            numbers[name] = layout.gene(name).parse(value)
        except GeneError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return layout.encode(numbers)


def _rows(table: "csv.DictReader[str]") -> list[Values]:
    """The individuals of a table, each gene in one column."""
    names = [name for name in table.fieldnames or () if name]
    _without_repeats([(name.removeprefix(PREFIX), name) for name in names if _is_gene(name)])
    individuals = []
    for row in table:
        if None in row:
            raise ValueError(f"line {table.line_num} has more cells than there are columns")
        individuals.append(_genes(_numbers(row)))
    return individuals


def _members(content: object) -> Sequence[object]:
    """The individuals in JSON of any form."""
    if isinstance(content, dict) and isinstance(content.get("result"), dict):
        content = content["result"]
    if isinstance(content, dict) and isinstance(content.get("front"), list):
        content = content["front"]
    return content if isinstance(content, list) else [content]


def _member(path: Path, member: object) -> Values:
    if not isinstance(member, dict):
        raise ConfigError(
            f'{path}: must hold a JSON object of genes, such as {{"reward_r": 2.5}}, or a list of '
            f"such, got {str(member)[:40]!r}"
        )
    inner = member.get("genes")
    return inner if isinstance(inner, dict) else _genes(member)


def _genes(row: Mapping[str, object]) -> Values:
    """Genes in a table's row."""
    return {name.removeprefix(PREFIX): value for name, value in row.items() if _is_gene(name)}


def _is_gene(name: str) -> bool:
    """True if a column is of a gene: all are, but for the other columns of our own tables."""
    return name not in BESIDE and not name.startswith(OTHERS)


def _numbers(row: Mapping[str, object]) -> dict[str, object]:
    """The cells of a row that are not empty; a cell without a number is for its gene to refuse."""
    cells: dict[str, object] = {str(name): value for name, value in row.items() if value}
    for name, value in cells.items():
        with contextlib.suppress(ValueError):
            cells[name] = float(str(value))
    return cells


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON, refused when a name stands in it twice."""
    by_name = dict(pairs)
    if len(by_name) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"'{next(n for n in names if names.count(n) > 1)}' is given twice")
    return by_name
