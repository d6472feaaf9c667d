"""Primitives below loops that are compiled for a GPU, by the names of those of CPU cores."""

from collections.abc import Callable
from typing import Any

import numpy as np


def list_primitives(make: Callable[[Any], Any]) -> dict[str, Any]:
    """Substitutes for `engine.runtime.cpu.simd8` there, and the compiler's own words.

    Args:
        make: Compiles a function for a device.
    """
    from numba import cuda, types
    from numba.cuda import libdevice
    from numba.cuda.extending import intrinsic

    @intrinsic
    def load_value(typing, columns, row, place):
        """columns[row, place] of contiguous columns; places do not count from the end."""
        kind = columns.dtype
        is_short = isinstance(kind, types.Integer) and kind.signed

        def code(context, builder, sig, args):
            array = context.make_array(sig.args[0])(context, builder, args[0])
            width = builder.extract_value(array.shape, 1)
            at = builder.gep(array.data, [builder.add(builder.mul(args[1], width), args[2])])
            value = builder.load(at)
            return builder.sext(value, context.get_value_type(types.int64)) if is_short else value

        return (types.int64 if is_short else kind)(columns, types.int64, types.int64), code

    def lowest_place(bits):
        return types.int64(cuda.ffs(types.int64(bits))) - 1

    def magnitude(x):
        return abs(x)

    def smaller(x, y):
        return x if x < y else y

    def larger(x, y):
        return x if x > y else y

    def canonicalize(x):
        return x + 0.0 if abs(x) < np.inf else np.nan

    def round_up(x):
        return libdevice.ceil(x)

    def round_down(x):
        return libdevice.floor(x)

    functions = lowest_place, magnitude, smaller, larger, canonicalize, round_up, round_down
    made = {function.__name__: make(function) for function in functions}
    return made | {"load_value": load_value, "cuda": cuda}
