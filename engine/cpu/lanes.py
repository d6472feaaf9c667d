"""Lanes: four float64 that compiled loops handle as one number, each operation on all four.

A recurrence waits for its own last step; four of them side by side wait together.
"""

from typing import Any

from llvmlite import ir
from numba import types

from engine.cpu.vectors import instruction, joined, lanes

LANES = 4

Starts = tuple[int, int, int, int]
"""Where each lane is in a column."""

VECTOR = ir.VectorType(ir.DoubleType(), LANES)

Lanes = Any
"""Four float64; a type of the compiler, of which Python's types know nothing."""


@instruction
def splat(typing, value):
    """The same number in all lanes."""

    def code(context, builder, sig, args):
        return joined(builder, [args[0]] * LANES)

    return lanes(types.float64), code


@instruction
def root(typing, value):
    """The square root of each lane, rounded once."""

    def code(context, builder, sig, args):
        kind = ir.FunctionType(VECTOR, [VECTOR])
        name = f"llvm.sqrt.v{LANES}f64"
        return builder.call(builder.module.declare_intrinsic(name, (), kind), args)

    return lanes(lanes), code


@instruction
def quotient(typing, x, count, inverse):
    """The quotient x / count of each lane, for whole counts; `inverse` is 1 / count, rounded.

    A processor divides four times as slowly as it multiplies. `near = x * inverse` is within two
    units of the last place. What is left, `x - near * count`, has few digits because `count` is
    whole, so that a fused operation computes it without rounding. `near + left * inverse`, rounded
    once, then comes from a number within 2**-52 units of x / count. From where rounding changes,
    x / count is farther than that, again because `count` is whole and below 2**50. The result is
    that of a division in every bit, where nothing overflows or is subnormal on the way.

    Source: P. W. Markstein, Computation of elementary functions on the IBM RISC System/6000
    processor, IBM Journal of Research and Development 34 (1990); GPUs divide in the same way.
    """

    def code(context, builder, sig, args):
        kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
        fused = builder.module.declare_intrinsic(f"llvm.fma.v{LANES}f64", (), kind)
        near = builder.fmul(args[0], args[2])
        left = builder.call(fused, [builder.fneg(near), args[1], args[0]])
        return builder.call(fused, [left, args[2], near])

    return lanes(lanes, lanes, lanes), code


@instruction
def above(typing, x, y, yes, no):
    """`yes` in each lane where x > y, else `no`."""

    def code(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[2], args[3])

    return lanes(lanes, lanes, lanes, lanes), code


@instruction
def whole_part(typing, x):
    """Each lane without its digits behind the point, for numbers below 2**31."""

    def code(context, builder, sig, args):
        whole = builder.fptosi(args[0], ir.VectorType(ir.IntType(32), LANES))
        return builder.sitofp(whole, VECTOR)

    return lanes(lanes), code


@instruction
def sided(typing, words, first, shift, up, down, flat):
    """By two bits of each of words[first : first + 4], uint32, from bit `shift` on: 2 is up."""

    def code(context, builder, sig, args):
        is_up, is_down = _sides(context, builder, sig, args)
        return builder.select(is_up, args[3], builder.select(is_down, args[4], args[5]))

    return lanes(words, types.int64, types.int64, lanes, lanes, lanes), code


@instruction
def signed(typing, words, first, shift, value):
    """The value where such bits are 2, less itself where they are 0, else 0."""

    def code(context, builder, sig, args):
        is_up, is_down = _sides(context, builder, sig, args)
        below = builder.select(is_down, builder.fneg(args[3]), _constant(0.0))
        return builder.select(is_up, args[3], below)

    return lanes(words, types.int64, types.int64, lanes), code


@instruction
def where_positive(typing, condition, value):
    """The value of each lane where the condition is above 0, else NaN."""

    def code(context, builder, sig, args):
        is_positive = builder.fcmp_ordered(">", args[0], _constant(0.0))
        return builder.select(is_positive, args[1], _constant(float("nan")))

    return lanes(lanes, lanes), code


