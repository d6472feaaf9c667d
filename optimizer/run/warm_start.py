"""Genomes to begin with: from a file that a person wrote, an export, or an earlier run."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.plain import require
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.run.genes_file import Values, chosen_member, encode_genome, read_individuals
from optimizer.run.tables import newest_front
from optimizer.search.generation import Floats
from optimizer.store import RunStore, find_run
from optimizer.store.files import DATABASE
from optimizer.store.result import RunHeader
from strategy import GenomeLayout
from strategy.errors import GeneError


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
    """The individuals that a configuration begins with; None where it names none.

    Raises:
        ConfigError, StoreError: As `load_genomes`.
    """
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

    `source` is a ``.json`` or ``.csv`` file as `read_individuals` reads it, or a run, whose front
    it takes (the last generation where the front is empty). `member` takes one of them alone.
    Genes that are not named keep their default. `may_repair` moves genomes inside
    bounds and constraints; else they are refused.

    Raises:
        ConfigError: When the file cannot be read, or an individual is not one of this search.
        StoreError: When there is no such run, or it has recorded no generation.
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
