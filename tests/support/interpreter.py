"""Triton's interpreter without what it repeats: what it computes and checks is the same.

It looks through all of Triton's language whenever a kernel begins or calls a function, to put its
own operations there; makes a table of NumPy's types whenever it asks for one, and the shape of each
tensor anew; and computes each sum of small integers a second time, as tensors, to see whether it
overflows. That is three quarters of its time.
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


def repeat_nothing():
    """Have the interpreter of this process be quick, where it is a known one."""
    if not triton.__version__.startswith(KNOWN):
        return
    interpreter._patch_lang = _patching_once(interpreter._patch_lang)
    interpreter._get_np_dtype = _keeping_types(interpreter._get_np_dtype)
    TritonSemantic.broadcast_impl_value = _broadcasting(TritonSemantic.broadcast_impl_value)
    TritonSemantic.binary_op_sanitize_overflow_impl = _refuse_overflow
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


def _keeping_types(look_up):
    """Look each type up once."""
    types = {}

    def type_of(told):
        name = told.scalar.name
        if name not in types:
            types[name] = look_up(told.scalar)
        return types[name]

    return type_of


def _broadcasting(broadcast):
    """Leave operands alone that have one shape already."""

    def broadcast_unlike(self, left, right):
        is_block = left.type.is_block()
        if is_block == right.type.is_block() and (
            not is_block or left.type.shape.values == right.type.shape.values
        ):
            return left, right
        return broadcast(self, left, right)

    return broadcast_unlike


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


def _begin_tensor(self, handle, type):
    """As the interpreter begins one; tensors of one shape share it."""
    self.handle, self.type, self.dtype = handle, type, type.scalar
    self.numel, self.shape = _shape(tuple(type.shape.values) if type.is_block() else ())


@cache
def _shape(sizes):
    """How many elements there are, and the shape as kernels read it."""
    return core.constexpr(math.prod(sizes)), core.tuple([core.constexpr(n) for n in sizes])
