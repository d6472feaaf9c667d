"""Pairs of individual and window, where not every individual meets all windows."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from data.bars import Window
from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Floats, Ints
from engine.errors import EngineError

MOST_KEPT = 64
"""Engines of some windows each that are kept for the next pairs."""


class WindowEngine(Protocol):
    """An engine, as far as pairs ask for it."""

    @property
    def windows(self) -> Sequence[Window]:
        """Its windows [W]."""
        ...

    def on(self, windows: Sequence[Window]) -> "WindowEngine":
        """The same for other windows of its series."""
        ...

    def evaluate(self, genomes: Floats) -> Floats:
        """Accumulators [P, W, A] of genomes [P, G]."""
        ...


class PairedWindows:
    """Engines of some windows each, kept for the next pairs: a device knows the same ones again."""

    def __init__(self) -> None:
        self._engines: dict[tuple[Window, ...], WindowEngine] = {}

    def evaluate(self, engine: WindowEngine, genomes: Floats, pairs: Ints) -> Floats:
        """Accumulators [N, A] of pairs [N, 2], as many individuals together as meet the same."""
        accumulators = np.empty((len(pairs), len(ACCUMULATORS)))
        for members, numbers, pair_numbers in group_pairs(pairs):
            windows = tuple(engine.windows[number] for number in numbers.tolist())
            if windows not in self._engines:
                if len(self._engines) == MOST_KEPT:
                    self._engines.clear()
                self._engines[windows] = engine.on(windows)
            accumulators[pair_numbers] = self._engines[windows].evaluate(genomes[members])
        return accumulators


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


def group_pairs(pairs: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Groups of pairs [N, 2] in each of which every individual meets every window.

    Yields:
        Numbers of individuals [p], of windows [w], and the pairs [p, w] that these are; windows
        that meet the same individuals, each once, are one group.
    """
    order = np.lexsort((pairs[:, 0], pairs[:, 1]))
    windows, begins = np.unique(pairs[order, 1], return_index=True)
    groups: dict[bytes, list[tuple[int, Ints]]] = {}
    for window, pair_numbers in zip(windows.tolist(), np.split(order, begins)[1:], strict=True):
        members = np.ascontiguousarray(pairs[pair_numbers, 0])
        groups.setdefault(members.tobytes(), []).append((window, pair_numbers))
    for key, of_windows in groups.items():
        pair_numbers = np.stack([numbers_of_window for _, numbers_of_window in of_windows], axis=1)
        numbers = np.array([window for window, _ in of_windows])
        yield np.frombuffer(key, pairs.dtype), numbers, pair_numbers
