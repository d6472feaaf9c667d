"""Products of 128 bits, for compiled loops."""

from typing import Any

from llvmlite import ir
from numba import types

from engine.runtime.cpu.simd_types import instruction

HALF, WHOLE = ir.IntType(64), ir.IntType(128)


@instruction(types.UniTuple(types.uint64, 2), types.uint64, types.uint64)
def multiply_wide(builder, one, other) -> Any:
    """The upper and the lower 64 bits of a product, by one instruction of the processor."""
    product = builder.mul(builder.zext(one, WHOLE), builder.zext(other, WHOLE))
    upper = builder.trunc(builder.lshr(product, ir.Constant(WHOLE, 64)), HALF)
    halves = ir.Constant(ir.ArrayType(HALF, 2), ir.Undefined)
    halves = builder.insert_value(halves, upper, 0)
    return builder.insert_value(halves, builder.trunc(product, HALF), 1)
