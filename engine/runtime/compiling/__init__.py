"""Flags and caches of both compilers: numba for loops, Triton for kernels."""
