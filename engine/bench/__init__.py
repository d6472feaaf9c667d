"""The bench: verify first, then time; a red verification prints no figure.

Every figure comes with the machine, the shapes, and the median with the 20th and 80th percentile
of its repeats.
"""

from engine.bench.matrix import Case, Limits, Line, Matrix, run_matrix
from engine.bench.one import BenchResult, run_bench
from engine.bench.timing import Timing

__all__ = [
    "BenchResult",
    "Case",
    "Limits",
    "Line",
    "Matrix",
    "Timing",
    "run_bench",
    "run_matrix",
]
