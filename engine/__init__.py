"""How strategies meet bars: a readable reference, and batch engines that equal it bit for bit."""

ENGINE_VERSION = 6
"""Raised whenever the same genes on the same bars would give other ledgers or accumulators."""
