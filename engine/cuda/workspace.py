"""Everything that one evaluation reads and writes, allocated once; and the copies of it."""

from typing import Any

import numpy.typing as npt
import torch

from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Floats, Slots
from engine.conditions.cuda.candidate_lists import CandidateLists
from engine.cuda.ordering import EntryOrder, count_stretches
from engine.runtime.cuda.types import AskLists, Lists

N_OUT = len(ACCUMULATORS)

HEAD = 2
"""Numbers in front of genomes and of results, read as four int32 each."""

MANY = 1 << 22
"""From so many numbers on one thread is not enough: 32 MB take 3 ms by one. Fewer are not worth it,
because torch's threads keep all cores busy for a while after each copy, waiting for the next."""


class Outcomes:
    """Results of evaluations on their way to the host.

    Args:
        pairs: Most of individual and window.
        individuals: Most whose windows are one account.
        device: Where tensors lie.

    Attributes:
        counts: [4] int32 on the device, downloaded with the results: the largest count of signals
            that was too long for a list, and the last launch that was refused.
        results: [pairs * A] float64 on the device.
        accounts: [P * A] float64 on the device, behind the results, of several windows as one.
    """

    def __init__(self, pairs: int, individuals: int, device: torch.device) -> None:
        self.pairs, self.individuals = pairs, individuals
        end = HEAD + pairs * N_OUT
        self._there, self._here = _twins(end + individuals * N_OUT, device)
        self.counts, self._told = _halves(self._there[:HEAD]), _numpy(_halves(self._here[:HEAD]))
        self.results, self._results = self._there[HEAD:end], _numpy(self._here[HEAD:end])
        self.accounts, self._accounts = self._there[end:], _numpy(self._here[end:])

    def download(self, pairs: int, accounts: int = 0) -> None:
        """Bring results to the host, behind whatever runs on the device."""
        first = HEAD + self.pairs * N_OUT
        for begin, end in ((0, HEAD + pairs * N_OUT), (first, first + accounts * N_OUT)):
            if end > begin:
                self._here[begin:end].copy_(self._there[begin:end], non_blocking=True)

    def read(self, launch: int, out: Floats, account: Floats | None) -> tuple[int, bool]:
        """Copy downloaded results into out [P, W, A] and account [P, A], as `Workspace.read`.

        `launch` is the number that the device notes when it refuses a launch.
        """
        most, refused = self._told[:2].tolist()
        if refused == launch:
            return most, True
        _copy(self._results[: out.size].reshape(out.shape), out)
        if account is not None:
            _copy(self._accounts[: account.size].reshape(account.shape), account)
        return most, False


