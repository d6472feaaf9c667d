"""The CUDA backend behind the engine's contract: series and rows on the device, stages launched."""

import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from data.bars import Bars, Window
from engine.backends.coders import coders_of
from engine.backends.contract import Floats, Form, Ints, ListsOneByOne, Probe, Room, Slots
from engine.backends.cuda.faults import device_errors
from engine.backends.cuda.filling import SCRATCH_BYTES, fill_codes, fill_rows
from engine.backends.cuda.lanes import N_LANES, Lane, Ticket
from engine.backends.cuda.lists import CandidateLists, packing_of
from engine.backends.cuda.market import BYTES_OF_A_BAR, DeviceMarket, axis_of
from engine.backends.cuda.probe import CudaProbe
from engine.backends.cuda.stages import Stages
from engine.backends.cuda.types import Prices
from engine.backends.cuda.workspace import Workspace
from engine.backends.lowered import entry_of, exits_of
from engine.costs import Costs
from engine.ledger import ACCUMULATORS, Ledger
from strategy.spec import StrategySpec

LOG = logging.getLogger(__name__)

HIGHEST_CODE = 126
"""Codes have seven bits, so that four of them can be compared in one word."""

LIST_BYTES = 2**33
"""Most room for the lists of the individuals that are evaluated together."""

MOST_INDIVIDUALS = 2**17
"""Evaluated together at most."""

FIRST_CAPACITY = 2048
"""Signals that a list holds at first, or an eighth of the longest window's bars if that is less;
lists that were too short are doubled and made again."""

SHORTEST_LIST = 64
"""Below this, lists made twice cost more than the room."""

MULTIPLE = 16
"""Of entries that a list's length is, so that lists begin at whole vectors."""


