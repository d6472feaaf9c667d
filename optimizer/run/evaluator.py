"""Evaluators of a search's individuals: an engine of this process, or of others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from engine.certificate import Certificate
from engine.devices import Device
from engine.replay.certificate import certify
from engine.replay.threads import Replaying, replaying
from optimizer.run.problem import EngineProblem
from optimizer.run.task import Task
from optimizer.search.generation import Floats


@dataclass(frozen=True)
class TaskEvaluator:
    """Evaluates the individuals of a task, and replays them where the bars are."""

    problem: EngineProblem  # the search's view of an engine of the windows to search on
    # Replays individuals [N, G]; as `engine.replay.certificate.certify`.
    certify: Callable[[Floats], Certificate]


MakeEvaluator = Callable[[Task, Device], TaskEvaluator]
"""Makes the evaluator of a task; the device was chosen on this machine."""


def local_evaluator(task: Task, device: Device, replaying: Replaying = replaying) -> TaskEvaluator:
    """Evaluate in this process; `replaying` is where the reference runs."""
    engine = task.engine(device)
    return TaskEvaluator(task.problem(engine), partial(certify, engine, replaying=replaying))
