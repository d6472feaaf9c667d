"""Everybody of a search on a device: who breeds, who is judged, and who is chosen.

A generation is two pieces of work. The first breeds newcomers and brings their genomes to the host,
which has them judged; the second takes the judgement, chooses, and brings population and archive
back, for the record. Each only launches, so that a GPU has it captured as a graph. Memory of the
host that a device reads and writes is pinned, and stays where it is for the whole run.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from engine.backends.cuda.faults import device_errors
from engine.backends.cuda.graphs import Graphs
from optimizer.generation import OPERATORS, Evaluation, Floats, Population
from optimizer.search.device.breeding import Breeder
from optimizer.search.device.members import Members
from optimizer.search.device.survival import Selection
from optimizer.search.device.told import Told
from optimizer.search.problem import SearchSettings
from optimizer.search.ranking import Ranking
from strategy import GenomeLayout

BREED, SELECT = (0,), (1,)
"""Names of the two pieces of work."""

JUDGED = ("objectives", "violations", "failures")
"""What is known of newcomers only after their evaluation."""


class Newborn(NamedTuple):
    """Newcomers before they are judged.

    Args:
        genomes: [N, G].
        repaired: How many of them broke a constraint.
    """

    genomes: Floats
    repaired: int


class Chosen(NamedTuple):
    """Who goes on.

    Args:
        population: [P], best first.
        archive: [A] at most.
        tried: Newcomers of each operator in `OPERATORS`.
        admitted: How many of these are in the archive.
    """

    population: Population
    archive: Population
    tried: Sequence[int]
    admitted: Sequence[int]


class Field:
    """Population, archive and newcomers of one search on one device.

    Args:
        layout: Genes.
        settings: Of the search; P is its population and A its archive.
        device: Where everybody lives; tensors of the host serve where kernels are interpreted.

    Raises:
        DeviceError: When there is no room, also later; or when the device fails.
    """

    @device_errors
    def __init__(
        self, layout: GenomeLayout, settings: SearchSettings, device: torch.device
    ) -> None:
        self._size, self._most = settings.population, settings.archive
        rows = 2 * self._size + self._most
        is_gpu = device.type == "cuda"
        host = torch.device("cpu")
        self._there = Members.empty(rows, len(layout), device)
        self._here = Members.empty(rows, len(layout), host, is_pinned=is_gpu)
        self._selection = Selection(self._there, self._size, self._most, device)
        standing = self._selection.ranks, self._selection.crowding
        self._breeder = Breeder(layout, settings, self._there, *standing)
        self._told = torch.zeros(len(Told), dtype=torch.int64, device=device)
        self._told_here = torch.zeros(len(Told), dtype=torch.int64, pin_memory=is_gpu)
        # Born, repaired, archived; tried and admitted by operator.
        self._counts_here = torch.zeros(
            3 + 2 * len(OPERATORS), dtype=torch.int32, pin_memory=is_gpu
        )
        self._born = 0
        self._graphs = Graphs(device)
        self._stream = torch.cuda.Stream(device) if is_gpu else None  # type: ignore[no-untyped-call]

    @device_errors
    def load(self, population: Population, archive: Population, ranking: Ranking) -> None:
        """Bring in who a generation begins with.

        Args:
            population: [P].
            archive: At least one, at most A.
            ranking: Of the population.
        """
        with self._current():
            for first, some in ((0, population), (self._size, archive)):
                rows = slice(first, first + len(some))
                for name in Members._fields:
                    given = torch.from_numpy(np.array(getattr(some, name)))
                    getattr(self._there, name)[rows].copy_(given)
            own = slice(0, self._size)
            self._selection.ranks[own].copy_(torch.from_numpy(ranking.ranks.copy()))
            self._selection.crowding[own].copy_(torch.from_numpy(ranking.crowding.copy()))
            self._selection.archive_count.fill_(len(archive))
        self._wait()

    @device_errors
    def begin(self, told: Sequence[int]) -> None:
        """Begin to breed the next generation, without waiting for it.

        Args:
            told: What `Told` lists.
        """
        # What was begun and never asked for may still be reading.
        self._wait()
        self._told_here.numpy()[:] = told
        self._run(BREED, self._breed)

    @device_errors
    def newborn(self) -> Newborn:
        """The newcomers that were begun."""
        self._wait()
        counts = self._counts_here.numpy()
        self._born, repaired = int(counts[0]), int(counts[1])
        return Newborn(self._rows_here("genomes", self._newcomers(self._born)), repaired)

    @device_errors
    def select(self, evaluation: Evaluation) -> Chosen:
        """Who goes on, after all newcomers were judged.

        Args:
            evaluation: Of those that `newborn` gave, in their order.
        """
        rows = self._newcomers(self._born)
        for name in JUDGED:
            getattr(self._here, name)[rows].numpy()[...] = getattr(evaluation, name)
        self._run(SELECT, self._select)
        self._wait()
        counts = self._counts_here.tolist()
        archived, by_operator = counts[2], counts[3:]
        return Chosen(
            self._population(slice(0, self._size)),
            self._population(slice(self._size, self._size + archived)),
            by_operator[: len(OPERATORS)],
            by_operator[len(OPERATORS) :],
        )

    def _breed(self) -> None:
        self._told.copy_(self._told_here, non_blocking=True)
        self._breeder.launch(self._told)
        rows = self._newcomers(self._size)
        self._here.genomes[rows].copy_(self._there.genomes[rows], non_blocking=True)
        self._bring_counts(0, self._breeder.born, self._breeder.repaired)

    def _select(self) -> None:
        rows = self._newcomers(self._size)
        for name in JUDGED:
            getattr(self._there, name)[rows].copy_(
                getattr(self._here, name)[rows], non_blocking=True
            )
        self._selection.launch(self._breeder.born)
        seen = slice(0, self._size + self._most)
        for there, here in zip(self._there, self._here, strict=True):
            here[seen].copy_(there[seen], non_blocking=True)
        found = self._selection
        self._bring_counts(2, found.archive_count, found.tried, found.admitted)

    def _bring_counts(self, at: int, *counts: torch.Tensor) -> None:
        for count in counts:
            room = self._counts_here[at : at + count.numel()]
            room.copy_(count, non_blocking=True)
            at += count.numel()

    def _newcomers(self, count: int) -> slice:
        first = self._size + self._most
        return slice(first, first + count)

    def _population(self, rows: slice) -> Population:
        return Population(*(self._rows_here(name, rows) for name in Members._fields)).frozen()

    def _rows_here(self, name: str, rows: slice) -> np.ndarray:
        """A copy of rows as they were last brought to the host."""
        return np.array(getattr(self._here, name)[rows].numpy())

    def _run(self, key: tuple[int, ...], work: Callable[[], None]) -> None:
        with self._current():
            if self._stream is None:
                work()
            else:
                self._graphs.run(key, work)

    def _current(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def _wait(self) -> None:
        if self._stream is not None:
            self._stream.synchronize()
