"""Times and sizes that only a GPU knows, stage by stage; it reaches into the CUDA backend."""

import numpy as np
import torch

from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Sent
from engine.batch import Engine
from engine.cuda import CudaBackend
from engine.cuda.streams import Ticket
from engine.runtime.cuda.capture import capture_graph, make_capture_stream
from engine.runtime.cuda.graphs import bucket
from engine.runtime.cuda.types import MetWindows
from engine.runtime.cuda.watchdog import on_device, wait_for_launches, wait_for_work

COPIED_BYTES = 2**30
"""Large enough to leave every cache behind."""

LAUNCHES, REPLAYS = 10, 20
"""Launches in a captured graph, and how often it is replayed for a median."""


def stage_seconds(engine: Engine, genomes):
    """Device time of each stage after the rows by name, and of ``"all"`` in one go, in seconds.

    Genomes [P, G] were evaluated before, so that lists are long enough; where they are evaluated in
    chunks, it is the first chunk's, scaled to all. Empty where several GPUs or none are used, and
    where the rows of the population do not fit the bank together.
    """
    backend, slots = engine._backend, engine._bank.find(genomes)
    if not isinstance(backend, CudaBackend) or slots is None:
        return {}
    with torch.cuda.device(backend._device):
        stages, share = time_stages(backend._dispatch, genomes, slots, engine.windows)
        return {
            name: seconds_of_launch(backend._device, stage) / share
            for name, stage in stages.items()
        }


def copy_bytes_per_s(engine: Engine) -> float:
    """Bytes read and written by a large copy on one GPU, over its time; 0 elsewhere."""
    backend = engine._backend
    if not isinstance(backend, CudaBackend):
        return 0.0
    device = backend._device
    with torch.cuda.device(device):
        source = torch.zeros(COPIED_BYTES // 8, dtype=torch.float64, device=device)
        target = torch.empty_like(source)
        # The runtime's own copy and a kernel that moves as much; the faster is the ceiling.
        seconds = min(
            seconds_of_launch(device, lambda: target.copy_(source)),
            seconds_of_launch(device, lambda: torch.neg(source, out=target)),
        )
    return 2 * COPIED_BYTES / seconds


def peak_device_bytes(engine: Engine) -> int:
    """Largest memory that tensors took on one GPU so far; 0 elsewhere."""
    backend = engine._backend
    if not isinstance(backend, CudaBackend):
        return 0
    return int(torch.cuda.max_memory_allocated(backend._device))


def time_stages(dispatch, genomes, slots, windows):
    """The launches of the first chunk by stage, and the share of individuals that it has."""
    dispatch._take_windows(windows)
    part = slice(0, dispatch._chunk_size(len(windows)))
    n = len(genomes[part])
    out = np.empty((n, len(windows), len(ACCUMULATORS)))
    sent = Sent(genomes[part], windows, None, out)
    dispatch.finish_tickets(dispatch.launch(sent, slots[part]))
    with on_device(dispatch._device):
        lane = dispatch._send(Ticket(sent, slots[part]))
    lane.finish()
    work, room, stages = lane.work, bucket(n), dispatch._stages
    table = MetWindows(dispatch._window_table)
    candidates, is_admitted = dispatch._candidates, dispatch._admission.pays(n)

    def admission() -> None:
        dispatch._admission.run(work, candidates, room)

    def everything() -> None:
        if is_admitted:
            admission()
        stages.run(work, table, candidates, room)

    return {
        **({"admission": admission} if is_admitted else {}),
        "signals": lambda: stages.signals(work, table, candidates, room),
        "exits": lambda: stages.exits(work, table, room),
        "take": lambda: stages.take(work, room),
        "price": lambda: stages.price(work, room),
        "fold": lambda: stages.fold(work, room),
        "drawdown": lambda: stages.drawdown(work, room),
        "all": everything,
    }, n / len(genomes)


def seconds_of_launch(device, launch) -> float:
    """Seconds of one launch: the median of captured graphs of several."""
    launch()
    wait_for_launches(device)
    graph = torch.cuda.CUDAGraph()
    with capture_graph(graph, make_capture_stream(device)):
        for _ in range(LAUNCHES):
            launch()
    seconds = []
    for _ in range(REPLAYS):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        wait_for_work(end)
        seconds.append(begin.elapsed_time(end) / LAUNCHES / 1e3)
    return float(np.median(seconds))
