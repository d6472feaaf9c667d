"""The backend of CPUs: it holds the series, and runs all stages over individuals and windows.

The loops are compiled without fast-math, so that no product and sum are fused and no order of
operations changes: each number equals the reference's in every bit.
"""

from engine.cpu.backend import CpuBackend

__all__ = ["CpuBackend"]
