"""Where null searches are made: where they are done first."""

import pytest

from engine import workload
from engine.devices import Choice
from optimizer.judging import executors
from optimizer.judging.asking import AskingWorkers
from optimizer.judging.executors import ThisMachine, share_device
from optimizer.judging.null import NullSetup
from optimizer.judging.workers import Pool, Workers
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task

BARS = make_planted_market(7, 900, 8)


@pytest.mark.parametrize(
    ("core_rate", "call_s", "device"),
    [
        # A core would take an hour for what a GPU has done when it has started.
        (1e3, 1e-3, "cuda:0,1"),
        # Cores have done so little before a GPU has started.
        (1e9, 1e-3, "cpu"),
        # Generations are so small that a GPU waits for each.
        (1e5, 1e3, "cpu"),
    ],
)
def test_a_gpu_evaluates_where_it_is_done_first(monkeypatch, core_rate, call_s, device):
    """Also where it was too far for the run's one search."""
    monkeypatch.setattr(
        executors,
        "choose_strategy_backend",
        lambda *asked, **more: Choice("cuda", "a GPU was found", (0, 1)),
    )
    monkeypatch.setattr(workload, "CORE_RATE", core_rate)
    monkeypatch.setattr("optimizer.judging.verdict.GPU_STEP_S", call_s)
    monkeypatch.setattr(executors, "count_markets", lambda task, searches: 20)
    task = make_task(BARS, threads=2, device="auto")
    with Pool() as pool:
        setup = NullSetup(task, "none")
        executor = ThisMachine(pool).executor(setup, 50, used="cpu")
    assert isinstance(executor, Workers if device == "cpu" else AskingWorkers)
    assert executor._setup.task.config.device == device


@pytest.mark.parametrize(
    ("threads", "markets", "jobs", "count", "size"),
    [
        (8, 9, 50, 7, 9),
        # What does not fit is cut into parts by its engine.
        (8, 0, 50, 1, 1),
    ],
)
def test_a_wave_fits_into_memory(monkeypatch, threads, markets, jobs, count, size):
    """One core is left for the engine, and none is without a market."""
    monkeypatch.setattr(executors, "count_markets", lambda task, searches: markets)
    setup = NullSetup(make_task(BARS, threads=threads), "none")
    with Pool() as pool:
        executor = share_device(setup, jobs, "cpu", pool)
    assert (executor._count, executor._size) == (count, size)
    # Each wave's engine takes of what is free when it is made.
    assert executor._setup.task.config.memory is None
