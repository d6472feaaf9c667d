"""Lanes: a stream, its graphs and results, so that the host prepares while the device works."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt
import torch

from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Floats, Sent
from engine.runtime.cuda.graphs import Graphs
from engine.runtime.cuda.watchdog import wait_for_work

N_OUT = len(ACCUMULATORS)

HEAD = 1
"""Numbers in front of results, read as two int32 each."""

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
        counts: [2] int32 on the device, downloaded with the results: first the largest count of
            signals.
        results: [pairs * A] float64 on the device.
        accounts: [P * A] float64 on the device, behind the results, of several windows as one.
        capacity: Entries of the lists of the last launch.
    """

    def __init__(self, pairs: int, individuals: int, device: torch.device) -> None:
        self.pairs, self.individuals, self.capacity = pairs, individuals, 0
        end = HEAD + pairs * N_OUT
        numbers = end + individuals * N_OUT
        self._there = torch.zeros(numbers, dtype=torch.float64, device=device)
        is_pinned = device.type == "cuda"
        self._here = torch.zeros(numbers, dtype=torch.float64, pin_memory=is_pinned)
        self.counts = self._there[:HEAD].view(torch.int32)
        self._counts = _numpy(self._here[:HEAD].view(torch.int32))
        self.results, self._results = self._there[HEAD:end], _numpy(self._here[HEAD:end])
        self.accounts, self._accounts = self._there[end:], _numpy(self._here[end:])

    def download(self, pairs: int, accounts: int) -> None:
        """Bring results to the host, behind whatever runs on the device."""
        first = HEAD + self.pairs * N_OUT
        for begin, end in ((0, HEAD + pairs * N_OUT), (first, first + accounts * N_OUT)):
            if end > begin:
                self._here[begin:end].copy_(self._there[begin:end], non_blocking=True)

    def read(self, out: Floats, account: Floats | None) -> int:
        """Copy downloaded results into out [P, W, A] and account [P, A].

        Returns the largest count of signals; lists that it did not fit left results that mean
        nothing.
        """
        _copy(self._results[: out.size].reshape(out.shape), out)
        if account is not None:
            _copy(self._accounts[: account.size].reshape(account.shape), account)
        return int(self._counts[0])


class Ticket:
    """Individuals on their way through a lane.

    Args:
        sent: The individuals, and room for the answer.

    Attributes:
        most: After the device is done, the largest count of signals.
        capacity: Entries that lists had.
    """

    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        self.most = 0
        self.capacity = 0

    @property
    def is_short(self) -> bool:
        """True if a list was too short."""
        return self.most > self.capacity


class Lane:
    """One of the ways to the device; work in it runs in order, beside that of other lanes.

    Args:
        device: Where work goes.

    Attributes:
        outcomes: Results, once there are some.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._graphs = Graphs(device)
        self._ticket: Ticket | None = None
        self.outcomes: Outcomes | None = None

    def send(self, ticket: Ticket, key: tuple[int, ...], launches: Callable[[], None]) -> None:
        """Launch work that is laid out, without waiting for it.

        `key` names everything that the launches depend on.
        """
        assert self.outcomes is not None
        ticket.capacity = self.outcomes.capacity
        with self._current():
            if self._stream is None:
                launches()
            else:
                self._graphs.run(key, launches)
        self._ticket = ticket

    def finish(self) -> None:
        """Wait for a sent call, and read it into its ticket."""
        ticket = self._ticket
        if ticket is None:
            return
        if self._stream is not None:
            wait_for_work(self._stream)
        # Only now: a wait that was interrupted left launches that read what lies here.
        self._ticket = None
        assert self.outcomes is not None
        ticket.most = self.outcomes.read(ticket.sent.out, ticket.sent.account)

    def is_captured(self, key: tuple[int, ...]) -> bool:
        """True if launches of that name are replayed, so that nothing of them waits."""
        return self._stream is None or self._graphs.is_captured(key)

    def holds(self, ticket: Ticket) -> bool:
        """True until a ticket is finished."""
        return self._ticket is ticket

    def give_back(self) -> None:
        """Give all memory back; the lane must be finished."""
        self.outcomes = None
        self._graphs.clear()

    @contextmanager
    def _current(self) -> Iterator[None]:
        if self._stream is None:
            yield
            return
        # Rows, lists and windows are written by the device's own stream.
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            yield


def _copy(numbers: Floats, out: Floats) -> None:
    """Copy numbers, many of them by several threads."""
    if out.size >= MANY and numbers.flags.writeable:  # as torch wants its arguments
        torch.from_numpy(out).copy_(torch.from_numpy(numbers))
    else:
        out[...] = numbers


def _numpy(tensor: torch.Tensor) -> npt.NDArray[Any]:
    return tensor.numpy()
