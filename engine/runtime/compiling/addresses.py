"""Loops that others call by address, so that each is compiled once, however many call it.

A function called by name is optimised and translated again as a part of its loop: of loops that
call each other that is most of the time that compiling takes. A call by address knows no more than
the types of arguments, which the loop declares.

An address is that of this process, so it comes as an argument: loops on disk hold none.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from numba import types
from numba.core import cgutils
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic

from engine.runtime.compiling.loops import compiled_alone, compiled_unlocked

Loop = TypeVar("Loop", bound=Callable[..., object])


def declare_loop(signature: str) -> Callable[[Loop], Loop]:
    """Compile a loop as `compiled_unlocked` does, and let others call it by address.

    Args:
        signature: Types of its result and its arguments, in numba's words.
    """
    return partial(_declare, compiled_unlocked, signature)


def declare_part(signature: str) -> Callable[[Loop], Loop]:
    """The same, for a loop that Python does not call, which compiles sooner."""
    return partial(_declare, compiled_alone, signature)


def _declare(compile_loop: Callable[[Loop], Loop], signature: str, loop: Loop) -> Loop:
    made = cast(Any, compile_loop(loop))
    made.declared = signature
    return cast(Loop, made)


def find_address(loop: Callable[..., object]) -> int:
    """Address of a loop that was declared, compiled or loaded for that."""
    dispatcher = cast(Any, loop)
    arguments, _ = normalize_signature(dispatcher.declared)  # type: ignore[no-untyped-call]
    dispatcher.compile(arguments)
    made = dispatcher.overloads[arguments]
    address: int = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return address


@intrinsic
def call_loop(_typing: Any, loop: Any, _address: Any, *_arguments: Any) -> Any:  # noqa: ANN401
    """Call a loop, which was declared, at its address."""
    kinds, result = normalize_signature(loop.dispatcher.declared)  # type: ignore[no-untyped-call]
    given_kinds = types.StarArgTuple(kinds)  # type: ignore[no-untyped-call]
    signature = result(loop, types.int64, given_kinds)

    def call(context: Any, builder: Any, _: Any, given: Any) -> Any:  # noqa: ANN401
        convention = context.call_conv
        pointer = convention.get_function_type(result, kinds).as_pointer()
        status, returned = convention.call_function(
            builder,
            builder.inttoptr(given[1], pointer),
            result,
            kinds,
            cgutils.unpack_tuple(builder, given[2]),  # type: ignore[no-untyped-call]
        )
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return returned

    return signature, call
