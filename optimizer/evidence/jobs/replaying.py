"""The reference in processes of this machine.

Threads of one process wait for each other: what lies between compiled loops is Python.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.reference import Reference
from engine.replay.threads import Indices, Replayed, replaying, sharing_order
from engine.runtime.compiling.forms import CompiledForm
from optimizer.evidence.jobs.workers import Pool, Workers
from optimizer.search.generation import Floats
from strategy.model import Strategy

PROCESSES = 4
"""With more, sending them bars takes as long as they save."""

PARTS_PER_PROCESS = 2

MOST_BARS = 100_000
"""Of all series, which are sent with each job; of more a job has one series."""

FEWEST_REPLAYS = 32
"""Individuals and windows: fewer are replayed before processes have their bars."""

FEWEST_INDIVIDUALS = 64
"""Of long series, for the same reason."""


class ReplayJob(NamedTuple):
    """Some individuals in some windows, with the bars of these."""

    individuals: Indices  # [N] their numbers
    genomes: Floats  # [N, G]
    numbers: tuple[int, ...]  # of the windows among all
    series: tuple[Bars, ...]
    windows: tuple[Window, ...]  # of these series


def replay_job(spec: Strategy, costs: Costs, threads: int, job: ReplayJob) -> list[Replayed]:
    """Replays of a job, with the numbers that its individuals and windows have here."""
    form = CompiledForm()
    reference = Reference(spec, job.series, job.windows, costs, form=form)
    if threads > 1:
        # All loops are compiled before threads ask for them.
        reference.replay(job.genomes[0], [0])
    with replaying(reference, job.genomes, threads) as replays:
        return [
            replayed._replace(
                individual=int(job.individuals[replayed.individual]),
                window=job.numbers[replayed.window],
            )
            for replayed in replays
        ]


@contextmanager
def replay_in_processes(
    pool: Pool, reference: Reference, genomes: Floats, threads: int
) -> Iterator[Iterator[Replayed]]:
    """`engine.replay.threads.replaying` by processes of a pool, if that is sooner done."""
    jobs = [] if threads == 1 else _list_jobs(reference, genomes)
    each = max(1, threads // PROCESSES) if _is_long(reference) else 1
    run = partial(replay_job, reference.spec, reference.costs, each)
    workers = Workers(run, min(PROCESSES, len(jobs)), pool)
    if workers.alone:
        with replaying(reference, genomes, threads) as replays:
            yield replays
        return
    with workers.begin(jobs) as done:
        yield chain.from_iterable(replays for _, replays in done)


def _is_long(reference: Reference) -> bool:
    return sum(map(len, reference.series)) > MOST_BARS


def _list_jobs(reference: Reference, genomes: Floats) -> list[ReplayJob]:
    """Jobs of processes: some individuals on all series, or all on one; none where threads do."""
    series, windows = reference.series, reference.windows
    everyone, all_numbers = np.arange(len(genomes)), tuple(range(len(windows)))
    if not _is_long(reference):
        if len(genomes) * len(windows) < FEWEST_REPLAYS:
            return []
        order = sharing_order(reference.spec, genomes)
        parts = np.array_split(order, min(len(order), PROCESSES * PARTS_PER_PROCESS))
        return [ReplayJob(part, genomes[part], all_numbers, series, windows) for part in parts]
    # An account with limits replays all series together; a few threads share rows.
    is_few = len(series) < PROCESSES or len(genomes) < FEWEST_INDIVIDUALS
    if is_few or reference.costs.has_limits:
        return []
    jobs = []
    for number, bars in enumerate(series):
        own = tuple(k for k in all_numbers if windows[k].series == number)
        alone = tuple(replace(windows[k], series=0) for k in own)
        if own:
            jobs.append(ReplayJob(everyone, genomes, own, (bars,), alone))
    return jobs
