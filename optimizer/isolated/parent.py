"""The parent's side of a search in the device's process: the same generations, one by one."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from engine.plain import plain_windows
from engine.wire import Array, Frame
from optimizer.generation import Floats, Generation
from optimizer.isolated.child import SEARCH
from optimizer.isolated.plain import ERRORS, generation_of, plain_generation, plain_goals
from optimizer.problem import EngineProblem
from optimizer.search import SearchSettings, evolve
from optimizer.search.device.fit import why_not
from optimizer.search.timed import TimedProblem

LOG = logging.getLogger(__name__)

PAYS_AFTER_S = 1.0
"""So long a search works here, evaluation left out, before it moves: about as long as a device
takes to be made ready for a population where its kernels are compiled already."""

MOST_RETURNS = 2
"""Generations that are made here because the device's process failed at them; after so many the
search stays here."""


class SearchWork:
    """A search, as work for the device's process.

    Args:
        problem: What to search; its engine's device lives in that process.
        settings: How to search.
        last: The generation to go on from; None to begin.
        guests: As in `evolve`.

    Attributes:
        last: The newest generation that was taken.
    """

    def __init__(
        self,
        problem: EngineProblem,
        settings: SearchSettings,
        last: Generation | None,
        guests: Floats | None,
    ) -> None:
        self._problem, self._settings, self._guests = problem, settings, guests
        self.last = last

    @property
    def next(self) -> int:
        """Number of the generation that comes next."""
        return 0 if self.last is None else self.last.number + 1

    @property
    def is_over(self) -> bool:
        """Whether there is none."""
        return self.next > self._settings.generations

    @property
    def opening(self) -> Frame:
        """What asks for the search behind the newest generation."""
        problem, last = self._problem, self.last
        told_last, of_last = (None, []) if last is None else plain_generation(last)
        guests = np.empty((0, len(problem.layout))) if self._guests is None else self._guests
        told = {
            "goals": plain_goals(problem.goals),
            "spans": [[span.bars, span.years] for span in problem.spans],
            "windows": plain_windows(problem.engine.windows),
            "settings": asdict(self._settings),
            "has_guests": self._guests is not None,
            "last": told_last,
        }
        return Frame(SEARCH, told, [guests, *of_last])

    def take(self, answer: Frame, arrays: Sequence[Array]) -> Generation:
        """The generation that comes next, as in `Work.take`.

        Raises:
            OptimizerError, EngineError: When the search refuses to go on.
        """
        told: Any = answer.told
        if "refused" in told:
            raise ERRORS[told["refused"]](told["why"])
        layout, n_objectives = self._problem.layout, self._problem.n_objectives
        generation = generation_of(told["generation"], arrays, len(layout), n_objectives)
        if generation.number != self.next:
            raise ValueError(f"generation {generation.number} instead of {self.next}")
        sizes = len(generation.population), len(generation.archive)
        if sizes[0] > self._settings.population or sizes[1] > self._settings.archive:
            raise ValueError(f"{sizes[0]} individuals and {sizes[1]} in the archive")
        self.last = generation
        return generation


def evolve_moving(
    problem: EngineProblem,
    settings: SearchSettings,
    *,
    resume_from: Generation | None = None,
    guests: Floats | None = None,
) -> Iterator[Generation]:
    """Search here at first, and in the device's process from when that pays.

    As `optimizer.search.evolve`, with the same bits, and with what `evolve_apart` does about
    failures. A search that a device does not take stays here, where only its evaluation is asked
    for.

    Args:
        problem: As in `evolve_apart`.
        settings: As in `evolve`.
        resume_from: As in `evolve`.
        guests: As in `evolve`.

    Yields:
        As `evolve`.
    """
    timed, last, spent = TimedProblem(problem), resume_from, 0.0
    stays = why_not(problem, settings)
    for generation in evolve(timed, settings, resume_from=resume_from, guests=guests):
        last, spent = generation, spent + generation.seconds
        yield generation
        if not stays and problem.engine.is_apart and spent - timed.seconds >= PAYS_AFTER_S:
            break
    if last is not None and last.number < settings.generations:
        LOG.info("from generation %d on the population lives on the device", last.number + 1)
        yield from evolve_apart(problem, settings, resume_from=last, guests=guests)


def evolve_apart(
    problem: EngineProblem,
    settings: SearchSettings,
    *,
    resume_from: Generation | None = None,
    guests: Floats | None = None,
) -> Iterator[Generation]:
    """Search in the device's process; as `optimizer.search.evolve`, with the same bits.

    Where that process fails it is replaced, and the search goes on behind the last generation
    that came. Where it fails on one generation again and again, that one is made here, and the
    process is asked for evaluation only, which finds out on whom it fails.

    Args:
        problem: Its engine's device lives in a process of its own.
        settings: As in `evolve`.
        resume_from: As in `evolve`.
        guests: As in `evolve`.

    Yields:
        As `evolve`.

    Raises:
        DeviceError: When the device failed for good, or cannot do what it is asked.
        EngineError, OptimizerError: As `evolve`.
    """
    work = SearchWork(problem, settings, resume_from, guests)
    returns = 0
    while not work.is_over:
        yield from problem.engine.worked(work)
        if work.is_over:
            return
        here = evolve(problem, settings, resume_from=work.last, guests=guests)
        returns += 1
        if not problem.engine.is_apart:
            yield from here
            return
        if returns > MOST_RETURNS:
            LOG.warning("from %d on all generations are searched for outside of it", work.next)
            yield from here
            return
        LOG.warning("generation %d is searched for outside of the device's process", work.next)
        work.last = next(here)
        yield work.last
