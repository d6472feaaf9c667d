"""Ranks, crowding and the order of standing of a pool on a device.

The definitions are those of `optimizer.search.ranking`, for three objectives, none of them beyond
`LARGE`. A pool has slots: [0, P) the population, [P, 2 P) newcomers, whose rows come after an
archive's.

Fronts are found in lexicographic order, 1,024 places at a time: within a block who dominates whom
is one bit, and fronts are peeled off by a single program that keeps all bits in registers; then
everybody behind the block learns in which front the block allows it to be.
"""

import torch
import triton

from engine.backends.cuda.launch import launch
from optimizer.errors import OptimizerError
from optimizer.search.device.kernels.crowding import (
    crowding_kernel,
    gaps_kernel,
    member_keys_kernel,
    standing_kernel,
)
from optimizer.search.device.kernels.fronts import (
    bits_kernel,
    orders_kernel,
    peel_kernel,
    push_kernel,
    slot_keys_kernel,
)
from optimizer.search.device.places import COUNTED, LAST, resort

BLOCK = 1024
"""Places whose fronts are peeled off together."""

ROWS, COLUMNS = 8, 256
"""Individuals of a program, and those that it compares them with at a time."""

CROWDED = 4
"""Likewise of a program that looks for neighbours, which holds more of each pair."""

SLOTS = 256
"""Slots of a program that goes through them once."""

MARKED = 128
"""Places of a program that says by whom of 32 others they are dominated."""

TARGETS, SOURCES = 32, 64
"""Whom a program moves behind a block, and by how many of the block at a time."""

WIDTH = 20
"""Bits of a slot, of a front and of a place in a key."""


