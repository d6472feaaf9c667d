"""All evidence on a finished run, part after part, and the verdict that follows from it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from data.errors import DataError
from data.progress import Progress, Watch
from data.shell import quote_word, write_command
from engine.errors import DeviceError
from optimizer.config.run_config import OF_MACHINE, RunConfig, format_flag
from optimizer.config.settings import EvidenceSettings, check_schedule
from optimizer.errors import LostError, StoppedError, StoreError, WriteError
from optimizer.evidence.betting import DEFAULT_SEARCHES, FEWEST_SEARCHES
from optimizer.evidence.folds import begin_folds, search_paths
from optimizer.evidence.holdout import build_held_out_record, check_open, count_search
from optimizer.evidence.jobs.executor import Executor
from optimizer.evidence.jobs.machine import ThisMachine, find_gpu
from optimizer.evidence.jobs.workers import Pool
from optimizer.evidence.judged_run import JudgedRun, Plan
from optimizer.evidence.judgement import (
    Judgement,
    add_verdict,
    list_unstated,
    read_judgement,
    read_judgements,
)
from optimizer.evidence.ledger import read_ledger
from optimizer.evidence.lookahead import build_causal_record
from optimizer.evidence.null import NullSetup, build_null_record
from optimizer.evidence.null_markets import Keep
from optimizer.evidence.power import PowerRecord
from optimizer.evidence.power_searches import build_power_record
from optimizer.evidence.robust import build_robust_record
from optimizer.evidence.schedule_searches import (
    build_steps,
    estimate_schedule_seconds,
    measure_held_out_steps,
    search_steps,
)
from optimizer.evidence.trials import build_trials_records
from optimizer.evidence.verdict import Verdict
from optimizer.run.problem import JustSearched
from optimizer.run.purposes import recorded_config
from optimizer.run.record import recorded_fits
from optimizer.run.runner import Observer
from optimizer.store import RunStore
from optimizer.store.caveats import JUDGEMENT
from optimizer.store.result import RunResult

OF_FOLDS = ("folds", "train", "anchored", "purge")
OF_TRIALS = ("blocks", "resamples", "trials")
"""Knobs that ask for a part anew."""


def build_plan(
    settings: EvidenceSettings,
    named: Collection[str] = (),
    earlier: Judgement | None = None,
    *,
    pick: int | None = None,
    is_open: bool = False,
) -> Plan:
    """Plan by all knobs; a part of an earlier judgement is not made again unless a person named it.

    The newest judgement counts, and none of another pick. Further arguments are as of `Plan`.
    """
    check_schedule(settings)
    if earlier is not None and pick is not None:
        earlier = earlier if earlier.pick and earlier.pick.member == pick else None
    asks_folds, asks_trials = (
        any(name in named for name in part) for part in (OF_FOLDS, OF_TRIALS)
    )
    changed: dict[str, int] = {"null": settings.null or (DEFAULT_SEARCHES if settings.judge else 0)}
    is_scheduled = settings.every is not None and "folds" not in named
    if is_scheduled or (earlier is not None and earlier.folds is not None and not asks_folds):
        changed["folds"] = 0
    if earlier is not None and earlier.trials is not None and not asks_trials:
        changed["blocks"] = 0
    knobs = settings.model_dump(include=set(EvidenceSettings.model_fields))
    return Plan(
        **{**knobs, **changed},
        causal=changed["null"] > 0 and (earlier is None or earlier.causal is None),
        pick=pick,
        is_open=is_open,
        is_lenient=not asks_folds,
    )


def judge_run(
    path: Path,
    plan: Plan,
    flags: Mapping[str, object],
    watch: Watch,
    just: JustSearched | None = None,
    executor: Executor | None = None,
) -> Judgement:
    """Judge a finished run as a plan asks, record the evidence, and decide the verdict.

    Parts that an earlier judgement has and this plan does not ask for stay, if the pick is the
    same.

    Args:
        path: The run.
        plan: Parts of the judgement.
        flags: Places of the data, if it has moved.
        watch: Callback of progress.
        just: Engine and trials of the search, where this process has just made it. A search without
            trials is repeated, to see that this version finds the same front; one just made with
            too many trials to keep is not.
        executor: Maker of whole searches; the cores of this machine if None.

    Raises:
        StoreError: When the run is not finished, is owned, or cannot be judged by this version.
        ConfigError: When the plan does not fit the bars.
    """
    with RunStore.open(path, writable=True) as store, Pool() as pool:
        run = JudgedRun(store, plan, flags, watch, just, executor or ThisMachine(pool))
        found, earlier = Judgement(verdict=Verdict("not_judged", "")), read_judgements(store)
        if len(run.result.gone) < len(run.front):
            found = _collect_evidence(run, found, earlier)
        fits, place, fronts = recorded_fits(store), store.path.resolve(), {run.result.front_hash}
        look = partial(count_search, run.result.data.searched, fronts)
        ledger = read_ledger(place.parent, place.name, found.wealth, fits, look)
        # Some were counted in another folder where the run is a copy, or are removed since.
        searches = max(len(fronts), *(judgement.searches for judgement in earlier), 0)
        judgement = add_verdict(
            replace(found, searches=searches, fits=fits, ledger=ledger),
            run.result,
            store.path,
            seconds=_estimate_seconds(run),
            is_warm_started=run.warm_start is not None,
        )
        store.flush()
        unstated = list_unstated(store.evidence, (*earlier, judgement))
        notes = (*judgement.notes, *(rows.note for rows in unstated))
        judgement = replace(judgement, notes=notes)
        store.add_evidence(JUDGEMENT, judgement.payload())
        store.flush()
        return judgement


def judge_searched(
    result: RunResult,
    begun: RunConfig | None,
    flags: Mapping[str, object],
    observer: Observer,
    executor: Executor | None,
) -> Judgement | None:
    """Judge a run by its plan; its judgement, None without one.

    An ended run is judged on a flag, or after a killed judge.
    """
    path = Path(result.path)
    with RunStore.open(path) as store:
        known = read_judgement(store)
        settings = recorded_config(store, flags) if begun is None else begun
    is_asked = bool(flags.keys() & EvidenceSettings.model_fields.keys())
    # A new run has recorded its own.
    places = flags.keys() & {"data", *OF_MACHINE}
    given = {} if begun else {name: flags[name] for name in places}
    if settings.judge is False or (result.resumed and known is not None and not is_asked):
        return known
    plan = build_plan(settings)
    if plan.folds:
        line = (
            f"judging: the search is repeated on {plan.folds} parts of the bars: "
            "from about the time of the search to several times it; --no-judge leaves it out"
        )
        observer.watch(Progress(lines=(line,)))
    try:
        with naming_resume(path, settings):
            return judge_run(path, plan, given, observer.watch, observer.just, executor)
    except (DataError, StoreError) as error:
        if is_asked or not result.resumed:
            raise
        observer.watch(Progress(notes=(f"the run is not judged: {error}",)))
        return None


@contextmanager
def naming_resume(
    path: Path, settings: EvidenceSettings, pick: int | None = None, *, is_open: bool = False
) -> Iterator[None]:
    """Name the way on after a judge was stopped, or its GPU, cluster or disk failed."""
    kept = partial(_describe_kept, path, settings, pick, is_open)
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; {kept()}") from None
    except (DeviceError, LostError, WriteError) as error:
        raise type(error)(f"{error}; {kept()}") from error


def _describe_kept(path: Path, settings: EvidenceSettings, pick: int | None, is_open: bool) -> str:
    """Sentence on the record of a judge, and the command that goes on with it."""
    null = settings.null or (DEFAULT_SEARCHES if settings.judge else 0)
    wanted = {**settings.model_dump(include=set(EvidenceSettings.model_fields)), "null": null}
    default = {name: field.default for name, field in EvidenceSettings.model_fields.items()}
    flags = [
        format_flag(name) + ("" if value is True else f" {quote_word(str(value))}")
        for name, value in wanted.items()
        if value != default[name] and name != "judge"
    ]
    flags += [f"--pick {pick}"] * (pick is not None) + ["--open"] * is_open
    return "the front is recorded, and so is what was found out about it, go on with: " + " ".join(
        [write_command("judge", path), *flags]
    )


def measure_power(
    path: Path,
    flags: Mapping[str, object],
    watch: Watch,
    executor: Executor | None = None,
) -> PowerRecord:
    """Measure how large an edge the search of a finished run would find; every search is recorded.

    It becomes part of the newest judgement, where there is one. Arguments are as of `judge_run`.

    Raises:
        StoreError: When the run is not finished, is owned, or cannot be judged by this version.
        ConfigError: When no edge can be planted into its bars.
    """
    with RunStore.open(path, writable=True) as store, Pool() as pool:
        judgement = read_judgement(store)
        null = None if judgement is None else judgement.null
        run = JudgedRun(store, Plan(), flags, watch, None, executor or ThisMachine(pool))
        run.executor.check(run.task)
        keep = cast("Keep", null.keep) if null else "auto"
        setup = NullSetup(run.again, keep, warm_start=run.warm_start)
        record = build_power_record(store, setup, run.executor, run.device, watch)
        if judgement is not None and judgement.power != record:
            store.add_evidence(JUDGEMENT, replace(judgement, power=record).payload())
        store.flush()
        return record


def _collect_evidence(run: JudgedRun, found: Judgement, earlier: Sequence[Judgement]) -> Judgement:
    """Every planned part, beside the parts that an earlier judgement of the pick has."""
    plan, pick = run.plan, run.pick
    newest = earlier[-1] if earlier else found
    if newest.pick is not None and newest.pick.member == pick.member:
        found = replace(newest, notes=())
    # Splits and dates that do not fit the bars are refused before any work.
    steps = build_steps(run)
    if any((run.walks, run.combinations, steps, plan.null)):
        run.executor.check(run.task)
    looks = check_open(run)
    # Processes of the folds start while statistics are made.
    folds = begin_folds(run)
    parts: dict[str, Any] = {
        "pick": pick.build_record(run.task, is_named=plan.pick is not None),
        **build_trials_records(run),
        "robust": None if found.robust else build_robust_record(run),
        "causal": build_causal_record(run),
        "cpcv": search_paths(run),
    }
    schedule = search_steps(run, steps)
    # Engines of folds and of null markets need its memory.
    run.end_engine()
    parts["folds"] = folds and folds()
    # They may have had it themselves.
    del folds
    parts["schedule"] = made = schedule and schedule()
    parts["null"] = None if made else build_null_record(run)
    if looks is not None:
        made = made or found.schedule
        parts["held_out"] = build_held_out_record(
            run,
            looks,
            judged=[judgement.held_out for judgement in earlier],
            go_on=None
            if made is None
            else partial(measure_held_out_steps, run.store, run.whole, made),
        )
    parts = {name: part for name, part in parts.items() if part is not None}
    return replace(found, **parts, notes=tuple(run.notes))


def _estimate_seconds(run: JudgedRun) -> float:
    """Estimated seconds of null searches, beside which the rest of a judgement takes little."""
    device = find_gpu(run.task, run.device) or "cpu"
    if run.plan.every is not None:
        return estimate_schedule_seconds(run.task, run.plan, device)
    return NullSetup(run.task).estimate(2 * FEWEST_SEARCHES, device)
