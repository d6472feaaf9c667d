"""Where the individuals of a search are evaluated: by an engine of this process, or elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from engine.certificate import Certificate
from engine.devices import Device
from engine.replay.certificate import certify
from optimizer.search.generation import Floats
from optimizer.session.problem import EngineProblem
from optimizer.session.task import Task


@dataclass(frozen=True)
class Evaluation:
    """What evaluates the individuals of a task, and replays them where the bars are.

    Args:
        problem: The search's view of an engine of the windows to search on.
        certify: Replays individuals [N, G]; as `engine.replay.certificate.certify`.
    """

    problem: EngineProblem
    certify: Callable[[Floats], Certificate]


Place = Callable[[Task, Device], Evaluation]
"""Makes what evaluates a task; the device is what was chosen on this machine."""


def here(task: Task, device: Device) -> Evaluation:
    """Evaluate in this process."""
    engine = task.engine(device)
    return Evaluation(task.problem(engine), partial(certify, engine))
