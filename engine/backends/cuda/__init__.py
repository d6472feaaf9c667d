"""The CUDA backend: the four stages as Triton kernels on torch tensors.

Every launch goes through one wrapper that turns fused multiply-add off; with it, float64
``+ - * /`` and square roots equal the CPU's in every bit.
"""

from engine.backends.cuda.backend import CudaBackend
from engine.backends.cuda.several import CudaMaker, SeveralGpus

__all__ = ["CudaBackend", "CudaMaker", "SeveralGpus"]
