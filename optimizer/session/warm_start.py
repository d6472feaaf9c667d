"""Genomes to begin with: from a file that a person wrote, an export, or an earlier run."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from optimizer.errors import ConfigError
from optimizer.runs import RunStore, find_run
from optimizer.runs.files import DATABASE
from optimizer.runs.result import RunHeader
from optimizer.search.generation import Floats
from strategy import GenomeLayout
from strategy.errors import GeneError

PREFIX = "genes."
"""What the columns of genes in an exported table begin with."""

LARGEST_BYTES = 64_000_000
"""A list of individuals is shorter; anything larger is something else."""

NOTHING_KNOWN = "holds no individual with a gene of this strategy"


def load_genomes(source: str, layout: GenomeLayout, runs: Path) -> Floats:
    """Genomes [N, G] for a search to begin with, N at least 1, moved inside the bounds.

    `source` is a ``.json`` or ``.csv`` file, or a run: JSON is a list of objects of genes, or
    what `runs export` wrote; CSV has a column a gene. Genes that are not named keep their
    default.

    Raises:
        ConfigError: When the file cannot be read, or holds no individual of this strategy.
        StoreError: When there is no such run, or it has found nothing.
    """
    path = Path(source)
    if path.suffix in (".json", ".csv"):
        try:
            if path.stat().st_size > LARGEST_BYTES:
                raise ConfigError(f"{path}: larger than {LARGEST_BYTES:,} bytes")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: is not text") from None
        members = _from_json(path, text) if path.suffix == ".json" else _from_csv(text)
        return _genomes(str(path), members, layout)
    if path.is_file() and path.name != DATABASE:
        raise ConfigError(f"{path}: name a .json or .csv file, or a run")
    with RunStore.open(find_run(runs, source)) as store:
        last = store.last_generation()
        names = RunHeader.read(store.header).gene_names
    front = np.empty((0, 0)) if last is None else last.archive.genomes
    if last is not None and not len(front):
        front = last.population.genomes
    members = [dict(zip(names, genome, strict=True)) for genome in front.tolist()]
    return _genomes(f"run '{source}'", members, layout)


def hash_of(genomes: Floats | None) -> str | None:
    """SHA-256 of genomes [N, G]; None without any."""
    if genomes is None:
        return None
    return hashlib.sha256(genomes.astype("<f8").tobytes()).hexdigest()


def _from_json(path: Path, text: str) -> Sequence[Mapping[str, object]]:
    try:
        said = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: is no JSON ({error})") from None
    members = said.get("front") if isinstance(said, dict) else said
    if not isinstance(members, list):
        raise ConfigError(f"{path}: {NOTHING_KNOWN}; expected a list of objects of genes")
    objects = [member for member in members if isinstance(member, dict)]
    return [
        inner if isinstance(inner := member.get("genes"), dict) else member for member in objects
    ]


def _from_csv(text: str) -> Sequence[Mapping[str, object]]:
    rows = csv.DictReader(io.StringIO(text))
    return [
        {str(name).removeprefix(PREFIX): value for name, value in row.items() if value}
        for row in rows
    ]


def _genomes(where: str, members: Sequence[Mapping[str, object]], layout: GenomeLayout) -> Floats:
    genomes = [
        _genome(f"{where}, individual {place}", member, layout)
        for place, member in enumerate(members)
        if any(name in layout.names for name in member)
    ]
    if not genomes:
        raise ConfigError(f"{where}: {NOTHING_KNOWN}: {', '.join(layout.names)}")
    return layout.repair(np.array(genomes))[0]


def _genome(where: str, member: Mapping[str, object], layout: GenomeLayout) -> Floats:
    values: dict[str, float] = {}
    for name in layout.names:
        if name in member:
            try:
                values[name] = float(str(member[name]))
                layout.gene(name).check(values[name])
            except (ValueError, GeneError):
                raise ConfigError(
                    f"{where}: {name} must be a number that this gene may have, "
                    f"got {member[name]!r}"
                ) from None
    genome = layout.defaults.copy()
    for name, value in values.items():
        genome[layout.index(name)] = value
    return genome
