"""Scratch of the passes that choose, kept by each thread for its next pass."""

import threading
from functools import cache
from typing import Any

import numpy as np

from engine.runtime.compiling.addresses import find_address
from optimizer.search.compiled.blocks import (
    allocate_seats,
    allocate_table,
    sweep_blocks,
    sweep_first,
)
from optimizer.search.compiled.crowding import add_gaps
from optimizer.search.compiled.dominated import N_ASKED, mark_dominated
from optimizer.search.compiled.leaving import ROUNDS, allocate_leaving, truncate
from optimizer.search.compiled.sorting import (
    LEAST_PLACE_BITS,
    Floats,
    Places,
    Words,
    allocate_counts,
    settle_runs,
    sort_words,
    thin_orders,
)
from optimizer.search.compiled.volume import sweep_volume

LOOPS = (
    sort_words, settle_runs, thin_orders, sweep_first, sweep_blocks, add_gaps, truncate,
    sweep_volume, mark_dominated, *ROUNDS,
)  # fmt: skip
SORT, SETTLE, THIN, FIRST, BLOCKS, GAPS, TRUNCATE, VOLUME, DOMINATED, IN_ROUNDS = range(10)
"""Loops that passes call by address, and where these stand in `find_loops`."""

Scratch = tuple[Any, ...]
"""Arrays, and at times a number before them, in the order of a loop's arguments."""

SPARE_SHARE = 8
"""One part in so many is allocated beyond what is asked for, because populations differ."""

MOST_KEPT = 2**17
"""Individuals; scratch of more, above 74 MB, is given back after each pass."""


class SearchWorkspace:
    """Scratch for so many individuals of three objectives, in the order in which passes take it.

    Args:
        count: C, individuals.

    Attributes:
        asked: As of `mark_dominated`.
        sorting: Bits of a place; [3, C] objectives, [3, C] orders, and these as words; [C] and
            [D, N] scratch of `sort_words`.
        first: As of `sweep_first`.
        table: As of `sweep_blocks`.
        front: [3, C] objectives of some of them, their orders [3, C], and these as words.
        leaving: As of `truncate`, after the reference.
        gaps: [4, C] and [C], as of `add_gaps`.
        volume: [2, C + 2] and [C + 2], as of `sweep_volume`.
        places: [6, C] places or numbers.
        starts: [2 C + 2], where each rank begins.
        is_copy: [C].
        crowding: [2, C].
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked = np.empty((3, N_ASKED))
        n_bits = max(count.bit_length(), LEAST_PLACE_BITS)
        spare = np.empty(count, dtype=np.uint64)
        self.sorting: Scratch = (n_bits, *_allocate_orders(count), spare, allocate_counts(n_bits))
        self.first: Scratch = allocate_seats(count)
        self.table: Scratch = allocate_table(count)
        self.front: Scratch = _allocate_orders(count)
        self.leaving: Scratch = allocate_leaving(count)
        self.gaps: Scratch = np.empty((4, count)), np.empty(count, dtype=np.int64)
        self.volume: Scratch = np.empty((2, count + 2)), np.empty(count + 2, dtype=np.int64)
        self.places = np.empty((6, count), dtype=np.int64)
        self.starts = np.empty(2 * count + 2, dtype=np.int64)
        self.is_copy = np.empty(count, dtype=np.bool_)
        self.crowding = np.empty((2, count))


@cache
def find_loops() -> Places:
    """Addresses of `LOOPS`."""
    return np.array([find_address(loop) for loop in LOOPS], dtype=np.int64)


class _Kept(threading.local):
    workspace: SearchWorkspace | None = None


_KEPT = _Kept()


def borrow_workspace(count: int) -> SearchWorkspace:
    """This thread's workspace, with room for so many individuals, until its next use."""
    workspace = _KEPT.workspace
    if count > MOST_KEPT:
        return SearchWorkspace(count)
    if workspace is None or workspace.count < count:
        _KEPT.workspace = workspace = SearchWorkspace(count + count // SPARE_SHARE)
    return workspace


def _allocate_orders(count: int) -> tuple[Floats, Places, Words]:
    orders = np.empty((3, count), dtype=np.int64)
    return np.empty((3, count)), orders, orders.view(np.uint64)
