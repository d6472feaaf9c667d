"""Triton's interpreter without what it repeats: what it computes and checks is the same.

It looks through all of Triton's language whenever a kernel begins or calls a function, to put its
own operations there; makes a table of NumPy's types whenever it asks for one, and the shape and the
type of each tensor anew; asks operands of one type what type both could take; and computes each sum
of small integers a second time, as tensors, to see whether it overflows. That is nearly all of its
time.
"""

import math
from functools import cache

import numpy as np
import triton
from triton.language import core
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

KNOWN = ("3.7.", "3.8.", "3.9.")
"""Versions whose interpreter is made like this; others are left as they are."""

OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply}

PLAIN = {"int1", "int8", "int32", "int64", "fp64"}
"""Types that two operands keep which both have them."""

INTEGERS = {"int32", "int64"}
"""Types of what is added to an address, which both keep theirs."""


def repeat_nothing():
    """Have the interpreter of this process be quick, where it is a known one."""
    if not triton.__version__.startswith(KNOWN):
        return
    interpreter._patch_lang = _patching_once(interpreter._patch_lang)
    interpreter._patch_attr = _patch_attribute
    interpreter._get_np_dtype = _keeping_types(interpreter._get_np_dtype)
    TritonSemantic.broadcast_impl_value = _broadcasting(TritonSemantic.broadcast_impl_value)
    TritonSemantic.binary_op_type_checking_impl = _pairing(
        TritonSemantic.binary_op_type_checking_impl
    )
    TritonSemantic.binary_op_sanitize_overflow_impl = _refuse_overflow
    core.block_type.__init__ = _beginning_block(core.block_type.__init__)
    core.block_type.with_element_ty = _change_element
    core.tensor.__init__ = _begin_tensor


def _patching_once(patch):
    """Put the operations in once for each module of kernels, and leave them there."""
    patched = set()

    def patch_once(function):
        key = id(function.__globals__)
        if key not in patched:
            patched.add(key)
            patch(function)
        return interpreter._LangPatchScope()

    return patch_once


def _patch_attribute(place, name, member, builder, scope):
    """Put an operation in, without its own way of asking for what is given here."""
    operation, semantic = getattr(member, "__wrapped__", member), interpreter.interpreter_semantic

    def operate(*operands, **options):
        options["_semantic"] = semantic
        return operation(*operands, **options)

    scope.set_attr(place, name, operate)


def _keeping_types(look_up):
    """Look each type up once."""
    types = {}

    def read_type(tensor):
        name = tensor.scalar.name
        if name not in types:
            types[name] = look_up(tensor.scalar)
        return types[name]

    return read_type


def _broadcasting(broadcast):
    """Leave operands alone that have one shape already."""

    def broadcast_unlike(self, left, right):
        if left.shape is right.shape:
            return left, right
        is_block = left.type.is_block()
        if is_block == right.type.is_block() and (
            not is_block or left.type.shape.values == right.type.shape.values
        ):
            return left, right
        return broadcast(self, left, right)

    return broadcast_unlike


def _pairing(pair):
    """Pair tensors of one type without asking which, and each with a number as once before."""
    numbers = {}

    def pair_unlike(self, left, right, *rules, **more):
        if type(left) is not core.tensor:
            return pair(self, left, right, *rules, **more)
        if type(right) is core.tensor:
            is_offset = (
                left.dtype.is_ptr() and rules[:1] == (True,) and right.dtype.name in INTEGERS
            )
            if is_offset or (right.dtype is left.dtype and left.dtype.name in PLAIN):
                return self.broadcast_impl_value(left, right)
            return pair(self, left, right, *rules, **more)
        if left.dtype.name not in PLAIN:
            return pair(self, left, right, *rules, **more)
        # By its text, for 0.0 and -0.0 are equal.
        key = left.type.name, repr(right), rules, tuple(more.items())
        if key not in numbers:
            first, second = pair(self, left, right, *rules, **more)
            if first is not left:
                return first, second
            second.handle.data.flags.writeable = False
            numbers[key] = second
        return left, numbers[key]

    return pair_unlike


def _refuse_overflow(self, left, right, operation):
    """As the interpreter does, on arrays."""
    kind = left.type.scalar
    if kind.int_bitwidth >= 64:
        return
    wide = (operand.handle.data.astype(np.int64) for operand in (left, right))
    result = OPERATIONS[operation.__name__](*wide)
    lowest, highest = kind.get_int_min_value(), kind.get_int_max_value()
    assert lowest <= result.min(), f"{kind} overflows downwards by {operation.__name__}"
    assert result.max() <= highest, f"{kind} overflows by {operation.__name__}"


def _beginning_block(begin):
    """Begin each type of blocks once: all of one shape and one kind of numbers are the same."""
    kept = {}

    def begin_block(self, element_ty, shape):
        # What is kept holds its kind, so that no other one has the same id.
        key = id(element_ty), *map(core._unwrap_if_constexpr, shape)
        if key not in kept:
            begin(self, element_ty, shape)
            kept[key], self.likes = self.__dict__, {}
        self.__dict__ = kept[key]

    return begin_block


def _change_element(self, kind):
    """A type of blocks of the same shape, made once."""
    made = self.likes.get(id(kind))
    if made is None:
        made = self.likes[id(kind)] = core.block_type(kind, self.shape)
    return made


def _begin_tensor(self, handle, type):
    """As the interpreter begins one; tensors of one type share its shape."""
    self.handle, self.type = handle, type
    try:
        self.dtype, self.numel, self.shape = type.laid
    except AttributeError:
        sizes = tuple(type.shape.values) if type.is_block() else ()
        type.laid = self.dtype, self.numel, self.shape = type.scalar, *_shape(sizes)


@cache
def _shape(sizes):
    """How many elements there are, and the shape as kernels read it."""
    return core.constexpr(math.prod(sizes)), core.tuple([core.constexpr(n) for n in sizes])
