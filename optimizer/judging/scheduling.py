"""The schedule of a run searched, and held against the same schedule on null markets."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import cast, get_args

from engine.batch import Engine
from engine.workload import GPU_START_S
from optimizer.config.evidence import EvidenceSettings
from optimizer.errors import StoreError
from optimizer.evidence.figures import Figure
from optimizer.evidence.null import MOST_P, Compared, NullKind, NullRecord, Tally, tally
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.evidence.strength import compute_strength
from optimizer.judging.checkpoint import Checkpoint, Watch
from optimizer.judging.executors import Executors
from optimizer.judging.null import KINDS, NullSearch, list_strengths, run_null_searches
from optimizer.judging.schedule import (
    NullScheduleSetup,
    PickBy,
    StepPick,
    StepSetup,
    choose_picks,
    stitch_picks,
)
from optimizer.judging.schedule_record import build_schedule_record, count_mismatches
from optimizer.run.task import Task
from optimizer.schedule.dates import parse_schedule
from optimizer.search.generation import Floats
from optimizer.store import RunStore

STEPS = "steps of the schedule"


def evaluate_schedule(
    store: RunStore,
    setup: StepSetup,
    settings: EvidenceSettings,
    executors: Executors,
    watch: Watch,
) -> ScheduleRecord:
    """Search the steps of a schedule and those of its null, each recorded as it ends.

    Args:
        store: Of the run, open for writing.
        setup: With the engine of this process.
        settings: The rule, and how many null schedules.
        executors: Where searches are made.
        watch: Callback of progress.
    """
    searched = _search_steps(store, setup, executors, watch)
    picks = choose_picks(setup, searched)
    watch("steps searched again without later bars", 0, 0, "")
    mismatches = count_mismatches(setup, searched)
    null = None
    if settings.null:
        null = _evaluate_null(store, setup, settings, picks, executors, watch)
    return build_schedule_record(setup, picks, mismatches=mismatches, null=null)


def build_step_setup(
    task: Task, settings: EvidenceSettings, purge: int, warm_start: Floats | None, engine: Engine
) -> StepSetup:
    """Setup of the steps that settings ask for.

    Raises:
        ConfigError: When they do not fit the bars.
    """
    schedule = parse_schedule(
        str(settings.every), str(settings.train), purge, is_anchored=settings.anchored
    )
    setup = StepSetup(task, schedule, settings.pick_by, warm_start, engine)
    # Dates that do not fit are refused before any work.
    assert setup.steps
    return setup


def restore_schedule_record(
    store: RunStore, task: Task, recorded: ScheduleRecord, engine: Engine
) -> ScheduleRecord:
    """Record of a schedule as it follows from its rows of evidence; nothing is searched.

    Raises:
        StoreError: When a row is missing.
    """
    schedule = parse_schedule(
        recorded.every, recorded.train, recorded.purge, is_anchored=recorded.anchored
    )
    setup = StepSetup(task, schedule, read_rule(recorded), None, engine)
    known = Checkpoint(store, name_steps(setup), StepPick).known
    if missing := [number for number in range(len(setup.steps)) if number not in known]:
        raise StoreError(f"{name_steps(setup)}/{missing[0]} is missing")
    searched = [known[number] for number in range(len(setup.steps))]
    picks = choose_picks(setup, searched)
    null = recorded.null
    if null is not None:
        value = _measure_strength(setup, picks)
        kinds = {}
        for kind, before in null.kinds.items():
            rows = Checkpoint(store, name_null(setup, null.keep, kind), NullSearch).known
            counted = tally(value, list_strengths(rows)[: null.planned], null.stop_after)
            searches = [rows[n + 1] for n in range(counted.searches)]
            kinds[kind] = _build_kind(value, counted, searches)
            assert before is not None
        null = NullRecord(null.planned, null.keep, **kinds, stop_after=null.stop_after)
    return build_schedule_record(setup, picks, mismatches=recorded.mismatches, null=null)


def name_steps(setup: StepSetup) -> str:
    """Name of the rows of steps."""
    # Who is kept is found out afterwards, of the strongest.
    return f"schedule/{setup.schedule.name}" + "-near" * (setup.pick_by == "near")


def name_null(setup: StepSetup, keep: str, kind: str) -> str:
    """Name of the rows of null schedules of a kind."""
    return f"null-schedule/{setup.schedule.name}-{setup.pick_by}/{keep}/{kind}"


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

    As `optimizer.judging.verdict.estimate_null_seconds`.
    """
    setup = NullScheduleSetup(task, parse_schedule(str(settings.every), str(settings.train), 0))
    schedules = 2 * len(KINDS) * 100
    on_cores_s = schedules * setup.seconds(1) / cores
    if device == "cpu":
        return on_cores_s
    return min(on_cores_s, GPU_START_S + schedules * setup.seconds_on_gpu(cores))


def _search_steps(
    store: RunStore, setup: StepSetup, executors: Executors, watch: Watch
) -> list[StepPick]:
    """What the search of each step found; those that are not known yet are made."""
    count, made = len(setup.steps), Checkpoint(store, name_steps(setup), StepPick)
    numbers = [number for number in range(count) if number not in made.known]
    watch(STEPS, len(made.known), count, "")
    if numbers:
        workers = executors.executor(replace(setup, engine=None), len(numbers), engine=setup.engine)
        with closing(workers.results(numbers)) as ended:
            for _, pick in ended:
                made.add(pick)
                watch(STEPS, len(made.known), count, "")
    return [made.known[number] for number in range(count)]


def _evaluate_null(
    store: RunStore,
    setup: StepSetup,
    settings: EvidenceSettings,
    picks: Sequence[StepPick],
    executors: Executors,
    watch: Watch,
) -> NullRecord:
    """The same schedule on shuffled bars, and on mirrored ones where those do not say luck."""
    null_setup = NullScheduleSetup(
        setup.task, setup.schedule, setup.pick_by, settings.null_keep, setup.warm_start
    )
    keep, stop_after = null_setup.markets.keep, settings.stop_after
    value = _measure_strength(setup, picks)
    made = {kind: Checkpoint(store, name_null(setup, keep, kind), NullSearch) for kind in KINDS}
    planned = max(settings.null, *(len(list_strengths(rows.known)) for rows in made.values()))
    workers = executors.executor(
        replace(null_setup, keep=keep), planned, first=2 * stop_after, engine=setup.engine
    )
    kinds: dict[str, NullKind] = {}
    for kind, rows in made.items():
        counted, searches = run_null_searches(
            workers, kind, value, (planned, stop_after), rows, watch, noun="schedules"
        )
        kinds[kind] = _build_kind(value, counted, searches)
        if counted.p > MOST_P:
            break
    return NullRecord(planned, keep, **kinds, stop_after=stop_after)


def _measure_strength(setup: StepSetup, picks: Sequence[StepPick]) -> float:
    """Stitched strength; minus infinity where it is undefined."""
    stitched = stitch_picks(setup.task, setup.steps, picks)
    strength: Figure = compute_strength([ledger.r for ledger in stitched.ledgers])
    return strength.value if strength.is_defined else float("-inf")


def _build_kind(value: float, counted: Tally, searches: Sequence[NullSearch]) -> NullKind:
    return NullKind(
        run=counted.searches,
        stopped=counted.is_stopped,
        strength=Compared(
            None if value == float("-inf") else value, counted.at_least, float(counted.p)
        ),
        objectives={},
        hypervolume=None,
        strengths=tuple(search.strength for search in searches),
    )
