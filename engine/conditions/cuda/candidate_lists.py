"""Lists of candidates: which bars are left for each length, kept between generations."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from engine.backend import Floats, Ints, Slots
from engine.conditions.cuda.candidates import candidate_kernel
from engine.conditions.encode import Entry
from engine.fast_case import FastCase
from engine.indicators.cuda.market import HIGHEST_CODE, INDEX_BARS, Stretch
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import overwrite, to_device, to_host

MOST_PACKED = 4
"""Comparisons with codes in one word."""

MOST_CANDIDATES = 2**31
"""Candidates of all lists together: their places are 32-bit numbers."""

LISTED_BYTES = 2
"""For each bar of a slot, so much room for candidates, which take eight bytes each."""

FIRST_LISTS = 64
"""Lists that there is room for at first; doubled when they do not suffice."""


class Packing(NamedTuple):
    """Comparisons with genes that are decided together."""

    order: Ints  # [C] places of all gene comparisons in the entry, the packed ones first
    n_packed: int  # how many are packed
    rows: Ints  # [N] row of the fast case that each packed comparison reads
    lead: int  # row with the slot of an individual's list; -1 when one list serves all
    genes: Ints  # [N] gene of each packed comparison
    is_greater: npt.NDArray[np.bool_]  # [N] whether the row must be greater
    bounds: Floats  # [N] the gene's bound that the weakest individual has


def choose_packing(case: FastCase, entry: Entry) -> Packing:
    """Choose the comparisons to pack: their rows need no gene but one common whole one.

    The gene that most rows share leads.
    """
    length_genes = [case.rows[row].genes for row in entry.genes[:, 0].tolist()]
    whole = [
        names for names in length_genes if len(names) == 1 and case.layout.gene(names[0]).is_int
    ]
    common = Counter(whole).most_common(1)
    leading = common[0][0] if common else ()
    packed = [c for c, names in enumerate(length_genes) if names in ((), leading)][:MOST_PACKED]
    loose = [c for c in range(len(length_genes)) if c not in packed]
    leads = [int(entry.genes[c, 0]) for c in packed if length_genes[c]]
    chosen = entry.genes[packed].reshape(-1, 3)
    is_greater = chosen[:, 2] == 1
    genes = [case.layout.genes[g] for g in chosen[:, 1].tolist()]
    return Packing(
        order=np.array(packed + loose, np.int64),
        n_packed=len(packed),
        rows=chosen[:, 0],
        lead=leads[0] if leads else -1,
        genes=chosen[:, 1],
        is_greater=is_greater,
        bounds=np.array(
            [gene.low if up else gene.high for gene, up in zip(genes, is_greater, strict=True)],
            np.float64,
        ),
    )


class CandidateLists:
    """The lists of one device.

    Args:
        packing: What they decide.
        rows: [slots, B] values on the device.
        codes: [slots, B] their codes.
        stretch: Bars that rows hold.

    Attributes:
        index: [lists, B / INDEX_BARS + 1] int32, where each block's candidates begin.
        bars: int32, all lists one after the other.
        words: int32, the codes of each candidate.
        list_of: [slots, 2] int32, list by slot, for individuals within their bounds and for others;
            -1 where there is none.
        moves: Raised whenever one of these tensors was replaced.
    """

    def __init__(
        self, packing: Packing, rows: torch.Tensor, codes: torch.Tensor, stretch: Stretch
    ) -> None:
        self.stretch, self._packing = stretch, packing
        self._rows, self._codes = rows, codes
        self._n_blocks = rows.shape[1] // INDEX_BARS
        most = max(rows.numel() * LISTED_BYTES // 8, 8 * rows.shape[1])
        self._most = min(most, MOST_CANDIDATES // 2)
        self.moves = 0
        self.list_of = torch.full((len(rows), 2), -1, dtype=torch.int32, device=rows.device)
        self.clear()

    def clear(self) -> None:
        """Forget all lists and give their memory back."""
        device = self._rows.device
        self._list_of = np.full((self._rows.shape[0], 2), -1, np.int32)
        self.list_of.fill_(-1)
        self._n_lists = 0
        self._used = 0
        shape = (FIRST_LISTS, self._n_blocks + 1)
        self.index = torch.zeros(shape, dtype=torch.int32, device=device)
        room = self._rows.shape[1]
        self.bars = torch.zeros(room, dtype=torch.int32, device=device)
        self.words = torch.zeros(room, dtype=torch.int32, device=device)
        self.moves += 1

    def forget(self, slots: Ints) -> None:
        """Forget the lists of slots before their rows change."""
        self._list_of[slots] = -1
        overwrite(self.list_of, self._list_of)

    def lay_out(self, genomes: Floats, slots: Slots, table: Slots) -> bool:
        """Write slots and lists into a table [P, R + 1]; returns True if all lists are ready.

        Genomes are [P, G], slots [P, R].
        """
        lead, weaker = self._find_list_slots(genomes, slots)
        table[:, :-1], table[:, -1] = slots, self._list_of[lead, weaker]
        return bool((table[:, -1] >= 0).all())

    def make(self, genomes: Floats, slots: Slots) -> None:
        """Make the lists of genomes [P, G] with slots [P, R] that are not there yet.

        Nothing may run on the device.
        """
        lead, weaker = self._find_list_slots(genomes, slots)
        missing = self._list_of[lead, weaker] < 0
        if self._used > self._most:
            # Lists of forgotten rows are among them; needed ones are made again.
            self.clear()
            missing[:] = True
        _, first_of_each = np.unique(lead[missing] * 2 + weaker[missing], return_index=True)
        members = np.nonzero(missing)[0][first_of_each]
        self._make(slots[members], lead[members], weaker[members])

    def _find_list_slots(self, genomes: Floats, slots: Slots) -> tuple[Slots, Slots]:
        """Slot [P] of each individual's list, and 1 [P] if outside its bounds."""
        packing = self._packing
        lead = slots[:, packing.lead] if packing.lead >= 0 else np.zeros(len(slots), np.int32)
        # Column after column: a compiled loop is 0.01 ms quicker for 512 individuals, and would
        # make a process half a second later.
        weaker = np.zeros(len(genomes), np.int32)
        comparisons = (packing.genes.tolist(), packing.is_greater.tolist(), packing.bounds.tolist())
        for gene, greater, bound in zip(*comparisons, strict=True):
            threshold = genomes[:, gene]
            weaker |= threshold < bound if greater else threshold > bound
        return lead, weaker

    def _make(self, slots: Slots, lead: Slots, weaker: Slots) -> None:
        device, n_blocks, n = self._rows.device, self._n_blocks, len(slots)
        greater = self._packing.is_greater
        unbounded = np.where(greater, -np.inf, np.inf)
        limits = np.where(weaker[:, None] == 1, unbounded, self._packing.bounds)
        on_device = to_device(slots[:, self._packing.rows], device)
        limit = to_device(limits, device)
        counts = torch.empty((n, n_blocks), dtype=torch.int32, device=device)
        self._launch(on_device, limit, self.index, counts, writes=False)
        before = torch.zeros(n * n_blocks + 1, dtype=torch.int64, device=device)
        torch.cumsum(counts.view(-1), 0, out=before[1:])
        total = int(to_host(before[-1]))
        self._make_room(total, n)
        flat = before + self._used
        index = self.index[self._n_lists : self._n_lists + n]
        index[:, :n_blocks] = flat[:-1].view(n, n_blocks)
        index[:, n_blocks] = flat[n_blocks::n_blocks]
        self._launch(on_device, limit, index, counts, writes=True)
        self._list_of[lead, weaker] = np.arange(self._n_lists, self._n_lists + n)
        overwrite(self.list_of, self._list_of)
        self._n_lists += n
        self._used += total

    def _launch(
        self,
        slots: torch.Tensor,
        limits: torch.Tensor,
        index: torch.Tensor,
        counts: torch.Tensor,
        *,
        writes: bool,
    ) -> None:
        greater = sum(1 << k for k, up in enumerate(self._packing.is_greater.tolist()) if up)
        # A grid's second axis ends at 65,535 programs.
        for begin in range(0, len(slots), 65_535):
            part = slice(begin, begin + 65_535)
            launch(candidate_kernel, (self._n_blocks, len(slots[part])), self._rows, self._codes,
                   slots[part], limits[part], index[part], counts[part], self.bars, self.words,
                   self.stretch.first, self._rows.shape[1], self._n_blocks, WRITES=writes,
                   GREATER=greater, N_PACKED=self._packing.n_packed, HIGHEST=HIGHEST_CODE,
                   BLOCK=INDEX_BARS)  # fmt: skip

    def _make_room(self, candidates: int, lists: int) -> None:
        """Grow too small buffers; old lists keep their places."""
        needed = self._used + candidates
        if needed >= MOST_CANDIDATES:
            raise torch.OutOfMemoryError(f"{needed:,} candidates need more than 32-bit numbers")
        if needed > len(self.bars):
            self.bars, self.words = (
                _grow_tensor(old, max(needed, 2 * len(old))) for old in (self.bars, self.words)
            )
            self.moves += 1
        if self._n_lists + lists > len(self.index):
            self.index = _grow_tensor(self.index, max(self._n_lists + lists, 2 * len(self.index)))
            self.moves += 1


def _grow_tensor(old: torch.Tensor, length: int) -> torch.Tensor:
    new = torch.zeros((length, *old.shape[1:]), dtype=old.dtype, device=old.device)
    new[: len(old)] = old
    return new
