"""Times and sizes that only the device knows; for the bench, not for results."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from data.bars import Window
from engine.contract import Floats, Slots
from engine.cuda.graphs import captured
from engine.cuda.waiting import wait_for, wait_for_launches

if TYPE_CHECKING:
    from engine.cuda.dispatch import Dispatch

COPIED_BYTES = 2**30
"""Large enough to leave every cache behind."""

LAUNCHES, REPLAYS = 10, 20
"""Launches in a captured graph, and how often it is replayed for a median."""


class CudaProbe:
    """Measures one GPU.

    Args:
        dispatch: Whose stages are timed.
        device: Its device.
    """

    def __init__(self, dispatch: "Dispatch", device: torch.device) -> None:
        self._dispatch, self._device = dispatch, device

    def copy_bytes_per_s(self) -> float:
        """Bytes read and written by a large copy on the device, over its time."""
        with torch.cuda.device(self._device):
            source = torch.zeros(COPIED_BYTES // 8, dtype=torch.float64, device=self._device)
            target = torch.empty_like(source)
            # The runtime's own copy and a kernel that moves as much; the faster is the ceiling.
            seconds = min(
                self._seconds(lambda: target.copy_(source)),
                self._seconds(lambda: torch.neg(source, out=target)),
            )
        return 2 * COPIED_BYTES / seconds

    def stage_seconds(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> dict[str, float]:
        """Device time of each stage after the rows by name, and of ``"all"`` in one go, in seconds.

        Genomes [P, G] with slots [P, R] were evaluated before, so that lists are long enough; where
        they are evaluated in chunks, it is the first chunk's, scaled to all.
        """
        with torch.cuda.device(self._device):
            stages, share = self._dispatch.staged(genomes, slots, windows)
            return {name: self._seconds(launch) / share for name, launch in stages.items()}

    def peak_bytes(self) -> int:
        """Largest memory that tensors took on the device so far."""
        return int(torch.cuda.max_memory_allocated(self._device))

    def _seconds(self, launch: Callable[[], object]) -> float:
        launch()
        wait_for_launches(self._device)
        graph = torch.cuda.CUDAGraph()
        with captured(graph, self._device):
            for _ in range(LAUNCHES):
                launch()
        found = []
        for _ in range(REPLAYS):
            begin = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            begin.record()
            graph.replay()
            end.record()
            wait_for(end)
            found.append(begin.elapsed_time(end) / LAUNCHES / 1e3)
        return float(np.median(found))
