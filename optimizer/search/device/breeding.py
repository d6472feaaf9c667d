"""How the next newcomers come about on a device: the bits of `breeding.breed`, without waiting.

Everything that a generation's numbers depend on is read from a small tensor there, so that one
launch, once recorded, breeds every generation. Draws are worked out where they are needed.
"""

from dataclasses import dataclass

import torch
import triton

from engine.backends.cuda.launch import launch
from optimizer.search.breeding import IMMIGRANT_ROUNDS, MUTATION_ROUNDS
from optimizer.search.device import places
from optimizer.search.device.kernels.breeding import (
    children_kernel,
    finish_kernel,
    permutation_kernel,
    redraw_kernel,
)
from optimizer.search.device.kernels.repeats import admit_kernel, readmit_kernel
from optimizer.search.device.members import Members
from optimizer.search.device.told import Chance
from optimizer.search.operators import nudge_chance, squarings
from optimizer.search.problem import SearchSettings
from strategy import GenomeLayout

TURNS = 1 + MUTATION_ROUNDS + IMMIGRANT_ROUNDS
"""The first children, and what is tried in the places of repeats."""

PERMUTATIONS = 4
"""Of the population, for two parents of each child who win against one other each."""

BLOCK = 128
"""Keys that a program draws, four at a time, and entries that it clears at a time."""

ELEMENTS = 128
"""Genes of a program that makes children."""

LANES = 32
"""Rows that a program of one warp looks up in the table."""

CHUNK = 256
"""Children whose repeats are counted together."""


