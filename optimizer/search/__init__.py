"""The search: from a problem and settings to generations, and to a front.

It knows genomes, objectives and violations; it neither knows bars nor writes anything.
"""

from optimizer.search.evolution import count_failures, evolve, final_front, front_hash, front_of
from optimizer.search.problem import Problem

SEARCH_VERSION = 3
"""Goes up whenever the same seed and settings lead to other individuals."""

__all__ = [
    "SEARCH_VERSION",
    "Problem",
    "count_failures",
    "evolve",
    "final_front",
    "front_hash",
    "front_of",
]
