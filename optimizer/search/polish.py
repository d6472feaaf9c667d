"""The last touch: the neighbours of a front on the lattice of its genes, judged in one batch.

A neighbour differs in one gene by one step: its own where it has one, 1 for whole genes, 1/128 of
the span of bounds for the others; or in the option of a gene without order. The front alone
decides the neighbours, so polishing adds no randomness and needs no record.
"""

from dataclasses import replace

import numpy as np

from optimizer.search.archive import contributions, extend_archive
from optimizer.search.breeding import repair_genomes
from optimizer.search.compiled.repeats import Seen
from optimizer.search.generation import (
    LINEAGE,
    OPERATORS,
    UNKNOWN,
    Floats,
    Generation,
    Population,
    Serials,
    final_front,
)
from optimizer.search.memory import from_numbers
from strategy import GenomeLayout

STEPS = 128
"""Steps from one bound to the other of a gene that is not whole."""


def neighbours(layout: GenomeLayout, genomes: Floats) -> tuple[Floats, np.ndarray]:
    """All genomes one step away, each once.

    Args:
        layout: Bounds and constraints.
        genomes: [F, G], legal.

    Returns:
        [N, G] legal genomes, none of them among `genomes`, those of the first genome first; and
        [N], the place of the genome that each is a neighbour of.
    """
    grid = layout.grid
    spans = grid.high - grid.low
    steps = np.where(grid.is_int, 1.0, spans / STEPS)
    moves = layout.axis_moves(np.where(spans > 0, steps, 0.0))
    origins = np.repeat(np.arange(len(genomes)), len(moves))
    moved = layout.move(genomes[:, None], moves).reshape(len(origins), len(layout))
    moved, _ = repair_genomes(layout, moved)
    rows = np.concatenate([genomes, moved])
    is_new = ~Seen(rows, len(genomes)).admit(np.arange(len(genomes), len(rows)))
    return moved[is_new], origins[is_new]


def list_neighbours(layout: GenomeLayout, last: Generation, at_most: int) -> tuple[Floats, Serials]:
    """Neighbours [N, G] of the front of the last generation, and their lineage [N, 4].

    There are `at_most` at most; those of members that would be missed most come first.
    """
    archive = last.archive
    if not len(archive) or at_most <= 0:
        return np.empty((0, len(layout))), np.empty((0, len(LINEAGE)), dtype=np.int64)
    order = np.argsort(-contributions(archive.objectives), kind="stable")
    genomes, origins = neighbours(layout, archive.genomes[order])
    genomes, origins = genomes[:at_most], order[origins[:at_most]]
    first = from_numbers(last.memory, archive.objectives.shape[1]).evaluated
    lineage = np.column_stack(
        [
            first + np.arange(len(genomes)),
            archive.lineage[origins, 0],
            np.full(len(genomes), UNKNOWN),
            np.full(len(genomes), OPERATORS.index("polish")),
        ]
    )
    return genomes, lineage


def polish_front(last: Generation, judged: Population, keep: int) -> Population:
    """The front that a search ends with, sorted by genome, after its neighbours were judged.

    It holds `keep` at most; without neighbours it is that of the last generation.
    """
    if not len(judged):
        return final_front(last)
    archive, _ = extend_archive(last.archive, judged, keep)
    return final_front(replace(last, archive=archive))
