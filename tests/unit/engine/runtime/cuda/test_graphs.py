"""Captured graphs, on a device."""

import gc

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.runtime.cuda.graphs import Graphs
from tests.support.comparisons import needs_gpu


@needs_gpu
def test_garbage_is_not_collected_within_a_capture():
    """A graph that nobody needs any more cannot be freed by a thread that captures another."""
    device, thresholds = torch.device("cuda"), gc.get_threshold()
    numbers = torch.zeros(4, device=device)
    cycle = [Graphs(device)]
    for _ in range(2):
        cycle[0].run((1,), lambda: numbers.fill_(1.0))
    cycle.append(cycle)
    held = [cycle]
    del cycle

    def fill_beside_garbage():
        if torch.cuda.is_current_stream_capturing():
            held.clear()
            gc.set_threshold(1, 1, 1)
            kept = [[] for _ in range(1000)]
            gc.set_threshold(*thresholds)
            assert len(kept) == 1000
        numbers.fill_(2.0)

    graphs = Graphs(device)
    graphs.run((1,), fill_beside_garbage)
    graphs.run((1,), fill_beside_garbage)
    assert held == []
    numbers.zero_()
    graphs.run((1,), fill_beside_garbage)
    assert numbers.tolist() == [2.0] * 4
