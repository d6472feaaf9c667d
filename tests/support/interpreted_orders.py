"""The walk of orders on a GPU as plain Python: one lane a warp, one pair after another."""

from types import SimpleNamespace

import numpy as np
import torch

from engine.cuda import limited_orders, order_accounts
from engine.positions.cuda.order_forms import list_given
from engine.positions.cuda.order_walk import retarget_loop


def load_value(columns, row, place):
    """As on a device, where nothing is asked; here what lies outside is an error."""
    assert 0 <= row < columns.shape[0]
    assert 0 <= place < columns.shape[1]
    return columns[row, place]


def allocate(count, kind):
    """Room that holds what nobody wrote."""
    return np.full(count, -7, "f8" if "float" in str(kind) else "i8")


WORDS = SimpleNamespace(
    threadIdx=SimpleNamespace(x=0),
    blockIdx=SimpleNamespace(x=0, y=0),
    local=SimpleNamespace(array=allocate),
    ballot_sync=lambda mask, hit: int(bool(hit)),
)
"""The compiler's words."""

PRIMITIVES = {
    "load_value": load_value,
    "lowest_place": lambda bits: (int(bits) & -int(bits)).bit_length() - 1,
    "magnitude": abs,
    "smaller": lambda x, y: x if x < y else y,
    "larger": lambda x, y: x if x > y else y,
    "canonicalize": lambda x: x + 0.0 if abs(x) < np.inf else np.nan,
    "round_up": np.ceil,
    "round_down": np.floor,
    "cuda": WORDS,
}


def launch_in_python(loop, form, grid, *arguments):
    """As `engine.cuda.order_accounts.launch_loop`, on tensors in host memory; a lane a warp."""
    *inputs, results = arguments
    here = [widen(each) for each in inputs]
    written = type(results)(*(tensor.numpy() for tensor in results))
    given = list_given(form, PRIMITIVES, lambda function: function)
    walk = retarget_loop(loop, given, lambda function: function)
    with np.errstate(all="ignore"):
        for WORDS.blockIdx.y in range(grid[1]):
            for WORDS.blockIdx.x in range(grid[0]):
                walk(*here, written)


def walk_by_one_lane():
    """Have walks of orders run in Python."""
    order_accounts.launch_loop = launch_in_python
    limited_orders.LANES = 1
    order_accounts.choose_width = limited_orders.choose_width = lambda pairs: 1


def widen(value):
    """Tensors as arrays of numbers that are as wide as the host's."""
    if isinstance(value, tuple):
        return type(value)(*map(widen, value))
    if not isinstance(value, torch.Tensor):
        return value
    array = value.numpy()
    return array.astype(np.int64) if array.dtype == np.int32 else array
