"""Captured graphs: one call for all launches of an evaluation whose shape has come before."""

from collections import OrderedDict
from collections.abc import Callable

import torch

MOST_GRAPHS = 32
"""Shapes that are kept; a search uses a handful."""


def capture_graph(graph: torch.cuda.CUDAGraph, device: torch.device) -> torch.cuda.graph:
    """Capture what is launched on a device, whatever other threads do on others meanwhile.

    The stream that is captured by default belongs to the device that captured first.
    """
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local")


class Graphs:
    """Runs work that only launches: as it is at first, from the second time on captured.

    Args:
        device: Where the work goes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._seen: OrderedDict[tuple[int, ...], torch.cuda.CUDAGraph | None] = OrderedDict()

    def is_captured(self, key: tuple[int, ...]) -> bool:
        """Whether work of that name is replayed."""
        return self._seen.get(key) is not None

    def clear(self) -> None:
        """Forget all graphs, because memory that they refer to is gone."""
        self._seen.clear()

    def run(self, key: tuple[int, ...], work: Callable[[], None]) -> None:
        """Run work on the current device, which launches and must not wait for it.

        `key` names everything that the launches depend on.
        """
        if key not in self._seen:
            # The first run compiles kernels, which a capture cannot.
            work()
            self._seen[key] = None
            if len(self._seen) > MOST_GRAPHS:
                self._seen.popitem(last=False)
            return
        graph = self._seen[key]
        if graph is None:
            graph = torch.cuda.CUDAGraph()
            with capture_graph(graph, self._device):
                work()
            self._seen[key] = graph
        self._seen.move_to_end(key)
        graph.replay()
