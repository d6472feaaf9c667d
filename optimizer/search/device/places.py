"""Orders and selections on a device, of as many entries as the device knows of.

A few entries are sorted by counting who comes before: that is one launch, and a device compares
millions of pairs while another kernel begins. Many are sorted by torch.
"""

import torch
import triton

from engine.backends.cuda.launch import launch
from optimizer.search.device.kernels.places import keys_kernel, order_kernel, select_kernel

COUNTED = 4096
"""Up to so many entries are sorted by counting."""

LAST = torch.iinfo(torch.int64).max
"""A key behind all others."""

ROWS, COLUMNS = 16, 256
"""Entries that a program places, and those that it compares them with at a time."""

CHUNK = 2048
"""Entries that are selected at a time."""

KEYS = 256
"""Keys of a program."""


def keys_of(values: torch.Tensor, keys: torch.Tensor) -> None:
    """Whole numbers that compare as numbers do; a negative zero is zero.

    Args:
        values: [N] float64, none NaN.
        keys: [N] int64 receives them.
    """
    launch(
        keys_kernel, (triton.cdiv(values.numel(), 256),), values, keys, values.numel(), BLOCK=256
    )


def resort(keys: torch.Tensor, order: torch.Tensor, count: torch.Tensor, out: torch.Tensor) -> None:
    """Sort places by their keys, stably on top of the order in which they come.

    Args:
        keys: [N] or [B, N] int64; key of each place.
        order: [N] or [B, N] int32, a row of places for each of keys; the first `count` count.
        count: [1] int32, the same for all rows.
        out: As `order`, receives the places, smallest key first; beyond `count` anything.
    """
    size = order.shape[-1]
    if size <= COUNTED:
        grid = (triton.cdiv(size, ROWS), order.numel() // size)
        launch(order_kernel, grid, keys, order, count, out, size, ROWS=ROWS, COLUMNS=COLUMNS)
        return
    is_there = torch.arange(size, device=order.device) < count
    places = torch.where(is_there, order, 0).long()
    taken = torch.where(is_there, keys.gather(-1, places), LAST)
    out.copy_(places.gather(-1, torch.sort(taken, dim=-1, stable=True).indices))


def select(
    flags: torch.Tensor,
    items: torch.Tensor,
    count: torch.Tensor,
    out: torch.Tensor,
    found: torch.Tensor,
) -> None:
    """Keep the items whose flag is set, in their order.

    Args:
        flags: [N] int8, of each item.
        items: [M] int32, numbers below N; the first `count` count.
        count: [1] int32.
        out: [M] int32, not `items`, receives those kept; beyond `found` anything.
        found: [1] int32 receives how many.
    """
    launch(select_kernel, (1,), flags, items, count, out, found, warps=8, CHUNK=CHUNK)
