"""The one way to launch a kernel: with what could change a bit turned off."""

from collections.abc import Sequence

OPTIONS = {"enable_fp_fusion": False}
"""Compiler options of every kernel: a product and a sum are rounded twice, as the law says."""


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
