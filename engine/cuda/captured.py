"""Calls of strategies in words that are small enough to be one captured graph each.

What a call launches depends on numbers that most populations of about one size share: how many
individuals and sets of genes there is room for, and how long lists are. How many there are is read
on the device. From the second call of such a shape on, all of it is one graph: what individuals ask
goes up, conditions, positions and sums follow, and the accumulators come down. The host waits once,
at its end.
"""

from typing import NamedTuple

import numpy as np
import torch

from engine.backend import Floats, Ints
from engine.cuda.accounts import LIST_BYTES, N_OUT, SeriesAccounts
from engine.cuda.batch_inputs import Asking, LaidOut
from engine.cuda.dispatch import first_capacity, longer
from engine.cuda.streams import Lane, Ticket
from engine.cuda.workspace import Outcomes
from engine.runtime.cuda.graphs import bucket
from engine.runtime.cuda.watchdog import wait_for_launches

MOST_BYTES, SHARE = 2**29, 8
"""Memory of conditions, and as much of lists, up to which a call is captured, and which part of the
work memory that may be. All graphs of a backend share it, beside what other calls take. Where it is
not enough, the device works for far longer than launches take."""

TOO_LONG = 8
"""Lists are made shorter where they have so many times the room that was needed, to half of it."""

NEVER_REFUSED = -1
"""In place of a launch's number: nothing is refused."""


class CapturedSeries(NamedTuple):
    """A series, and its place among all."""

    number: int
    inputs: Asking
    accounts: SeriesAccounts


class CapturedBuffers:
    """Buffers of calls, and how long lists are."""

    def __init__(self, pairs: int, capacity: int, device: torch.device) -> None:
        self.capacity, self.outcomes = capacity, Outcomes(pairs, 0, device)

    def read(self, out: Floats, account: Floats | None) -> tuple[int, bool]:
        """Copy accumulators as last downloaded into out; returns the largest count of signals."""
        return self.outcomes.read(NEVER_REFUSED, out, account)


class CapturedCalls:
    """Evaluates populations on one device, a call at a time.

    Args:
        work_bytes: Room for conditions, and as much for lists.
        device: Where tensors lie.
    """

    def __init__(self, work_bytes: int, device: torch.device) -> None:
        self._device, self._most_bytes = device, min(MOST_BYTES, work_bytes // SHARE)
        self._lane = Lane[CapturedBuffers](device)
        self._capacities: dict[tuple[int, int], int] = {}

    def try_evaluate(
        self, series: CapturedSeries, genomes: Floats, windows: Ints, out: Floats
    ) -> bool:
        """Evaluate individuals [P, G] in windows [W, 2] of a series into out [P, W, A].

        Returns False, and leaves out as it is, where memory is too small for all at once.

        Raises:
            RuntimeError: When the device has failed, or its memory is full.
        """
        room = bucket(len(genomes))
        shape = (series.number, len(windows))
        if shape not in self._capacities:
            self._capacities[shape] = first_capacity(int(np.ptp(windows, 1).max()))
        while self._fits(series, room * len(windows), room, self._capacities[shape]):
            laid_out = series.inputs.lay_out(genomes, room, windows)
            if laid_out is None:
                return False
            ticket = Ticket(genomes, None, None, out)
            self._send(series, ticket, laid_out, room, self._capacities[shape])
            self._lane.finish()
            needed = longer(ticket.most)
            if ticket.is_short:
                self._capacities[shape] = needed
                continue
            if TOO_LONG * needed <= self._capacities[shape]:
                self._capacities[shape] = TOO_LONG * needed // 2
            return True
        return False

    def give_back(self) -> None:
        """Give all memory back, and take half of it from here on."""
        self._lane.finish()
        self._lane.give_back()
        self._most_bytes //= 2

    def _fits(self, series: CapturedSeries, pairs: int, room: int, capacity: int) -> bool:
        lists = pairs * (capacity * LIST_BYTES + 8 * N_OUT)
        return lists <= self._most_bytes and room <= series.inputs.most_individuals(
            self._most_bytes
        )

    def _send(
        self, series: CapturedSeries, ticket: Ticket, laid_out: LaidOut, room: int, capacity: int
    ) -> None:
        """Launch a call."""
        n_windows = ticket.out.shape[1]
        pairs = room * n_windows
        key = (series.number, room, n_windows, capacity, laid_out.waits, *laid_out.key)
        if not self._lane.is_captured(key):
            # What loads kernels, captures a graph or takes memory may wait inside the driver.
            wait_for_launches(self._device)
        outcomes = self._buffers(pairs, capacity).outcomes
        accounts = series.accounts

        def launch_call() -> None:
            asked, each, windows = series.inputs.send(laid_out)
            lists = accounts.make_lists(pairs, capacity)._replace(most=outcomes.counts[:1])
            results = outcomes.results[: pairs * N_OUT].view(pairs, N_OUT)
            outcomes.counts.zero_()
            accounts.run(asked, each, windows, lists, results)
            outcomes.download(pairs)

        self._lane.send(ticket, key, launch_call)

    def _buffers(self, pairs: int, capacity: int) -> CapturedBuffers:
        work = self._lane.work
        if work is None or work.outcomes.pairs < pairs:
            self._lane.give_back()
            work = self._lane.work = CapturedBuffers(pairs, capacity, self._device)
        work.capacity = capacity
        return work
