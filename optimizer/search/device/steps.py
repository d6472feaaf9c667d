"""From one generation to the next on a device, with the bits of the host."""

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Thread

import numpy as np
import torch

from engine.errors import DeviceLostError
from optimizer.generation import Evaluation, Floats, Population
from optimizer.search.breeding import Draws, sizes_of
from optimizer.search.device.field import Chosen, Field
from optimizer.search.memory import Memory
from optimizer.search.problem import Problem, SearchSettings
from optimizer.search.ranking import LARGE, rank_individuals
from optimizer.search.state import (
    Found,
    State,
    ended,
    is_new_start,
    is_stagnant,
    planned,
    remembered,
)
from optimizer.search.steps import HostSteps, Step, judged

LOG = logging.getLogger(__name__)

REHEARSALS = 2
"""Of a GPU: the first run compiles kernels, the second is captured."""


class DeviceSteps:
    """Makes generations on a device, and on the host those that are not like the others.

    The first generation, a population that is not full, a new start: none of them is frequent, and
    the host gives the same bits. So does it until the device is ready: kernels are read, or
    compiled, and captured beside the search.

    Args:
        problem: What to search, one that `fit.why_not` has nothing against.
        settings: How to search.
        device: Name of a torch device.
        guests: [N, G] genomes to begin with, if there are any.
        is_patient: Whether to wait until the device is ready instead.
    """

    def __init__(
        self,
        problem: Problem,
        settings: SearchSettings,
        device: str,
        guests: Floats | None = None,
        *,
        is_patient: bool = False,
    ) -> None:
        self._problem, self._settings = problem, settings
        self._host = HostSteps(problem, settings, guests)
        self._draws = Draws(settings.seed, 0)
        self._device, self._is_patient = torch.device(device), is_patient
        self._making: Future[Field] | None = None
        self._is_refused = False
        # The state that the device holds, and the generation that is bred from it.
        self._held: State | None = None
        self._begun: int | None = None

    def step(self, state: State, number: int) -> Step:
        """Make a generation.

        Raises:
            DeviceError: When the device fails, or has no room any more.
        """
        field = self._ready(state, number) if self._suits(state, number) else None
        if field is None:
            return self._host.step(state, number)
        if state is not self._held:
            _load(field, state)
            self._begun = None
        if self._begun != number:
            field.begin(self._told(state.memory, len(state.archive), number))
        newborn = field.newborn()
        evaluation = judged(self._problem, newborn.genomes)
        if _is_large(evaluation):
            self._held = None
            return self._host.step(state, number)
        after = self._after(field, state, field.select(evaluation), number)
        return Step(after, newborn.repaired, evaluation.failures)

    def _after(self, field: Field, state: State, chosen: Chosen, number: int) -> State:
        """The state after a generation; the next one is begun before its hypervolume is known."""
        low, high = state.memory.low, state.memory.high
        found = Found(sum(chosen.tried), chosen.tried, chosen.admitted, low, high)
        sizes = [len(chosen.population)]
        memory = remembered(self._settings, state.memory, sizes, found, number)
        self._begin_next(field, memory, len(chosen.archive), number + 1)
        self._held = ended([(chosen.population, None)], chosen.archive, memory, number)
        return self._held

    def _begin_next(self, field: Field, memory: Memory, archived: int, number: int) -> None:
        """Begin to breed a generation, unless how it is bred depends on the hypervolume."""
        settings = self._settings
        is_open = is_stagnant(settings, memory, number) or number > settings.generations
        self._begun = None if is_open else number
        if not is_open:
            field.begin(self._told(memory, archived, number))

    def _suits(self, state: State, number: int) -> bool:
        return (
            number > 0
            and not self._is_refused
            and len(state.population) == self._settings.population
            and len(state.archive) > 0
            and state.memory.has_box
            and not is_new_start(self._settings, state.memory, number)
        )

    def _ready(self, state: State, number: int) -> Field | None:
        """Everybody's place on the device; None while it is being made, or where it cannot be.

        There may be no room, or a compiler that fails on a kernel: the search needs neither.
        """
        if self._making is None:
            self._making = Future()
            told = self._told(state.memory, len(state.archive), number)
            work = Thread(target=self._make, args=(self._making, state, told), daemon=True)
            work.start()
        if not (self._is_patient or self._making.done()):
            return None
        error = self._making.exception()
        if isinstance(error, Exception) and not isinstance(error, DeviceLostError):
            LOG.warning("the population stays on the host: %s", error)
            self._is_refused = True
            return None
        return self._making.result()

    def _make(self, making: Future[Field], state: State, told: Sequence[int]) -> None:
        """Make the place, and have it go through a generation as often as a capture needs."""
        try:
            field = Field(self._problem.layout, self._settings, self._device)
            for _ in range(REHEARSALS if self._device.type == "cuda" else 0):
                _load(field, state)
                field.begin(told)
                born = len(field.newborn().genomes)
                field.select(_rehearsed(state.population, born))
            making.set_result(field)
        except BaseException as error:
            making.set_exception(error)

    def _told(self, memory: Memory, archived: int, number: int) -> list[int]:
        """What `Told` lists."""
        plan = planned(self._settings, memory, number)
        sizes = sizes_of(self._draws.turn_to(number), plan, 0)
        return [self._settings.seed, number, *sizes, archived, memory.evaluated]


def _load(field: Field, state: State) -> None:
    """Bring a state to the device."""
    population = state.population
    known = state.rankings[0] if state.rankings else None
    ranking = known or rank_individuals(population.objectives, population.violations)
    field.load(population, state.archive, ranking)


def _rehearsed(population: Population, count: int) -> Evaluation:
    """An evaluation of so many newcomers, that of the first of a population."""
    some = population.take(np.arange(count))
    return Evaluation(some.objectives, some.violations, some.failures)


def _is_large(evaluation: Evaluation) -> bool:
    """Whether a difference of objectives may overflow, which only the host has looked after."""
    objectives = evaluation.objectives
    # What is not a number is neither above nor below.
    return bool((objectives > LARGE).any() or (objectives < -LARGE).any())
