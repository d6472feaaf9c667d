"""The small records of tensors that the stages hand to each other."""

from typing import NamedTuple

import torch


class Lists(NamedTuple):
    """Buffers of all pairs of individual and window; a pair's entries lie side by side."""

    counts: torch.Tensor  # [pairs] int32, signals of each pair
    bars: torch.Tensor  # [pairs, capacity] int32, signal bars
    # [pairs, capacity] int32, exit bars, or the signal's own where a trade would risk too
    # little; until then, scratch of the signals.
    exits: torch.Tensor
    # [pairs, capacity] int64, signal bar in the upper half, exit bar in the lower.
    trade_list: torch.Tensor
    words: torch.Tensor  # [pairs, capacity] int32, scratch of the signals
    trades: torch.Tensor  # [pairs] int32, how many there are
    rejected: torch.Tensor  # [pairs] int32
    coarse: torch.Tensor  # [pairs] int32, bars of entries that no finer bars make up
    r: torch.Tensor  # [pairs, capacity] float64, R of each trade
    sums: torch.Tensor  # [pairs, capacity] float64, sum of R after each trade
    equity: torch.Tensor  # [pairs, capacity] float64, equity after each trade

    @staticmethod
    def bytes_of_pair(capacity: int) -> int:
        """Bytes that one pair takes."""
        return 16 + capacity * (3 * 4 + 4 * 8)

    @classmethod
    def empty(cls, pairs: int, capacity: int, device: torch.device) -> "Lists":
        """Room for so many pairs; nothing in it is read before it is written."""

        def whole(*shape: int) -> torch.Tensor:
            return torch.empty(shape, dtype=torch.int32, device=device)

        def real() -> torch.Tensor:
            return torch.empty((pairs, capacity), dtype=torch.float64, device=device)

        trades = torch.empty((pairs, capacity), dtype=torch.int64, device=device)
        return cls(
            whole(pairs), whole(pairs, capacity), whole(pairs, capacity), trades,
            whole(pairs, capacity), whole(pairs), whole(pairs), whole(pairs), real(), real(),
            real(),
        )  # fmt: skip


class AskLists(NamedTuple):
    """Signals of individuals that ask accounts with limits for room, in their order."""

    asks: torch.Tensor  # [pairs * capacity] int32, when each asks
    overs: torch.Tensor  # likewise, from when on its position is over
    # Likewise, from when on its window is flat again; then the numbers of taken ones.
    frees: torch.Tensor
    oldest: torch.Tensor  # likewise, the first of the taken ones that may be open then
    levers: torch.Tensor  # [pairs * capacity] float64, leverages
    taken: torch.Tensor  # [P] int32, how many are taken

    @staticmethod
    def bytes_of_pair(capacity: int) -> int:
        """Bytes that one pair takes."""
        return 4 + capacity * (4 * 4 + 8)

    @classmethod
    def empty(cls, individuals: int, entries: int, device: torch.device) -> "AskLists":
        """Room for so many; nothing in it is read before it is written."""
        asks, overs, frees, oldest = (
            torch.empty(entries, dtype=torch.int32, device=device) for _ in range(4)
        )
        levers = torch.empty(entries, dtype=torch.float64, device=device)
        taken = torch.empty(individuals, dtype=torch.int32, device=device)
        return cls(asks, overs, frees, oldest, levers, taken)


class MetWindows(NamedTuple):
    """Windows that individuals meet: all of them, or each some of its own."""

    table: torch.Tensor  # [N, 3] int32, first bar of the series, of the window, and one past it
    own: torch.Tensor | None = None  # [P, W] int32, numbers of each individual's windows

    @property
    def numbers(self) -> torch.Tensor:
        """Numbers for a kernel; it reads none if all individuals meet all windows."""
        return self.table if self.own is None else self.own


class TradePrices(NamedTuple):
    """Prices that ledgers need beside R."""

    prices: torch.Tensor  # [pairs, capacity, 4] float64, entry, stop, target, exit
    # [pairs, capacity] int8, places in `REASONS`, or `engine.positions.cuda.chain.LATE_GAP`.
    reasons: torch.Tensor
    gross: torch.Tensor  # [pairs, capacity] float64, what others have open; [1] without limits

    @staticmethod
    def bytes_of_pair(capacity: int) -> int:
        """Bytes that one pair takes."""
        return capacity * (5 * 8 + 1)

    @classmethod
    def empty(
        cls, pairs: int, capacity: int, device: torch.device, *, has_limits: bool
    ) -> "TradePrices":
        """Room for so many pairs; nothing in it is read before it is written."""
        shape = (pairs, capacity)
        prices = torch.empty((*shape, 4), dtype=torch.float64, device=device)
        gross = torch.empty(shape if has_limits else (1,), dtype=torch.float64, device=device)
        return cls(prices, torch.empty(shape, dtype=torch.int8, device=device), gross)