class CudaBackend(ListsOneByOne):
    """Evaluates populations on one GPU.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Slots for rows; a slot holds one row of every series.
        work_bytes: Room for the lists of the individuals that are evaluated together.
        threads: Not used by a GPU.
        torch_device: Name of the device to torch.

    Raises:
        DeviceError: When the bars of all series together are too many for 32-bit bar numbers; from
            any method when the device fails. Out of memory while evaluating is met with smaller
            chunks first, which changes no bit.
    """

    name = "cuda"

    @device_errors
    def __init__(
        self,
        spec: StrategySpec,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int,
        threads: int | None = None,
        torch_device: str = "cuda",
    ) -> None:
        self.threads = threads or 1
        self.probe: Probe | None = CudaProbe(self, torch.device(torch_device))
        self._device = torch.device(torch_device)
        self._coders = coders_of(spec, HIGHEST_CODE)
        entry, exits = entry_of(spec, self._coders), exits_of(spec, costs)
        packing = packing_of(spec, entry)
        self._market = DeviceMarket(series, set(self._coders.values()), HIGHEST_CODE, self._device)
        shape = (capacity, self._market.n_bars)
        self._rows = torch.empty(shape, dtype=torch.float64, device=self._device)
        self._codes = torch.zeros(shape, dtype=torch.uint8, device=self._device)
        packed_rows = entry.genes[packing.order[: packing.n_packed], 0]
        self._candidates = CandidateLists(
            packing, packed_rows, self._rows, self._codes, HIGHEST_CODE
        )
        self._stages = Stages(
            entry, exits, packing, self._market, self._rows, self._codes, HIGHEST_CODE
        )
        self._n_genes, self._n_rows = len(spec.layout), len(spec.rows)
        self._lanes = [Lane(self._device) for _ in range(N_LANES)]
        self._turns = itertools.cycle(self._lanes)
        self._alone: tuple[Workspace, Prices] | None = None
        self._windows: Sequence[Window] | None = None
        self._capacity = _rounded(min(FIRST_CAPACITY, self._market.longest))
        self._most = MOST_INDIVIDUALS
        self._work_bytes = work_bytes

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series."""
        _, n_bars = axis_of(np.array([len(bars) for bars in series], np.int64))
        return n_bars * (8 + 1)

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows, with the scratch of rolling rows."""
        _, n_bars = axis_of(np.array([len(bars) for bars in series], np.int64))
        return n_bars * BYTES_OF_A_BAR + SCRATCH_BYTES

    @staticmethod
    def room(memory_bytes: int) -> Room:
        """How an amount of memory is divided: a quarter for lists, up to what they can use."""
        work = min(memory_bytes // 4, LIST_BYTES)
        return Room(memory_bytes - work, work)

    @device_errors
    def fill(self, form: Form, lengths: Ints, slots: Ints) -> None:
        """Compute rows of one form in every series.

        Args:
            form: Indicator and source.
            lengths: [n, L] lengths of each row.
            slots: [n] where each row goes.
        """
        self._drain()
        self._candidates.forget(slots)
        with self._on_device():
            fill_rows(self._market, form, lengths, slots, self._rows)
            coder = self._coders.get(form)
            if coder is not None:
                fill_codes(self._market, coder, slots, self._rows, self._codes, HIGHEST_CODE)

    @device_errors
    def evaluate(self, genomes: Floats, slots: Slots, windows: Sequence[Window]) -> Floats:
        """Accumulators of individuals whose rows are in their slots.

        Args:
            genomes: [P, G].
            slots: [P, R] slot of each row of the spec.
            windows: [W].

        Returns:
            [P, W, A].
        """
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))
        self.begin(genomes, slots, windows, out)()
        return out

    @device_errors
    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Start to evaluate into out [P, W, A]; what is returned waits until out is whole."""
        self._take_windows(windows)
        tickets: list[Ticket] = []
        begin = 0
        while begin < len(genomes):
            part = slice(begin, begin + self._chunk_size(len(windows)))
            ticket = Ticket(genomes[part], slots[part], out[part])
            if self._sent(ticket):
                tickets.append(ticket)
                begin += len(ticket.genomes)
        return device_errors(lambda: self._wait_for(tickets, windows))

    @device_errors
    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""
        work, _ = self._single(genome, slots, window)
        n = int(work.lists.counts[0])
        bars: Slots = _copied(work.lists.bars[0, :n])
        return bars - np.int32(self._market.starts[window.series])

    @device_errors
    def trades(self, genome: Floats, slots: Slots, window: Window) -> Ledger:
        """The ledger of one individual in one window; arguments as in `evaluate`."""
        work, kept = self._single(genome, slots, window)
        n, lists = int(work.lists.trades[0]), work.lists
        start = self._market.starts[window.series]
        trades = _copied(lists.trade_list[0, :n])
        bars = (trades >> 32) - start
        prices = _copied(kept.prices[0, :n])
        return Ledger(
            signal_bar=bars,
            entry_bar=bars + 1,
            exit_bar=(trades & 0x7FFFFFFF) - start,
            reason=_copied(kept.reasons[0, :n]),
            entry=prices[:, 0].copy(),
            stop=prices[:, 1].copy(),
            target=prices[:, 2].copy(),
            exit=prices[:, 3].copy(),
            r=_copied(lists.r[0, :n]),
            rejected=int(lists.rejected[0]),
        )

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as it stands in its slot."""
        start, end = int(self._market.starts[series]), int(self._market.ends[series])
        row: Floats = _copied(self._rows[slot, start:end])
        return row

    def staged(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> tuple[dict[str, Callable[[], None]], float]:
        """The launches of the first chunk, for who wants to time them; arguments as in `evaluate`.

        Returns:
            Name of a stage to its launch, and the share of individuals that the chunk has.
        """
        self._take_windows(windows)
        part = slice(0, self._chunk_size(len(windows)))
        n = len(genomes[part])
        out = np.empty((n, len(windows), len(ACCUMULATORS)))
        self.begin(genomes[part], slots[part], windows, out)()
        with self._on_device():
            lane = self._send(Ticket(genomes[part], slots[part], out))
        lane.finish()
        work, table, room, stages = lane.work, self._window_table, bucket(n), self._stages
        assert work is not None
        return {
            "signals": lambda: stages.signals(work, table, self._candidates, room),
            "exits": lambda: stages.exits(work, table, room),
            "take": lambda: stages.take(work, room),
            "price": lambda: stages.price(work, room),
            "fold": lambda: stages.fold(work, room),
            "drawdown": lambda: stages.drawdown(work, room),
            "all": lambda: stages.run(work, table, self._candidates, room),
        }, n / len(genomes)

    def _on_device(self) -> torch.cuda.device:
        """Make this backend's device the one that launches go to; a host's memory has none."""
        return torch.cuda.device(self._device if self._device.type == "cuda" else -1)

    def _wait_for(self, tickets: Sequence[Ticket], windows: Sequence[Window]) -> None:
        """Wait until tickets are done; what had lists that were too short is done again."""
        for ticket in tickets:
            for lane in self._lanes:
                if lane.holds(ticket):
                    lane.finish()
            if ticket.is_short:
                self._grow(ticket.most)
                self.begin(ticket.genomes, ticket.slots, windows, ticket.out)()

    def _sent(self, ticket: Ticket) -> bool:
        """Launch a chunk; False where memory ran out, and chunks are smaller from here on."""
        try:
            with self._on_device():
                self._send(ticket)
            return True
        except torch.OutOfMemoryError:
            if len(ticket.genomes) == 1:
                raise
        # Only here, where nothing of the failed try is held any more, can memory be given back.
        self._give_back()
        self._most = len(ticket.genomes) // 2
        LOG.warning("device memory ran out: %d individuals at a time from here on", self._most)
        return False

    def _send(self, ticket: Ticket) -> Lane:
        """Lay a chunk out in the next lane and launch it."""
        lane, table, room = next(self._turns), self._window_table, bucket(len(ticket.genomes))
        lane.finish()
        work = self._workspace(lane, room, len(table))
        if not work.lay_out(ticket.genomes, ticket.slots, self._candidates):
            self._make_lists(ticket.genomes, ticket.slots)
            work.lay_out(ticket.genomes, ticket.slots, self._candidates)

        def launched() -> None:
            work.upload(room)
            self._stages.run(work, table, self._candidates, room)
            work.download(room)

        lane.send(ticket, (room,), launched)
        return lane

    def _make_lists(self, genomes: Floats, slots: Slots) -> None:
        """Make lists of candidates that are missing, while nothing reads those that are there."""
        self._drain()
        moves = self._candidates.moves
        self._candidates.make(genomes, slots)
        if moves != self._candidates.moves:
            self._forget_graphs()

    def _drain(self) -> None:
        """Wait for all lanes; what they found is in the tickets."""
        for lane in self._lanes:
            lane.finish()

    def _forget_graphs(self) -> None:
        for lane in self._lanes:
            lane.forget_graphs()

    def _workspace(self, lane: Lane, individuals: int, n_windows: int) -> Workspace:
        work = lane.work
        if work is None or not work.fits(individuals, n_windows, self._capacity):
            lane.give_back()
            work = lane.work = Workspace(
                individuals, n_windows, self._n_genes, self._n_rows, self._capacity, self._device
            )
        return work

    def _take_windows(self, windows: Sequence[Window]) -> None:
        """Bring windows to the device, unless they are those of the last call."""
        if self._windows is windows:
            return
        self._drain()
        self._forget_graphs()
        self._windows, self._window_table = windows, self._market.windows(windows)
        longest = max(window.end - window.start for window in windows)
        self._capacity = _rounded(max(SHORTEST_LIST, min(FIRST_CAPACITY, longest // 8)))

    def _give_back(self) -> None:
        self._drain()
        for lane in self._lanes:
            lane.give_back()
        self._candidates.clear()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _chunk_size(self, n_windows: int) -> int:
        """Individuals whose lists fit the room for them."""
        each = Workspace.bytes_of(n_windows, self._capacity)
        return int(max(1, min(self._work_bytes // N_LANES // each, self._most)))

    def _single(self, genome: Floats, slots: Slots, window: Window) -> tuple[Workspace, Prices]:
        """All stages of one individual in one window, and what its ledger needs.

        What is returned is overwritten by the next call.
        """
        with self._on_device():
            table = self._market.windows([window])
            while True:
                work, kept = self._room_for_one()
                if not work.lay_out(genome[None], slots[None], self._candidates):
                    self._make_lists(genome[None], slots[None])
                    work.lay_out(genome[None], slots[None], self._candidates)
                work.upload(1)
                self._stages.run(work, table, self._candidates, 1, kept)
                most = int(work.most[0])
                if most <= work.capacity:
                    return work, kept
                self._grow(most)

    def _room_for_one(self) -> tuple[Workspace, Prices]:
        if self._alone is None or self._alone[0].capacity != self._capacity:
            shape = (1, self._capacity)
            self._alone = (
                Workspace(1, 1, self._n_genes, self._n_rows, self._capacity, self._device),
                Prices(
                    torch.empty((*shape, 4), dtype=torch.float64, device=self._device),
                    torch.empty(shape, dtype=torch.int8, device=self._device),
                ),
            )
        return self._alone

    def _grow(self, most: int) -> None:
        """Make lists long enough for so many signals, from the next workspace on."""
        if most > self._capacity:
            self._capacity = _rounded(1 << (most - 1).bit_length())


def _copied(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """A copy on the host, also of what lies there already."""
    return np.array(tensor.cpu().numpy())


def bucket(individuals: int) -> int:
    """Individuals that launches are made for, so that populations of about one size share them.

    >>> [bucket(n) for n in (1, 17, 500, 512, 513)]
    [16, 32, 512, 512, 576]
    """
    step = max(16, 1 << max(individuals.bit_length() - 4, 0))
    return -(-individuals // step) * step


def _rounded(entries: int) -> int:
    return -(-entries // MULTIPLE) * MULTIPLE