class Pool:
    """A population and its newcomers in the order in which they stand.

    After `launch`, where N = 2 P:

    - `size` [1] int32, how many there are; `order` [N] int32, their slots, best first;
    - `fronts` [N] int32 by slot, -1 for who is not feasible;
    - `classes` [N] int64 by slot, who stands before whom first of all: fronts, then those of copies
      from 1 << `WIDTH` on, and 2 << `WIDTH` for all who are not feasible;
    - `details` [N] int64 by slot, what decides next: wide crowding or small violations first;
    - `firsts` [3, N] int32 by slot, how many feasible ones come before in each order of objectives.

    Args:
        population: P, at least 1, the number of individuals that the population has.
        archive: A, rows between the population and the newcomers.
        device: Where the tensors lie.

    Raises:
        OptimizerError: When there are more slots than a key can hold.
    """

    def __init__(self, population: int, archive: int, device: torch.device) -> None:
        if 2 * population >= 1 << WIDTH:
            raise OptimizerError(
                f"a population on a device must be below {1 << (WIDTH - 1)}, got {population}"
            )
        self._sizes = population, archive
        slots = 2 * population
        self.is_counted = slots <= COUNTED
        self._iota = torch.arange(slots, dtype=torch.int32, device=device)
        self._rows = self._iota + archive * (self._iota >= population)  # [N]
        self._counts = torch.zeros(2, dtype=torch.int32, device=device)
        self.feasible, self.size = self._counts[:1], self._counts[1:]
        self.firsts = torch.zeros((3, slots), dtype=torch.int32, device=device)
        self._places = torch.zeros((4, slots), dtype=torch.int32, device=device)
        self._columns = torch.zeros((2, slots), dtype=torch.float64, device=device)
        self._blocks = triton.cdiv(slots, BLOCK)
        self._bits = torch.zeros((self._blocks, 32, BLOCK), dtype=torch.int32, device=device)
        self.fronts = torch.zeros(slots, dtype=torch.int32, device=device)
        self.classes = torch.zeros(slots, dtype=torch.int64, device=device)
        self.details = torch.zeros(slots, dtype=torch.int64, device=device)
        self.order = torch.zeros(slots, dtype=torch.int32, device=device)
        self._keys = torch.zeros((3, slots), dtype=torch.int64, device=device)
        self._gaps = torch.zeros((3, slots), dtype=torch.float64, device=device)

    def launch(
        self, objectives: torch.Tensor, violations: torch.Tensor, born: torch.Tensor
    ) -> None:
        """Rank everybody.

        Args:
            objectives: [R, 3] float64 by row.
            violations: [R] float64 by row.
            born: [1] int32, newcomers.
        """
        if self.is_counted:
            self._count_orders(objectives, violations, born)
        else:
            self._sort_orders(objectives, violations, born)
        self._find_fronts()
        self._stand(objectives, violations)

    def crowd(
        self,
        objectives: torch.Tensor,
        fronts: torch.Tensor,
        slots: torch.Tensor,
        count: torch.Tensor,
        out: torch.Tensor,
    ) -> None:
        """Crowding distances of some of the pool among themselves, who were moved since.

        Args:
            objectives: [R, 3] float64; those of number i are now in row i, below P.
            fronts: [P] int32, of each number, -1 for who is not feasible.
            slots: [P] int32, where each was when the pool was launched.
            count: [1] int32, how many they are.
            out: [R] float64 receives the distances by number, 0 for who is not feasible.
        """
        grid = (triton.cdiv(fronts.numel(), CROWDED),)
        if not self.is_counted:
            self._measure(objectives, fronts, slots, count)
        launch(
            crowding_kernel, grid, objectives, fronts, slots, self.firsts, self._gaps, count, out,
            *self._sizes, self.fronts.numel(), IS_KNOWN=not self.is_counted, ROWS=CROWDED,
            COLUMNS=COLUMNS,
        )  # fmt: skip

    def _count_orders(
        self, objectives: torch.Tensor, violations: torch.Tensor, born: torch.Tensor
    ) -> None:
        """Orders of a few, by counting who comes before."""
        launch(
            orders_kernel, (triton.cdiv(self.fronts.numel(), ROWS), 3), objectives, violations,
            born, self.firsts, self._places[0], *self._columns, *self._places[1:3], self.fronts,
            self._counts, *self._sizes, ROWS=ROWS, COLUMNS=COLUMNS,
        )  # fmt: skip

    def _sort_orders(
        self, objectives: torch.Tensor, violations: torch.Tensor, born: torch.Tensor
    ) -> None:
        """Orders of many: each objective becomes a level, and three levels a key."""
        size = self.fronts.numel()
        launch(
            slot_keys_kernel, (triton.cdiv(size, SLOTS),), objectives, violations, born, self._keys,
            self.fronts, self._counts, *self._sizes, BLOCK=SLOTS,
        )  # fmt: skip
        levels = torch.searchsorted(torch.sort(self._keys, dim=1).values, self._keys)
        a, b, c = (levels << (2 * WIDTH)), (levels << WIDTH), levels
        keys = torch.stack([a[0] + b[1] + c[2], a[1] + b[0] + c[2], a[2] + b[1] + c[0]])
        is_absent = self._keys[0] == LAST
        keys.masked_fill_(is_absent, (1 << (3 * WIDTH)) - 1)
        number = torch.arange(3, device=keys.device)[:, None]
        flat = (keys + (number << (3 * WIDTH))).flatten()
        found = torch.sort(flat, stable=True)
        self.firsts.copy_(torch.searchsorted(found.values, flat).view(3, size) - number * size)
        order = found.indices[:size]
        rows = self._rows[order].long()
        self._places[0].copy_(order)
        self._places[1].copy_(self.firsts[0][order])
        self._places[2].zero_()
        self._columns.copy_(objectives[rows, 1:].T)
        self.feasible.copy_(size - is_absent.sum())

    def _find_fronts(self) -> None:
        """Fronts in the order of `_places[0]`, a block after the other."""
        order, groups, starts, _ = self._places
        columns = (*self._columns, groups)
        size = self.fronts.numel()
        words = min(32, triton.cdiv(size, 32))
        parts = triton.cdiv(min(size, BLOCK), MARKED)
        grid = (self._blocks, words, parts)
        launch(bits_kernel, grid, *columns, self.feasible, self._bits, TARGETS=MARKED)
        for block in range(self._blocks):
            launch(
                peel_kernel, (1,), self._bits, order, self.feasible, starts, self.fronts, block,
                warps=8,
            )  # fmt: skip
            behind = size - (block + 1) * BLOCK
            if behind > 0:
                launch(
                    push_kernel, (triton.cdiv(behind, TARGETS),), *columns, self.feasible, starts,
                    block, TARGETS=TARGETS, SOURCES=SOURCES,
                )  # fmt: skip

    def _stand(self, objectives: torch.Tensor, violations: torch.Tensor) -> None:
        """The order of standing: fronts, crowding, slots."""
        if not self.is_counted:
            self._measure(objectives, self.fronts, self._iota, self.size)
        launch(
            standing_kernel, (triton.cdiv(self.fronts.numel(), CROWDED),), objectives, violations,
            self.fronts, self._iota, self.firsts, self._places[0], self._gaps, self.size,
            self.classes, self.details, *self._sizes, self.fronts.numel(),
            IS_KNOWN=not self.is_counted, ROWS=CROWDED, COLUMNS=COLUMNS,
        )  # fmt: skip
        resort(self.details, self._iota, self.size, self._places[3])
        resort(self.classes, self._places[3], self.size, self.order)

    def _measure(
        self,
        objectives: torch.Tensor,
        fronts: torch.Tensor,
        slots: torch.Tensor,
        count: torch.Tensor,
    ) -> None:
        """Gaps of many, by sorting everybody by front and objective."""
        size = self._keys.shape[1]
        launch(
            member_keys_kernel, (triton.cdiv(size, SLOTS),), fronts, slots, self.firsts, count,
            self._keys, size, BLOCK=SLOTS,
        )  # fmt: skip
        keys = torch.sort(self._keys.flatten()).values
        launch(
            gaps_kernel, (triton.cdiv(3 * size, SLOTS),), keys, objectives, self._gaps,
            *self._sizes, size, STEPS=(3 * size).bit_length(), BLOCK=SLOTS,
        )  # fmt: skip
