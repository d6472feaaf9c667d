"""Rules, checked after each generation, that end a search.

Generations, evaluations and the plateau of the hypervolume are the same on every machine, so the
same seed ends with the same front. Seconds are not: a limit of time cuts a run wherever this
machine has come to. Everything up to there has the bits of the run without a limit, and the run
can go on from there.
"""

from optimizer.config.search import SearchSettings
from optimizer.search.generation import Generation
from optimizer.search.memory import from_numbers


def stop_reason(settings: SearchSettings, generation: Generation, seconds: float) -> str:
    """Why to stop after a generation before the last one planned.

    Args:
        settings: With the limits; those that are None never stop.
        generation: The newest.
        seconds: How long this process has searched.

    Returns:
        The name of the knob, or an empty string to go on.
    """
    limit, plateau = settings.max_evaluations, settings.plateau
    if limit is not None or plateau is not None:
        memory = from_numbers(generation.memory, generation.population.objectives.shape[1])
        if limit is not None and memory.evaluated + settings.population > limit:
            return "max_evaluations"
        if plateau is not None and generation.number - memory.grown_at >= plateau:
            return "plateau"
    if settings.max_seconds is not None and seconds >= settings.max_seconds:
        return "max_seconds"
    return ""
