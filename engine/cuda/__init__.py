"""The CUDA backend: the four stages as Triton kernels on torch tensors.

Every launch goes through one wrapper that turns fused multiply-add off; with it, float64
``+ - * /`` and square roots equal the CPU's in every bit.
"""

import triton

from engine.compiling.kept_code import keep_kernels
from engine.compiling.spent import kernel_compiled

# Triton asks for its folder when it first compiles, and cannot be told later.
keep_kernels()
triton.knobs.compilation.listener = kernel_compiled

from engine.cuda.backend import CudaBackend  # noqa: E402
from engine.cuda.several import CudaMaker, SeveralGpus  # noqa: E402

__all__ = ["CudaBackend", "CudaMaker", "SeveralGpus"]
