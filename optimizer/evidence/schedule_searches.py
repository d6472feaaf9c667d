"""The schedule of a run searched: at each date, on null markets, and on as bars come."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from data import Window, joined
from data.progress import Progress
from data.timeframe import parse_timeframe
from engine.accounts.ledger import Ledger
from engine.batch import Engine
from engine.workload import Workload
from optimizer.config.settings import EvidenceSettings
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.jobs.executor import Ask, OnWindows, PartPick, WindowNumbers, bring_windows
from optimizer.evidence.judged_run import JudgedRun
from optimizer.evidence.null import KINDS, NullJob, NullSearch, NullTest, OnNullMarkets
from optimizer.evidence.out_of_sample import OutOfSample, measure_out_of_sample
from optimizer.evidence.pick import Prefer, compute_strengths, replay_gone
from optimizer.evidence.schedule import (
    NULL_SCHEDULE,
    STEP,
    ScheduleRecord,
    StepSettings,
    TradedSteps,
    build_schedule_record,
)
from optimizer.goals.objectives import parse_objectives
from optimizer.run.problem import Asking, EngineProblem, Evaluator, Question, run_in_step
from optimizer.run.purposes import restore_limits, restore_start
from optimizer.run.runner import engine_apart, on_other_bars
from optimizer.run.tables import require_result
from optimizer.run.task import Task
from optimizer.schedule import Step, format_days, join_ledgers, plan_steps
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.result import find_strongest

BY_NEIGHBOURS = "strength@near"

STAYS_FROM = 0.5
"""Share of the greatest strength from which on the pick before stays, by the rule ``keep``."""


@dataclass(frozen=True)
class StepSetup(OnWindows):
    """Setup that the steps of one schedule have in common."""

    settings: StepSettings

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Steps on the task's bars."""
        markets = self.task.markets
        return plan_steps(markets.series, markets.uncut, self.settings)

    @property
    def trainings(self) -> list[tuple[Window, ...]]:
        """See `OnWindows`."""
        return [step.train for step in self.steps]

    def prefer(self, task: Task, engine: Evaluator, genomes: Floats) -> Prefer | None:
        """Member of the strongest neighbours, by the rule ``near``."""
        is_near = self.settings.pick_by == "near"
        return partial(_find_nearest, task, engine, genomes) if is_near else None

    def trade(self, picks: Sequence[PartPick]) -> TradedSteps:
        """Trades of picks, one a step."""
        genomes = [None if pick.genome is None else np.array(pick.genome) for pick in picks]
        return TradedSteps(self.task, self.steps, genomes)

    def count_mismatches(self, found: Sequence[PartPick]) -> int:
        """Searches of the middle and the last step that pick otherwise on bars that end there."""
        alone, numbers = replace(self, engine=None), {len(found) // 2, len(found) - 1}
        return sum(alone.run(number).genome != found[number].genome for number in sorted(numbers))

    def measure_strength(self, number: int, genome: Floats) -> float:
        """Strength of an individual [G] in the training of a step; NaN where undefined."""
        engine = (self.engine or self.task.engine()).on(self.windows[number])
        _, account = engine.evaluate_account(genome[None])
        return float(compute_strengths(account)[0])


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


def choose_picks(
    setup: StepSetup,
    found: Sequence[PartPick],
    measure: Callable[[int, Floats], float] | None = None,
) -> tuple[PartPick, ...]:
    """Pick of each step by the rule, from what its search found.

    By ``keep`` the pick before stays while its strength in the new training is at least half of
    the greatest, where that is above 0, and its account stands there. `measure` as
    `StepSetup.measure_strength`, which is taken without it.
    """
    if setup.settings.pick_by != "keep":
        return tuple(found)
    if measure is None:
        measure = replace(setup, engine=setup.engine or setup.task.engine()).measure_strength
    picks: list[PartPick] = []
    for strongest in found:
        number, greatest = strongest.number, strongest.strength
        before = picks[-1] if picks else None
        picks.append(strongest)
        if before is None or before.genome is None or not setup.windows[number]:
            continue
        genome = np.array(before.genome)
        kept = measure(number, genome)
        is_strong = greatest is not None and greatest > 0 and kept >= STAYS_FROM * greatest
        if is_strong and not replay_gone(setup.build_task(number), genome[None])(0):
            picks[-1] = replace(before, number=number, strength=kept)
    return tuple(picks)


@dataclass(frozen=True)
class NullScheduleSetup(OnNullMarkets):
    """Setup that null schedules of one run have in common."""

    settings: StepSettings = field(kw_only=True)

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
        by_job: dict[NullJob, dict[int, PartPick]] = {job: {} for job in tasks}
        for (job, step), pick in run_in_step(searches, answer):
            by_job[job][step] = pick
            if len(by_job[job]) == len(setups[job].steps):
                yield job, self._join(job, setups[job], by_job.pop(job), answer)

    def seconds(self, threads: int) -> float:
        """Seconds that one schedule takes on so many cores, about."""
        return len(self.on_run.steps) * self.on_run.seconds(threads)

    def estimate_work(self) -> tuple[Workload, int]:
        """Work of a schedule on a GPU, with rows made once for all steps."""
        (work, individuals), steps = self.on_run.estimate_work(), len(self.on_run.steps)
        work = work._replace(individual_bars=steps * work.individual_bars, calls=steps * work.calls)
        return work, steps * individuals

    def _on_task(self, task: Task) -> StepSetup:
        return StepSetup(task, self.settings, warm_start=self.warm_start)

    def _join(
        self, job: NullJob, setup: StepSetup, found: Mapping[int, PartPick], answer: Ask
    ) -> NullSearch:
        """Outcome of a schedule after all its picks."""

        def measure(step: int, genome: Floats) -> float:
            question = Question(genome[None], len(setup.windows[step]) > 1)
            (answered,) = answer({(job, step): question})
            return float(compute_strengths(answered.joint)[0])

        picks = choose_picks(setup, [found[step] for step in range(len(found))], measure)
        traded = setup.trade(picks)
        return NullSearch(
            job.number,
            sum(pick.genome is not None for pick in picks),
            traded.strength.number,
            sum(map(len, traded.stitched.ledgers)),
        )


def build_step_settings(settings: EvidenceSettings, purge: int = 0) -> StepSettings:
    """Settings of steps, with durations in days."""
    durations = parse_timeframe(str(settings.every)), parse_timeframe(str(settings.train))
    every, train = map(format_days, durations)
    return StepSettings(every, train, purge, settings.anchored, settings.pick_by)


def build_steps(run: JudgedRun) -> StepSetup | None:
    """Steps of a schedule, if one is planned.

    Raises:
        ConfigError: When its dates do not fit the bars.
    """
    if run.plan.every is None:
        return None
    settings = build_step_settings(run.plan, run.plan.choose_purge(run.task))
    setup = StepSetup(run.again, settings, warm_start=run.warm_start)
    assert setup.steps
    return setup


def search_steps(run: JudgedRun, setup: StepSetup | None) -> Callable[[], ScheduleRecord] | None:
    """Searches of the steps, recorded as they end; the returned function makes the record.

    Call it after the engine is released: null schedules, recorded too, need its memory.
    """
    if setup is None:
        return None
    numbers = range(len(setup.steps))
    made = Checkpoint(run.store, STEP, vars(setup.settings.searched), PartPick)
    ended = run.executor.submit(setup, made.list_missing(numbers), engine=run.engine)
    searched = made.complete(numbers, ended, run.watch, "judging: steps of the schedule")
    picks = choose_picks(replace(setup, engine=run.engine), searched)
    return partial(_evaluate_schedule, run, setup, searched, picks)


def _evaluate_schedule(
    run: JudgedRun, setup: StepSetup, searched: Sequence[PartPick], picks: Sequence[PartPick]
) -> ScheduleRecord:
    plan, settings, traded = run.plan, setup.settings, setup.trade(picks)
    run.watch(Progress("judging: steps searched again without later bars"))
    mismatches, null = setup.count_mismatches(searched), None
    if plan.null:
        found = run.store, NULL_SCHEDULE, traded.strength
        test = NullTest(*found, noun="schedules", settings=vars(settings))
        markets = NullScheduleSetup(
            setup.task, plan.null_keep, settings=settings, warm_start=setup.warm_start
        )
        null = test.make(
            markets, plan.null, partial(run.executor.submit, used=run.device), run.watch
        )
    strengths = [pick.strength for pick in picks]
    return build_schedule_record(traded, settings, strengths, mismatches=mismatches, null=null)


def continue_schedule(
    store: RunStore, task: Task, made: ScheduleRecord, *, may_search: bool = True
) -> tuple[TradedSteps, list[int]]:
    """Picks of a schedule on longer bars, and the steps that were not searched.

    They trade the pick before them. If it may search, missing steps are searched as the run was,
    and recorded; the task's bars begin with those of the run.
    """
    result = require_result(store)
    ends = task.config.model_copy(update=restore_limits(store, task, result))
    again, start = replace(task, config=ends), restore_start(store, task)
    n_bars = sum(window.bars for window in result.data.searched)
    engine = again.engine()
    setup = StepSetup(again, made.settings, warm_start=start, engine=engine, n_bars=n_bars)
    numbers = range(len(setup.steps))
    rows = Checkpoint(store, STEP, vars(setup.settings.searched), PartPick)
    if may_search and (missing := rows.list_missing(numbers)):
        for _, row in setup.run_in_step(missing):
            rows.add(row)
        store.flush()
    missing = rows.list_missing(numbers)
    searched = [rows.known[number] for number in numbers if number not in missing]
    picks = choose_picks(setup, searched)
    goes_on = [PartPick(number, picks[-1].genome, None) for number in missing]
    return setup.trade([*picks, *goes_on]), missing


def measure_held_out_steps(store: RunStore, whole: Task, made: ScheduleRecord) -> OutOfSample:
    """Trades that steps of a schedule enter on held-out bars, as it goes on over them.

    `whole` is the run's task with what it held out; steps that are not recorded are searched.
    """
    markets = whole.markets
    by_time = sorted(markets.all_windows, key=lambda window: (window.series, window.start))
    windows = joined([replace(window, role="search") for window in by_time])
    traded, _ = continue_schedule(store, on_other_bars(whole, markets.series, windows), made)
    stitched = traded.stitched

    def select(held_out: Window) -> Ledger:
        """Trades with a signal bar in a window."""
        for traded, ledger in zip(stitched.windows, stitched.ledgers, strict=True):
            is_around = traded.start < held_out.end and held_out.start < traded.end
            if traded.series == held_out.series and is_around:
                bars = ledger.signal_bar
                return ledger.keep((bars >= held_out.start) & (bars < held_out.end))
        return join_ledgers([])

    ledgers = [select(window) for window in markets.held_out]
    return measure_out_of_sample(ledgers, markets.series, markets.held_out)


def estimate_schedule_seconds(task: Task, settings: EvidenceSettings, device: str) -> float:
    """Seconds that both kinds of null schedules take, about, if none is stopped."""
    # Anchored trainings grow; as if none did.
    steps = replace(build_step_settings(settings), anchored=False)
    return NullScheduleSetup(task, settings=steps).estimate(2 * len(KINDS) * 100, device)
