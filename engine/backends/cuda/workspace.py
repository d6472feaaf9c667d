"""Everything that one evaluation reads and writes, allocated once; and the launches over it."""

import numpy as np
import numpy.typing as npt
import torch

from engine.backends.contract import Floats, Slots
from engine.backends.cuda.lists import CandidateLists
from engine.backends.cuda.types import Lists
from engine.ledger import ACCUMULATORS


class Workspace:
    """Buffers for up to so many individuals.

    Args:
        individuals: Most that are evaluated together.
        n_windows: W.
        n_genes: G.
        n_rows: R.
        capacity: Entries of a pair's lists, a multiple of 16.
        device: Where tensors lie.

    Attributes:
        genomes: [P, G] float64 on the device.
        table: [1 + P, R + 1] int32 on the device: in the first line how many individuals there are,
            then for each its slots and its list of candidates.
        results: [P * W * A + 1] float64 on the device; the last holds, as a whole number, the
            largest count of signals that was too long for a list.
        lists: The pairs' lists.
    """

    def __init__(
        self,
        individuals: int,
        n_windows: int,
        n_genes: int,
        n_rows: int,
        capacity: int,
        device: torch.device,
    ) -> None:
        self.individuals, self.n_windows, self.capacity = individuals, n_windows, capacity
        pairs = individuals * n_windows
        self.genomes = torch.empty((individuals, n_genes), dtype=torch.float64, device=device)
        shape = (1 + individuals, n_rows + 1)
        self.table = torch.zeros(shape, dtype=torch.int32, device=device)
        n_results = pairs * len(ACCUMULATORS) + 1
        self.results = torch.zeros(n_results, dtype=torch.float64, device=device)
        self.most = self.results[-1:].view(torch.int32)
        self.lists = Lists.empty(pairs, capacity, device)
        is_pinned = device.type == "cuda"
        self._host_genomes = torch.empty(
            self.genomes.shape, dtype=torch.float64, pin_memory=is_pinned
        )
        self._host_table = torch.zeros(shape, dtype=torch.int32, pin_memory=is_pinned)
        self._host_results = torch.empty(n_results, dtype=torch.float64, pin_memory=is_pinned)
        self._genomes_view = self._host_genomes.numpy()
        self._table_view = self._host_table.numpy()
        self._results_view: npt.NDArray[np.float64] = self._host_results.numpy()

    @staticmethod
    def bytes_of(n_windows: int, capacity: int) -> int:
        """Bytes that one individual takes, nearly all in its lists."""
        return n_windows * (Lists.bytes_of_pair(capacity) + 8 * len(ACCUMULATORS))

    def fits(self, individuals: int, n_windows: int, capacity: int) -> bool:
        """Whether there is room for so many individuals, with windows and lists as asked."""
        return (
            self.individuals >= individuals
            and self.n_windows == n_windows
            and self.capacity == capacity
        )

    def lay_out(self, genomes: Floats, slots: Slots, candidates: CandidateLists) -> bool:
        """Lay individuals out for the next upload; they may be fewer than there is room for.

        Args:
            genomes: [P, G].
            slots: [P, R].
            candidates: Knows their lists.

        Returns:
            Whether all their lists are there; the device must not see them else.
        """
        n = len(genomes)
        self._genomes_view[:n] = genomes
        self._table_view[0, 0] = n
        return candidates.lay_out(genomes, slots, self._table_view[1 : n + 1])

    def upload(self, individuals: int) -> None:
        """Bring the first lines to the device, behind whatever runs there."""
        for device, host, n in (
            (self.genomes, self._host_genomes, individuals),
            (self.table, self._host_table, individuals + 1),
        ):
            device[:n].copy_(host[:n], non_blocking=True)

    def download(self, individuals: int) -> None:
        """Bring results to the host, behind whatever runs on the device."""
        n = individuals * self.n_windows * len(ACCUMULATORS)
        self._host_results[:n].copy_(self.results[:n], non_blocking=True)
        self._host_results[-1:].copy_(self.results[-1:], non_blocking=True)

    def read(self, out: Floats) -> int:
        """Copy accumulators as last downloaded into out [P, W, A].

        Returns:
            The largest count of signals that was too long for a list, else 0.
        """
        out[...] = self._results_view[: out.size].reshape(out.shape)
        return int(self._results_view[-1:].view(np.int32)[0])
