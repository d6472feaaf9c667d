"""Tables of a run's record, and candidates read from such tables, by hand or printed.

Columns are plain lists, so that any kind of file can be made from them.
"""

import contextlib
import csv
import hashlib
import io
import json
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

import numpy as np

from data.plain import require
from data.shell import write_command
from optimizer.config.run_config import RunConfig, read_page
from optimizer.errors import ConfigError, StoreError
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
from optimizer.store import RunStore, find_run
from optimizer.store.files import DATABASE
from optimizer.store.result import (
    Figures,
    Member,
    RunHeader,
    RunResult,
    load_result,
)
from strategy import GenomeLayout
from strategy.errors import GeneError

SHOWN_MEMBERS = 5
"""Members that a terminal and a notebook show."""

What = Literal["front", "generations", "individuals", "points"]

Columns = dict[str, list[object]]
"""Name to values, all of the same length; None where a value is unknown or undefined."""

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
    """Individuals that a configuration begins with, if any.

    They stand in a ``.json`` or ``.csv`` file as `read_individuals` reads it, or in a run: its
    front, else its last generation. `member` takes one of them alone. Genes that are not named keep
    their default. `repair` moves genomes inside bounds and constraints; else they are refused.
    ConfigError when the file cannot be read, or an individual is not one of this search;
    StoreError when there is no such run, or it has recorded no generation.
    """
    source, member = config.warm_start, config.member
    if source is None:
        return None
    path = Path(source)
    if path.suffix in (".json", ".csv"):
        where, members = str(path), read_individuals(path)
    elif path.is_file() and path.name != DATABASE:
        raise ConfigError(f"{path}: name a .json or .csv file, or a run")
    else:
        where, members = f"run '{source}'", _load_members(find_run(Path(config.runs), source))
    if member is not None:
        member = chosen_member(where, len(members), member)
    return _encode_members(where, members, layout, member, may_repair=config.repair)


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
