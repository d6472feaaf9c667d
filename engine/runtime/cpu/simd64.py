"""Codes of one byte, 64 bars at a time: a word of bits for each comparison."""

from llvmlite import ir
from numba import types

from engine.runtime.cpu.simd8 import EIGHT, VECTOR, expect_line
from engine.runtime.cpu.simd_types import eights, instruction

CODES = 64
"""Codes that are compared at once, a bit of a word each."""

BYTE, WHOLE, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
BYTES = ir.VectorType(BYTE, CODES)


@instruction(types.UniTuple(types.uint64, 2), types.int64, types.int64)
def compare_codes(builder, larger, smaller):
    """Words of where codes at one address are above those at another, and where both are equal.

    Nothing is above a code of 0.
    """
    x, y = (
        builder.load(builder.inttoptr(address, BYTES.as_pointer()), align=1)
        for address in (larger, smaller)
    )
    is_known = builder.icmp_unsigned("!=", y, ir.Constant(BYTES, None))
    above = builder.and_(builder.icmp_unsigned(">", x, y), is_known)
    words = ir.Constant(ir.ArrayType(WORD, 2), ir.Undefined)
    for place, bits in enumerate((above, builder.icmp_unsigned("==", x, y))):
        words = builder.insert_value(words, builder.bitcast(bits, WORD), place)
    return words


@instruction(types.float64, types.int64)
def load_number(builder, address):
    """The number at an address."""
    return builder.load(builder.inttoptr(address, ir.DoubleType().as_pointer()))


@instruction(types.void, types.int64)
def expect_number(builder, address):
    """Have the number at an address on its way."""
    expect_line(builder, builder.inttoptr(address, ir.DoubleType().as_pointer()))


@instruction(eights, types.int64)
def load_numbers(builder, address):
    """Eight numbers from an address on."""
    return builder.load(builder.inttoptr(address, VECTOR.as_pointer()), align=8)


@instruction(types.void, types.int64, eights, eights, types.float64)
def store_codes(builder, address, value, position, most):
    """Write 1 + the whole part of eight positions, 0 .. most, from an address on; 0 at NaN."""
    least, whole = ir.Constant(VECTOR, [0.0] * EIGHT), ir.VectorType(WHOLE, EIGHT)
    highest = ir.Constant(VECTOR, ir.Undefined)
    for lane in range(EIGHT):
        highest = builder.insert_element(highest, most, ir.Constant(WHOLE, lane))
    above = builder.select(builder.fcmp_ordered(">", position, least), position, least)
    within = builder.select(builder.fcmp_ordered("<", above, highest), above, highest)
    codes = builder.add(builder.fptosi(within, whole), ir.Constant(whole, [1] * EIGHT))
    is_known = builder.fcmp_ordered("==", value, value)
    known = builder.select(is_known, codes, ir.Constant(whole, [0] * EIGHT))
    small = ir.VectorType(BYTE, EIGHT)
    at = builder.inttoptr(address, small.as_pointer())
    builder.store(builder.trunc(known, small), at, align=1)


@instruction(types.void, types.int64, types.int64)
def store_code(builder, address, code):
    """Write one code to an address."""
    builder.store(builder.trunc(code, BYTE), builder.inttoptr(address, BYTE.as_pointer()))
