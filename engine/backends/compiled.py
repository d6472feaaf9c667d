"""How every loop of this backend is compiled: one place for flags that could change a bit."""

from numba import njit

compiled = njit(cache=True, error_model="numpy")
"""Compile a loop: no fast-math, so nothing is fused or reordered; x / 0 follows IEEE."""

compiled_parallel = njit(cache=True, error_model="numpy", parallel=True)
"""The same, with the `prange` loops spread over threads; no two threads write one element."""

compiled_inline = njit(cache=True, error_model="numpy", inline="always")
"""The same, pasted into its callers."""
