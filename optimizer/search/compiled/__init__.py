"""Loops of the search that numba compiles: sorting, ranking, truncating and finding repeats.

Nothing here decides anything of its own: each loop gives the bits of the definition that stands in
the module that calls it, for any number of threads.
"""
