"""Trades that threads list while they fold: each its own, as many as there come to be."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTS
from engine.accounts.results import Results
from engine.runtime.compiling.loops import compiled_part
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Listed

TRADES = ACCUMULATOR_INDEX["trades"]

COUNTED = [ACCUMULATOR_INDEX[name] for name in COUNTS]
"""Accumulators that a ledger has as numbers."""

EXIT_BAR, SIDE, R = 2, 4, 4
"""Where loops write them, among whole numbers and among others."""

NOWHERE: Ints = np.empty((0, 0), np.int64)
"""Places of first trades where none are listed."""

Rows = TypeVar("Rows", Ints, Floats)

Work = Callable[[int, Ints, Ints], tuple[Ints, Floats]]
"""Folds on a thread of some number, and gives the trades that it listed there. It notes the place
of each ledger's first one among these in an array [P, W], and its own number in one [P]."""


def fold_alone(work: Work, individuals: int, threads: Threads) -> None:
    """Fold on all threads, and list no trades."""
    no_threads = np.empty(0, np.int64)

    def compute(thread: int) -> None:
        work(thread, NOWHERE, no_threads)

    threads.run(compute, individuals)


def list_trades(work: Work, out: Floats, threads: Threads) -> Listed:
    """Fold into out [P, W, A] on all threads, with the trades of all ledgers."""
    firsts, thread_of = np.zeros(out.shape[:2], np.int64), np.zeros(len(out), np.int64)
    by_thread: dict[int, tuple[Ints, Floats]] = {}

    def compute(thread: int) -> None:
        by_thread[thread] = work(thread, firsts, thread_of)

    threads.run(compute, len(out))
    parts = [by_thread[thread] for thread in sorted(by_thread)]
    lengths = np.array([len(whole) for whole, _ in parts])
    firsts += (lengths.cumsum() - lengths)[thread_of][:, None]
    whole, numbers = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Listed(firsts, out[:, :, TRADES].astype(np.int64), whole, numbers)


def list_totals(folded: Floats) -> Ints:
    """Totals [n, P, W] as `Ledger.cut` has them, given accumulators [P, W, A]."""
    return np.moveaxis(folded[:, :, COUNTED].astype(np.int64), 2, 0)


def extract_results(listed: Listed, times: Ints) -> Results:
    """Results of trades on a series with bars that open at times [T]."""
    r = np.ascontiguousarray(listed.numbers[:, R])
    side = listed.whole[:, SIDE].astype(np.int8)
    return Results(listed.firsts, listed.counts, times[listed.whole[:, EXIT_BAR]], r, side)


@compiled_part
def with_room(rows: Rows, used: int, more: int) -> Rows:
    """Rows [n, m], some of them used, with room for more: the same, or a longer copy."""
    if used + more <= rows.shape[0]:
        return rows
    longer = np.empty((max(2 * rows.shape[0], used + more), rows.shape[1]), rows.dtype)
    # Compiling a slice that is assigned takes seconds: it could raise, with text.
    for i in range(used):
        for column in range(rows.shape[1]):
            longer[i, column] = rows[i, column]
    return longer
