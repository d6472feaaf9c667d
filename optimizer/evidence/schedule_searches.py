"""The schedule of a run: its search repeated at each date, and the same on null markets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, Literal

import numpy as np

from data import Window
from engine.batch import Engine
from engine.workload import Workload
from optimizer.evidence.checkpoint import Numbered
from optimizer.evidence.figures import encode_figure
from optimizer.evidence.jobs.in_step import (
    Ask,
    InStepSetup,
    OnWindows,
    WindowNumbers,
    bring_windows,
)
from optimizer.evidence.null import NullJob, NullSearch, OnNullMarkets
from optimizer.evidence.null_markets import Keep
from optimizer.evidence.pick import (
    build_pick,
    choose_member,
    compute_strength,
    compute_strengths,
    replay_gone,
)
from optimizer.evidence.schedule import StepSettings
from optimizer.goals.objectives import parse_objectives
from optimizer.run.problem import Asking, EngineProblem, Evaluator, Question, answer
from optimizer.run.search import engine_apart, on_other_bars, search_again
from optimizer.run.task import Task
from optimizer.schedule import Schedule, Step, Stitched, format_days, plan_steps, stitch
from optimizer.search.generation import Floats
from optimizer.search.in_step import run_alone, run_in_step
from optimizer.store.result import find_strongest

PickBy = Literal["strength", "near", "keep"]
"""Rule that picks a member: the strongest, the one of the strongest neighbours, or the one before
while it is half as strong as the strongest."""

BY_NEIGHBOURS = "strength@near"

STAYS_FROM = 0.5
"""Share of the greatest strength from which on the pick before stays, by the rule ``keep``."""


@dataclass(frozen=True)
class StepPick(Numbered):
    """Strongest of the search of one step; None where its front was empty."""

    what: ClassVar[str] = "a step"

    number: int
    genome: tuple[float, ...] | None
    strength: float | None  # in its training; None where undefined


@dataclass(frozen=True)
class StepSetup(OnWindows[StepPick]):
    """Setup that the steps of one schedule have in common."""

    task: Task
    schedule: Schedule
    pick_by: PickBy = "strength"
    warm_start: Floats | None = None
    engine: Engine | None = None
    # That the run searched, of which `min_trades` is; those of the task if None.
    n_bars: int | None = None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Steps on the task's bars."""
        return plan_steps(self.task.markets.series, self.task.markets.uncut, self.schedule)

    @property
    def settings(self) -> StepSettings:
        """Settings of the schedule, as its rows have them."""
        every, train = map(format_days, (self.schedule.every_ns, self.schedule.train_ns))
        schedule = self.schedule
        return StepSettings(every, train, schedule.purge, schedule.is_anchored, self.pick_by)

    @property
    def trainings(self) -> list[tuple[Window, ...]]:
        """Windows of each training, none where there are no bars yet."""
        return [step.train for step in self.steps]

    def build_task(self, job: int) -> Task:
        """Task of one training, on bars that end with it; without bars to train on, the run's."""
        markets, train = self.task.markets, self.steps[job].train
        if not train:
            return self.task
        n_bars = self.n_bars or markets.n_bars
        fewest = -(-self.task.config.min_trades * sum(map(len, train)) // n_bars)
        return on_other_bars(self.task, markets.series, train, min_trades=fewest)

    def search(self, job: int, task: Task, problem: EngineProblem) -> Asking[StepPick]:
        """Search one training; its caller evaluates."""
        windows = self.windows[job]
        if not windows:
            return StepPick(job, None, None)
        outcome = yield from search_again(task, problem, self.warm_start)
        genomes = outcome.front.genomes
        if not len(genomes):
            return StepPick(job, None, None)
        answered = yield Question(genomes, len(windows) > 1)
        member, is_gone = None, replay_gone(task, genomes)
        strengths = compute_strengths(answered.joint)
        if self.pick_by == "near":
            member = yield from _find_nearest(task, problem.engine, genomes, strengths, is_gone)
        if member is None:
            member = choose_member(strengths, genomes, is_gone)
        if member is None:
            return StepPick(job, None, None)
        pick = build_pick(windows, genomes, answered.accumulators, answered.joint, member)
        return StepPick(job, tuple(pick.genome.tolist()), encode_figure(pick.strength))

    def repeat(self, number: int) -> tuple[float, ...] | None:
        """Genome that the search of a step picks on bars that end with its training."""
        if not self.windows[number]:
            return None
        task = self.build_task(number)
        engine = task.engine()
        search = self.search(number, task, task.problem(engine))
        return run_alone(search, partial(answer, engine)).genome

    def measure_strength(self, number: int, genome: Floats) -> float:
        """Strength of an individual [G] in the training of a step; NaN where undefined."""
        engine = (self.engine or self.task.engine()).on(self.windows[number])
        _, account = engine.evaluate_account(genome[None])
        return float(compute_strengths(account)[0])

    def is_gone(self, number: int, genome: Floats) -> bool:
        """Whether the account of an individual [G] stood at nothing in the training of a step."""
        return replay_gone(self.build_task(number), genome[None])(0)


def _find_nearest(
    task: Task,
    engine: Evaluator,
    genomes: Floats,
    strengths: Floats,
    is_gone: Callable[[int], bool],
) -> Asking[int | None]:
    """Member of greatest `strength@near`, then strength, then the first by genome; None of none."""
    goals = replace(task.goals, objectives=parse_objectives(BY_NEIGHBOURS))
    problem = EngineProblem(goals, task.markets.spans(task.markets.windows), engine)
    near = goals.natural((yield from problem.ask_objectives(genomes)))[:, 0]
    candidates = np.flatnonzero(~np.isnan(near)).tolist()
    known = np.array([member for member in candidates if not is_gone(member)], np.int64)
    if not len(known):
        return None
    best = known[near[known] == near[known].max()]
    index = find_strongest(strengths[best], genomes[best])
    return int(best[0 if index is None else index])


@dataclass(frozen=True)
class NullScheduleSetup(OnNullMarkets, InStepSetup[NullJob, NullSearch]):
    """Setup that null schedules of one run have in common."""

    task: Task
    schedule: Schedule
    pick_by: PickBy = "strength"
    keep: Keep | Literal["auto"] = "auto"  # rhythm that shuffled bars keep
    warm_start: Floats | None = None  # [N, G] genomes that the run began with

    @cached_property
    def on_run(self) -> StepSetup:
        """The schedule on the bars of the run."""
        return self._on_task(self.task)

    @property
    def searched(self) -> Sequence[Sequence[Window]]:
        """Windows of each step."""
        return self.on_run.windows

    def make_engine(
        self, jobs: Sequence[NullJob], tasks: Sequence[Task]
    ) -> tuple[Engine, WindowNumbers]:
        """One engine of all markets, for the windows of all their steps."""
        engine, of_markets = engine_apart(tasks)
        windows = {}
        for job, task, of_market in zip(jobs, tasks, of_markets, strict=True):
            first = engine.windows[of_market[0]].series - task.markets.windows[0].series
            for step, of_step in enumerate(self._on_task(task).windows):
                windows[job, step] = [replace(w, series=first + w.series) for w in of_step]
        return bring_windows(engine, windows)

    def search_together(
        self, tasks: Mapping[NullJob, Task], engine: Engine, answer: Ask
    ) -> Iterator[tuple[NullJob, NullSearch]]:
        """All steps of all markets in step; each schedule as its last step ends."""
        setups = {job: self._on_task(task) for job, task in tasks.items()}
        searches = {}
        for job, setup in setups.items():
            for step in range(len(setup.steps)):
                task = setup.build_task(step)
                searches[job, step] = setup.search(step, task, task.problem(engine))
        by_job: dict[NullJob, dict[int, StepPick]] = {job: {} for job in tasks}
        for (job, step), pick in run_in_step(searches, answer):
            by_job[job][step] = pick
            if len(by_job[job]) == len(setups[job].steps):
                yield job, self._stitch(job, setups[job], by_job.pop(job), answer)

    def seconds(self, threads: int) -> float:
        """Seconds that one schedule takes on so many cores, about."""
        return len(self.on_run.steps) * self.on_run.seconds(threads)

    def estimate_work(self) -> tuple[Workload, int]:
        """Work of a schedule on a GPU, whose rows are made once for all steps."""
        (work, individuals), steps = self.on_run.estimate_work(), len(self.on_run.steps)
        work = work._replace(individual_bars=steps * work.individual_bars, calls=steps * work.calls)
        return work, steps * individuals

    def _on_task(self, task: Task) -> StepSetup:
        return StepSetup(task, self.schedule, self.pick_by, self.warm_start)

    def _stitch(
        self, job: NullJob, setup: StepSetup, found: Mapping[int, StepPick], answer: Ask
    ) -> NullSearch:
        """Outcome of a schedule whose steps have found their picks."""

        def measure(step: int, genome: Floats) -> float:
            question = Question(genome[None], len(setup.windows[step]) > 1)
            (answered,) = answer({(job, step): question})
            return float(compute_strengths(answered.joint)[0])

        picks = choose_picks(setup, [found[step] for step in range(len(found))], measure)
        stitched = stitch_picks(setup.task, setup.steps, picks)
        strength = compute_strength([ledger.r for ledger in stitched.ledgers])
        return NullSearch(
            job.number,
            sum(pick.genome is not None for pick in picks),
            encode_figure(strength),
            sum(map(len, stitched.ledgers)),
        )


def choose_picks(
    setup: StepSetup,
    found: Sequence[StepPick],
    measure: Callable[[int, Floats], float] | None = None,
) -> tuple[StepPick, ...]:
    """Pick of each step by the rule, from what its search found.

    By ``keep`` the pick before stays while its strength in the new training is at least half of
    the greatest, where that is above 0, and its account stands there. `measure` as
    `StepSetup.measure_strength`, which is taken without it.
    """
    if setup.pick_by != "keep":
        return tuple(found)
    if measure is None:
        measure = replace(setup, engine=setup.engine or setup.task.engine()).measure_strength
    picks: list[StepPick] = []
    for strongest in found:
        before = picks[-1] if picks else None
        picks.append(strongest)
        if before is None or before.genome is None or not setup.windows[strongest.number]:
            continue
        kept = measure(strongest.number, np.array(before.genome))
        greatest = strongest.strength
        is_strong = greatest is not None and greatest > 0 and kept >= STAYS_FROM * greatest
        if is_strong and not setup.is_gone(strongest.number, np.array(before.genome)):
            picks[-1] = replace(before, number=strongest.number, strength=kept)
    return tuple(picks)


def stitch_picks(task: Task, steps: Sequence[Step], picks: Sequence[StepPick]) -> Stitched:
    """Trades of the picks of all steps on a task's searched bars."""
    genomes = [None if pick.genome is None else np.array(pick.genome) for pick in picks]
    uncut = task.markets.uncut
    return stitch(task.build_reference(uncut), uncut, steps, genomes)
