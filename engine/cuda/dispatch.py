"""Brings individuals to the device chunk by chunk and lane by lane, and waits for them."""

import itertools
import logging
from collections.abc import Iterator, Sequence

from data.bars import Window
from engine.backend import Floats, Sent, Slots
from engine.conditions.cuda.candidate_lists import CandidateLists
from engine.cuda.slot_lookup import Admission
from engine.cuda.stages import Stages
from engine.cuda.streams import N_LANES, Lane, Ticket
from engine.cuda.workspace import Workspace
from engine.fast_case import FastCase
from engine.indicators.cuda.market import DeviceMarket
from engine.memory_plan import LISTED_SHARE
from engine.runtime.cuda.capture import give_back_memory
from engine.runtime.cuda.faults import is_out_of_memory
from engine.runtime.cuda.graphs import bucket
from engine.runtime.cuda.types import MetWindows, TradePrices
from engine.runtime.cuda.watchdog import on_device, to_host, wait_for_launches
from engine.runtime.shortage import relieve_shortage

LOG = logging.getLogger(__name__)

MOST_INDIVIDUALS = 2**17
"""Evaluated together at most."""

FIRST_CAPACITY = 2048
"""Signals that a list holds at first, or an eighth of the longest window's bars if that is less;
lists that were too short are doubled and made again."""

SHORTEST_LIST = 64
"""Below this, lists made twice cost more than the room."""

FEWEST_COARSELY = 1024
"""Individuals that a launch is made for at least where their number differs from call to call."""

MULTIPLE = 16
"""Unit of a list's length in entries, so that lists begin at whole vectors."""


