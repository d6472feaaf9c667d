"""Pairs of individual and window, where not every individual meets all windows."""

from collections.abc import Iterator, Sequence

import numpy as np

from data.bars import Window
from engine.backend import Ints
from engine.errors import EngineError


def check_pairs(pairs: Ints, individuals: int, windows: int) -> None:
    """Refuse pairs [N, 2] that name no individual or no window.

    Raises:
        EngineError: Naming the first.
    """
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind != "i":
        raise EngineError(
            f"pairs must be whole numbers [N, 2], got {pairs.dtype} {list(pairs.shape)}"
        )
    is_there = (pairs >= 0) & (pairs < (individuals, windows))
    if not is_there.all():
        number = int(np.argmin(is_there.all(axis=1)))
        raise EngineError(
            f"pair {number} is individual {pairs[number, 0]} in window {pairs[number, 1]}, "
            f"there are {individuals} individuals and {windows} windows"
        )


def group_pairs(
    pairs: Ints, windows: Sequence[Window]
) -> Iterator[tuple[Ints, list[Window], Ints]]:
    """Groups of pairs [N, 2] in each of which every individual meets every window.

    Yields:
        Numbers of individuals [p], windows [w], and the pairs [p, w] that these are; windows that
        meet the same individuals, each once, are one group.
    """
    order = np.lexsort((pairs[:, 0], pairs[:, 1]))
    window_numbers, begins = np.unique(pairs[order, 1], return_index=True)
    groups: dict[bytes, list[tuple[Window, Ints]]] = {}
    for w, pair_numbers in zip(window_numbers.tolist(), np.split(order, begins)[1:], strict=True):
        members = np.ascontiguousarray(pairs[pair_numbers, 0])
        groups.setdefault(members.tobytes(), []).append((windows[w], pair_numbers))
    for key, met in groups.items():
        pair_numbers = np.stack([numbers for _, numbers in met], axis=1)
        yield np.frombuffer(key, pairs.dtype), [window for window, _ in met], pair_numbers
