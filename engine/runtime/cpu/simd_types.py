"""Vectors: some float64 that compiled loops handle as one number, each operation on all of them.

Vector code by a compiler from loops over scalars is a matter of luck; these are explicit. Every
operation rounds each lane as it rounds a scalar.
"""

import operator
from collections.abc import Sequence
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model


class Vector(types.Type):
    """A vector of `width` float64; a type of the compiler, unknown to Python."""

    def __init__(self, width):
        self.width = width
        super().__init__(f"Vector({width})")


@register_model(Vector)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), kind.width))


lanes, eights = Vector(4), Vector(8)


@infer_global(operator.add)
@infer_global(operator.sub)
@infer_global(operator.mul)
@infer_global(operator.truediv)
class _Arithmetic(ConcreteTemplate):
    cases = [signature(kind, kind, kind) for kind in (lanes, eights)]  # noqa: RUF012 - numba's way


def _lower_operation(operation, emit):
    """Have the compiler do an operation on two vectors by an instruction of `ir.IRBuilder`."""

    @lower_builtin(operation, Vector, Vector)
    def code(context, builder, sig, args):
        return emit(builder, *args)


_lower_operation(operator.add, ir.IRBuilder.fadd)
_lower_operation(operator.sub, ir.IRBuilder.fsub)
_lower_operation(operator.mul, ir.IRBuilder.fmul)
_lower_operation(operator.truediv, ir.IRBuilder.fdiv)


def instruction(result, *kinds) -> Any:
    """An operation for compiled loops, written in the compiler's own instructions.

    Args:
        result: Type of what it returns; None for that of the first argument, or of its elements.
        kinds: Types of its arguments; None for whatever is given.

    Returns:
        A decorator of a function of the builder and the arguments, of which arrays have ``data``
        and ``shape``.
    """

    def make_intrinsic(emit):
        @wraps(emit)
        def resolve_signature(typing, *given):
            known = [kind or given_kind for kind, given_kind in zip(kinds, given, strict=True)]
            for kind in known:
                # Addresses are counted, so that columns that lie otherwise would be read wrongly.
                if isinstance(kind, types.Array) and kind.ndim > 1 and kind.layout != "C":
                    raise TypingError(f"columns must lie one after another, not {kind}")

            def code(context, builder, sig, args):
                values = [
                    context.make_array(kind)(context, builder, value)
                    if isinstance(kind, types.Array)
                    else value
                    for kind, value in zip(sig.args, args, strict=True)
                ]
                emitted = emit(builder, *values)
                return context.get_dummy_value() if result == types.void else emitted

            return (result or getattr(known[0], "dtype", known[0]))(*known), code

        return intrinsic(resolve_signature)

    return make_intrinsic


def build_vector(builder, values: Sequence[Any]) -> Any:
    """A vector of scalars of one type."""
    vector = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
    for lane, value in enumerate(values):
        vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), lane))
    return vector
