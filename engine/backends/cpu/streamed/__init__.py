"""Streamed evaluation: individuals whose rows were never computed, block of bars by block.

A row costs as much as several individuals. Where a population brings many lengths of its own, no
row is built: what a comparison needs is formed from running sums, cheaply and with an error that
is bounded (`bounds.py`); where the bound does not decide, the law's own formula does, for that one
bar (`cpu/exact.py`). The trades are the same in every bit.
"""

from engine.backends.cpu.streamed.bounds import LONGEST_WINDOW
from engine.backends.cpu.streamed.columns import Columns, columns_of
from engine.backends.cpu.streamed.lowering import Course, course_of
from engine.backends.cpu.streamed.population import load_seconds, stream

__all__ = [
    "LONGEST_WINDOW",
    "Columns",
    "Course",
    "columns_of",
    "course_of",
    "load_seconds",
    "stream",
]
