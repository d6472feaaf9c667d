"""The schedule of a run: its search repeated at each date, and the same on null markets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, Literal

import numpy as np

from data import Window
from engine.batch import Engine
from optimizer.evidence.figures import encode_figure
from optimizer.evidence.null_markets import Keep
from optimizer.evidence.strength import compute_strength, find_strongest
from optimizer.goals.objectives import parse_objectives
from optimizer.judging.checkpoint import Numbered
from optimizer.judging.in_step import OnWindows
from optimizer.judging.null import NullJob, NullSearch, OnNullMarkets
from optimizer.judging.pick import build_pick, compute_strengths
from optimizer.judging.verdict import estimate_gpu_seconds
from optimizer.run.problem import Asking, EngineProblem, Evaluator, Question, answer
from optimizer.run.search import on_other_bars, search_again
from optimizer.run.task import Task
from optimizer.schedule.dates import Schedule, Step, plan_steps
from optimizer.schedule.stitched import Stitched, stitch
from optimizer.search.generation import Floats
from optimizer.search.in_step import run_alone

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
        accumulators, account, _ = yield Question(genomes, len(windows) > 1)
        alone = accumulators[:, 0] if account is None else account
        member = None
        if self.pick_by == "near":
            strengths = compute_strengths(alone)
            member = yield from _find_nearest(task, problem.engine, genomes, strengths)
        pick = build_pick(windows, genomes, accumulators, alone, member)
        return StepPick(job, tuple(pick.genome.tolist()), encode_figure(pick.strength))

    def repeat(self, number: int) -> tuple[float, ...] | None:
        """Genome that the search of a step picks on bars that end with its training."""
        if not self.windows[number]:
            return None
        task = self.build_task(number)
        engine = task.engine()
        search = self.search(number, task, task.problem(engine))
        return run_alone(search, partial(answer, engine)).genome

    def evaluate_strength(self, number: int, genome: Floats, engine: Engine) -> float:
        """Strength of an individual [G] in the training of a step; NaN where undefined."""
        on_training = engine.on(self.windows[number])
        _, account = on_training.evaluate_account(genome[None])
        return float(compute_strengths(account)[0])


def _find_nearest(
    task: Task, engine: Evaluator, genomes: Floats, strengths: Floats
) -> Asking[int | None]:
    """Member of greatest `strength@near`, then strength, then the first by genome; None of none."""
    goals = replace(task.goals, objectives=parse_objectives(BY_NEIGHBOURS))
    problem = EngineProblem(goals, task.markets.spans(task.markets.windows), engine)
    near = goals.natural((yield from problem.ask_objectives(genomes)))[:, 0]
    known = np.flatnonzero(~np.isnan(near))
    if not len(known):
        return None
    best = known[near[known] == near[known].max()]
    index = find_strongest(strengths[best], genomes[best])
    return int(best[0 if index is None else index])


@dataclass(frozen=True)
class NullScheduleSetup(OnNullMarkets):
    """Setup that null schedules of one run have in common."""

    task: Task
    schedule: Schedule
    pick_by: PickBy = "strength"
    keep: Keep | Literal["auto"] = "auto"  # rhythm that shuffled bars keep
    warm_start: Floats | None = None  # [N, G] genomes that the run began with

    def run(self, job: NullJob) -> NullSearch:
        """The schedule on one market."""
        task = self.build_task(job)
        setup = StepSetup(task, self.schedule, self.pick_by, self.warm_start, task.engine())
        by_number = dict(setup.run_in_step(range(len(setup.steps))))
        picks = choose_picks(setup, [by_number[number] for number in range(len(by_number))])
        stitched = stitch_picks(task, setup.steps, picks)
        strength = compute_strength([ledger.r for ledger in stitched.ledgers])
        return NullSearch(
            job.kind,
            job.number,
            sum(pick.genome is not None for pick in picks),
            encode_figure(strength),
            sum(map(len, stitched.ledgers)),
        )

    def seconds(self, threads: int) -> float:
        """Seconds that one schedule takes on so many cores, about."""
        setup = StepSetup(self.task, self.schedule)
        return len(setup.steps) * setup.seconds(threads)

    def seconds_on_gpu(self, threads: int) -> float:
        """Seconds that each takes, about, where processes share a GPU; cores do not matter."""
        steps = len(StepSetup(self.task, self.schedule).steps)
        return steps * estimate_gpu_seconds(self.task.workload(), self.task.config.generations)


def choose_picks(setup: StepSetup, found: Sequence[StepPick]) -> tuple[StepPick, ...]:
    """Pick of each step by the rule, from what its search found.

    By ``keep`` the pick before stays while its strength in the new training is at least half of
    the greatest, where that is above 0.
    """
    if setup.pick_by != "keep":
        return tuple(found)
    engine = setup.engine or setup.task.engine()
    picks: list[StepPick] = []
    for strongest in found:
        before = picks[-1] if picks else None
        picks.append(strongest)
        if before is None or before.genome is None or not setup.windows[strongest.number]:
            continue
        kept = setup.evaluate_strength(strongest.number, np.array(before.genome), engine)
        greatest = strongest.strength
        if greatest is not None and greatest > 0 and kept >= STAYS_FROM * greatest:
            picks[-1] = replace(before, number=strongest.number, strength=kept)
    return tuple(picks)


def stitch_picks(task: Task, steps: Sequence[Step], picks: Sequence[StepPick]) -> Stitched:
    """Trades of the picks of all steps on a task's searched bars."""
    genomes = [None if pick.genome is None else np.array(pick.genome) for pick in picks]
    uncut = task.markets.uncut
    return stitch(task.build_reference(uncut), uncut, steps, genomes)