class Dispatch:
    """The way of individuals to one device and back.

    Args:
        market: The series.
        stages: What is launched.
        candidates: Lists that the stages read.
        admission: Launched first where slots were not looked up on the host.
        case: The strategy.
        work_bytes: Room for the lists of the individuals that are evaluated together.
    """

    def __init__(
        self,
        market: DeviceMarket,
        stages: Stages,
        candidates: CandidateLists,
        admission: Admission,
        case: FastCase,
        work_bytes: int,
    ) -> None:
        self._market, self._stages = market, stages
        self._has_limits = stages.limits is not None
        self._candidates, self._admission = candidates, admission
        self._device = market.device
        self._n_genes, self._n_rows = len(case.layout), len(case.rows)
        self._lanes = [Lane[Workspace](self._device) for _ in range(N_LANES)]
        self._turns = itertools.cycle(self._lanes)
        self._lists: tuple[Workspace, TradePrices | None] | None = None
        self._windows: Sequence[Window] | None = None
        self._capacity = round_up_capacity(min(FIRST_CAPACITY, market.longest))
        self._most = MOST_INDIVIDUALS
        self._work_bytes = work_bytes

    def launch(self, sent: Sent, slots: Slots | None) -> list[Ticket]:
        """Launch individuals chunk by chunk; arguments as in `Backend.begin`."""
        self._take_windows(sent.windows)
        tickets: list[Ticket] = []
        begin = 0
        while begin < len(sent.genomes):
            part = slice(begin, begin + self._chunk_size(sent.out.shape[1]))
            ticket = Ticket(sent.of(part), None if slots is None else slots[part])
            if self._try_send(ticket):
                tickets.append(ticket)
                begin += len(ticket.sent.genomes)
        return tickets

    def finish_tickets(self, tickets: Sequence[Ticket]) -> bool:
        """Wait until tickets are done, and say whether none was refused.

        Calls with too short lists are made again.
        """
        for ticket in tickets:
            for lane in self._lanes:
                if lane.holds(ticket):
                    lane.finish()
            if ticket.is_short:
                self._grow(ticket.most)
                again = self.launch(ticket.sent, ticket.slots)
                ticket.is_refused = not self.finish_tickets(again)
        return not any(ticket.is_refused for ticket in tickets)

    def _try_send(self, ticket: Ticket) -> bool:
        """Launch a chunk; False where memory ran out.

        Chunks are smaller from here on, unless others gave memory back.
        """
        try:
            with on_device(self._device):
                self._send(ticket)
            return True
        except RuntimeError as error:
            if not is_out_of_memory(error) or len(ticket.sent.genomes) == 1:
                raise
        # Only here, with nothing of the failed try held any more, can memory be given back.
        self.give_back()
        if relieve_shortage():
            return False
        self._most = len(ticket.sent.genomes) // 2
        LOG.warning("device memory ran out: %d individuals at a time from here on", self._most)
        return False

    def _send(self, ticket: Ticket) -> Lane[Workspace]:
        """Lay a chunk out in the next lane and launch it."""
        genomes, _, own, out, account = ticket.sent
        is_told, meet_own, is_account = (told is not None for told in (ticket.slots, own, account))
        # Individuals of one call are others each time.
        room = (bucket_coarsely if meet_own else bucket)(len(genomes))
        lane = next(self._turns)
        lane.finish()
        key = (room, is_told, meet_own, is_account)
        if not lane.is_captured(key):
            self._settle()
        work = self._workspace(lane, room, out.shape[1])
        windows = MetWindows(self._window_table, work.own if meet_own else None)
        if ticket.slots is not None:
            self._lay_out(work, genomes, ticket.slots)
        work.lay_out(genomes)
        if own is not None:
            work.lay_out_own(own)

        def launch_stages() -> None:
            work.upload(room, with_slots=is_told, with_own=meet_own)
            if not is_told:
                self._admission.run(work, self._candidates, room)
            self._stages.run(work, windows, self._candidates, room)
            if is_account:
                self._stages.fold_accounts(work, windows, room)
            work.download(room, with_accounts=is_account)

        lane.send(ticket, key, launch_stages)
        return lane

    def _lay_out(self, work: Workspace, genomes: Floats, slots: Slots) -> None:
        """Lay out slots and lists; lists that are not there are made."""
        if not work.lay_out_slots(genomes, slots, self._candidates):
            self._make_lists(genomes, slots)
            work.lay_out_slots(genomes, slots, self._candidates)

    def _make_lists(self, genomes: Floats, slots: Slots) -> None:
        """Make missing lists of candidates, while nothing reads present ones."""
        self.drain()
        moves = self._candidates.moves
        self._candidates.make(genomes, slots)
        if moves != self._candidates.moves:
            self._forget_graphs()

    def drain(self) -> None:
        """Wait for all lanes; results are in the tickets."""
        for lane in self._lanes:
            lane.finish()

    def _settle(self) -> None:
        """Wait for the whole device, before what may do so inside the driver.

        That is to load a kernel, to capture a graph, and to take or give memory.
        """
        self.drain()
        wait_for_launches(self._device)

    def _forget_graphs(self) -> None:
        for lane in self._lanes:
            lane.forget_graphs()

    def _workspace(self, lane: Lane[Workspace], individuals: int, n_windows: int) -> Workspace:
        work = lane.work
        if work is None or not work.fits(individuals, n_windows, self._capacity):
            self._settle()
            lane.give_back()
            work = lane.work = Workspace(
                individuals, n_windows, self._n_genes, self._n_rows, self._capacity, self._device,
                has_limits=self._has_limits,
            )  # fmt: skip
        return work

    def _take_windows(self, windows: Sequence[Window]) -> None:
        """Bring windows to the device, unless they are those of the last call."""
        if self._windows is windows:
            return
        self.drain()
        self._forget_graphs()
        self._windows, self._window_table = windows, self._market.windows(windows)
        longest = max(window.end - window.start for window in windows)
        self._capacity = first_capacity(longest)

    def give_back(self) -> None:
        """Wait, then give the memory of workspaces and lists back."""
        self._settle()
        self._lists = None
        for lane in self._lanes:
            lane.give_back()
        self._candidates.clear()
        give_back_memory()

    def _chunk_size(self, n_windows: int) -> int:
        """Number of individuals for which lists have room."""
        each = self._bytes_of_individual(n_windows)
        return int(max(1, min(self._work_bytes // N_LANES // each, self._most)))

    def _bytes_of_individual(self, n_windows: int) -> int:
        return Workspace.bytes_of_individual(n_windows, self._capacity, has_limits=self._has_limits)

    def iter_listed_chunks(
        self,
        genomes: Floats,
        slots: Slots,
        windows: Sequence[Window],
        *,
        keeps_prices: bool = False,
    ) -> Iterator[tuple[slice, Workspace, TradePrices | None]]:
        """All stages, chunk by chunk, with the lists that they leave on the device.

        Yields which individuals a chunk has, their lists, and what ledgers need beside these, where
        that is kept. The next chunk overwrites both.
        """
        met, n_windows, begin = MetWindows(self._market.windows(windows)), len(windows), 0
        while begin < len(genomes):
            each = self._bytes_of_individual(n_windows)
            if keeps_prices:
                each += n_windows * TradePrices.bytes_of_pair(self._capacity)
            step = max(1, self._work_bytes // LISTED_SHARE // each)
            part = slice(begin, min(begin + step, len(genomes)))
            members = genomes[part]
            work, kept = self._room_for_lists(len(members), n_windows, keeps_prices)
            self._lay_out(work, members, slots[part])
            work.lay_out(members)
            work.upload(len(members), with_slots=True)
            self._stages.run(work, met, self._candidates, len(members), kept)
            most = int(to_host(work.counts[0]))
            if most > work.capacity:
                self._grow(most)
                continue
            yield part, work, kept
            begin = part.stop

    def _room_for_lists(
        self, individuals: int, n_windows: int, keeps_prices: bool
    ) -> tuple[Workspace, TradePrices | None]:
        work, kept = self._lists or (None, None)
        if work is None or not work.fits(individuals, n_windows, self._capacity):
            # The old ones go before the new ones come.
            self._lists = work = kept = None
            sizes = individuals, n_windows, self._n_genes, self._n_rows, self._capacity
            work = Workspace(*sizes, self._device, has_limits=self._has_limits)
        if not keeps_prices:
            kept = None
        elif kept is None:
            pairs = work.individuals * n_windows
            kept = TradePrices.empty(
                pairs, self._capacity, self._device, has_limits=self._has_limits
            )
        self._lists = work, kept
        return self._lists

    def _grow(self, most: int) -> None:
        """Make lists long enough for so many signals, from the next workspace on."""
        if most > self._capacity:
            self._capacity = longer(most)


def bucket_coarsely(individuals: int) -> int:
    """Size as by `bucket`, for numbers of individuals that differ from call to call.

    >>> [bucket_coarsely(n) for n in (17, 1024, 1025, 14_336)]
    [1024, 1024, 2048, 16384]
    """
    return max(FEWEST_COARSELY, 1 << (individuals - 1).bit_length())


def first_capacity(n_bars: int) -> int:
    """Signals that a list has room for at first, in a window of so many bars."""
    return round_up_capacity(max(SHORTEST_LIST, min(FIRST_CAPACITY, n_bars // 8)))


def longer(most: int) -> int:
    """Signals that a list has room for once there were so many."""
    return round_up_capacity(1 << (most - 1).bit_length())


def round_up_capacity(entries: int) -> int:
    """Entries of a list of at least so many."""
    return -(-entries // MULTIPLE) * MULTIPLE
