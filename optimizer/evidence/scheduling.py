"""The schedule of a run searched, and held against the same schedule on null markets."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast, get_args

from data.progress import Progress, Watch
from engine.batch import Engine
from engine.workload import GPU_START_S
from optimizer.config.evidence import EvidenceSettings
from optimizer.errors import StoreError
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.jobs.executor import Executor
from optimizer.evidence.null import KINDS, NullTest
from optimizer.evidence.pick import compute_strength
from optimizer.evidence.schedule import NullScheduleSettings, ScheduleRecord
from optimizer.evidence.schedule_record import build_schedule_record, count_mismatches
from optimizer.evidence.schedule_searches import (
    NullScheduleSetup,
    PickBy,
    StepPick,
    StepSetup,
    choose_picks,
    stitch_picks,
)
from optimizer.run.task import Task
from optimizer.schedule import parse_schedule
from optimizer.search.generation import Floats
from optimizer.store import RunStore

STEPS = "steps of the schedule"


class FoundSteps(NamedTuple):
    """Outcomes of the searches of steps."""

    searched: Sequence[StepPick]  # strongest of each
    picks: Sequence[StepPick]  # by the rule of the schedule


def search_steps(
    store: RunStore, setup: StepSetup, engine: Engine, executor: Executor, watch: Watch
) -> FoundSteps:
    """Outcome of the search of each step; those that are not known yet are made, and recorded.

    Args:
        store: Of the run, open for writing.
        setup: Of the steps.
        engine: Of this process and the run's bars.
        executor: Where searches are made.
        watch: Callback of progress.
    """
    count, made = len(setup.steps), open_steps(store, setup)
    ended = executor.submit(setup, made.list_missing(count), engine=engine)
    searched = made.complete(count, ended, watch, STEPS)
    return FoundSteps(searched, choose_picks(replace(setup, engine=engine), searched))


def evaluate_schedule(
    store: RunStore,
    setup: StepSetup,
    found: FoundSteps,
    settings: EvidenceSettings,
    executor: Executor,
    watch: Watch,
    used: str,
) -> ScheduleRecord:
    """Record of a schedule whose steps were searched; null schedules are recorded as they end.

    Args:
        store: Of the run, open for writing.
        setup: Of its steps.
        found: By `search_steps`.
        settings: How many null schedules.
        executor: Where searches are made.
        watch: Callback of progress.
        used: Device of the run's own search.
    """
    watch(Progress("judging: steps searched again without later bars"))
    mismatches = count_mismatches(setup, found.searched)
    null = None
    if settings.null:
        null_setup = NullScheduleSetup(
            setup.task, setup.schedule, setup.pick_by, settings.null_keep, setup.warm_start
        )
        test = _build_null_test(store, setup, found.picks, settings.stop_after)
        submit = partial(executor.submit, used=used)
        null = test.make(null_setup, settings.null, submit, watch)
    return build_schedule_record(setup, found.picks, mismatches=mismatches, null=null)


def build_step_setup(
    task: Task, settings: EvidenceSettings, purge: int, warm_start: Floats | None
) -> StepSetup:
    """Setup of the steps that settings ask for.

    Raises:
        ConfigError: When they do not fit the bars.
    """
    schedule = parse_schedule(
        str(settings.every), str(settings.train), purge, is_anchored=settings.anchored
    )
    setup = StepSetup(task, schedule, settings.pick_by, warm_start)
    # Dates that do not fit are refused before any work.
    assert setup.steps
    return setup


def open_steps(store: RunStore, setup: StepSetup) -> Checkpoint[StepPick]:
    """Rows of the steps of a schedule."""
    return Checkpoint(store, setup.settings.searched, StepPick)


def read_rule(recorded: ScheduleRecord) -> PickBy:
    """Rule of a recorded schedule.

    Raises:
        StoreError: When this version has no such rule.
    """
    for rule in get_args(PickBy):
        if rule == recorded.pick_by:
            return cast(PickBy, rule)
    raise StoreError(f"this version knows no rule '{recorded.pick_by}' of schedules")


def estimate_schedule_seconds(
    task: Task, settings: EvidenceSettings, cores: int, device: str
) -> float:
    """Seconds that both kinds of null schedules take, about, if none is stopped.

    As `optimizer.evidence.null.estimate_null_seconds`.
    """
    setup = NullScheduleSetup(task, parse_schedule(str(settings.every), str(settings.train), 0))
    schedules = 2 * len(KINDS) * 100
    on_cores_s = schedules * setup.seconds(1) / cores
    if device == "cpu":
        return on_cores_s
    return min(on_cores_s, GPU_START_S + schedules * setup.seconds_on_gpu(cores))


def _build_null_test(
    store: RunStore, setup: StepSetup, picks: Sequence[StepPick], stop_after: int
) -> NullTest:
    """Stitched strength of picks, held against the same schedule on null markets."""
    stitched = stitch_picks(setup.task, setup.steps, picks)
    strength = compute_strength([ledger.r for ledger in stitched.ledgers])
    settings = partial(NullScheduleSettings, **vars(setup.settings))
    return NullTest(store, settings, strength, stop_after, noun="schedules")
