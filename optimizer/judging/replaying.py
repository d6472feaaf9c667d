"""The reference in processes of this machine.

On few bars threads of one process wait for each other: what lies between compiled loops is Python.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger
from engine.reference import Reference
from engine.replay.threads import Replayed, replaying, sharing_order
from engine.runtime.compiling.forms import CompiledForm
from optimizer.judging.workers import Pool, Workers
from optimizer.search.generation import Floats
from strategy.model import Strategy

PROCESSES = 4
"""With more, sending them bars takes as long as they save."""

PARTS_PER_PROCESS = 2

MOST_BARS = 100_000
"""Of all series: on more, threads that share rows are as fast."""

FEWEST_REPLAYS = 32
"""Individuals and windows: fewer are replayed before processes have their bars."""


@dataclass(frozen=True)
class ReplaySetup:
    """Replays individuals in all windows, in a process with a reference of its own."""

    spec: Strategy
    series: tuple[Bars, ...]
    windows: tuple[Window, ...]
    costs: Costs

    @cached_property
    def _reference(self) -> Reference:
        return Reference(self.spec, self.series, self.windows, self.costs, form=CompiledForm())

    def run(self, job: tuple[int, Floats]) -> list[list[tuple[Ledger, Floats]]]:
        """Ledgers and accumulators of a number of individuals [N, G], [N] of [W]."""
        _, genomes = job
        windows = range(len(self.windows))
        return [self._reference.replay(genome, windows) for genome in genomes]


@contextmanager
def replay_in_processes(
    pool: Pool, reference: Reference, genomes: Floats, threads: int
) -> Iterator[Iterator[Replayed]]:
    """As `engine.replay.threads.replaying`, by processes of a pool where that is done first."""
    n_bars = sum(map(len, reference.series))
    is_small = len(genomes) * len(reference.windows) < FEWEST_REPLAYS
    setup = ReplaySetup(reference.spec, reference.series, reference.windows, reference.costs)
    alone = threads == 1 or is_small or n_bars > MOST_BARS
    workers = Workers(setup, 1 if alone else PROCESSES, pool)
    order = sharing_order(reference.spec, genomes)
    parts = np.array_split(order, min(len(order), PROCESSES * PARTS_PER_PROCESS))
    jobs = [(number, genomes[part]) for number, part in enumerate(parts)]
    batch = None if workers.alone else workers.begin(jobs, pool)
    if batch is None:
        with replaying(reference, genomes, threads) as replays:
            yield replays
        return

    def list_replays(done: Iterable[tuple[Any, Any]]) -> Iterator[Replayed]:
        for (number, _), outcomes in done:
            for i, outcome in zip(parts[number].tolist(), outcomes, strict=True):
                for window, (ledger, accumulators) in enumerate(outcome):
                    yield Replayed(i, window, ledger, accumulators)

    try:
        yield list_replays(workers.collect(batch, len(jobs)))
    finally:
        for process in batch.end():
            pool.give_back(process)
