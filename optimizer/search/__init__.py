"""The search: from a problem and settings to generations, and to a front.

It knows genomes, objectives and violations; it neither knows bars nor writes anything.
"""

from optimizer.search.evolution import count_failures, evolve, final_front, front_hash, front_of
from optimizer.search.problem import Problem, SearchSettings

__all__ = [
    "Problem",
    "SearchSettings",
    "count_failures",
    "evolve",
    "final_front",
    "front_hash",
    "front_of",
]
