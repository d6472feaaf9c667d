"""Pairs of individual and window, where not every individual meets all windows."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from data.bars import Window
from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Floats, Ints
from engine.errors import EngineError

Wait = Callable[[], Floats]
"""Waits for begun work, and returns its accumulators."""


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


Begun = list[tuple[Ints, Wait]]
"""Numbers of pairs, and what waits for their accumulators."""


def take_begun(begun: Begun, accumulators: Floats) -> Floats:
    """Wait for all that was begun, into accumulators [N, A], and forget it."""
    while begun:
        pair_numbers, wait = begun.pop(0)
        accumulators[pair_numbers] = wait()
    return accumulators


def begin_groups(
    pairs: Ints, windows: Sequence[Window], begin: Callable[[Ints, Sequence[Window]], Wait]
) -> Wait:
    """Begin with pairs [N, 2]; the returned call waits for their accumulators [N, A].

    `begin` begins with individuals by number, all of whom meet the same windows. One group is
    waited for before the next begins, as its rows may be overwritten then.
    """
    accumulators = np.empty((len(pairs), len(ACCUMULATORS)))
    begun: Begun = []
    for members, windows_of_group, pair_numbers in group_pairs(pairs, windows):
        take_begun(begun, accumulators)
        begun.append((pair_numbers, begin(members, windows_of_group)))
    return partial(take_begun, begun, accumulators)


def group_pairs(
    pairs: Ints, windows: Sequence[Window]
) -> Iterator[tuple[Ints, list[Window], Ints]]:
    """Groups of pairs [N, 2]: within each, every individual meets every window.

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
