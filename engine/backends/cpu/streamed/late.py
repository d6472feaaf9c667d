"""Late comparisons: of the bars that are left, those at which comparisons with an EMA hold, too."""

import numpy as np

from engine.backends.compiled import compiled_inline
from engine.backends.cpu.streamed.averages import Averages
from engine.backends.cpu.streamed.columns import Columns
from engine.backends.cpu.streamed.lowering import LEFT, RIGHT, SIGN, Course
from engine.backends.cpu.streamed.refine import late_holds
from engine.backends.cpu.streamed.sums import Sums
from engine.backends.cpu.types import Floats, Ints, Slots


@compiled_inline
def is_crossing(averages: Averages, test: Ints, i: int) -> bool:
    """Whether a comparison [5] of individual i is one of two EMAs."""
    is_left = averages.place_of[i, test[LEFT]] >= 0
    return bool(is_left and test[RIGHT] >= 0 and averages.place_of[i, test[RIGHT]] >= 0)


@compiled_inline
def keep_crossing(
    averages: Averages,
    test: Ints,
    i: int,
    first: int,
    limit: int,
    begun: int,
    done: int,
    kept: int,
    bars: Slots,
) -> tuple[int, int]:
    """Keep an individual's bars of a tile at which one EMA is above or below another.

    Args:
        averages: With the tile computed.
        test: [5] the comparison.
        i: Number of the individual among the averages.
        first: First bar of the tile.
        limit: One past its last.
        begun: Where the individual's next bars lie.
        done: Where they end.
        kept: Where those that are kept go, at most at `begun`.
        bars: Receives them.

    Returns:
        Where the next bar behind the tile lies, and where the next one that is kept goes.
    """
    # Everything that does not change lies in registers: nothing below may write to it.
    tile = averages.tile
    left_step = np.uint64(averages.stride_of[test[LEFT]])
    right_step = np.uint64(averages.stride_of[test[RIGHT]])
    left = np.uint64(averages.place_of[i, test[LEFT]]) + left_step
    right = np.uint64(averages.place_of[i, test[RIGHT]]) + right_step
    is_above = test[SIGN] > 0
    s, keeps, end = np.uint64(begun), np.uint64(kept), np.uint64(done)
    while s < end and bars[s] < limit:
        bar = np.uint64(bars[s] - first)
        one, other = tile[left + bar * left_step], tile[right + bar * right_step]
        bars[keeps] = bars[s]
        keeps += np.uint64((one > other) & is_above | (one < other) & (not is_above))
        s += np.uint64(1)
    return int(np.int64(s)), int(np.int64(keeps))


@compiled_inline
def keep_late(
    columns: Columns,
    sums: Sums,
    base: int,
    course: Course,
    test: Ints,
    genome: Floats,
    averages: Averages,
    i: int,
    first: int,
    begun: int,
    done: int,
    bars: Slots,
    tally: Ints,
) -> int:
    """Keep, from `begun` to `done`, the bars at which any comparison with an EMA holds.

    Args:
        columns: As in `late_holds`, and so are those not named here.
        sums: The same.
        base: The same.
        course: The same.
        test: [5] the comparison.
        genome: [G].
        averages: With the tile computed.
        i: Number of the individual among them.
        first: First bar of the tile.
        begun: Where the bars begin.
        done: Where they end.
        bars: These; receives those that are kept, from `begun` on.
        tally: [1].

    Returns:
        Where those that are kept end.
    """
    keeps = begun
    for s in range(begun, done):
        t = bars[s]
        bars[keeps] = t
        keeps += late_holds(columns.values, columns.runs, sums, base, course, test, genome, t,
                            averages, i, t - first + 1, tally)  # fmt: skip
    return keeps
