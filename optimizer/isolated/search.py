"""A search beside a backend that stands, which a device's process does when it is asked to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.backends.chosen import Device
from engine.backends.isolated.child import Made
from engine.backends.isolated.lent import LentMaker
from engine.batch import Engine
from engine.metrics import Span
from engine.plain import windows_of
from engine.wire import Array
from optimizer.generation import Floats, Generation
from optimizer.isolated.plain import generation_of, goals_of
from optimizer.problem import EngineProblem
from optimizer.search import SearchSettings, evolve
from optimizer.search.device.fit import why_not


def make_search(
    problem: EngineProblem,
    settings: SearchSettings,
    resume_from: Generation | None,
    guests: Floats | None,
    device: str | None,
) -> Iterator[Generation]:
    """Search in this process.

    Args:
        problem: With an engine on the backend that the parent has made here.
        settings: As in `evolve`.
        resume_from: As in `evolve`.
        guests: As in `evolve`.
        device: Name of the torch device that population and archive live on, if there is one and
            it takes the search; the host gives the same bits.
    """
    steps = None
    if device is not None and not why_not(problem, settings):
        # Only a GPU's process has torch and Triton already.
        from optimizer.search.device.steps import DeviceSteps

        steps = DeviceSteps(problem, settings, device, guests)
    return evolve(problem, settings, resume_from=resume_from, guests=guests, steps=steps)


def begun_search(
    made: Made, told: Mapping[str, Any], arrays: Sequence[Array]
) -> Iterator[Generation]:
    """The search that a parent asks for.

    Args:
        made: The backend and what it was made for.
        told: What `parent.SearchWork` tells.
        arrays: Guests [N, G], and the arrays of the generation to go on from.
    """
    # An engine asks series for their lengths only.
    series: Any = [range(length) for length in made.lengths]
    device = Device("the device", "it was made here", LentMaker(made))
    engine = Engine(made.spec, series, windows_of(told["windows"]), made.costs, device=device)
    spans = [Span(*span) for span in told["spans"]]
    problem = EngineProblem(goals_of(told["goals"]), spans, engine)
    guests, *of_last = arrays
    last = None
    if told["last"] is not None:
        last = generation_of(told["last"], of_last, len(problem.layout), problem.n_objectives)
    strangers = guests.view(np.float64) if told["has_guests"] else None
    settings = SearchSettings(**told["settings"])
    return make_search(problem, settings, last, strangers, made.backend.torch_device)
