"""Results of trades as an account takes them: the end and the gain of each."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Window
from data.checks import Floats, Ints


class Results(NamedTuple):
    """Results of the trades of P individuals in W windows, each window's in their order."""

    firsts: Ints  # [P, W] place of each window's first trade
    counts: Ints  # [P, W] how many it has
    exit_ns: Ints  # [K] when the exit bar opens
    r: Floats  # [K]
    side: npt.NDArray[np.int8]  # [K] int8, 1 or -1


def arrange_results(counts: Ints, exit_ns: Ints, r: Floats, side: npt.NDArray[np.int8]) -> Results:
    """Results of trades [K] that lie pair after pair; counts [P, W] give the number of each.

    Whole numbers may be of any width.
    """
    counts = counts.astype(np.int64)
    firsts = (counts.cumsum() - counts.ravel()).reshape(counts.shape)
    return Results(firsts, counts, exit_ns, r, side)


def join_results(
    parts: Iterable[tuple[Ints, Ints, Results]], individuals: int, windows: int
) -> Results:
    """Parts as one: of each the places of its individuals [p] and windows [w] among all."""
    firsts = np.zeros((individuals, windows), np.int64)
    counts = np.zeros_like(firsts)
    joined: list[Results] = []
    begin = 0
    for members, window_numbers, part in parts:
        firsts[np.ix_(members, window_numbers)] = part.firsts + begin
        counts[np.ix_(members, window_numbers)] = part.counts
        joined.append(part)
        begin += len(part.r)
    exit_ns, r, side = (
        np.concatenate([getattr(part, name) for part in joined]) for name in Results._fields[2:]
    )
    return Results(firsts, counts, exit_ns, r, side)


def order_windows(windows: Sequence[Window]) -> Ints:
    """Places of windows [W], strand after strand, those of each in the order of time."""
    series, starts = ([getattr(window, name) for window in windows] for name in ("series", "start"))
    order: Ints = np.lexsort((starts, series))
    return order


def split_accounts(windows: Sequence[Window]) -> list[list[int]]:
    """Places of windows by account: held-out windows have an account of their own."""
    by_role: dict[str, list[int]] = {}
    for number, window in enumerate(windows):
        by_role.setdefault(window.role, []).append(number)
    return list(by_role.values())
