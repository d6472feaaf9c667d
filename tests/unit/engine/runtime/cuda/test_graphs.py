"""Captured graphs: what may not happen within a capture."""

from threading import Barrier, Thread

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.runtime.cuda.capture import make_capture_stream
from engine.runtime.cuda.graphs import Graphs
from tests.support.comparisons import needs_gpu


def run_side_by_side(work, count):
    """Have threads do work (number) at about the same time."""
    begun = Barrier(count)

    def begin(number):
        begun.wait()
        work(number)

    threads = [Thread(target=begin, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@needs_gpu
def test_threads_capture_on_a_gpu():
    """What one captures is whole while others begin."""
    device, by_thread = torch.device("cuda"), {}

    def work(number):
        numbers, stream = torch.zeros(4, device=device), make_capture_stream(device)
        for turn in range(20):
            graphs = Graphs(device)
            with torch.cuda.stream(stream):
                for _ in range(3):
                    graphs.run((turn,), lambda turn=turn: numbers.fill_(float(turn)))
        stream.synchronize()
        by_thread[number] = numbers.tolist()

    run_side_by_side(work, 4)
    assert by_thread == {number: [19.0] * 4 for number in range(4)}
