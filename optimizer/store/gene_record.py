"""Genes as a run records them: bounds, options, and genomes as numbers or as people read them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optimizer.errors import StoreError
from optimizer.formatting import format_count
from optimizer.store.payload import Payload
from strategy.gene import GeneText

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GeneRecord(Payload):
    """A gene, ``int`` or ``float``, with its bounds."""

    name: str
    kind: str
    low: float
    high: float
    step: float | None = None
    options: tuple[str, ...] = ()  # names of its values, from 0 on; empty where they are numbers


def number_genes(
    genes: Mapping[str, GeneText], options: Mapping[str, Sequence[str]]
) -> Iterator[float]:
    """Numbers of genes in their order, from numbers and names of options.

    Raises:
        StoreError: When a text is the name of none.
    """
    for name, value in genes.items():
        if not isinstance(value, str):
            yield value
        elif value in (known := options.get(name, ())):
            yield float(list(known).index(value))
        else:
            raise StoreError(f"gene '{name}' is '{value}', which the header does not know")


def list_genomes(genes: Sequence[GeneRecord], members: Sequence[Mapping[str, GeneText]]) -> Floats:
    """Genomes of members, [F, G].

    Raises:
        StoreError: When a member lacks a gene, or has an option that there is not.
    """
    options, rows = {gene.name: gene.options for gene in genes}, []
    for member in members:
        if missing := [gene.name for gene in genes if gene.name not in member]:
            raise StoreError(f"the header names {missing[0]!r}, which a member of the result lacks")
        rows.append(list(number_genes({gene.name: member[gene.name] for gene in genes}, options)))
    return np.array(rows, np.float64).reshape(len(rows), len(genes))


def show_genomes(genes: Sequence[GeneRecord], genomes: Floats) -> dict[str, list[GeneText]]:
    """Values [N] of each gene of checked genomes [N, G] as people read them, by name."""
    columns: dict[str, list[GeneText]] = {}
    for gene, values in zip(genes, genomes.T.tolist(), strict=True):
        options = gene.options
        columns[gene.name] = [options[int(value)] for value in values] if options else values
    return columns


def check_genomes(genes: Sequence[GeneRecord], genomes: Floats) -> None:
    """Refuse genomes [N, G] of other genes than there are, or beyond their bounds.

    Raises:
        StoreError: When one is.
    """
    if genomes.shape[-1] != len(genes):
        raise StoreError(
            f"the header names {format_count(len(genes), 'gene')}, and candidates have "
            f"{genomes.shape[-1]}"
        )
    for gene, values in zip(genes, genomes.T, strict=True):
        outside = values[~np.isfinite(values) | (values < gene.low) | (values > gene.high)]
        if len(outside):
            raise StoreError(
                f"the header bounds {gene.name} by {gene.low:g} and {gene.high:g}, and a "
                f"candidate has {outside[0]:g}"
            )
        count = len(gene.options)
        if count and not np.isin(values, np.arange(count)).all():
            raise StoreError(f"the header names {count} options of {gene.name}, not all there are")
