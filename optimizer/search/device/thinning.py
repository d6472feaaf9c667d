"""Who leaves a front with too many members, on a device; the definition is `archive.thinned`.

Worths are whole numbers (`compiled.worth`), so that they are added in any order: the walk is that
of `kernels.worth`. Few members find their places and who leaves by counting, four launches a round.
Of many, orders are sorted once and filtered before each round, and worths are sorted: seven.
"""

from typing import NamedTuple

import torch
import triton

from engine.backends.cuda.launch import launch
from optimizer.search.archive import REFERENCE
from optimizer.search.device.kernels.thinning import (
    begin_kernel,
    count_kernel,
    filter_kernel,
    mark_kernel,
    place_kernel,
)
from optimizer.search.device.kernels.worth import leave_kernel, rank_kernel, walk_kernel
from optimizer.search.device.places import COUNTED, resort

ROWS, COLUMNS = 8, 1024
"""Members of a program that counts, and those that it compares them with at a time."""

SEGMENTS = 16
"""Parts of a walk along x."""

GROUP = 32
"""Members that are passed over at a time."""

LANES = 64
"""Slabs of a program, of few members."""

MANY_LANES = 128
"""Slabs of a program, of many."""

BLOCK, CHUNK = 256, 1024
"""Members of a program that only reads or writes, and of one that filters."""


class Front(NamedTuple):
    """Members that are listed, as `Thinning.launch` says."""

    objectives: torch.Tensor
    items: torch.Tensor
    size: torch.Tensor
    keep: torch.Tensor


class Thinning:
    """Who leaves a front with too many members.

    Args:
        rows: R of the launches.
        room: Members at most, at least 1.
        device: Where the tensors lie.
    """

    def __init__(self, rows: int, room: int, device: torch.device) -> None:
        self._room, self._is_counted = room, room <= COUNTED
        self._walked = torch.zeros((5, room + 1), dtype=torch.int32, device=device)
        self._state = torch.zeros((3, SEGMENTS, room), dtype=torch.int32, device=device)
        self._worth = torch.zeros(room + 1, dtype=torch.int64, device=device)
        if self._is_counted:
            return
        self._keys = torch.zeros((3, room), dtype=torch.int64, device=device)
        seats = torch.arange(room, dtype=torch.int32, device=device)
        self._seats = seats.repeat(3, 1)  # [3, room]
        self._orders = torch.zeros((2, 3, room), dtype=torch.int32, device=device)
        self._places = torch.zeros(room, dtype=torch.int32, device=device)
        chunks = triton.next_power_of_2(triton.cdiv(room, CHUNK))
        self._counts = torch.zeros((3, chunks), dtype=torch.int32, device=device)

    def launch(
        self,
        objectives: torch.Tensor,
        items: torch.Tensor,
        count: torch.Tensor,
        keep: torch.Tensor,
        rounds: int,
        stays: torch.Tensor,
    ) -> None:
        """Find who stays.

        Args:
            objectives: [R, 3] float64; listed rows hold numbers.
            items: [room] int32, rows of the members in the order of their places; the first
                `count` count.
            count: [1] int32.
            keep: [1] int32, how many stay where there are more, at least 1.
            rounds: In how many rounds the others leave, at least 1.
            stays: [R] int8 receives 1 for a listed row that stays and 0 for one that leaves.
        """
        front = Front(objectives, items, count, keep)
        if not self._is_counted:
            self._sort(front, stays)
        for turn in range(rounds):
            if self._is_counted:
                launch(
                    rank_kernel, (triton.cdiv(self._room, ROWS),), *front, turn, stays,
                    *self._walked, self._worth, REFERENCE, self._room, ROUNDS=rounds,
                    warps=8, IS_FIRST=turn == 0, ROWS=ROWS, COLUMNS=COLUMNS,
                )  # fmt: skip
            else:
                self._filter(front, rounds, turn, stays)
            self._walk(front, rounds, turn)
            self._leave(front, rounds, turn, stays)

    def _sort(self, front: Front, stays: torch.Tensor) -> None:
        """Orders of many members by each objective."""
        launch(
            begin_kernel, (triton.cdiv(self._room, BLOCK),), *front, stays, self._keys,
            self._worth, self._room, BLOCK=BLOCK,
        )  # fmt: skip
        resort(self._keys, self._seats, front.size, self._orders[0])

    def _filter(self, front: Front, rounds: int, turn: int, stays: torch.Tensor) -> None:
        """Places of many members, once those of the last round have left."""
        orders, filtered = self._orders[turn % 2], self._orders[1 - turn % 2]
        grid = (triton.cdiv(self._room, CHUNK), 3)
        sizes = {"ROUNDS": rounds, "CHUNK": CHUNK, "CHUNKS": self._counts.shape[1]}
        given = orders, *front[1:], turn, stays, self._counts
        launch(count_kernel, grid, *given, self._room, **sizes)
        launch(filter_kernel, grid, *given, filtered, self._places, self._room, **sizes)
        launch(
            place_kernel, (triton.cdiv(self._room, BLOCK),), *front, turn, filtered, self._places,
            *self._walked, self._worth, REFERENCE, self._room, ROUNDS=rounds, BLOCK=BLOCK,
        )  # fmt: skip

    def _walk(self, front: Front, rounds: int, turn: int) -> None:
        """Worths of all who are left."""
        lanes = LANES if self._is_counted else MANY_LANES
        for is_first in (True, False):
            launch(
                walk_kernel, (triton.cdiv(self._room, lanes), SEGMENTS), front.size, front.keep,
                turn, *self._walked, self._state, self._worth, REFERENCE, self._room, warps=1,
                ROUNDS=rounds, IS_FIRST=is_first, SEGMENTS=SEGMENTS, GROUP=GROUP, LANES=lanes,
            )  # fmt: skip

    def _leave(self, front: Front, rounds: int, turn: int, stays: torch.Tensor) -> None:
        """Have the least worth leave."""
        given = *front[1:], turn, self._worth, stays
        if self._is_counted:
            grid = (triton.cdiv(self._room, ROWS),)
            launch(leave_kernel, grid, *given, warps=8, ROUNDS=rounds, ROWS=ROWS, COLUMNS=COLUMNS)
            return
        order = torch.sort(self._worth[:-1], stable=True).indices
        grid = (triton.cdiv(self._room, BLOCK),)
        launch(mark_kernel, grid, order, *given, ROUNDS=rounds, BLOCK=BLOCK)
