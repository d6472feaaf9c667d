"""When a search has done enough: rules that are asked after each generation.

Generations, evaluations and the plateau of the hypervolume are the same on every machine, so the
same seed ends with the same front. Seconds are not: a limit of time cuts a run wherever this
machine has come to. Everything up to there has the bits of the run without a limit, and the run
can go on from there.
"""

from dataclasses import dataclass

from optimizer.errors import ConfigError
from optimizer.search.generation import Generation
from optimizer.search.memory import from_numbers


@dataclass(frozen=True)
class StopRules:
    """What ends a search before its last generation; None never does.

    Args:
        max_evaluations: No generation begins that could judge more individuals than this in all.
        max_seconds: No generation begins after so many seconds of this process.
        plateau: Generations without growth of the hypervolume.

    Raises:
        ConfigError: When a limit is not above 0.
    """

    max_evaluations: int | None = None
    max_seconds: float | None = None
    plateau: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_evaluations", "max_seconds", "plateau"):
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise ConfigError(f"{name} must be above 0, got {limit!r}")

    def reason(self, generation: Generation, population: int, seconds: float) -> str:
        """Why to stop after a generation.

        Args:
            generation: The newest.
            population: How many the next one would judge at most.
            seconds: How long this process has searched.

        Returns:
            The name of the rule, or an empty string to go on.
        """
        memory = from_numbers(generation.memory, generation.population.objectives.shape[1])
        limit = self.max_evaluations
        if limit is not None and memory.evaluated + population > limit:
            return "max_evaluations"
        if self.plateau is not None and generation.number - memory.grown_at >= self.plateau:
            return "plateau"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return "max_seconds"
        return ""
