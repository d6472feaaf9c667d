"""The one way to launch a kernel: with what could change a bit turned off."""

from collections.abc import Sequence

import triton

from engine.runtime.compiling.cache_dirs import keep_kernels
from engine.runtime.compiling.compile_timer import kernel_compiled

# Triton asks for its folder when it first compiles, and does not look again.
keep_kernels()
triton.knobs.compilation.listener = kernel_compiled

OPTIONS = {"enable_fp_fusion": False}
"""Compiler options of every kernel: a product and a sum are rounded twice, by the law."""


def launch(
    kernel: object, grid: Sequence[int], *arguments: object, warps: int = 4, **constants: object
) -> None:
    """Launch a kernel.

    Args:
        kernel: A function compiled by ``triton.jit``.
        grid: Programs along up to three axes.
        arguments: Tensors and numbers, in the kernel's order.
        warps: Warps of a program.
        constants: Compile-time values by name.
    """
    kernel[tuple(grid)](*arguments, num_warps=warps, **constants, **OPTIONS)  # type: ignore[index]
