"""Captured graphs: one call for all launches of an evaluation of a known shape."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from engine.runtime.compiling.launch import compile_together
from engine.runtime.cuda.capture import capture_graph, make_capture_stream

MOST_GRAPHS = 32
"""Shapes that are kept; a search uses a handful."""


def bucket(individuals: int) -> int:
    """Individuals that launches are made for, so that populations of about one size share them.

    >>> [bucket(n) for n in (1, 17, 500, 512, 513)]
    [16, 32, 512, 512, 576]
    """
    step = max(16, 1 << max(individuals.bit_length() - 4, 0))
    return -(-individuals // step) * step


class Graphs:
    """Runs work that only launches: as it is at first, from the second time on captured.

    What work allocates lies in memory that all graphs share, as large as the largest of them needs:
    they run one after the other, and leave nothing there that a later one reads.

    Args:
        device: Where the work goes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        # Only what one stream captures shares memory.
        self._stream: torch.cuda.Stream | None = None
        self._memory: Any = None
        self._seen: OrderedDict[tuple[int, ...], torch.cuda.CUDAGraph | None] = OrderedDict()

    def is_captured(self, key: tuple[int, ...]) -> bool:
        """True if work of that name is replayed."""
        return self._seen.get(key) is not None

    def clear(self) -> None:
        """Forget all graphs, because memory that they refer to is gone; and give theirs back."""
        self._seen.clear()
        self._stream = self._memory = None

    def run(self, key: tuple[int, ...], work: Callable[[], None]) -> None:
        """Run work on the current device, which launches and must not wait for it.

        `key` names everything that the launches depend on.
        """
        if key not in self._seen:
            # A capture cannot compile kernels.
            compile_together(work)
            work()
            self._seen[key] = None
            if len(self._seen) > MOST_GRAPHS:
                self._seen.popitem(last=False)
            return
        graph = self._seen[key]
        if graph is None:
            graph = self._seen[key] = self._capture(work)
        self._seen.move_to_end(key)
        graph.replay()

    def _capture(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        if self._stream is None:
            self._stream = make_capture_stream(self._device)
            self._memory = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with capture_graph(graph, self._stream, self._memory):
            work()
        return graph
