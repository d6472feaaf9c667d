"""Searches of one setup in step, with evaluations by an engine here or in another process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from data import Window, parts
from engine.workload import Workload
from optimizer.evidence.jobs.estimates import estimate_asking_seconds, estimate_core_seconds
from optimizer.search.generation import Floats

if TYPE_CHECKING:
    # Readers of results have neither engine nor search.
    from engine.batch import Engine
    from optimizer.run.problem import Answer, Asking, EngineProblem, Question
    from optimizer.run.task import Task

Job = TypeVar("Job", bound=Hashable)
Result = TypeVar("Result")

Ask = Callable[[Mapping[Any, "Question"]], "Sequence[Answer]"]
"""Answers what searches ask, in the order of the questions."""

WindowNumbers = Mapping[Any, Sequence[int]]
"""Numbers of an engine's windows that each search meets, by what its questions are named by."""


@dataclass(frozen=True)
class InStepSetup(ABC, Generic[Job, Result]):
    """Setup of searches that advance together, each with the result that it has alone.

    Attributes:
        task: With the generations that the run reached; without held-out bars.
    """

    task: "Task"

    @property
    def searched(self) -> Sequence[Sequence[Window]]:
        """Windows of each search of one job."""
        return [self.task.markets.windows]

    @abstractmethod
    def build_task(self, job: Job) -> "Task":
        """Task that a job searches."""

    @abstractmethod
    def make_engine(
        self, jobs: Sequence[Job], tasks: "Sequence[Task]"
    ) -> "tuple[Engine, WindowNumbers]":
        """Engine of jobs with these tasks, and the windows of each search."""

    @abstractmethod
    def search_together(
        self, tasks: "Mapping[Job, Task]", engine: "Engine", answer: Ask
    ) -> Iterator[tuple[Job, Result]]:
        """Search for jobs together, by given evaluations; `engine` knows the strategy."""

    @abstractmethod
    def estimate_work(self) -> tuple[Workload, int]:
        """Work of the longest search, without rows that an engine keeps, and its individuals."""

    def seconds(self, threads: int) -> float:
        """Seconds that one search takes on so many cores, about; with an engine, on it."""
        work, individuals = self.estimate_work()
        work = work._replace(threads=threads)
        return estimate_core_seconds(work, individuals, self.task.config.generations)

    def seconds_on_gpu(self, cores: int) -> float:
        """Seconds that each takes, about, where all of so many cores but one ask a GPU."""
        work, individuals = self.estimate_work()
        return estimate_asking_seconds(work, individuals, self.task.config.generations, cores)

    def run(self, job: Job) -> Result:
        """Search for one job."""
        ((_, result),) = self.run_in_step([job])
        return result

    def run_in_step(
        self, jobs: Sequence[Job], ask: Ask | None = None
    ) -> Iterator[tuple[Job, Result]]:
        """Search for several jobs together, each with the result that it has alone, as they end.

        `ask` evaluates elsewhere; without it an engine of this process does.
        """
        from optimizer.run.search import evaluate_together

        tasks = {job: self.build_task(job) for job in jobs}
        if ask is None:
            engine, windows = self.make_engine(jobs, [*tasks.values()])
            ask = partial(evaluate_together, engine, windows)
        else:
            # A search knows no more of the engine of another process.
            engine = cast("Engine", SimpleNamespace(spec=tasks[jobs[0]].spec))
        return self.search_together(tasks, engine, partial(_answer, ask))

    def run_wave(self, jobs: Sequence[Job], ask: Ask | None = None) -> list[tuple[Job, Result]]:
        """The same in a process, which returns all results at once."""
        return list(self.run_in_step(jobs, ask))


def _answer(evaluate: Ask, questions: "Mapping[Any, Question]") -> "list[Answer]":
    """Answers that are judged in this process, wherever they are evaluated."""
    from optimizer.run.problem import judge_together

    bare = {key: question._replace(judge=None) for key, question in questions.items()}
    return judge_together(list(questions.values()), evaluate(bare))


def bring_windows(
    engine: "Engine", windows: Mapping[Any, Sequence[Window]]
) -> "tuple[Engine, WindowNumbers]":
    """An engine for the windows of several searches, and the numbers of those of each."""
    every = [*chain.from_iterable(windows.values())]
    numbers, begin = {}, 0
    for name, of_search in windows.items():
        numbers[name] = range(begin, begin + len(of_search))
        begin += len(of_search)
    return engine.on(every) if every else engine, numbers


class OneSearchSetup(InStepSetup[Job, Result]):
    """Setup with one search a job."""

    @abstractmethod
    def search(self, job: Job, task: "Task", problem: "EngineProblem") -> "Asking[Result]":
        """Search for one job; its caller evaluates."""

    def search_together(
        self, tasks: "Mapping[Job, Task]", engine: "Engine", answer: Ask
    ) -> Iterator[tuple[Job, Result]]:
        """See `InStepSetup`."""
        from optimizer.run.problem import run_in_step

        searches = {
            job: self.search(job, task, task.problem(engine)) for job, task in tasks.items()
        }
        return run_in_step(searches, answer)


class OnWindows(OneSearchSetup[int, Result]):
    """Setup of searches on parts of one task's bars, by number; one engine serves all of them.

    Attributes:
        warm_start: [N, G] genomes that the run began with.
        engine: Of the task's series, with rows for all; made on demand if None. It
            stays in its process.
    """

    warm_start: Floats | None
    engine: "Engine | None"

    def __getstate__(self) -> dict[str, object]:
        """Setup that other processes get."""
        return {**self.__dict__, "engine": None}

    def on(self, engine: "Engine | None") -> Self:
        """The same with another engine."""
        changed: dict[str, Any] = {"engine": engine}
        return replace(self, **changed)

    @property
    @abstractmethod
    def trainings(self) -> Sequence[Sequence[Window]]:
        """Windows of each search."""

    @cached_property
    def windows(self) -> tuple[tuple[Window, ...], ...]:
        """The same, cut as those of the run."""
        searched = ([replace(w, role="search") for w in training] for training in self.trainings)
        return tuple(parts(windows, self.task.config.parts) for windows in searched)

    def make_engine(
        self, jobs: Sequence[int], tasks: "Sequence[Task]"
    ) -> "tuple[Engine, WindowNumbers]":
        """The engine, for the windows of all jobs; without one a job's own, of no later bars."""
        from optimizer.run.search import engine_apart

        if self.engine is None and len(jobs) == 1:
            engine, (numbers,) = engine_apart(tasks)
            return engine, {jobs[0]: numbers}
        engine = self.engine or self.task.engine()
        return bring_windows(engine, {job: self.windows[job] for job in jobs})

    def estimate_work(self) -> tuple[Workload, int]:
        """See `InStepSetup`."""
        work, n_bars = self.task.workload(), self.task.markets.n_bars
        longest = max(sum(map(len, windows)) for windows in self.windows)
        individuals = int(work.individual_bars / n_bars)
        rows = work.row_bars if self.engine is None else 0
        bars = individuals * longest
        work = work._replace(individual_bars=bars, row_bars=rows, new_bars=0)
        return work, individuals
