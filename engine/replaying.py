"""The reference on several processes, each with its share of individuals, all ending with ours.

A process imports the reference and nothing of the batch engine, and computes each row that its
individuals read once. It ends when it has answered, when nobody waits any more, and when the
process that began it is gone, however that ended.
"""

import os
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.costs import Costs
from engine.errors import EngineError
from engine.reference import Replayed, replay
from strategy.genes import Floats
from strategy.spec import StrategySpec

ROW_COST = 6
"""A row costs about as much as so many individuals whose rows are there; it only shares out work.

Measured on the sample, 796 members of a front: 7.7 ms a row and 1.2 ms an individual.
"""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Market:
    """What the reference replays on.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        windows: Each an independent backtest.
        costs: Costs and risk rules.
    """

    spec: StrategySpec
    series: Sequence[Bars]
    windows: Sequence[Window]
    costs: Costs


@contextmanager
def replaying(market: Market, genomes: Floats, processes: int) -> Iterator[Iterator[Replayed]]:
    """Replay individuals on the reference while the caller does something else.

    Args:
        market: What to replay on.
        genomes: [N, G].
        processes: How many to start; with 1 the caller's own does it, as it is asked.

    Yields:
        An iterator over what the reference says of each individual, in order. Processes that are
        still at work when the block is left are ended.

    Raises:
        EngineError: When a process failed or was ended from outside.
    """
    if processes == 1:
        yield _replayed(market, genomes)
        return
    shares = share_out(market.spec, genomes, processes)
    context = get_context("spawn")
    started = []
    try:
        for share in shares:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=_work, args=(theirs, market, genomes[share]), daemon=True
            )
            process.start()
            theirs.close()
            started.append((process, ours))
        yield _in_order(shares, [connection for _, connection in started])
    finally:
        for process, connection in started:
            process.kill()
            process.join()
            connection.close()


def share_out(spec: StrategySpec, genomes: Floats, shares: int) -> list[Indices]:
    """Split individuals so that those with common rows stay together and all parts cost alike.

    Args:
        spec: The strategy, which says what rows an individual reads.
        genomes: [N, G].
        shares: How many parts, at least 1.

    Returns:
        Indices [n] of each part that is not empty; each individual is in one of them.
    """
    readers = {name: sum(name in row.lengths for row in spec.rows) for name in spec.layout.names}
    place = {name: column for column, name in enumerate(spec.layout.names)}
    lengths = sorted((name for name in readers if readers[name]), key=lambda name: -readers[name])
    order = np.arange(len(genomes))
    if lengths:
        order = np.lexsort([genomes[:, place[name]] for name in reversed(lengths)])
    seen: set[tuple[object, ...]] = set()
    costs = np.ones(len(genomes))
    for k, i in enumerate(order):
        rows = {
            (row.indicator, row.reads, *(genomes[i, place[name]] for name in row.lengths))
            for row in spec.rows
        }
        costs[k] += ROW_COST * len(rows - seen)
        seen |= rows
    done = np.cumsum(costs)
    cuts = np.searchsorted(done, costs.sum() * np.arange(1, shares) / shares)
    return [part for part in np.split(order, cuts) if len(part)]


def _in_order(shares: Sequence[Indices], connections: Sequence[Connection]) -> Iterator[Replayed]:
    found: dict[int, Replayed] = {}
    for share, connection in zip(shares, connections, strict=True):
        try:
            answer = connection.recv()
        except EOFError:
            raise EngineError(
                "a process that replayed individuals was ended from outside"
            ) from None
        if isinstance(answer, str):
            raise EngineError(f"replaying individuals failed\n{answer}")
        found.update(zip(share.tolist(), answer, strict=True))
    yield from (found[i] for i in range(len(found)))


def _replayed(market: Market, genomes: Floats) -> Iterator[Replayed]:
    return replay(market.spec, market.series, market.windows, market.costs, genomes)


def _work(answer: Connection, market: Market, genomes: Floats) -> None:
    """What a process does."""
    # Ctrl-C is the parent's to handle; it ends its children itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer.send(list(_replayed(market, genomes)))
    except BrokenPipeError:
        return
    except Exception:
        answer.send(traceback.format_exc())


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
