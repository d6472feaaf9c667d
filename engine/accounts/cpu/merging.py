"""Trades of several windows as one account: merged in the order of their exits, and folded."""

import numpy as np
import numpy.typing as npt

from engine.accounts.cpu.folding import SUM_R_SHORT, begin, fold
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.results import Results
from engine.runtime.compiling.loops import compiled_part, compiled_unlocked
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints

ORDERED = (
    "sum_r", "sum_r2", "gain_r", "loss_r", "loss_r2", "peak_r", "max_drawdown_r", "equity",
    "peak_equity", "max_drawdown", "sum_r_short",
)  # fmt: skip
"""Accumulators that hang on the order of trades; the others are counts, which add up."""

MAX_LEVERAGE = ACCUMULATOR_INDEX["max_leverage"]

Sides = npt.NDArray[np.int8]

FOLDED = np.array([ACCUMULATOR_INDEX[name] for name in ORDERED])
COUNTED = np.setdiff1d(np.arange(len(ACCUMULATORS)), FOLDED)


def fold_account(
    accumulators: Floats, results: Results, order: Ints, risk_fraction: float, threads: Threads
) -> Floats:
    """Accumulators [P, A] of all windows as one account.

    Args:
        accumulators: [P, W, A] of each window.
        results: Of the trades that they count.
        order: Places of the windows [W]; of trades that end together the first one's is first.
        risk_fraction: What of the account a trade risks.
        threads: They share the individuals.
    """
    account = np.empty((len(accumulators), len(ACCUMULATORS)))
    account[:, COUNTED] = accumulators[:, :, COUNTED].sum(axis=1)
    account[:, MAX_LEVERAGE] = accumulators[:, :, MAX_LEVERAGE].max(axis=1, initial=0.0)
    shared = np.zeros(1, np.int64)

    def compute(thread: int) -> None:
        merge_each(*results, order, risk_fraction, shared, account)

    threads.run(compute, len(account))
    return account


@compiled_unlocked
def merge_each(
    firsts: Ints,
    counts: Ints,
    exit_ns: Ints,
    r: Floats,
    side: Sides,
    order: Ints,
    risk_fraction: float,
    shared: Ints,
    out: Floats,
) -> None:
    """Fold individuals one after another, while other threads take others.

    Args:
        firsts: As in `Results`.
        counts: Likewise.
        exit_ns: Likewise.
        r: Likewise.
        side: Likewise.
        order: [W].
        risk_fraction: Of the account.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [P, A] receives what hangs on the order of trades.
    """
    n_windows = order.size
    # A heap of the windows that still have a trade, by when it ends and by their order.
    times, ranks = np.empty(n_windows, np.int64), np.empty(n_windows, np.int64)
    taken = np.empty(n_windows, np.int64)
    sums = np.empty(out.shape[1])
    p = take(shared, 0)
    while p < out.shape[0]:
        begin(sums)
        # No literal: its callees would be compiled once more for it.
        size: int = np.int64(0)  # type: ignore[assignment]
        for rank in range(n_windows):
            taken[rank] = firsts[p, order[rank]]
            if counts[p, order[rank]] > 0:
                add(times, ranks, size, exit_ns[taken[rank]], rank)
                size += 1
        while size > 0:
            rank = ranks[0]
            k = taken[rank]
            fold(sums, r[k], risk_fraction)
            if side[k] < 0:
                sums[SUM_R_SHORT] += r[k]
            taken[rank] = k + 1
            window = order[rank]
            if k + 1 < firsts[p, window] + counts[p, window]:
                settle(times, ranks, size, exit_ns[k + 1], rank)
            else:
                size -= 1
                settle(times, ranks, size, times[size], ranks[size])
        for column in FOLDED:
            out[p, column] = sums[column]
        p = take(shared, 0)


@compiled_part
def is_before(time: int, rank: int, other_time: int, other_rank: int) -> bool:
    """True if one trade changes the account before another."""
    return time < other_time or (time == other_time and rank < other_rank)


@compiled_part
def add(times: Ints, ranks: Ints, size: int, time: int, rank: int) -> None:
    """Add to a heap of so many: it rises to its place."""
    node = size
    while node > 0:
        above = (node - 1) // 2
        if is_before(times[above], ranks[above], time, rank):
            break
        times[node], ranks[node] = times[above], ranks[above]
        node = above
    times[node], ranks[node] = time, rank


@compiled_part
def settle(times: Ints, ranks: Ints, size: int, time: int, rank: int) -> None:
    """Put in place of the first of a heap of so many: it sinks to its place."""
    node = 0
    while 2 * node + 1 < size:
        below = 2 * node + 1
        if below + 1 < size and is_before(
            times[below + 1], ranks[below + 1], times[below], ranks[below]
        ):
            below += 1
        if not is_before(times[below], ranks[below], time, rank):
            break
        times[node], ranks[node] = times[below], ranks[below]
        node = below
    if size > 0:
        times[node], ranks[node] = time, rank