@instruction
def four(typing, column, first):
    """column[first : first + 4] as starts."""

    def code(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        places = [builder.add(args[1], ir.Constant(ir.IntType(64), lane)) for lane in range(LANES)]
        starts = [builder.load(builder.gep(data, [place])) for place in places]
        return context.make_tuple(builder, sig.return_type, starts)

    return types.UniTuple(types.int64, LANES)(column, types.int64), code


@instruction
def gather(typing, column, starts, k):
    """column[starts[lane] + k] of each lane."""

    def code(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        places = [builder.add(builder.extract_value(args[1], i), args[2]) for i in range(LANES)]
        return joined(builder, [builder.load(builder.gep(data, [place])) for place in places])

    return lanes(column, starts, types.int64), code


@instruction
def scatter(typing, column, starts, k, value):
    """Write each lane to column[starts[lane] + k]; where lanes share a place, the first stays."""

    def code(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        for lane in reversed(range(LANES)):
            place = builder.add(builder.extract_value(args[1], lane), args[2])
            one = builder.extract_element(args[3], ir.Constant(ir.IntType(32), lane))
            builder.store(one, builder.gep(data, [place]))
        return context.get_dummy_value()

    return types.void(column, starts, types.int64, lanes), code


@instruction
def scatter_signs(typing, codes, starts, k, value):
    """Write each lane, -1, 0 or 1, as a code of one byte, 0 to 2, to codes[starts[lane] + k]."""

    def code(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        whole = builder.fptosi(
            builder.fadd(args[3], _constant(1.0)), ir.VectorType(ir.IntType(32), LANES)
        )
        for lane in reversed(range(LANES)):
            place = builder.add(builder.extract_value(args[1], lane), args[2])
            one = builder.extract_element(whole, ir.Constant(ir.IntType(32), lane))
            builder.store(builder.trunc(one, ir.IntType(8)), builder.gep(data, [place]))
        return context.get_dummy_value()

    return types.void(codes, starts, types.int64, lanes), code


@instruction
def load(typing, column, first):
    """column[first : first + 4], a lane each."""

    def code(context, builder, sig, args):
        return builder.load(_pointer(context, builder, sig, args, VECTOR), align=8)

    return lanes(column, types.int64), code


@instruction
def store(typing, column, first, value):
    """Write the lanes to column[first : first + 4]."""

    def code(context, builder, sig, args):
        builder.store(args[2], _pointer(context, builder, sig, args, VECTOR), align=8)
        return context.get_dummy_value()

    return types.void(column, types.int64, lanes), code


@instruction
def store_codes(typing, codes, first, a, b, at_a, at_b, most):
    """Write 1 + the whole part of positions, 0 .. most, to codes[first : first + 8]; 0 at NaN."""

    def code(context, builder, sig, args):
        least, most = _constant(0.0), joined(builder, [args[6]] * LANES)
        whole = ir.VectorType(ir.IntType(32), LANES)
        one, none = ir.Constant(whole, [1] * LANES), ir.Constant(whole, [0] * LANES)
        halves = []
        for value, position in ((args[2], args[4]), (args[3], args[5])):
            above = builder.select(builder.fcmp_ordered(">", position, least), position, least)
            within = builder.select(builder.fcmp_ordered("<", above, most), above, most)
            half = builder.add(builder.fptosi(within, whole), one)
            is_known = builder.fcmp_ordered("==", value, value)
            halves.append(builder.select(is_known, half, none))
        order = ir.Constant(ir.VectorType(ir.IntType(32), 2 * LANES), list(range(2 * LANES)))
        small = ir.VectorType(ir.IntType(8), 2 * LANES)
        both = builder.trunc(builder.shuffle_vector(*halves, order), small)
        builder.store(both, _pointer(context, builder, sig, args, small), align=1)
        return context.get_dummy_value()

    return types.void(codes, types.int64, lanes, lanes, lanes, lanes, types.float64), code


@instruction
def take(typing, counters, place):
    """counters[place], which grows by one: no two threads get the same."""

    def code(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", builder.gep(data, [args[1]]), one, "acq_rel")

    return types.int64(counters, types.int64), code


def _sides(context, builder, sig, args):
    """Whether two bits of each word are 2, and whether they are 0."""
    kind = ir.VectorType(ir.IntType(32), LANES)
    found = builder.load(_pointer(context, builder, sig, args, kind), align=4)
    by = builder.trunc(args[2], ir.IntType(32))
    none = ir.Constant(kind, [0] * LANES)

    def masked(bits):
        mask = builder.shl(ir.Constant(ir.IntType(32), bits), by)
        return builder.and_(found, joined(builder, [mask] * LANES))

    return builder.icmp_signed("!=", masked(2), none), builder.icmp_signed("==", masked(3), none)


def _constant(value):
    return ir.Constant(VECTOR, [value] * LANES)


def _pointer(context, builder, sig, args, kind):
    """Where a column, the first argument, holds lanes from the second argument on."""
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(data, [args[1]]), kind.as_pointer())
