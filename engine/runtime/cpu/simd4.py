"""Lanes: four float64 that compiled loops handle as one number, each operation on all four.

A recurrence waits for its own last step; four of them side by side wait together.
"""

from typing import Any

from llvmlite import ir
from numba import types

from engine.runtime.cpu.simd_types import build_vector, instruction, lanes

LANES = 4

Starts = tuple[int, int, int, int]
"""Where each lane is in a column."""

VECTOR = ir.VectorType(ir.DoubleType(), LANES)

Lanes = Any
"""Four float64; a type of the compiler, unknown to Python's types."""


@instruction(lanes, types.float64)
def splat(builder, value):
    """The same number in all lanes."""
    return build_vector(builder, [value] * LANES)


@instruction(lanes, lanes)
def root(builder, value):
    """The square root of each lane, rounded once."""
    kind = ir.FunctionType(VECTOR, [VECTOR])
    name = f"llvm.sqrt.v{LANES}f64"
    return builder.call(builder.module.declare_intrinsic(name, (), kind), [value])


@instruction(lanes, lanes, lanes, lanes)
def quotient(builder, x, count, inverse):
    """The quotient x / count of each lane, for whole counts; `inverse` is 1 / count, rounded.

    A processor divides four times as slowly as it multiplies. `near = x * inverse` is within two
    units of the last place. The rest, `x - near * count`, has few digits because `count` is
    whole, so that a fused operation computes it without rounding. `near + left * inverse`, rounded
    once, then comes from a number within 2**-52 units of x / count. From where rounding changes,
    x / count is farther than that, again because `count` is whole and below 2**50. The result is
    that of a division in every bit, where nothing overflows or is subnormal on the way.

    Source: P. W. Markstein, Computation of elementary functions on the IBM RISC System/6000
    processor, IBM Journal of Research and Development 34 (1990); GPUs divide in the same way.
    """
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    fused = builder.module.declare_intrinsic(f"llvm.fma.v{LANES}f64", (), kind)
    near = builder.fmul(x, inverse)
    left = builder.call(fused, [builder.fneg(near), count, x])
    return builder.call(fused, [left, inverse, near])


@instruction(lanes, lanes, lanes, lanes, lanes)
def above(builder, x, y, yes, no):
    """`yes` in each lane where x > y, else `no`."""
    return builder.select(builder.fcmp_ordered(">", x, y), yes, no)


@instruction(lanes, lanes)
def whole_part(builder, x):
    """Each lane without its digits behind the point, for numbers below 2**31."""
    whole = builder.fptosi(x, ir.VectorType(ir.IntType(32), LANES))
    return builder.sitofp(whole, VECTOR)


@instruction(lanes, None, types.int64, types.int64, lanes, lanes, lanes)
def select_by_side(builder, words, first, shift, up, down, flat):
    """By two bits of each of words[first : first + 4], uint32, from bit `shift` on: 2 is up."""
    is_up, is_down = _sides(builder, words, first, shift)
    return builder.select(is_up, up, builder.select(is_down, down, flat))


@instruction(lanes, None, types.int64, types.int64, lanes)
def sign_by_side(builder, words, first, shift, value):
    """The value where such bits are 2, less itself where they are 0, else 0."""
    is_up, is_down = _sides(builder, words, first, shift)
    below = builder.select(is_down, builder.fneg(value), _constant(0.0))
    return builder.select(is_up, value, below)


@instruction(lanes, lanes, lanes)
def where_positive(builder, condition, value):
    """The value of each lane where the condition is above 0, else NaN."""
    is_positive = builder.fcmp_ordered(">", condition, _constant(0.0))
    return builder.select(is_positive, value, _constant(float("nan")))


@instruction(lanes, lanes)
def canonical(builder, value):
    """Each lane without the sign of a zero; every NaN is the same."""
    is_known = builder.fcmp_ordered("==", value, value)
    known = builder.select(is_known, value, _constant(float("nan")))
    return builder.fadd(known, _constant(0.0))


@instruction(types.UniTuple(types.int64, LANES), None, types.int64)
def four(builder, column, first):
    """column[first : first + 4] as starts."""
    addresses = [builder.add(first, ir.Constant(ir.IntType(64), lane)) for lane in range(LANES)]
    starts = ir.Constant(ir.ArrayType(ir.IntType(64), LANES), ir.Undefined)
    for lane, address in enumerate(addresses):
        start = builder.load(builder.gep(column.data, [address]))
        starts = builder.insert_value(starts, start, lane)
    return starts


@instruction(lanes, None, None, types.int64)
def gather(builder, column, starts, k):
    """column[starts[lane] + k] of each lane."""
    addresses = [builder.add(builder.extract_value(starts, i), k) for i in range(LANES)]
    return build_vector(
        builder, [builder.load(builder.gep(column.data, [address])) for address in addresses]
    )


@instruction(types.void, None, None, types.int64, lanes)
def scatter(builder, column, starts, k, value):
    """Write each lane to column[starts[lane] + k]; where lanes share a place, the first stays."""
    for lane in reversed(range(LANES)):
        address = builder.add(builder.extract_value(starts, lane), k)
        lane_value = builder.extract_element(value, ir.Constant(ir.IntType(32), lane))
        builder.store(lane_value, builder.gep(column.data, [address]))


@instruction(lanes, None, types.int64)
def load(builder, column, first):
    """column[first : first + 4], a lane each."""
    return builder.load(_pointer(builder, column, first, VECTOR), align=8)


@instruction(types.void, None, types.int64, lanes)
def store(builder, column, first, value):
    """Write the lanes to column[first : first + 4]."""
    builder.store(value, _pointer(builder, column, first, VECTOR), align=8)


@instruction(types.int64, None, types.int64)
def take(builder, counters, place):
    """counters[place], which grows by one: no two threads get the same."""
    step = ir.Constant(ir.IntType(64), 1)
    return builder.atomic_rmw("add", builder.gep(counters.data, [place]), step, "acq_rel")


def _sides(builder, words, first, shift):
    """Truths by two bits of each word: they are 2, they are 0."""
    kind = ir.VectorType(ir.IntType(32), LANES)
    bytes_read = builder.load(_pointer(builder, words, first, kind), align=4)
    by = builder.trunc(shift, ir.IntType(32))
    none = ir.Constant(kind, [0] * LANES)

    def mask_bits(bits):
        mask = builder.shl(ir.Constant(ir.IntType(32), bits), by)
        return builder.and_(bytes_read, build_vector(builder, [mask] * LANES))

    return builder.icmp_signed("!=", mask_bits(2), none), builder.icmp_signed(
        "==", mask_bits(3), none
    )


def _constant(value):
    return ir.Constant(VECTOR, [value] * LANES)


def _pointer(builder, column, first, kind):
    """Where a column holds lanes from a place on."""
    return builder.bitcast(builder.gep(column.data, [first]), kind.as_pointer())
