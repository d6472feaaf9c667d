"""Lanes: a workspace, a stream and its graphs, so that the host prepares while the device works."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

import torch

from engine.backend import Floats, Sent, Slots
from engine.runtime.cuda.graphs import Graphs
from engine.runtime.cuda.watchdog import wait_for_work

Work = TypeVar("Work", bound="Buffers")

N_LANES = 2
"""One lane for the work of the device, one for the next individuals from the host."""


class Ticket:
    """Individuals on their way through a lane.

    Args:
        sent: The individuals, and room for the answer.
        slots: [P, R]; None where the device looks them up.

    Attributes:
        is_refused: After the device is done, whether an individual was not legal, or a row or
            list not there; out is then as it was.
        most: After the device is done, the largest count of signals; lists that it did not fit
            left accumulators that mean nothing.
        capacity: Entries that lists had.
    """

    def __init__(self, sent: Sent, slots: Slots | None) -> None:
        self.sent, self.slots = sent, slots
        self.is_refused = False
        self.most = 0
        self.capacity = 0

    @property
    def is_short(self) -> bool:
        """True if a list was too short."""
        return self.most > self.capacity


class Buffers(Protocol):
    """Buffers of a lane's launches."""

    capacity: int
    """Entries of lists."""

    def read(self, out: Floats, account: Floats | None) -> tuple[int, bool]:
        """Copy what came back; as `Workspace.read`."""


class Lane(Generic[Work]):
    """One of the ways to the device; work in it runs in order, beside that of other lanes.

    Args:
        device: Where work goes.

    Attributes:
        work: Its buffers, once there are some.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._graphs = Graphs(device)
        self._ticket: Ticket | None = None
        self.work: Work | None = None

    def send(self, ticket: Ticket, key: tuple[int, ...], launches: Callable[[], None]) -> None:
        """Launch work that is laid out in the workspace, without waiting for it.

        `key` names everything that the launches depend on.
        """
        assert self.work is not None
        ticket.capacity = self.work.capacity
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
        assert self.work is not None
        ticket.most, ticket.is_refused = self.work.read(ticket.sent.out, ticket.sent.account)

    def is_captured(self, key: tuple[int, ...]) -> bool:
        """True if launches of that name are replayed, so that nothing of them waits."""
        return self._stream is None or self._graphs.is_captured(key)

    def holds(self, ticket: Ticket) -> bool:
        """True until a ticket is finished."""
        return self._ticket is ticket

    def forget_graphs(self) -> None:
        """Capture anew from here on; the lane must be finished."""
        self._graphs.clear()

    def give_back(self) -> None:
        """Give all memory back; the lane must be finished."""
        self.work = None
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
