"""Captured graphs: what may not happen within a capture."""

import gc
from contextlib import contextmanager
from threading import Barrier, Event, Thread
from time import sleep

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.cuda.streams import Lane
from engine.runtime.cuda.capture import capture_graph, give_back_memory, make_capture_stream
from engine.runtime.cuda.graphs import Graphs
from tests.support.comparisons import ROOT, needs_gpu


@needs_gpu
def test_garbage_is_not_collected_within_a_capture():
    """An unused graph cannot be freed by a thread that captures another."""
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


def test_threads_capture_one_after_the_other(monkeypatch):
    """Strategies in words have a thread for each market; memory is given back between captures.

    Torch takes it for a defect of its own while any thread captures.
    """
    capturing, most, seen = [], [], []

    @contextmanager
    def capture(graph, **_):
        capturing.append(graph)
        most.append(len(capturing))
        sleep(0.01)
        yield
        capturing.remove(graph)

    monkeypatch.setattr(torch.cuda, "graph", capture)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: seen.append(len(capturing)))

    def make(number):
        with capture_graph(number, None):
            sleep(0.01)
        give_back_memory()

    run_side_by_side(make, 4)
    assert most == [1, 1, 1, 1]
    assert seen == [0, 0, 0, 0]


@pytest.mark.parametrize("call", ["torch.cuda.empty_cache", "torch.cuda.synchronize"])
def test_nothing_asks_a_whole_device_beside_captures(call):
    """Whoever asks another way takes no turns."""
    places = [path.name for path in (ROOT / "engine").rglob("*.py") if call in path.read_text()]
    assert set(places) <= {"capture.py"}


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


def test_captures_have_streams_that_lanes_have_not(monkeypatch):
    """Torch hands streams of one priority out in turn; those of captures have their own."""
    priorities = []

    def note_priority(device, priority=0):
        priorities.append(priority)

    monkeypatch.setattr(torch.cuda, "Stream", note_priority)
    device = torch.device("cuda")
    make_capture_stream(device)
    Lane(device)
    assert priorities == [-1, 0]


@needs_gpu
def test_other_threads_launch_on_all_streams_during_captures():
    """Also on more of them than torch has: none of them is the one that is captured."""
    device, is_over, errors = torch.device("cuda"), Event(), []
    others = torch.zeros(4, device=device)

    def launch_everywhere():
        streams = [torch.cuda.Stream(device) for _ in range(64)]
        try:
            while not is_over.is_set():
                for stream in streams:
                    stream.wait_stream(torch.cuda.current_stream(device))
                    with torch.cuda.stream(stream):
                        others.add_(1.0)
        except RuntimeError as error:
            errors.append(error)

    thread = Thread(target=launch_everywhere)
    thread.start()
    try:
        for _ in range(64):
            numbers, graphs = torch.zeros(4, device=device), Graphs(device)
            for _ in range(3):
                graphs.run((1,), lambda held=numbers: held.fill_(3.0))
            torch.cuda.current_stream(device).synchronize()
            assert numbers.tolist() == [3.0] * 4
    finally:
        is_over.set()
        thread.join()
    assert errors == []
