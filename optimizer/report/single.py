"""One individual that no search found, shown as if it were a front of its own."""

from dataclasses import replace
from pathlib import Path

from engine.batch import Engine
from optimizer.report.run import Run
from optimizer.runs.header import RunHeader
from optimizer.search.generation import Floats
from optimizer.session.header import header_of
from optimizer.session.identity import identity_of
from optimizer.session.individuals import describe_individuals
from optimizer.session.task import Task


class Single(Run):
    """An individual with its task; everything that a `Run` of one member offers.

    Args:
        task: What it trades.
        genome: [G], legal.
    """

    is_search = False

    def __init__(self, task: Task, genome: Floats) -> None:
        self.path = Path(task.spec.name)
        self.task = task
        self.engine: Engine = task.full_engine(device="cpu")
        (individual,) = describe_individuals(task, self.engine, genome[None])
        accumulators = task.engine(device="cpu").evaluate(genome[None])
        reached = task.goals.achieved(task.metrics(accumulators))[0]
        objectives = dict(zip(task.goals.names, reached.tolist(), strict=False))
        header = header_of(task, "cpu", identity_of(task, None))
        self.header = RunHeader.read({**header, "objectives": list(objectives)})
        self.result, self.status, self.summaries = None, "finished", ()
        self.members = (replace(individual, objectives=objectives),)

    @property
    def title(self) -> str:
        """What its page is called."""
        return f"Backtest of {self.task.spec.name}"
