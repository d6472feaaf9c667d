"""The small records of tensors that the stages hand to each other."""

from typing import NamedTuple

import torch


class Chunk(NamedTuple):
    """Pairs of individual and window that are evaluated together, on the device.

    Args:
        genomes: [P, G] float64.
        slots: [P, R] int32.
        genes: [P, C, 2] int32, slot and code of the threshold.
        pairs: [P, D, 2] int32, slots of the smaller and the larger row.
        exact: [P, E, 2] int32, the same.
        first: [P, W] int64, first bar that may signal, on the common axis.
        last: [P, W] int64, one past the last.
        ends: [P, W] int64, one past the last bar of the window.
    """

    genomes: torch.Tensor
    slots: torch.Tensor
    genes: torch.Tensor
    pairs: torch.Tensor
    exact: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor
    ends: torch.Tensor


class Trades(NamedTuple):
    """What the chain leaves.

    Args:
        out: [P * W, A] float64, accumulators.
        taken: [capacity, P * W] int32, places of the trades in the lists of signals.
    """

    out: torch.Tensor
    taken: torch.Tensor


class Signals(NamedTuple):
    """What the exit stage leaves for the chain; all [capacity, P * W].

    Args:
        counts: [P * W] int32, signals of each pair.
        bars: int32.
        exit_bars: int32, or why there is no exit.
        reasons: int8.
        r: float64.
        prices: [capacity, P * W, 4] float64, or one number when not wanted.
        capacity: Length of a list.
    """

    counts: torch.Tensor
    bars: torch.Tensor
    exit_bars: torch.Tensor
    reasons: torch.Tensor
    r: torch.Tensor
    prices: torch.Tensor
    capacity: int
