"""The reference in threads of this process, while the caller does something else.

Compiled loops run side by side; little is left to Python. Individuals that read the same
rows are replayed one after another, a series at a time, so that rows are computed once as long as
memory holds them.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accounts.ledger import Ledger
from engine.reference import Reference
from engine.runtime.machine import available_cores
from strategy.expressions import Call, GeneValue
from strategy.genes import Floats
from strategy.model import Strategy
from strategy.nodes import walk

TASKS_PER_THREAD = 8
"""Parts that the work is cut into for each thread, so that all of them end at about one time."""

BARS_OF_A_THREAD = 25_000
"""Bars for each thread of the reference: between its compiled loops threads wait for each other,
because one at a time runs Python."""

Indices = npt.NDArray[np.intp]


class Replayed(NamedTuple):
    """Replay of one individual in one window: its ledger, and the sums of it."""

    individual: int
    window: int
    ledger: Ledger
    accumulators: Floats


Replaying = Callable[[Reference, Floats, int], AbstractContextManager[Iterator[Replayed]]]
"""Replays, such as `replaying`."""


@contextmanager
def replaying(reference: Reference, genomes: Floats, threads: int) -> Iterator[Iterator[Replayed]]:
    """Replay individuals [N, G] in all windows, in an order that shares rows.

    The reference is shared by all threads; with 1 the caller's own does the work, as it asks. To
    leave early ends the threads after their individual.
    """
    is_over = threading.Event()
    tasks = _tasks(reference, genomes, threads)

    def replay_members(windows: list[int], members: Indices) -> Iterator[Replayed]:
        for i in members.tolist():
            if is_over.is_set():
                return
            for window, outcome in zip(windows, reference.replay(genomes[i], windows), strict=True):
                yield Replayed(i, window, *outcome)

    if threads == 1:
        yield (each for task in tasks for each in replay_members(*task))
        return
    with ThreadPoolExecutor(threads, "replay") as pool:
        try:
            futures = [
                pool.submit(lambda task: list(replay_members(*task)), task) for task in tasks
            ]
            yield (each for future in futures for each in future.result())
        finally:
            is_over.set()
            pool.shutdown(cancel_futures=True)


def replay_alone(
    reference: Reference, genome: Floats, threads: int | None = None
) -> tuple[Ledger, ...]:
    """Ledgers [W] of one individual [G], series side by side; on all cores where `threads` is None.

    As `Reference.trades`.
    """
    busy = sum(map(len, reference.series)) // BARS_OF_A_THREAD
    shared = max(1, min(available_cores(threads), busy))
    with replaying(reference, genome[None], shared) as replays:
        ledgers = {replayed.window: replayed.ledger for replayed in replays}
    return tuple(ledgers[window] for window in range(len(reference.windows)))


def sharing_order(spec: Strategy, genomes: Floats) -> Indices:
    """An order [N] of individuals [N, G] in which those with the same rows are neighbours."""
    calls = {node for node in walk(spec) if isinstance(node, Call)}
    parameters = [setting for call in calls for setting in call.parameters]
    readers = Counter(
        parameter.gene.name for parameter in parameters if isinstance(parameter, GeneValue)
    )
    # The last key of a lexical sort comes first: the length that most rows have.
    keys = sorted(readers, key=lambda name: (readers[name], spec.layout.index(name)))
    if not keys:
        return np.arange(len(genomes))
    return np.lexsort([genomes[:, spec.layout.index(name)] for name in keys])


def _tasks(reference: Reference, genomes: Floats, threads: int) -> list[tuple[list[int], Indices]]:
    """The windows of a series, with a part of the individuals; series after series."""
    of_series: dict[int, list[int]] = {}
    for number, window in enumerate(reference.windows):
        # Of an account with limits all series are replayed together.
        series = 0 if reference.costs.has_limits else window.series
        of_series.setdefault(series, []).append(number)
    # All threads are at work on few series, with rows that memory holds.
    parts_of_series = max(threads, threads * TASKS_PER_THREAD // max(len(of_series), 1))
    step = max(1, len(genomes) // parts_of_series)
    order = sharing_order(reference.spec, genomes)
    parts = [order[begin : begin + step] for begin in range(0, len(order), step)]
    return [(numbers, part) for numbers in of_series.values() for part in parts]
