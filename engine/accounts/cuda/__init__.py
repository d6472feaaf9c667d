"""Accounts by CUDA kernels."""
