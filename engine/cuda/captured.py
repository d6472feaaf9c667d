"""Calls of strategies in words: one captured graph a shape, some individuals at a time.

The launches of a call depend on numbers that most populations of about one size share: room for
individuals and sets of genes, and the length of lists. The number of individuals is read
on the device. From the second call of such a shape on, all of it is one graph: the inputs on
each series go up, conditions, positions and sums follow, several windows are folded as one
account on request, and the accumulators come down. Calls go through two lanes: while
the device works on one, the host lays the next out.
"""

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Floats, Ints, Sent
from engine.cuda.accounts import WindowGroup, WordAccounts
from engine.cuda.inputs import LaidOut, SentInputs, SeriesInputs
from engine.cuda.order_accounts import OrderAccounts
from engine.cuda.signal_lists import longer
from engine.cuda.streams import Lane, Outcomes, Ticket
from engine.errors import DeviceError
from engine.memory_plan import GRAPH_BYTES, GRAPH_SHARE, N_LANES
from engine.runtime.cuda.capture import give_back_memory
from engine.runtime.cuda.faults import is_out_of_memory
from engine.runtime.cuda.watchdog import to_host, wait_for_launches
from engine.runtime.shortage import relieve_shortage

LOG = logging.getLogger(__name__)

N_OUT = len(ACCUMULATORS)

TOO_LONG = 8
"""Lists are made shorter where they have so many times the room that was needed, to half of it."""

MOST_INDIVIDUALS = 2**17
"""Evaluated together at most."""

NO_ROOM = (
    "the rows of one individual do not fit the GPU's memory: raise --memory, or use --device cpu"
)

Take = Callable[[slice, list[LaidOut], int, int], int]
"""Takes some individuals, their inputs on each series, room for individuals and for lists; returns
the needed lengths of lists, as far as known."""

Accounts = WordAccounts | OrderAccounts
"""Positions on all series, as accounts take them."""


