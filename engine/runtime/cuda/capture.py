"""Captures of graphs, and what waits for their end: one at a time in a process."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch

from engine.runtime.collector import pause_collector

_CAPTURE = Lock()


def make_capture_stream(device: torch.device) -> torch.cuda.Stream:
    """Stream for captures, which nothing else launches on.

    Torch has 32 streams of each priority and hands them out in turn, so that one of the usual
    priority may be another thread's too: what that thread launches, or waits for, would belong to
    the capture.
    """
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]


@contextmanager
def capture_graph(
    graph: torch.cuda.CUDAGraph,
    stream: torch.cuda.Stream,
    memory: Any = None,
) -> Iterator[None]:
    """Capture what this thread launches; other threads may launch meanwhile, but not capture.

    `stream`: by `make_capture_stream`; a graph captured by default belongs to the device that
    captured first. `memory`: of graphs that run one after the other, for allocations.
    """
    mode = torch.cuda.graph(graph, pool=memory, stream=stream, capture_error_mode="thread_local")
    # A capture begins by waiting for all of the device, which is an error, and ends the capture
    # that is under way. So does a graph that the collector frees in the thread that captures.
    with _CAPTURE, pause_collector(), mode:
        yield


def give_back_memory() -> None:
    """Give the driver what torch keeps at hand, which torch refuses while any thread captures."""
    with _CAPTURE:
        torch.cuda.empty_cache()