@dataclass(frozen=True)
class _Genes:
    """Bounds [G] and kinds [G] int8 of genes on the device, and constants of kernels."""

    low: torch.Tensor
    high: torch.Tensor
    is_int: torch.Tensor
    block: dict[str, int]
    ordered: tuple[int, ...]
    rows: int

    @staticmethod
    def of(layout: GenomeLayout, device: torch.device) -> "_Genes":
        """The genes of a layout, in blocks of about `ELEMENTS`."""
        padded = triton.next_power_of_2(len(layout))
        return _Genes(
            low=torch.tensor(layout.low, device=device),
            high=torch.tensor(layout.high, device=device),
            is_int=torch.tensor(layout.is_int, device=device).to(torch.int8),
            block={"N_GENES": len(layout), "GENES": padded},
            ordered=tuple(layout.ordered.ravel().tolist()),
            rows=min(max(2, ELEMENTS // padded), CHUNK),
        )


@dataclass(frozen=True)
class _Repeats:
    """Where repeats are found and told, in one piece of memory that is cleared at once.

    Args:
        scratch: All of it, int32.
        table: [S], a power of two.
        repeats: [TURNS, P], 1 for a repeat.
        counts: [TURNS, chunks], repeats of each `CHUNK` places.
        totals: [TURNS].
        repaired: [1].
    """

    scratch: torch.Tensor
    table: torch.Tensor
    repeats: torch.Tensor
    counts: torch.Tensor
    totals: torch.Tensor
    repaired: torch.Tensor

    @staticmethod
    def room(size: int, archive: int, device: torch.device) -> "_Repeats":
        """Room for a population and an archive; the table is at least twice as long as needed."""
        chunks = triton.cdiv(size, CHUNK)
        sizes = (1 << (2 * (2 * size + archive)).bit_length(), TURNS * size, TURNS * chunks, TURNS)
        scratch = torch.empty(sum(sizes) + 1, dtype=torch.int32, device=device)
        table, repeats, counts, totals, repaired = torch.split(scratch, [*sizes, 1])
        return _Repeats(
            scratch=scratch,
            table=table,
            repeats=repeats.view(TURNS, size),
            counts=counts.view(TURNS, chunks),
            totals=totals,
            repaired=repaired,
        )


@dataclass(frozen=True)
class _Young:
    """Children in all places, before repeats are dropped.

    Args:
        genomes: [P, G].
        origins: [P, 3] int64, mother, father and code.
        is_broken: [P] int32, whose constraints were broken.
    """

    genomes: torch.Tensor
    origins: torch.Tensor
    is_broken: torch.Tensor


class Breeder:
    """Breeds one island with a full population, known ranks and an archive that is not empty.

    Args:
        layout: Genes.
        settings: Population, archive, chances and distribution indices.
        members: Where parents are read. Newcomers are written from row P + A on, genomes and
            lineage, in the order of the host's brood; their serials go on from what is told.
        ranks: [P] or more, whole numbers, of the population.
        crowding: [P] float64 or more, of the population.

    Attributes:
        born: [1] int32, newcomers of the last launch; fewer than P where children stayed known.
        repaired: [1] int32, how many of them broke a constraint when they were drawn.
    """

    def __init__(
        self,
        layout: GenomeLayout,
        settings: SearchSettings,
        members: Members,
        ranks: torch.Tensor,
        crowding: torch.Tensor,
    ) -> None:
        device, size = members.genomes.device, settings.population
        self._members, self._ranking = members, (ranks, crowding)
        self._size, self._n_known = size, size + settings.archive
        self._genes = _Genes.of(layout, device)
        self._eta = squarings(settings.crossover_eta), squarings(settings.mutation_eta)
        self._chances = torch.tensor(_chances(layout, settings), dtype=torch.float64, device=device)
        self._repeats = _Repeats.room(size, settings.archive, device)
        self._young = _Young(
            genomes=torch.empty((size, len(layout)), dtype=torch.float64, device=device),
            origins=torch.empty((size, 3), dtype=torch.int64, device=device),
            is_broken=torch.empty(size, dtype=torch.int32, device=device),
        )
        self._keys = torch.empty((PERMUTATIONS, size), dtype=torch.int64, device=device)
        self._everybody = torch.arange(size, dtype=torch.int32, device=device)
        self._everybody = self._everybody.repeat(PERMUTATIONS, 1)
        self._count = torch.tensor([size], dtype=torch.int32, device=device)
        self._sorted = torch.empty_like(self._keys)
        is_long = size > places.COUNTED
        self._order = torch.empty_like(self._keys if is_long else self._everybody)
        self.born = torch.zeros(1, dtype=torch.int32, device=device)
        self.repaired = self._repeats.repaired

    def launch(self, told: torch.Tensor) -> None:
        """Breed a generation; nothing is waited for.

        Args:
            told: [9] int64 on the device, by `Told`; read when the launches run.
        """
        self._permute(told)
        self._make(told)
        self._admit(told)
        for turn in range(1, TURNS):
            self._redraw(told, turn)
            self._readmit(turn)
        self._finish(told)

    def _permute(self, told: torch.Tensor) -> None:
        """Permutations of the population, one after the other, and a clean table."""
        keys, scratch = self._keys, self._repeats.scratch
        grid = (triton.cdiv(self._size, BLOCK),)
        launch(
            permutation_kernel, grid, told, keys, scratch, self._size, scratch.numel(), BLOCK=BLOCK
        )
        if self._size <= places.COUNTED:
            places.resort(keys, self._everybody, self._count, self._order)
        else:
            out = self._sorted.view(-1), self._order.view(-1)
            torch.sort(keys.view(-1), stable=True, out=out)

    def _make(self, told: torch.Tensor) -> None:
        genes, members, young = self._genes, self._members, self._young
        launch(
            children_kernel,
            (triton.cdiv(self._size, genes.rows),),
            told,
            *(self._chances, genes.low, genes.high, genes.is_int),
            *(members.genomes, members.lineage, *self._ranking, self._order),
            *(young.genomes, young.origins, young.is_broken, self._size),
            CROSS_SQUARINGS=self._eta[0],
            MUTATE_SQUARINGS=self._eta[1],
            ORDERED=genes.ordered,
            ROWS=genes.rows,
            **genes.block,
        )

    def _admit(self, told: torch.Tensor) -> None:
        repeats = self._repeats
        launch(
            admit_kernel,
            (triton.cdiv(self._n_known + self._size, LANES),),
            told,
            *self._table(),
            *(repeats.repeats, repeats.counts, repeats.totals),
            *(self._n_known, self._size, repeats.table.numel()),
            warps=1,
            CHUNK=CHUNK,
            LANES=LANES,
            **self._genes.block,
        )

    def _table(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Genomes as whole numbers, and the table that names them."""
        known, young = self._members.genomes, self._young.genomes
        return known.view(torch.int64), young.view(torch.int64), self._repeats.table

    def _readmit(self, turn: int) -> None:
        repeats = self._repeats
        launch(
            readmit_kernel,
            (triton.cdiv(self._size, LANES),),
            *self._table(),
            *(repeats.repeats, repeats.counts, repeats.totals),
            *(self._n_known, self._size, repeats.table.numel(), repeats.counts.shape[1], turn),
            warps=1,
            CHUNK=CHUNK,
            LANES=LANES,
            **self._genes.block,
        )

    def _redraw(self, told: torch.Tensor, turn: int) -> None:
        genes, young, repeats = self._genes, self._young, self._repeats
        is_mutation = turn <= MUTATION_ROUNDS
        launch(
            redraw_kernel,
            (triton.cdiv(self._size, genes.rows),),
            told,
            *(self._chances, genes.low, genes.high, genes.is_int),
            *(young.genomes, young.origins, young.is_broken),
            *(repeats.repeats, repeats.counts, repeats.totals),
            *(self._size, repeats.counts.shape[1], turn, 0 if is_mutation else MUTATION_ROUNDS),
            IS_MUTATION=is_mutation,
            SQUARINGS=self._eta[1],
            ORDERED=genes.ordered,
            **self._chunks(),
        )

    def _chunks(self) -> dict[str, int]:
        """Constants of kernels that ask how many repeats stand before a place."""
        chunks = triton.next_power_of_2(self._repeats.counts.shape[1])
        return {"CHUNK": CHUNK, "CHUNKS": chunks, "ROWS": self._genes.rows, **self._genes.block}

    def _finish(self, told: torch.Tensor) -> None:
        members, young, repeats = self._members, self._young, self._repeats
        launch(
            finish_kernel,
            (triton.cdiv(self._size, self._genes.rows),),
            told,
            *(young.genomes, young.origins, young.is_broken),
            *(repeats.repeats[-1], repeats.counts[-1], repeats.totals[-1:]),
            *(members.genomes, members.lineage, self.born, self.repaired),
            *(self._size, self._n_known),
            **self._chunks(),
        )


def _chances(layout: GenomeLayout, settings: SearchSettings) -> list[float]:
    """Chances of a run, by `Chance`."""
    chances = {
        Chance.ELITE: settings.elite,
        Chance.CROSSING: settings.crossover_probability,
        Chance.MUTATION: float(settings.mutation_chance(layout)),
        Chance.NUDGE: nudge_chance(layout),
    }
    return [chances[name] for name in Chance]
