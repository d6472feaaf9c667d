"""Which searches a device takes; asked before anything of a device is loaded."""

from optimizer.search.problem import Problem, SearchSettings

N_OBJECTIVES = 3
"""Objectives of a search on a device."""

MOST = 2**16
"""Individuals of a population, or of an archive, on a device at most."""

SURVIVALS = ("auto", "hypervolume")
"""Rules of survival that a device knows."""


def why_not(problem: Problem, settings: SearchSettings) -> str:
    """Why a search cannot live on a device; empty when it can."""
    if problem.n_objectives != N_OBJECTIVES:
        return f"it has {problem.n_objectives} objectives, a device takes {N_OBJECTIVES}"
    if settings.islands > 1:
        return "it has islands"
    if settings.survival not in SURVIVALS:
        return f"survival is by {settings.survival}"
    if max(settings.population, settings.archive) > MOST:
        return f"a device takes populations and archives up to {MOST:,}"
    return ""