class Workspace:
    """Buffers for up to so many individuals.

    Args:
        individuals: Most that are evaluated together.
        n_windows: W.
        n_genes: G.
        n_rows: R.
        capacity: Entries of a pair's lists, a multiple of 16.
        device: Where tensors lie.
        has_limits: Whether accounts have limits.

    Attributes:
        genomes: [P, G] float64 on the device.
        asked: [4] int32 on the device, uploaded with the genomes: how many individuals there are,
            and the number of the launch.
        table: [P, R + 1] int32 on the device, each individual's slots and its list of candidates.
        own: [P, W] int32 on the device, numbers of windows that each individual meets, where these
            are its own.
        results: [P * W * A] float64 on the device.
        accounts: [P * A] float64 on the device, behind the results, of several windows as one.
        account_trades: [P] int32 on the device, how many trades those have.
        order: Puts entries of those in one order; keys and places lie in the lists.
        flat_from: [P * W] int32 on the device, the bar from which on an account is flat; used where
            one stretch of bars follows another.
        counts: [4] int32 on the device, downloaded with the results: the largest count of signals
            that was too long for a list, and the last launch that was refused.
        lists: The pairs' lists.
        asks: Signals in the order in which accounts with limits answer them.
    """

    def __init__(
        self,
        individuals: int,
        n_windows: int,
        n_genes: int,
        n_rows: int,
        capacity: int,
        device: torch.device,
        *,
        has_limits: bool = False,
    ) -> None:
        self.individuals, self.n_windows, self.capacity = individuals, n_windows, capacity
        pairs = individuals * n_windows
        self._inputs, self._host_inputs = _twins(HEAD + individuals * n_genes, device)
        self._outcomes = Outcomes(pairs, individuals * (n_windows > 1), device)
        shape = (individuals, n_rows + 1)
        self.table = torch.zeros(shape, dtype=torch.int32, device=device)
        self._host_table = torch.zeros(shape, dtype=torch.int32, pin_memory=_is_pinned(device))
        self.own = torch.zeros((individuals, n_windows), dtype=torch.int32, device=device)
        self._host_own = torch.zeros(
            self.own.shape, dtype=torch.int32, pin_memory=_is_pinned(device)
        )
        self.asked = _halves(self._inputs[:HEAD])
        self.genomes = self._inputs[HEAD:].view(individuals, n_genes)
        self.counts, self.results = self._outcomes.counts, self._outcomes.results
        self.accounts = self._outcomes.accounts
        self.account_trades = torch.zeros(individuals, dtype=torch.int32, device=device)
        stretches = count_stretches(n_windows, capacity)
        n_edges = pairs * (stretches + 1) if n_windows > 1 or has_limits else 1
        self.asks = AskLists.empty(individuals, pairs * capacity if has_limits else 1, device)
        self.flat_from = torch.zeros(pairs, dtype=torch.int32, device=device)
        self.lists = Lists.empty(pairs, capacity, device)
        self.order = EntryOrder(
            self.asked, n_windows, capacity, stretches,
            torch.zeros((individuals, 4), dtype=torch.int64, device=device),
            torch.zeros(n_edges, dtype=torch.int32, device=device),
            self.lists.sums.view(torch.int64), self.lists.words,
        )  # fmt: skip
        self._asked_view = _numpy(_halves(self._host_inputs[:HEAD]))
        self._genomes_view = _numpy(self._host_inputs[HEAD:].view(individuals, n_genes))
        self._table_view, self._own_view = _numpy(self._host_table), _numpy(self._host_own)
        self._launch = 0

    @staticmethod
    def bytes_of_individual(n_windows: int, capacity: int, *, has_limits: bool = False) -> int:
        """Bytes that one individual takes, nearly all in its lists."""
        each = Lists.bytes_of_pair(capacity) + 4 * (count_stretches(n_windows, capacity) + 1)
        if has_limits:
            each += AskLists.bytes_of_pair(capacity)
        return n_windows * each + 8 * _count_outputs(n_windows)

    def fits(self, individuals: int, n_windows: int, capacity: int) -> bool:
        """True if so many individuals have room, with these windows and lists."""
        return (
            self.individuals >= individuals
            and self.n_windows == n_windows
            and self.capacity == capacity
        )

    def carry(self, results: torch.Tensor, flat_from: torch.Tensor) -> None:
        """Go on with results [P * W * A] and accounts [P * W] that lie elsewhere on the device."""
        self.results, self.flat_from = results, flat_from

    def lay_out(self, genomes: Floats) -> None:
        """Lay genomes [P, G] out for the next upload; they may be fewer than there is room for."""
        self._launch = (self._launch + 1) % 2**31
        self._asked_view[:2] = len(genomes), self._launch
        _copy(genomes, self._genomes_view[: len(genomes)])

    def lay_out_slots(self, genomes: Floats, slots: Slots, candidates: CandidateLists) -> bool:
        """Lay slots [P, R] out beside genomes [P, G]; returns True if all their lists are present.

        The device must not see them else.
        """
        return candidates.lay_out(genomes, slots, self._table_view[: len(genomes)])

    def lay_out_own(self, numbers: Slots) -> None:
        """Lay numbers [P, W] of the windows that each individual meets out beside genomes."""
        self._own_view[: len(numbers)] = numbers

    def upload(self, individuals: int, *, with_slots: bool, with_own: bool = False) -> None:
        """Bring the first lines to the device, behind whatever runs there."""
        n = HEAD + individuals * self.genomes.shape[1]
        self._inputs[:n].copy_(self._host_inputs[:n], non_blocking=True)
        if with_slots:
            self.table[:individuals].copy_(self._host_table[:individuals], non_blocking=True)
        if with_own:
            self.own[:individuals].copy_(self._host_own[:individuals], non_blocking=True)

    def download(self, individuals: int, *, with_accounts: bool = False) -> None:
        """Bring results to the host, behind whatever runs on the device."""
        self._outcomes.download(individuals * self.n_windows, individuals * with_accounts)

    def read(self, out: Floats, account: Floats | None = None) -> tuple[int, bool]:
        """Copy accumulators as last downloaded into out [P, W, A], and into account [P, A].

        Returns the largest count of signals that was too long for a list, else 0; and whether the
        device refused the individuals, so that what was copied means nothing.
        """
        return self._outcomes.read(self._launch, out, account)


def _count_outputs(n_windows: int) -> int:
    """Numbers that come back of one individual: of each window, and of several as one account."""
    return (n_windows + (n_windows > 1)) * N_OUT


def _copy(numbers: Floats, out: Floats) -> None:
    """Copy numbers, many of them by several threads."""
    if out.size >= MANY and numbers.flags.writeable:  # as torch wants its arguments
        torch.from_numpy(out).copy_(torch.from_numpy(numbers))
    else:
        out[...] = numbers


def _twins(numbers: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Float64 zeros [numbers] on the device, and as many on the host to copy from and to."""
    there = torch.zeros(numbers, dtype=torch.float64, device=device)
    here = torch.zeros(numbers, dtype=torch.float64, pin_memory=_is_pinned(device))
    return there, here


def _halves(numbers: torch.Tensor) -> torch.Tensor:
    """The same memory as int32, two a number."""
    return numbers.view(torch.int32)


def _is_pinned(device: torch.device) -> bool:
    return device.type == "cuda"


def _numpy(tensor: torch.Tensor) -> npt.NDArray[Any]:
    return tensor.numpy()
