"""The one way to launch a kernel: with what could change a bit turned off."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context

import triton

from engine.runtime.compiling.cache_dirs import keep_kernels
from engine.runtime.compiling.compile_timer import kernel_compiled
from engine.runtime.machine import available_cores

# Triton looks for its folder when it first compiles, and never again.
keep_kernels()
triton.knobs.compilation.listener = kernel_compiled

OPTIONS = {"enable_fp_fusion": False}
"""Compiler options of every kernel: a product and a sum are rounded twice, by the law."""

_ONLY_COMPILES = ContextVar("only_compiles", default=False)


def only_compiles() -> bool:
    """True if launches compile their kernels and do nothing else, as in `compile_together`."""
    return _ONLY_COMPILES.get()


def compile_together(work: Callable[[], None]) -> None:
    """Compile all kernels that work launches at once, a core for each, and launch none of them.

    Work is done once for that: it must only launch and copy, as for a captured graph.
    """

    def compile_all() -> None:
        _ONLY_COMPILES.set(True)
        with ThreadPoolExecutor(available_cores()) as pool:
            try:
                with triton.AsyncCompileMode(pool):
                    work()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    # Triton's mode, too, is one of the context, and does not outlive it when something fails.
    copy_context().run(compile_all)


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
    if _ONLY_COMPILES.get():
        kernel.warmup(  # type: ignore[attr-defined]
            *arguments, grid=tuple(grid), num_warps=warps, **constants, **OPTIONS
        )
        return
    kernel[tuple(grid)](*arguments, num_warps=warps, **constants, **OPTIONS)  # type: ignore[index]
