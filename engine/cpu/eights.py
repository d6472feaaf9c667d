"""Eight bars in a row as one number: what compiled loops ask of them at once, without a branch.

A loop that looks at one bar after another is left at a bar that no processor foresees.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError

from engine.cpu.vectors import eights, instruction, joined

EIGHT = 8

VECTOR = ir.VectorType(ir.DoubleType(), EIGHT)
WHOLE, PLACE = ir.IntType(64), ir.IntType(32)

Eight = Any
"""Eight float64; a type of the compiler, of which Python's types know nothing."""


@instruction
def eight_of(typing, columns, row, first):
    """columns[row, first : first + 8] of contiguous columns; all of them are read."""
    _require_contiguous(columns)

    def code(context, builder, sig, args):
        at = _pointer(context, builder, sig, args)
        return builder.load(builder.bitcast(at, VECTOR.as_pointer()), align=8)

    return eights(columns, types.int64, types.int64), code


@instruction
def value_of(typing, columns, row, place):
    """columns[row, place] of contiguous columns; places do not count from the end."""
    _require_contiguous(columns)

    def code(context, builder, sig, args):
        return builder.load(_pointer(context, builder, sig, args))

    return columns.dtype(columns, types.int64, types.int64), code


@instruction
def store_eight(typing, columns, row, first, value):
    """Write eight to columns[row, first : first + 8]."""
    _require_contiguous(columns)

    def code(context, builder, sig, args):
        at = _pointer(context, builder, sig, args)
        builder.store(args[3], builder.bitcast(at, VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(columns, types.int64, types.int64, eights), code


@instruction
def eight_at(typing, addresses, row, place, first):
    """Eight numbers from `first` on of what lies at the address addresses[row, place]."""
    _require_contiguous(addresses)

    def code(context, builder, sig, args):
        at = _address(context, builder, sig, args)
        return builder.load(builder.bitcast(at, VECTOR.as_pointer()), align=8)

    return eights(addresses, types.int64, types.int64, types.int64), code


@instruction
def value_at(typing, addresses, row, place, bar):
    """The number at `bar` of what lies at the address addresses[row, place]."""
    _require_contiguous(addresses)

    def code(context, builder, sig, args):
        return builder.load(_address(context, builder, sig, args))

    return types.float64(addresses, types.int64, types.int64, types.int64), code


@instruction
def eight_times(typing, value):
    """The same number in all lanes."""

    def code(context, builder, sig, args):
        return joined(builder, [args[0]] * EIGHT)

    return eights(types.float64), code


def _chosen_by(relation):
    """Of two numbers or eights the first where a relation holds, else the second."""

    def chosen(typing, x, y):
        def code(context, builder, sig, args):
            return builder.select(builder.fcmp_ordered(relation, *args), *args)

        return x(x, x), code

    return instruction(chosen)


larger, smaller = _chosen_by(">"), _chosen_by("<")
"""The larger, the smaller of two numbers or eights; where x is no number it is y."""


@instruction
def known(typing, x):
    """A number or eight, NaN where it is not finite; a zero has no sign."""

    def code(context, builder, sig, args):
        (value,) = args
        is_finite = builder.fcmp_ordered("<", _magnitude(builder, value), _full(value, "inf"))
        found = builder.select(is_finite, value, _full(value, "nan"))
        return builder.fadd(found, _full(value, 0.0))

    return x(x), code


@instruction
def magnitude(typing, x):
    """A number or eight without its sign."""

    def code(context, builder, sig, args):
        return _magnitude(builder, *args)

    return x(x), code


@instruction
def largest_so_far(typing, x):
    """The largest of a lane and all before it."""

    def code(context, builder, sig, args):
        found = args[0]
        for step in (1, 2, 4):
            # Behind the first lanes are the lanes themselves.
            places = [max(lane - step, 0) for lane in range(EIGHT)]
            earlier = _shuffled(builder, found, found, places)
            found = builder.select(builder.fcmp_ordered(">", earlier, found), earlier, found)
        return found

    return eights(eights), code


@instruction
def where_at_least(typing, x, y, yes, no):
    """`yes` in each lane where x >= y, else `no`."""

    def code(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">=", args[0], args[1]), args[2], args[3])

    return eights(eights, eights, eights, eights), code


def _bits_where(relation):
    """Bit k of a whole number says whether a relation, such as ``>``, holds in lane k."""

    def bits(typing, x, y):
        def code(context, builder, sig, args):
            holds = builder.fcmp_ordered(relation, *args)
            return builder.zext(builder.bitcast(holds, ir.IntType(EIGHT)), WHOLE)

        return types.int64(eights, eights), code

    return instruction(bits)


bits_above, bits_at_least, bits_at_most = (_bits_where(relation) for relation in (">", ">=", "<="))
"""Bit k of a whole number says whether x > y, x >= y, x <= y in lane k."""


@instruction
def one_later(typing, before, x):
    """What is a lane before each; before the first lane, the last lane of `before`."""

    def code(context, builder, sig, args):
        return _shuffled(builder, *args, range(EIGHT - 1, 2 * EIGHT - 1))

    return eights(eights, eights), code


@instruction
def last_times(typing, x):
    """The last lane in all lanes."""

    def code(context, builder, sig, args):
        return _shuffled(builder, args[0], args[0], [EIGHT - 1] * EIGHT)

    return eights(eights), code


@instruction
def lane_of(typing, x, k):
    """Lane k."""

    def code(context, builder, sig, args):
        return builder.extract_element(args[0], builder.trunc(args[1], PLACE))

    return types.float64(eights, types.int64), code


@instruction
def lowest_place(typing, bits):
    """Number of the lowest bit that is set; there is one."""

    def code(context, builder, sig, args):
        kind = ir.FunctionType(WHOLE, [WHOLE, ir.IntType(1)])
        count = builder.module.declare_intrinsic("llvm.cttz", [WHOLE], kind)
        return builder.call(count, [args[0], ir.Constant(ir.IntType(1), 1)])

    return types.int64(bits), code


def _require_contiguous(columns):
    """Addresses are counted, so that columns that lie otherwise would be read wrongly."""
    if columns.layout != "C":
        raise TypingError(f"columns must lie one after another, not {columns}")


def _pointer(context, builder, sig, args):
    """Where columns, the first argument, hold the row and place of the other two."""
    found = context.make_array(sig.args[0])(context, builder, args[0])
    width = builder.extract_value(found.shape, 1)
    return builder.gep(found.data, [builder.add(builder.mul(args[1], width), args[2])])


def _address(context, builder, sig, args):
    """Where the number stands that the last argument counts from an address on."""
    address = builder.load(_pointer(context, builder, sig, args[:3]))
    return builder.gep(builder.inttoptr(address, ir.DoubleType().as_pointer()), [args[3]])


def _magnitude(builder, value):
    name = f"llvm.fabs.v{EIGHT}f64" if value.type == VECTOR else "llvm.fabs.f64"
    kind = ir.FunctionType(value.type, [value.type])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), [value])


def _full(like, number):
    """A constant of the same type as a value."""
    value = float(number)
    return ir.Constant(like.type, [value] * EIGHT if like.type == VECTOR else value)


def _shuffled(builder, x, y, places):
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(PLACE, EIGHT), list(places)))
