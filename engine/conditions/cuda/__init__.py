"""Conditions decided by kernels."""
