"""Where null searches are made: where they are done first."""

from dataclasses import replace

import pytest

from engine import workload
from engine.devices import Choice
from optimizer.judging import executors
from optimizer.judging.asking import AskingWorkers
from optimizer.judging.executors import (
    ThisMachine,
    count_markets,
    share_device,
)
from optimizer.judging.null import NullSetup
from optimizer.judging.schedule import NullScheduleSetup
from optimizer.judging.workers import Pool, Workers
from optimizer.schedule.dates import parse_schedule
from tests.support.evidence import make_planted_market
from tests.support.examples import RSI_PULLBACK
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
@pytest.mark.parametrize("used", ["cuda:0,1", "cpu"])
def test_a_gpu_evaluates_where_it_is_done_first(monkeypatch, used, core_rate, call_s, device):
    """On the one that the run was searched on, or that was too far for its one search."""
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
        executor = ThisMachine(pool).executor(setup, 50, used=used)
    assert isinstance(executor, Workers if device == "cpu" else AskingWorkers)
    assert executor._setup.task.config.device == device


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_without_a_gpu_or_a_wish_for_one_cores_search(monkeypatch, device):
    """However long they take."""
    monkeypatch.setattr(workload, "CORE_RATE", 1e3)
    monkeypatch.setattr(
        "engine.devices.why_absent", lambda name: "there is none" if name == "cuda" else ""
    )
    task = make_task(BARS, threads=2, device=device)
    with Pool() as pool:
        executor = ThisMachine(pool).executor(NullSetup(task, "none"), 50, used="cpu")
    assert isinstance(executor, Workers)


@pytest.mark.parametrize(
    ("threads", "markets", "jobs", "count", "size"),
    [
        (2, 9, 50, 1, 9),
        (8, 9, 50, 7, 9),
        (8, 3, 50, 3, 3),
        (8, 99, 5, 5, 5),
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


def test_few_schedules_of_many_individuals_are_a_wave(monkeypatch):
    """All their steps are searched together, and what an engine answers has to fit the host."""
    asked = []

    def measure(task, searches):
        asked.append(searches)
        return 99

    monkeypatch.setattr(executors, "count_markets", measure)
    setup = NullScheduleSetup(make_task(BARS, threads=8), parse_schedule("10d", "20d", 0))
    steps = len(setup.on_run.steps)
    monkeypatch.setattr(executors, "MOST_PAIRS", 3 * steps * 16)
    with Pool() as pool:
        executor = share_device(setup, 50, "cpu", pool)
    assert (executor._count, executor._size, asked) == (3, 3, [steps])


def test_a_search_takes_its_series_and_its_rows(monkeypatch):
    """Of what memory allows; few where each has an engine of its own."""
    task = make_task(BARS, generations=1, memory=10**9)
    n_rows = int(task.workload().row_bars / len(BARS))
    maker = task.device("cpu").maker
    of_one = maker.series_bytes([BARS]) + n_rows * maker.slot_bytes([BARS])
    assert n_rows > 0
    assert count_markets(task) == executors.MOST_ENGINES
    monkeypatch.setattr(executors, "MOST_ENGINES", 10**9)
    assert count_markets(task) == 10**9 // of_one
    # Searches of one market share rows, of which there are no more than bounds allow.
    assert 1 < count_markets(task, 100) < count_markets(task)
    assert count_markets(task, 1000) == count_markets(task, 100)


def test_new_markets_of_words_make_a_gpu_wait_for_the_host():
    """Not parts of the run's own bars; nor a fast case, whose rows the GPU makes."""
    task = make_task(BARS, generations=1)
    in_words = replace(task, spec=RSI_PULLBACK)
    new, known = (
        setup.estimate_work()[0]
        for setup in (
            NullSetup(in_words, "none"),
            NullScheduleSetup(in_words, parse_schedule("10d", "20d", 0)).on_run,
        )
    )
    assert (new.new_bars, known.new_bars) == (len(BARS), 0)
    spared = new.gpu_s - new._replace(new_bars=0).gpu_s
    assert spared == pytest.approx(len(BARS) * workload.GPU_BAR_OF_FORMULAS_S)
    fast = NullSetup(task, "none").estimate_work()[0]
    assert fast.gpu_s == fast._replace(new_bars=0).gpu_s


@pytest.mark.parametrize("device", [None, "cpu", "cuda:0"])
@pytest.mark.parametrize(
    ("jobs", "core_rate", "own_s", "is_here"),
    [
        # To begin processes takes longer than little work.
        (8, 1e12, 0.0, True),
        # All cores evaluate together, but one does the rest of a search.
        (8, 1e12, 1.0, False),
        (1, 1e12, 1.0, True),
        # Nine searches are three turns of four cores.
        (9, 1e4, 1e-9, True),
        (8, 1e4, 1e-1, False),
    ],
)
def test_on_cores_they_are_made_where_they_are_done_first(
    monkeypatch, device, jobs, core_rate, own_s, is_here
):
    """In this process, one after the other, or by processes beside each other."""
    monkeypatch.setattr(workload, "CORE_RATE", core_rate)
    monkeypatch.setattr(workload, "CORE_ROW_RATE", 1e15)
    monkeypatch.setattr("optimizer.judging.verdict.INDIVIDUAL_S", own_s)
    # A GPU is no help: generations wait for it.
    monkeypatch.setattr("optimizer.judging.verdict.GPU_STEP_S", 1e6)
    task = make_task(BARS)
    task = replace(task, config=task.config.model_copy(update={"threads": 4}))
    with Pool() as pool:
        executor = ThisMachine(pool).executor(NullSetup(task, "none"), jobs, used=device)
    assert isinstance(executor, Workers)
    assert bool(executor.alone) == is_here
