"""Eight bars in a row as one number: what compiled loops ask of them at once, without a branch.

A loop that looks at one bar after another is left at a bar that no processor foresees.
"""

from llvmlite import ir
from numba import types

from engine.runtime.cpu.simd_types import build_vector, eights, instruction

EIGHT = 8

VECTOR = ir.VectorType(ir.DoubleType(), EIGHT)
WHOLE, PLACE = ir.IntType(64), ir.IntType(32)


@instruction(eights, None, types.int64, types.int64)
def load_eight(builder, columns, row, first):
    """columns[row, first : first + 8] of contiguous columns; all of them are read."""
    at = _pointer(builder, columns, row, first)
    return builder.load(builder.bitcast(at, VECTOR.as_pointer()), align=8)


@instruction(None, None, types.int64, types.int64)
def load_value(builder, columns, row, place):
    """columns[row, place] of contiguous columns; places do not count from the end."""
    return builder.load(_pointer(builder, columns, row, place))


@instruction(types.void, None, types.int64, types.int64, eights)
def store_eight(builder, columns, row, first, value):
    """Write eight to columns[row, first : first + 8]."""
    at = _pointer(builder, columns, row, first)
    builder.store(value, builder.bitcast(at, VECTOR.as_pointer()), align=8)


@instruction(eights, None, types.int64, types.int64, types.int64)
def load_indirect_eight(builder, addresses, row, place, first):
    """Eight numbers from `first` on of what lies at the address addresses[row, place]."""
    at = _address(builder, addresses, row, place, first)
    return builder.load(builder.bitcast(at, VECTOR.as_pointer()), align=8)


@instruction(types.float64, None, types.int64, types.int64, types.int64)
def load_indirect_value(builder, addresses, row, place, bar):
    """The number at `bar` of what lies at the address addresses[row, place]."""
    return builder.load(_address(builder, addresses, row, place, bar))


@instruction(types.uint64, None, types.int64, types.int64, types.int64)
def load_indirect_word(builder, addresses, row, place, i):
    """The i-th of the words that lie at the address addresses[row, place]."""
    address = builder.load(_pointer(builder, addresses, row, place))
    return builder.load(builder.gep(builder.inttoptr(address, WHOLE.as_pointer()), [i]))


@instruction(types.void, None, types.int64, types.int64, types.int64)
def expect_indirect_value(builder, addresses, row, place, bar):
    """Have the number at `bar` of what lies at the address addresses[row, place] on its way."""
    expect_line(builder, _address(builder, addresses, row, place, bar))


@instruction(eights, types.float64)
def eight_times(builder, value):
    """The same number in all lanes."""
    return build_vector(builder, [value] * EIGHT)


def _build_select(relation):
    """The first of two numbers or eights if a relation holds, else the second."""

    @instruction(None, None, None)
    def select_value(builder, x, y):
        return builder.select(builder.fcmp_ordered(relation, x, y), x, y)

    return select_value


larger, smaller = _build_select(">"), _build_select("<")
"""The larger, the smaller of two numbers or eights; where x is no number it is y."""


@instruction(None, None)
def canonicalize(builder, x):
    """A number or eight, NaN if not finite; a zero has no sign."""
    is_finite = builder.fcmp_ordered("<", _magnitude(builder, x), _full(x, "inf"))
    canonical = builder.select(is_finite, x, _full(x, "nan"))
    return builder.fadd(canonical, _full(x, 0.0))


@instruction(None, None)
def magnitude(builder, x):
    """A number or eight without its sign."""
    return _magnitude(builder, x)


@instruction(eights, eights)
def largest_so_far(builder, x):
    """The largest of a lane and all before it."""
    largest = x
    for step in (1, 2, 4):
        # Behind the first lanes are the lanes themselves.
        earlier_lanes = [max(lane - step, 0) for lane in range(EIGHT)]
        earlier = _shuffle_lanes(builder, largest, largest, earlier_lanes)
        largest = builder.select(builder.fcmp_ordered(">", earlier, largest), earlier, largest)
    return largest


