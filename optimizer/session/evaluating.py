"""Where the individuals of a search are evaluated: by an engine of this process, or elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.batch import Engine
from engine.certificate import Certificate
from engine.devices import Device
from engine.replay.certificate import certify
from optimizer.search.generation import Floats
from optimizer.session.problem import EngineProblem, Evaluator
from optimizer.session.task import Task


class Evaluation(Protocol):
    """What evaluates the individuals of a task, and replays them where the bars are."""

    @property
    def engine(self) -> Evaluator:
        """Of the windows to search on."""
        ...

    def problem(self) -> EngineProblem:
        """The search's view of it."""
        ...

    def certify(self, genomes: Floats) -> Certificate:
        """Replay individuals [N, G]; as `engine.replay.certificate.certify`."""
        ...


@dataclass(frozen=True)
class Here:
    """An engine of this process."""

    task: Task
    engine: Engine

    def problem(self) -> EngineProblem:
        """The search's view of it."""
        return self.task.problem(self.engine)

    def certify(self, genomes: Floats) -> Certificate:
        """Replay individuals [N, G] on the reference."""
        return certify(self.engine, genomes)


Place = Callable[[Task, Device], Evaluation]
"""Makes what evaluates a task; the device is what was chosen on this machine."""


def here(task: Task, device: Device) -> Here:
    """Evaluate in this process."""
    return Here(task, task.engine(device))
