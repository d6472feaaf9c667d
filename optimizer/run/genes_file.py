"""Individuals in files, by hand, printed or exported; and a search's first ones."""

import contextlib
import csv
import hashlib
import io
import json
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.plain import require
from optimizer.config.run_config import RunConfig, read_page
from optimizer.errors import ConfigError
from optimizer.run.tables import newest_front
from optimizer.search.generation import LINEAGE, Floats
from optimizer.store import RunStore, find_run
from optimizer.store.files import DATABASE
from optimizer.store.result import RunHeader
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
    """Individuals of a ``.csv`` file, or of JSON under any other name; ConfigError of another form.

    JSON is an object of genes, or a list of such; what `evolve --json`, `backtest --json` and
    `runs show --json` print, and what `runs export` writes. CSV has a column a gene.
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

    ConfigError when there is no such one, or there are several to choose from.
    """
    if not count:
        raise ConfigError(f"{where} holds no candidate")
    if member is None and count > 1:
        raise ConfigError(f"{where} holds {count} candidates: --member 0 to {count - 1}")
    if member is not None and member >= count:
        raise ConfigError(f"{where} has members 0 to {count - 1}, not {member}")
    return member or 0


def encode_genome(layout: GenomeLayout, *given: Mapping[str, object]) -> Floats:
    """Turn named values into a genome [G]; later ones win, genes without any keep their default.

    ConfigError names every gene that is unknown or has no legal value; GeneError when a constraint
    is broken.
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


@dataclass(frozen=True)
class WarmStart:
    """Individuals for a search to begin with."""

    genomes: Floats  # [N, G], legal and within the bounds, N at least 1
    repaired: int = 0  # how many of them were moved to be so

    def notes(self, population: int) -> tuple[str, ...]:
        """Notes for people: how many were moved, and how many the population has no room for."""
        count, notes = len(self.genomes), []
        if self.repaired:
            notes.append(f"{self.repaired} of {count} candidates to begin with were repaired")
        if count >= population:
            notes.append(
                f"of {count} candidates to begin with the first {population - 1} take part: "
                f"--population {population} has no place for more"
            )
        return tuple(notes)


def load_warm_start(config: RunConfig, layout: GenomeLayout) -> WarmStart | None:
    """The individuals that a configuration begins with, if any."""
    if config.warm_start is None:
        return None
    return load_genomes(
        config.warm_start,
        layout,
        Path(config.runs),
        member=config.member,
        may_repair=config.repair,
    )


def load_genomes(
    source: str,
    layout: GenomeLayout,
    runs: Path,
    *,
    member: int | None = None,
    may_repair: bool = False,
) -> WarmStart:
    """Individuals for a search to begin with.

    `source` is a ``.json`` or ``.csv`` file as `read_individuals` reads it, or a run: its front,
    else its last generation. `member` takes one of them alone. Genes that are not named keep their
    default. `may_repair` moves genomes inside bounds and constraints; else they are refused.
    ConfigError when the file cannot be read, or an individual is not one of this search;
    StoreError when there is no such run, or it has recorded no generation.
    """
    path = Path(source)
    if path.suffix in (".json", ".csv"):
        where, members = str(path), read_individuals(path)
    elif path.is_file() and path.name != DATABASE:
        raise ConfigError(f"{path}: name a .json or .csv file, or a run")
    else:
        where, members = f"run '{source}'", _load_members(find_run(runs, source))
    if member is not None:
        member = chosen_member(where, len(members), member)
    return _encode_members(where, members, layout, member, may_repair=may_repair)


def hash_genomes(genomes: Floats | None) -> str | None:
    """SHA-256 of genomes [N, G]; None without any."""
    if genomes is None:
        return None
    return hashlib.sha256(genomes.astype("<f8").tobytes()).hexdigest()


def _load_members(path: Path) -> list[Values]:
    """The front of a run, in the order of its members' numbers; else its last generation."""
    with RunStore.open(path) as store:
        names = RunHeader.read(store.header).gene_names
        genomes = newest_front(store).genomes
        last = store.last_generation()
    if not len(genomes) and last is not None:
        genomes = last.population.genomes
    return [dict(zip(names, genome, strict=True)) for genome in genomes.tolist()]


def _encode_members(
    where: str,
    members: Sequence[Values],
    layout: GenomeLayout,
    member: int | None,
    *,
    may_repair: bool,
) -> WarmStart:
    """The individuals as genomes, or one of them alone."""
    if not members:
        raise ConfigError(f"{where}: holds no candidate")
    genomes = []
    for number in range(len(members)) if member is None else (member,):
        try:
            read = _loose if may_repair else _strict
            genomes.append(read(layout, layout.name_genes(members[number])))
        except (GeneError, ConfigError) as error:
            raise ConfigError(f"{where}, candidate {number}: {error}") from None
    encoded = np.array(genomes)
    legal, _ = layout.repair(encoded)
    return WarmStart(legal, int((legal != encoded).any(axis=1).sum()))


def _strict(layout: GenomeLayout, values: Values) -> Floats:
    """A genome that needs no repair; the rules of a backtest, and the bounds of the search."""
    genome = encode_genome(layout, values)
    outside = [
        f"gene '{gene.name}' is {value:g}, its bounds are {gene.low:g} to {gene.high:g}"
        for gene, value in zip(layout.genes, genome.tolist(), strict=True)
        if not gene.low <= value <= gene.high and gene.name in values
    ]
    if outside:
        raise ConfigError("; ".join(outside) + ": widen them (--bound), or add --repair")
    if (layout.repair(genome[None])[0] != genome).any():
        raise ConfigError("it breaks a constraint, or is no value of a gene's steps: add --repair")
    return genome


def _loose(layout: GenomeLayout, values: Values) -> Floats:
    """A genome as it was written; only unknown genes and values that are no number are refused."""
    genome = layout.defaults.copy()
    for name, value in values.items():
        index, gene = layout.index(name), layout.gene(name)
        if isinstance(value, str) and gene.options:
            value = gene.parse(value)
        genome[index] = require(f"gene '{name}': value", value, float, ConfigError)
    return genome