@instruction(eights, eights, eights, eights, eights)
def where_at_least(builder, x, y, yes, no):
    """`yes` in each lane where x >= y, else `no`."""
    return builder.select(builder.fcmp_ordered(">=", x, y), yes, no)


def _bits_where(relation):
    """Bits of a relation, such as ``>``: bit k is set if true in lane k."""

    @instruction(types.int64, eights, eights)
    def bits(builder, x, y):
        holds = builder.fcmp_ordered(relation, x, y)
        return builder.zext(builder.bitcast(holds, ir.IntType(EIGHT)), WHOLE)

    return bits


bits_above, bits_at_least, bits_at_most = (_bits_where(relation) for relation in (">", ">=", "<="))
"""Bits of x > y, x >= y and x <= y, one a lane."""


@instruction(eights, eights, eights)
def one_later(builder, before, x):
    """Values one lane before each; before the first lane, the last lane of `before`."""
    return _shuffle_lanes(builder, before, x, range(EIGHT - 1, 2 * EIGHT - 1))


@instruction(eights, eights)
def last_times(builder, x):
    """The last lane in all lanes."""
    return _shuffle_lanes(builder, x, x, [EIGHT - 1] * EIGHT)


@instruction(types.float64, eights, types.int64)
def extract_lane(builder, x, k):
    """Lane k."""
    return builder.extract_element(x, builder.trunc(k, PLACE))


def _build_rounding(name):
    """A number rounded by an instruction, such as ``floor``."""

    @instruction(types.float64, types.float64)
    def round_value(builder, x):
        kind = ir.FunctionType(x.type, [x.type])
        rounds = builder.module.declare_intrinsic(f"llvm.{name}", [x.type], kind)
        return builder.call(rounds, [x])

    return round_value


round_down, round_up = (_build_rounding(name) for name in ("floor", "ceil"))
"""The whole number at a number or below it, at it or above it."""


@instruction(types.int64, None)
def lowest_place(builder, bits):
    """Number of the lowest bit that is set; there is one."""
    kind = ir.FunctionType(WHOLE, [WHOLE, ir.IntType(1)])
    count = builder.module.declare_intrinsic("llvm.cttz", [WHOLE], kind)
    return builder.call(count, [bits, ir.Constant(ir.IntType(1), 1)])


@instruction(types.int64, None)
def count_bits(builder, bits):
    """How many bits are set."""
    kind = ir.FunctionType(WHOLE, [WHOLE])
    count = builder.module.declare_intrinsic("llvm.ctpop", [WHOLE], kind)
    return builder.call(count, [bits])


def expect_line(builder, at):
    """Fetch the line of a cache that a pointer points to, which is read soon."""
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    # To read, into all caches, data.
    flags = [ir.Constant(flag, number) for number in (0, 3, 1)]
    builder.call(fetch, [builder.bitcast(at, byte), *flags])


def _pointer(builder, columns, row, place):
    """Where columns hold a place of a row."""
    width = builder.extract_value(columns.shape, 1)
    return builder.gep(columns.data, [builder.add(builder.mul(row, width), place)])


def _address(builder, addresses, row, place, bar):
    """Where the number stands that `bar` counts from an address on."""
    address = builder.load(_pointer(builder, addresses, row, place))
    return builder.gep(builder.inttoptr(address, ir.DoubleType().as_pointer()), [bar])


def _magnitude(builder, value):
    name = f"llvm.fabs.v{EIGHT}f64" if value.type == VECTOR else "llvm.fabs.f64"
    kind = ir.FunctionType(value.type, [value.type])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), [value])


def _full(like, number):
    """A constant of the same type as a value."""
    value = float(number)
    return ir.Constant(like.type, [value] * EIGHT if like.type == VECTOR else value)


def _shuffle_lanes(builder, x, y, places):
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(PLACE, EIGHT), list(places)))
