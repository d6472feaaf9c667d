"""The archive and the survivors of a generation on a device.

What `archive.extended`, `survival.survive_by_hypervolume` and `ranking.rank_survivors` give for
three objectives, in the same bits.
"""

import contextlib
from collections.abc import Iterator

import torch
import triton

from engine.backends.cuda.launch import launch
from optimizer.generation import LINEAGE, OPERATORS
from optimizer.search.archive import ARCHIVE_ROUNDS, ROUNDS
from optimizer.search.device.kernels.survival import (
    cut_kernel,
    survive_kernel,
    take_kernel,
    tally_kernel,
    undominated_kernel,
)
from optimizer.search.device.members import Members
from optimizer.search.device.places import select
from optimizer.search.device.ranking import Pool
from optimizer.search.device.thinning import Thinning

FEW_ROWS, MANY_ROWS, COLUMNS = 8, 32, 256
"""Individuals of a program when they are few or many, and whom it compares them with at a time."""

MOVED = 32
"""Rows that a program moves."""

CHUNK = 2048
"""Entries that a single program goes through at a time."""


class Selection:
    """Who of population, archive and newcomers goes on.

    After `launch` the rows of the population hold the survivors, best first, those of the archive
    the new archive, and further:

    - `ranks` [R] int32 and `crowding` [R] float64: of the population's rows, as `rank_survivors`;
    - `archive_count` [1] int32; to be set before the first launch;
    - `tried` and `admitted` [operators] int32: newcomers, and those in the archive, by operator.

    Args:
        members: Everybody; the population is full.
        population: P, at least 1.
        archive: A, at least 1.
        device: Where the members lie.
    """

    def __init__(
        self, members: Members, population: int, archive: int, device: torch.device
    ) -> None:
        self._members, self._sizes = members, (population, archive)
        rows = 2 * population + archive
        self._pool = Pool(population, archive, device)
        kept = population + archive
        self._thinning = Thinning(rows, 2 * population, device)
        self._archive_thinning = Thinning(rows, kept, device)
        self._scratch = Members.empty(kept, members.genomes.shape[1], device)
        self.ranks = torch.zeros(rows, dtype=torch.int32, device=device)
        self.crowding = torch.zeros(rows, dtype=torch.float64, device=device)
        self.archive_count = torch.zeros(1, dtype=torch.int32, device=device)
        self.tried = torch.zeros(len(OPERATORS), dtype=torch.int32, device=device)
        self.admitted = torch.zeros(len(OPERATORS), dtype=torch.int32, device=device)
        self._best = torch.zeros((2, rows), dtype=torch.int8, device=device)
        self._stays = torch.zeros(rows, dtype=torch.int8, device=device)
        self._rows = torch.arange(rows, dtype=torch.int32, device=device)
        self._joined = torch.tensor([kept], dtype=torch.int32, device=device)
        self._most = torch.tensor([archive], dtype=torch.int32, device=device)
        self._full = torch.tensor([population], dtype=torch.int32, device=device)
        self._best_items = torch.zeros(kept, dtype=torch.int32, device=device)
        self._last_items = torch.zeros(2 * population, dtype=torch.int32, device=device)
        self._counts = torch.zeros(3, dtype=torch.int32, device=device)
        self._cut = torch.zeros(3, dtype=torch.int64, device=device)
        self._sources = torch.zeros(kept, dtype=torch.int32, device=device)
        self._slots = torch.zeros((2, population), dtype=torch.int32, device=device)
        self._device = device
        is_gpu = device.type == "cuda"
        self._side = torch.cuda.Stream(device) if is_gpu else None  # type: ignore[no-untyped-call]

    def launch(self, born: torch.Tensor) -> None:
        """Judge newcomers; only launches.

        Args:
            born: [1] int32, how many rows from P + A on hold newcomers, 0 to P.
        """
        objectives, violations = self._members.objectives, self._members.violations
        with self._beside():
            self._extend(born)
        self._pool.launch(objectives, violations, born)
        self._survive()
        if self._side is not None:
            torch.cuda.current_stream(self._device).wait_stream(self._side)
        self._move(self._sources, self._members, self._scratch)
        self._move(self._rows, self._scratch, self._members)
        slots, fronts = self._slots
        self._pool.crowd(objectives, fronts, slots, self._full, self.crowding)

    @contextlib.contextmanager
    def _beside(self) -> Iterator[None]:
        """Launch what does not wait for the survivors, and they not for it, at the same time."""
        if self._side is None:
            yield
            return
        self._side.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._side):
            yield

    def _extend(self, born: torch.Tensor) -> None:
        """Rows of the new archive behind those of the survivors in `_sources`."""
        population, archive = self._sizes
        objectives, violations = self._members.objectives, self._members.violations
        best, stays = self._best
        items, count, keep = self._best_items, self._counts[:1], self._most
        rows = FEW_ROWS if self._pool.is_counted else MANY_ROWS
        launch(
            undominated_kernel, (triton.cdiv(population + archive, rows),), objectives, violations,
            self.archive_count, born, best, *self._sizes, ROWS=rows, COLUMNS=COLUMNS,
        )  # fmt: skip
        select(best, self._rows[population:], self._joined, items, count)
        self._archive_thinning.launch(objectives, items, count, keep, ARCHIVE_ROUNDS, stays)
        select(stays, items, count, self._sources[population:], self.archive_count)
        launch(
            tally_kernel, (1,), self._members.lineage, best, stays, born, self.tried,
            self.admitted, population + archive, len(OPERATORS), len(LINEAGE), CHUNK=CHUNK,
        )  # fmt: skip

    def _survive(self) -> None:
        """Rows of the survivors in `_sources`, with their ranks."""
        pool, stays, items = self._pool, self._stays, self._last_items
        count, keep = self._counts[1:2], self._counts[2:]
        launch(
            cut_kernel, (1,), pool.classes, pool.fronts, pool.order, pool.size, items, count,
            keep, self._cut, *self._sizes, warps=8, CHUNK=CHUNK,
        )  # fmt: skip
        self._thinning.launch(self._members.objectives, items, count, keep, ROUNDS, stays)
        launch(
            survive_kernel, (1,), pool.classes, pool.details, pool.fronts, pool.order, pool.size,
            self._cut, stays, self._sources, *self._slots, self.ranks, *self._sizes, warps=8,
            CHUNK=CHUNK,
        )  # fmt: skip

    def _move(self, sources: torch.Tensor, some: Members, others: Members) -> None:
        """Copy rows of population and archive from where they are to where they belong."""
        population, archive = self._sizes
        n_genes = some.genomes.shape[1]
        launch(
            take_kernel, (triton.cdiv(population + archive, MOVED),), sources, self.archive_count,
            *some, *others, population, population + archive, n_genes, ROWS=MOVED,
            GENES=triton.next_power_of_2(n_genes),
        )  # fmt: skip
