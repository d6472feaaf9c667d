"""The small records of tensors that the stages hand to each other."""

from typing import NamedTuple

import torch


class Lists(NamedTuple):
    """Buffers of all pairs of individual and window; a pair's entries lie side by side.

    Args:
        counts: [pairs] int32, signals of each pair.
        bars: [pairs, capacity] int32, signal bars.
        exits: [pairs, capacity] int32, exit bars, or the signal's own where a trade would risk too
            little; until then, scratch of the signals.
        trade_list: [pairs, capacity] int64, signal bar in the upper half, exit bar in the lower.
        words: [pairs, capacity] int32, scratch of the signals.
        trades: [pairs] int32, how many there are.
        rejected: [pairs] int32.
        r: [pairs, capacity] float64, R of each trade.
        sums: [pairs, capacity] float64, sum of R after each trade.
        equity: [pairs, capacity] float64, equity after each trade.
    """

    counts: torch.Tensor
    bars: torch.Tensor
    exits: torch.Tensor
    trade_list: torch.Tensor
    words: torch.Tensor
    trades: torch.Tensor
    rejected: torch.Tensor
    r: torch.Tensor
    sums: torch.Tensor
    equity: torch.Tensor

    @staticmethod
    def bytes_of_pair(capacity: int) -> int:
        """Bytes that one pair takes."""
        return 12 + capacity * (3 * 4 + 4 * 8)

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
            whole(pairs, capacity), whole(pairs), whole(pairs), real(), real(), real(),
        )  # fmt: skip


class TradePrices(NamedTuple):
    """What ledgers need beside R.

    Args:
        prices: [pairs, capacity, 4] float64, entry, stop, target, exit.
        reasons: [pairs, capacity] int8, places in `REASONS`.
    """

    prices: torch.Tensor
    reasons: torch.Tensor

    @staticmethod
    def bytes_of_pair(capacity: int) -> int:
        """Bytes that one pair takes."""
        return capacity * (4 * 8 + 1)

    @classmethod
    def empty(cls, pairs: int, capacity: int, device: torch.device) -> "TradePrices":
        """Room for so many pairs; nothing in it is read before it is written."""
        shape = (pairs, capacity)
        prices = torch.empty((*shape, 4), dtype=torch.float64, device=device)
        return cls(prices, torch.empty(shape, dtype=torch.int8, device=device))