class CapturedCalls:
    """Evaluates populations on one device, a call at a time.

    Args:
        inputs: What individuals ask of each series.
        accounts: Positions on them.
        work_bytes: Room for conditions, and as much for lists.
        device: Where tensors lie.
        rounds: Individuals that a call has room for; calls of few sizes share their graphs.
    """

    def __init__(
        self,
        inputs: Sequence[SeriesInputs],
        accounts: Accounts,
        work_bytes: int,
        device: torch.device,
        rounds: Callable[[int], int],
    ) -> None:
        self._inputs, self._accounts, self._device = inputs, accounts, device
        self._rounds = rounds
        self._most_bytes = min(GRAPH_BYTES, work_bytes // GRAPH_SHARE // N_LANES)
        self._lanes = [Lane(device) for _ in range(N_LANES)]
        self._turns = itertools.cycle(range(N_LANES))
        for of_series in inputs:
            of_series.settle = self._drain
        self._capacities: dict[tuple[bool, tuple[int, ...]], int] = {}
        self._most = MOST_INDIVIDUALS

    def launch(
        self, group: WindowGroup, genomes: Floats, out: Floats, account: Floats | None
    ) -> list[Ticket]:
        """Begin to evaluate individuals [P, G] into out [P, W, A], and account [P, A] if wanted."""
        tickets: list[Ticket] = []

        def take(members: slice, laid_out: list[LaidOut], room: int, capacity: int) -> int:
            some = None if account is None else account[members]
            ticket = Ticket(Sent(genomes[members], (), None, out[members], some))
            self._send(group, ticket, laid_out, room, capacity)
            tickets.append(ticket)
            return capacity

        self._take(group, genomes, take, is_account=account is not None)
        return tickets

    def finish(self, group: WindowGroup, tickets: Sequence[Ticket]) -> None:
        """Wait until tickets are done; lists that were too short are made again."""
        for ticket in tickets:
            for lane in self._lanes:
                if lane.holds(ticket):
                    lane.finish()
            _, _, _, out, account = ticket.sent
            self._learn((account is not None, group.shape), ticket.capacity, ticket.most)
            if ticket.is_short:
                self.finish(group, self.launch(group, ticket.sent.genomes, out, account))

    def list_trades(
        self,
        group: WindowGroup,
        genomes: Floats,
        note: Callable[[slice, Floats, Any, Ints], None],
    ) -> None:
        """Note accumulators [p, W, A], lists of trades and delays [p], some individuals at a time.

        They are launched one by one.
        """

        def take(members: slice, laid_out: list[LaidOut], room: int, capacity: int) -> int:
            n_windows = len(group.table)
            outcomes = Outcomes(room * n_windows, 0, self._device)
            sent = list(self._send_all(group, laid_out))
            lists: Any = self._accounts.run(group, sent, room, capacity, outcomes, keeps=True)
            accumulators: Floats = to_host(outcomes.results).reshape(room, n_windows, N_OUT)
            most = self._accounts.count_needed(lists, accumulators)
            if most <= capacity:
                delays = to_host(sent[0].each.bars[:, 1]).astype(np.int64)
                note(members, accumulators, lists, delays)
            return most

        self._drain()
        self._take(group, genomes, take, keeps=True)

    def send_one(self, number: int, genome: Floats) -> SentInputs:
        """Inputs of one individual [G] on a series.

        Raises:
            DeviceError: When there is no room for its rows.
        """
        self._drain()
        laid_out = self._inputs[number].lay_out(genome[None], None, np.zeros((0, 3), np.int64))
        if laid_out is None:
            raise DeviceError(NO_ROOM)
        return self._inputs[number].send(laid_out)

    def _take(
        self,
        group: WindowGroup,
        genomes: Floats,
        take: Take,
        *,
        keeps: bool = False,
        is_account: bool = False,
    ) -> None:
        """Hand over individuals [P, G] and their inputs, as many at a time as memory holds."""
        is_listed = keeps or is_account
        begin, shape = 0, (is_listed, group.shape)
        if shape not in self._capacities:
            self._capacities[shape] = self._accounts.first_capacity(group, is_listed=is_listed)
        while begin < len(genomes):
            capacity = self._capacities[shape]
            each = self._accounts.bytes_of_pair(capacity, keeps=keeps, is_account=is_account)
            most = self._count_most(len(group.table) * each)
            count = min(len(genomes) - begin, most)
            members = slice(begin, begin + count)
            room = count if keeps else min(self._rounds(count), max(count, most))
            needed = self._try(group, genomes, members, room, capacity, take, is_one=keeps)
            if needed is None:
                self._halve(count)
                continue
            if needed <= capacity:
                begin = members.stop
            self._learn(shape, capacity, needed)

    def _learn(self, shape: tuple[bool, tuple[int, ...]], capacity: int, needed: int) -> None:
        """Choose how long lists are from here on; they had room for `capacity` signals."""
        longest, now = longer(needed), self._capacities[shape]
        if needed > capacity:
            self._capacities[shape] = max(longest, now)
        elif now == capacity and TOO_LONG * longest <= capacity:
            self._capacities[shape] = TOO_LONG * longest // 2

    def _drain(self) -> None:
        """Wait for all lanes; results are in the tickets."""
        for lane in self._lanes:
            lane.finish()

    def _try(
        self,
        group: WindowGroup,
        genomes: Floats,
        members: slice,
        room: int,
        capacity: int,
        take: Take,
        *,
        is_one: bool,
    ) -> int | None:
        """Hand over some of them; None where memory has no room for them."""
        try:
            number = next(self._turns)
            self._lanes[number].finish()
            laid_out = self._lay_out(group, genomes[members], None if is_one else room, number)
            return None if laid_out is None else take(members, laid_out, room, capacity)
        except RuntimeError as error:
            if not is_out_of_memory(error) or members.stop - members.start == 1:
                raise
        return None

    def _halve(self, count: int) -> None:
        """Give memory back, and take half as many individuals from here on.

        As many as before where others gave memory back.

        Raises:
            DeviceError: When there was only one.
        """
        if relieve_shortage():
            return
        if count == 1:
            raise DeviceError(NO_ROOM)
        # Only here, with nothing of the failed try held any more, can memory be given back.
        self._drain()
        wait_for_launches(self._device)
        for lane in self._lanes:
            lane.give_back()
        give_back_memory()
        self._most = count // 2
        LOG.info("device memory is full: %d individuals at a time from here on", self._most)

    def _count_most(self, each: int) -> int:
        """Number of individuals with room for lists of so many bytes each, and for conditions."""
        conditions = min(inputs.most_individuals(self._most_bytes) for inputs in self._inputs)
        return max(1, min(self._most, self._most_bytes // each, conditions))

    def _lay_out(
        self, group: WindowGroup, genomes: Floats, room: int | None, lane: int
    ) -> list[LaidOut] | None:
        """Layouts of each series, in a lane; None without room for all rows of one."""
        layouts, table = [], group.table
        for number, windows in group.parts:
            layout = self._inputs[number].lay_out(genomes, room, windows, table, lane)
            if layout is None:
                return None
            layouts.append(layout)
            # The first one brings those of all.
            table = table[:0]
        return layouts

    def _send_all(self, group: WindowGroup, layouts: Sequence[LaidOut]) -> Iterator[SentInputs]:
        """Inputs of each series, once it is its turn."""
        for part, layout in zip(group.parts, layouts, strict=True):
            yield self._inputs[part.number].send(layout)

    def _send(
        self,
        group: WindowGroup,
        ticket: Ticket,
        layouts: list[LaidOut],
        room: int,
        capacity: int,
    ) -> None:
        """Launch a call."""
        pairs, is_account = room * len(group.table), ticket.sent.account is not None
        lane = self._lanes[layouts[0].lane]
        key: list[int] = [room, capacity, is_account, *group.shape]
        for layout in layouts:
            key += layout.key
        outcomes = self._make_room(lane, pairs, room * is_account)
        outcomes.capacity = capacity
        if not lane.is_captured(tuple(key)):
            # What loads kernels, captures a graph or takes memory may wait inside the driver.
            self._drain()
            wait_for_launches(self._device)

        def launch_call() -> None:
            outcomes.counts.zero_()
            sent = self._send_all(group, layouts)
            self._accounts.run(group, sent, room, capacity, outcomes, is_account=is_account)
            outcomes.download(pairs, room * is_account)

        lane.send(ticket, tuple(key), launch_call)

    def _make_room(self, lane: Lane, pairs: int, individuals: int) -> Outcomes:
        """Room for what comes back; graphs that name the old one are forgotten."""
        old = lane.outcomes
        if old is not None and old.pairs >= pairs and old.individuals >= individuals:
            return old
        if old is not None:
            pairs, individuals = max(pairs, old.pairs), max(individuals, old.individuals)
        lane.give_back()
        lane.outcomes = Outcomes(pairs, individuals, self._device)
        return lane.outcomes
