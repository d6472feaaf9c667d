"""Kernels compiled for a Hopper device that need not be there, and what must not be in them."""

import re

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

F64, I32, I64, I16, I8, U8 = "*fp64", "*i32", "*i64", "*i16", "*i8", "*u8"

FORBIDDEN = re.compile(r"\b(fma|mad)\.rn\.f\d+|\bmad\.f\d+|\.approx|\.ftz|\.f32\b")
"""Instructions that round differently from the law, or in another precision."""


def compile_kernel(kernel, types, constants, options):
    """The kernel's assembly."""
    plain = [name for name in kernel.arg_names if name not in constants]
    assert len(plain) == len(types), f"{kernel.fn.__name__}: {plain}"
    signature = dict(zip(plain, types, strict=True)) | dict.fromkeys(constants, "constexpr")
    source = ASTSource(kernel, signature, constexprs=constants)
    return compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]
