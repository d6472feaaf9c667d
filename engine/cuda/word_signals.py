"""Signals of strategies in words on one series, and what each comes to."""

import numpy as np
import torch

from engine.backend import Floats, Slots
from engine.cuda.inputs import BatchInputs, IndividualInputs
from engine.cuda.signal_lists import SignalLists, round_up_capacity
from engine.indicators.cuda.market import SeriesPrices
from engine.positions.cuda.both_sides import leave_kernel, mark_kernel
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device, to_host

SIGNALS = 32
"""Stretches of a list of signals with positions that a warp looks for together."""

MARKED_WORDS = 128
"""Words of 64 bars that a program lists signals of at a time."""


class WordSignals:
    """Signals on one series.

    Args:
        prices: The series.
        charges: Costs of a side, smallest risk, fraction at risk.
        device: Where tensors lie.
    """

    def __init__(self, prices: SeriesPrices, charges: Floats, device: torch.device) -> None:
        self._prices, self._device = prices, device
        self._charges = to_device(charges, device)

    def leave(
        self,
        asked: BatchInputs,
        each: IndividualInputs,
        windows: torch.Tensor,
        lists: SignalLists,
        n_all: int,
        blocks: int,
        *,
        keeps: bool,
        asks_all: bool,
    ) -> None:
        """Find the exits of signals that may be taken, or of all; `blocks` share a pair's."""
        prices = self._prices
        launch(leave_kernel, (len(each.bars) * len(windows) * blocks,), each.size, prices.market,
               prices.finer, prices.finer_of, prices.pyramid, prices.blocks, self._charges,
               asked.code, asked.constants, asked.reads, asked.forms, asked.rows, each.slots,
               each.genomes, each.numbers, each.bars, asked.leaves, each.exits, asked.following,
               asked.sessions, each.session_of, windows, lists.counts, lists.marks, lists.leaves,
               lists.r.view(torch.int32), lists.signal_r, lists.prices, lists.leverages,
               lists.notes, len(windows), n_all, lists.marks.shape[1], prices.n_padded,
               asked.rows.shape[1], asked.leaves.shape[1], each.genomes.shape[1],
               each.slots.shape[1], each.numbers.shape[1], warps=1, MOVES=asked.moves,
               FORMULAS=asked.computes, KEEPS=keeps, ALL=asks_all, FINER=prices.has_finer,
               MARKETS=len(prices.market) > 1, SIGNALS=SIGNALS, BLOCKS=blocks)  # fmt: skip

    def list_bars(
        self, asked: BatchInputs, each: IndividualInputs, window: tuple[int, int]
    ) -> Slots:
        """Signal bars [S] of one individual in a window, of either side."""
        capacity = round_up_capacity(window[1] - window[0])
        most = torch.zeros(1, dtype=torch.int32, device=self._device)
        lists = SignalLists.empty(
            1, capacity, self._device, keeps=False, has_limits=False, has_finer=False, most=most
        )
        windows = to_device(np.array([(0, *window)], np.int32), self._device)
        mark_signals(asked, each, windows, lists, 1)
        marks: Slots = to_host(lists.marks[0, : int(to_host(lists.counts)[0])])
        return marks >> 1


def mark_signals(
    asked: BatchInputs,
    each: IndividualInputs,
    windows: torch.Tensor,
    lists: SignalLists,
    n_all: int,
) -> None:
    """List signals of a series, and count them also where lists are too short.

    `windows` [w, 3] are places among `n_all`, start and end. There is room for as many individuals
    as `each` holds.
    """
    launch(mark_kernel, (len(each.bars) * len(windows),), each.size, asked.longs, asked.shorts,
           each.entries, each.bars, windows, lists.counts, lists.marks, lists.leaves, lists.most,
           len(windows), n_all, asked.longs.shape[1], lists.marks.shape[1], warps=1,
           WORDS=MARKED_WORDS)  # fmt: skip
