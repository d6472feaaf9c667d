"""One contract for many searches: submit jobs of a setup, take results as they end.

It is the contract of `concurrent.futures`. A job is a pure function of its setup, so its place and
the number of its runs do not matter. No executor knows a question: a setup tells it all about the
work.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar, cast

from data import Window, parts
from engine.memory_plan import allow_host_bytes
from engine.runtime.machine import available_cores
from engine.workload import GPU_START_S, Workload
from optimizer.evidence.checkpoint import Numbered
from optimizer.evidence.pick import Prefer, ask_pick
from optimizer.search.generation import Floats

if TYPE_CHECKING:
    from engine.batch import Engine

    # Readers of results have neither engine nor search.
    from optimizer.run.problem import Answer, Asking, EngineProblem, Evaluator, Question
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
        task: With the seed of the run, the generations that it reached, and no held-out bars.
        warm_start: [N, G] genomes that the run began with.
    """

    task: "Task"
    warm_start: Floats | None = field(default=None, kw_only=True)

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
        beside_s = INDIVIDUAL_S * individuals + GENERATION_S * self.task.config.generations
        return beside_s + work._replace(threads=threads).cpu_s

    def seconds_on_gpu(self, cores: int) -> float:
        """Seconds that each takes, about, where all of so many cores but one ask a GPU."""
        work, individuals = self.estimate_work()
        beside_s = INDIVIDUAL_S * individuals / max(cores - 1, 1)
        return work.gpu_s + GPU_STEP_S * self.task.config.generations + beside_s

    def estimate(self, searches: int, device: str) -> float:
        """Seconds that so many take, about: each on a core, or asking a GPU if that is sooner."""
        cores = available_cores(self.task.config.threads)
        on_cores_s = searches * self.seconds(1) / cores
        if device == "cpu":
            return on_cores_s
        return min(on_cores_s, GPU_START_S + searches * self.seconds_on_gpu(cores))

    def on_host(self, share: int) -> Self:
        """The same with as many cores and as much memory as `share` workers leave each other."""
        config = self.task.config
        threads, room = allocate_threads(config.threads, share), allow_host_bytes(config.memory)
        return limit(self, threads=threads, memory=room // share)

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
        from optimizer.run.runner import evaluate_together

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


@dataclass(frozen=True)
class PartPick(Numbered):
    """Pick of a search on a part of the bars; None where its front was empty."""

    what: ClassVar[str] = "the pick of a search"

    number: int
    genome: tuple[float, ...] | None
    strength: float | None = None  # in its training; None where undefined


@dataclass(frozen=True)
class OnWindows(OneSearchSetup[int, PartPick]):
    """Setup of searches on parts of one task's bars, by number; one engine serves all of them.

    Attributes:
        engine: Of the task's series, with rows for all; made on demand if None. It
            stays in its process.
        n_bars: Bars of the run's search with its `min_trades`; the task's if None.
    """

    engine: "Engine | None" = field(default=None, kw_only=True)
    n_bars: int | None = field(default=None, kw_only=True)

    def __getstate__(self) -> dict[str, object]:
        """Setup that other processes get."""
        return {**self.__dict__, "engine": None}

    def on(self, engine: "Engine | None") -> Self:
        """The same with another engine."""
        return replace(self, engine=engine)

    @property
    @abstractmethod
    def trainings(self) -> Sequence[tuple[Window, ...]]:
        """Windows of each search, none where there are no bars yet."""

    def prefer(self, task: "Task", engine: "Evaluator", genomes: Floats) -> "Prefer | None":
        """Rule that names another member of a front than the strongest; None for none."""
        return None

    @cached_property
    def windows(self) -> tuple[tuple[Window, ...], ...]:
        """The same, cut as those of the run."""
        searched = ([replace(w, role="search") for w in training] for training in self.trainings)
        return tuple(parts(windows, self.task.config.parts) for windows in searched)

    def build_task(self, job: int) -> "Task":
        """Task of one training, on bars that end with it; without bars to train on, the run's.

        It asks as many trades a bar as the whole search, rounded up.
        """
        from optimizer.run.runner import on_other_bars

        markets, train = self.task.markets, self.trainings[job]
        if not train:
            return self.task
        n_bars = self.n_bars or markets.n_bars
        fewest = -(-self.task.config.min_trades * sum(map(len, train)) // n_bars)
        return on_other_bars(self.task, markets.series, train, min_trades=fewest)

    def search(self, job: int, task: "Task", problem: "EngineProblem") -> "Asking[PartPick]":
        """Search one training; its caller evaluates."""
        from optimizer.run.runner import search_again

        if windows := self.windows[job]:
            outcome = yield from search_again(task, problem, self.warm_start)
            if len(genomes := outcome.front.genomes):
                prefer = self.prefer(task, problem.engine, genomes)
                pick = yield from ask_pick(task, windows, genomes, prefer)
                if pick is not None:
                    return PartPick(job, tuple(pick.genome.tolist()), pick.strength.number)
        return PartPick(job, None)

    def make_engine(
        self, jobs: Sequence[int], tasks: "Sequence[Task]"
    ) -> "tuple[Engine, WindowNumbers]":
        """The engine, for the windows of all jobs; without one a job's own, of no later bars."""
        from optimizer.run.runner import engine_apart

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


INDIVIDUAL_S = 1.8e-6
"""Seconds of a search for an individual beside its evaluation: 7.4 for 1,000 generations of 4,096
on the host of an H200, which evaluated them in 0.4."""

GENERATION_S = 0.0015
"""The same for a generation on a core, however few individuals it has."""

GPU_STEP_S = 0.00015
"""Seconds of a generation on a GPU whose engine evaluates for all, beside bars and rows: 398 null
searches of 512 x 100 on the sample took 28 s on an H100 and 16 cores of its host."""

ROWS_OF_ONE, MOST_ROWS = 4, 4096
"""Rows that an individual reads and a search computes, where the strategy is not at hand: about
those of seller exhaustion."""


Setup = TypeVar("Setup", bound=InStepSetup[Any, Any])


class Runner(Protocol):
    """Runner of jobs on another machine, as a setup is."""

    def run(self, job: Any) -> Any:  # noqa: ANN401 - of any kind
        """Result of one."""
        ...


class Executor(Protocol):
    """Makes searches; it decides no result."""

    def check(self, task: "Task") -> None:
        """Refuse a task with searches that cannot be made there by a ConfigError."""
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


def allocate_threads(limit: int | None, share: int) -> int:
    """Threads for one of `share` workers of a host, at most `limit`."""
    fair = max(1, available_cores() // share)
    return fair if limit is None else min(fair, limit)


def limit(setup: Setup, **settings: object) -> Setup:
    """A setup with other settings of the machine, which decide no result."""
    config = setup.task.config.model_copy(update=settings)
    return replace(setup, task=replace(setup.task, config=config))
