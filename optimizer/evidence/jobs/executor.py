"""One contract for many searches: submit jobs of a setup, take results as they end.

It is the contract of `concurrent.futures`. A job is a pure function of its setup, so its place and
the number of its runs do not matter. No executor knows a question: a setup tells it all about the
work.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from engine.memory_plan import allow_host_bytes
from engine.runtime.machine import available_cores
from optimizer.evidence.jobs.in_step import InStepSetup, Job, Result

if TYPE_CHECKING:
    from engine.batch import Engine
    from optimizer.run.task import Task

Setup = TypeVar("Setup", bound=InStepSetup[Any, Any])


class Runner(Protocol):
    """Runner of jobs on another machine, as a setup is."""

    def run(self, job: Any) -> Any:  # noqa: ANN401 - of any kind
        """Result of one."""
        ...


class Executor(Protocol):
    """Makes searches; it decides no result."""

    def check(self, task: "Task") -> None:
        """Refuse a task with searches that cannot be made there, before any work.

        Raises:
            ConfigError: When they cannot.
        """
        ...

    def submit(
        self,
        setup: InStepSetup[Job, Result],
        jobs: Sequence[Job],
        *,
        engine: "Engine | None" = None,
        used: str | None = None,
    ) -> Generator[tuple[Job, Result], None, None]:
        """Each job with its result, as they end; closing it cancels the rest.

        Args:
            setup: Its task limits threads and memory.
            jobs: Of the setup.
            engine: Of this process and of the same bars, which may search parts of them.
            used: Device of the run's own search, where `engine` is let go of before searches begin:
                on its GPU, or another, null markets may be searched, and parts of the bars by
                engines of their own. None for cores alone and where `engine` stays.

        Raises:
            ConfigError: When the executor cannot be given the setup.
            Whatever a job raises, at its result; the first such ends all.
        """
        ...


class MachineShare(NamedTuple):
    """Part of a machine that a search has."""

    device: str
    threads: int
    memory: int  # bytes

    @classmethod
    def of_cores(cls, task: "Task", parts: int) -> "MachineShare":
        """One of several equal parts of the cores and the memory that a task may use."""
        threads, memory = task.config.threads, allow_host_bytes(task.config.memory)
        return cls("cpu", available_cores(threads) // parts, memory // parts)

    def give(self, setup: Setup) -> Setup:
        """A setup that is limited to it."""
        return limit(setup, **self._asdict())


def limit(setup: Setup, **settings: object) -> Setup:
    """A setup with other settings of the machine, which decide no result."""
    config = setup.task.config.model_copy(update=settings)
    return replace(setup, task=replace(setup.task, config=config))
