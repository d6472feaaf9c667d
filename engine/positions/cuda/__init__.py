"""Positions by kernels."""
