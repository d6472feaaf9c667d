"""A search may go on for days: nothing that it holds or opens grows with its generations."""

import os
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from optimizer.config.run_config import RunConfig
from optimizer.run.runner import Observer, record_bytes, start_run
from optimizer.run.task import prepare
from optimizer.store import RunStore
from tests.support.commands import write_market
from tests.support.fresh import live_bytes, malloc_totals, run_fresh
from tests.support.recording import quick_directory

GENERATIONS = 1600
FEW = {"ema_fast": [20.0, 22.0], "ema_slow": [200.0, 202.0], "z_window": [100.0, 102.0],
       "atr_window": [50.0, 52.0]}  # fmt: skip
"""Bounds of few distinct rows, so that the search is as quick as it can be."""

RISE = 2**16
"""Bytes in 200 generations that are no growth: one population of 16 each is five times more."""


class Meter(Observer):
    """An observer that looks at the process at every 40th generation."""

    def __init__(self):
        self.memory, self.handles = [], []

    def on_search_start(self, task, engine, store):
        """Keep the record, of which some generations wait to be written."""
        self._store = store

    def is_due(self, generation):
        """Measure the memory of this process and the files that it has open; show nothing."""
        if generation % 40 == 39:
            self._store.flush()  # what waits is bounded, not flat
            self.memory.append(live_bytes())
            self.handles.append(len(os.listdir("/proc/self/fd")))
        return False

    def generation(self, progress):
        """Nothing is shown."""

    def certifying(self, members):
        """The search is over."""


def watch_long_run(folder):
    """Search for long; memory and handles at each look. The record is no larger than promised."""
    meter = Meter()
    with quick_directory() as runs:
        config = RunConfig(
            data=write_market(folder / "bars.csv"), bounds=FEW, population=16, archive=32,
            polish=0, generations=GENERATIONS, min_trades=3, memory=10**7, budget=10**6,
            runs=str(runs), report=False,
            judge=False,  # trials to judge are kept, up to a bound
        )  # fmt: skip
        result = start_run(config, meter, lambda: False)
        # The log is folded in on closing, so that what is left is the record itself.
        taken = sum(file.stat().st_size for file in Path(result.path).iterdir())
        with RunStore.open(Path(result.path)) as store:
            assert store.verify() == []
    assert taken <= record_bytes(prepare(config))
    return meter.memory, meter.handles


@pytest.mark.slow
@pytest.mark.skipif(malloc_totals is None, reason="memory is counted by glibc")
def test_memory_and_files_are_flat_over_many_generations(tmp_path):
    """Memory does not rise from each eighth of the second half to the next; no file is left."""
    memory, handles = run_fresh(watch_long_run, tmp_path)
    half, eighth = len(memory) // 2, len(memory) // 8
    assert set(handles[half:]) == {handles[half]}
    # A leak rises in every part; a cache that fills, in one.
    parts = [median(memory[k * eighth :][:eighth]) for k in range(3, 8)]
    rises = [later - earlier for earlier, later in pairwise(parts)]
    assert min(rises) < RISE, rises
