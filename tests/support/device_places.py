"""Orders and selections on a device, against numpy's stable ones.

    python -m tests.support.device_places cpu|cuda

On ``cpu`` with TRITON_INTERPRET=1. Ends with an assertion where anything differs.
"""

import sys

import numpy as np
import torch

from optimizer.search.device.places import COUNTED, keys_of, resort, select


def compare_orders(rng, device, size, count, rows):
    """Rows of numbers with ties and zeros of both signs, sorted on top of random orders."""
    shape = (rows, size) if rows else (size,)
    values = rng.integers(-4, 5, shape) * 0.5
    values[rng.random(shape) < 0.1] = -0.0
    order = np.stack([rng.permutation(size) for _ in range(max(rows, 1))]).astype(np.int32)
    keys = torch.empty(shape, dtype=torch.int64, device=device)
    keys_of(torch.tensor(values, device=device), keys)
    given = torch.tensor(order.reshape(shape), device=device)
    out = torch.full_like(given, -1)
    resort(keys, given, torch.tensor([count], dtype=torch.int32, device=device), out)
    found = out.cpu().numpy().reshape(-1, size)
    for row, (places, numbers) in enumerate(zip(order, values.reshape(-1, size), strict=True)):
        some = places[:count]
        expected = some[np.argsort(numbers[some] + 0.0, kind="stable")]
        assert np.array_equal(found[row, :count], expected), (size, count, rows, row)


def compare_selection(rng, device, size, count):
    """Some of a list of items, none, and all."""
    items = rng.permutation(size).astype(np.int32)
    for share in (0.0, 0.3, 1.0):
        flags = (rng.random(size) < share).astype(np.int8)
        out = torch.full((size,), -1, dtype=torch.int32, device=device)
        found = torch.full((1,), -1, dtype=torch.int32, device=device)
        given = (torch.tensor(flags, device=device), torch.tensor(items, device=device))
        select(*given, torch.tensor([count], dtype=torch.int32, device=device), out, found)
        expected = items[:count][flags[items[:count]] != 0]
        assert int(found[0]) == len(expected)
        assert np.array_equal(out[: len(expected)].cpu().numpy(), expected)


def main(device):
    """Compare sizes below and above what is counted."""
    rng = np.random.default_rng(3)
    for size, count in ((1, 1), (1, 0), (50, 37), (300, 300), (COUNTED, 700), (5000, 4123)):
        for rows in (0, 3):
            compare_orders(rng, device, size, count, rows)
        compare_selection(rng, device, size, count)
    print("every place equal")


if __name__ == "__main__":
    main(sys.argv[1])
