"""The backend of GPUs: series and rows on a device, and the launches of all stages.

Every launch goes through one wrapper that turns fused multiply-add off; with it, float64
``+ - * /`` and square roots equal the CPU's in every bit.
"""

from engine.cuda.backend import CudaBackend
from engine.cuda.multi_gpu import CudaAccountMaker, CudaMaker, SeveralGpus

__all__ = ["CudaAccountMaker", "CudaBackend", "CudaMaker", "SeveralGpus"]
