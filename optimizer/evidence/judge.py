"""All evidence on a finished run, part after part, and the verdict that follows from it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from data.progress import Progress, Watch
from engine.runtime.machine import available_cores
from optimizer.evidence.bootstrap import choose_block_length, compare_with_nothing
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.cscv import build_cscv_record
from optimizer.evidence.folds import (
    FoldPick,
    FoldSettings,
    FoldSetup,
    FoldsRecord,
    PathSettings,
    PathsRecord,
    build_folds_record,
    build_paths_record,
)
from optimizer.evidence.holdout import build_held_out_record, check_open, count_searches
from optimizer.evidence.jobs.executor import Executor
from optimizer.evidence.jobs.machine import ThisMachine, find_gpu
from optimizer.evidence.jobs.workers import Pool
from optimizer.evidence.judged_run import JudgedRun
from optimizer.evidence.judgement import (
    Judgement,
    add_verdict,
    list_unstated,
)
from optimizer.evidence.lookahead import (
    CausalRecord,
    Searched,
    build_causal_record,
    estimate_causality_seconds,
)
from optimizer.evidence.null import (
    NullRecord,
    NullSettings,
    NullSetup,
    NullTest,
    compare_front,
    estimate_null_seconds,
)
from optimizer.evidence.plan import Plan
from optimizer.evidence.robust import RobustRecord, build_robust_record
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.evidence.schedule_searches import (
    FoundSteps,
    estimate_schedule_seconds,
    evaluate_schedule,
    measure_held_out_steps,
    search_steps,
)
from optimizer.evidence.sharpe import measure_sharpe
from optimizer.evidence.splits import Split
from optimizer.evidence.statistic import RowSettings
from optimizer.evidence.trials import (
    TOO_MANY,
    JudgedTrials,
    build_daily_columns,
    count_effective_trials,
    estimate_trials_seconds,
)
from optimizer.evidence.verdict import Verdict
from optimizer.run.problem import JustSearched
from optimizer.run.record import recorded_fits
from optimizer.store import RunStore
from optimizer.store.answers import JUDGEMENT


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
        plan: Parts that are asked for.
        flags: Say where the data is now, if it has moved.
        watch: Callback of progress.
        just: Engine and trials of the search, where this process has just made it. A search without
            trials is repeated; but one whose trials are too many to keep only where it was not
            just made, to see that this version finds the same front.
        executor: Where whole searches are made; the cores of this machine if None.

    Raises:
        StoreError: When the run is not finished, is owned, or cannot be judged by this version.
        ConfigError: When the plan does not fit the bars.
    """
    with RunStore.open(path, writable=True) as store, Pool() as pool:
        run = JudgedRun(store, plan, flags, watch, just, executor or ThisMachine(pool))
        found = Judgement(verdict=Verdict("not_judged", ""))
        if len(run.result.gone) < len(run.front):
            found = _collect_evidence(run, found)
        before = (judgement.searches for judgement in run.earlier)
        searches = count_searches(store.path, run.result, before)
        judgement = add_verdict(
            replace(found, searches=searches, fits=recorded_fits(store)),
            run.result,
            store.path,
            seconds=_estimate_seconds(run, found),
            is_warm_started=run.warm_start is not None,
        )
        store.flush()
        unstated = list_unstated(store.evidence, (*run.earlier, judgement))
        notes = (*judgement.notes, *(rows.note for rows in unstated))
        judgement = replace(judgement, notes=notes)
        store.add_evidence(JUDGEMENT, judgement.payload())
        store.flush()
        return judgement


def _collect_evidence(run: JudgedRun, found: Judgement) -> Judgement:
    """Every part that is asked for, beside those that an earlier judgement of the pick has."""
    plan, pick = run.plan, run.pick
    newest = run.earlier[-1] if run.earlier else found
    if newest.pick is not None and newest.pick.member == pick.member:
        found = replace(newest, notes=())
    # Splits and dates that do not fit the bars are refused before any work.
    if any((run.walks, run.combinations, run.steps, plan.null)):
        run.executor.check(run.task)
    looks = check_open(run.whole, run.store, run.result, pick) if plan.is_open else None
    # Processes of the folds start while statistics are made.
    folds = _begin_folds(run)
    parts: dict[str, Any] = {
        "pick": pick.build_record(run.task, is_named=plan.pick is not None),
        **_build_trials_records(run),
        "robust": None if found.robust else _build_robust_record(run),
        "causal": _build_causal_record(run),
        "cpcv": _build_paths_record(run),
    }
    steps = _search_steps(run)
    # Engines of folds and of null markets need its memory.
    run.end_engine()
    parts["folds"] = folds and folds()
    # They may have had it themselves.
    del folds
    parts["schedule"] = schedule = _build_schedule_record(run, steps)
    parts["null"] = None if schedule else _build_null_record(run)
    if looks is not None:
        made = schedule or found.schedule
        parts["held_out"] = build_held_out_record(
            run.whole,
            run.store,
            run.result,
            pick,
            looks,
            judged=[judgement.held_out for judgement in run.earlier],
            go_on=None
            if made is None
            else partial(measure_held_out_steps, run.store, run.whole, made),
        )
    parts = {name: part for name, part in parts.items() if part is not None}
    return replace(found, **parts, notes=tuple(run.notes))


def _build_null_record(run: JudgedRun) -> NullRecord | None:
    plan = run.plan
    if not plan.null:
        return None
    compare = partial(compare_front, run.task, run.result, plan.stop_after)
    # Greatest strengths are compared, whichever member is the pick.
    test = NullTest(run.store, NullSettings, run.strongest.strength, plan.stop_after, compare)
    setup = NullSetup(run.again, plan.null_keep, run.warm_start)
    return test.make(setup, plan.null, partial(run.executor.submit, used=run.device), run.watch)


def _build_robust_record(run: JudgedRun) -> RobustRecord:
    run.watch(Progress("judging: neighbours, costs and delay"))
    return build_robust_record(run.task, run.engine, run.pick)


def _build_causal_record(run: JudgedRun) -> CausalRecord | None:
    if not run.plan.causal:
        return None
    run.watch(Progress("judging: look-ahead"))
    return build_causal_record(Searched.of(run.task), run.engine, run.front, run.watch)


def _build_trials_records(run: JudgedRun) -> dict[str, Any]:
    """Statistics over all trials of the search, by name."""
    plan, task = run.plan, run.task
    if not plan.blocks:
        return {}
    trials = run.find_trials()
    run.watch(Progress("judging: statistics over all trials"))
    if trials is None:
        return {"trials": TOO_MANY}
    judged = JudgedTrials.of(task, trials)
    columns = build_daily_columns(task, run.engine, judged, run.front, run.pick, plan.trials)
    effective = count_effective_trials(columns.used)
    return {
        "trials": judged.build_record(columns.used.shape[1], effective),
        "sharpe": measure_sharpe(columns.pick, columns.first, len(judged.genomes), effective),
        "cscv": build_cscv_record(run.engine, judged.genomes, plan.blocks),
        "bootstrap": compare_with_nothing(
            columns.used,
            choose_block_length(columns.front),
            task.config.seed,
            plan.resamples,
            threads=task.config.threads,
        ),
    }


def _begin_folds(run: JudgedRun) -> Callable[[], FoldsRecord] | None:
    """Searches of the folds begin; what is returned waits for them."""
    plan, task = run.plan, run.task
    if not run.walks:
        return None
    purge = plan.choose_purge(task)
    settings = FoldSettings(plan.folds, plan.train_groups, purge, plan.anchored)
    find = _begin_searches(run, settings, run.walks, run.device)
    return lambda: build_folds_record(task, run.walks, find("folds"), settings)


def _build_paths_record(run: JudgedRun) -> PathsRecord | None:
    plan, task = run.plan, run.task
    if plan.groups is None:
        return None
    purge, embargo = plan.choose_purge(task), plan.choose_embargo(task)
    settings = PathSettings(",".join(map(str, plan.groups)), purge, embargo)
    find = _begin_searches(run, settings, run.combinations, None)
    return build_paths_record(task, run.combinations, find("combinatorial splits"), *plan.groups)


def _begin_searches(
    run: JudgedRun, settings: RowSettings[Any], splits: tuple[Split, ...], used: str | None
) -> Callable[[str], list[FoldPick]]:
    """Searches of splits that are not known yet begin; what is returned waits for them.

    `used` as of `Executor.submit`.
    """
    kept, count = Checkpoint(run.store, settings, FoldPick), len(splits)
    setup = FoldSetup(run.again, splits, run.warm_start)
    ended = run.executor.submit(setup, kept.list_missing(count), engine=run.engine, used=used)
    return lambda part: kept.complete(count, ended, run.watch, part)


def _search_steps(run: JudgedRun) -> FoundSteps | None:
    if run.steps is None:
        return None
    return search_steps(run.store, run.steps, run.engine, run.executor, run.watch)


def _build_schedule_record(run: JudgedRun, found: FoundSteps | None) -> ScheduleRecord | None:
    if run.steps is None or found is None:
        return None
    return evaluate_schedule(
        run.store, run.steps, found, run.plan, run.executor, run.watch, run.device
    )


def _estimate_seconds(run: JudgedRun, found: Judgement) -> float:
    """Estimated seconds of null searches, and of the parts that are not made yet."""
    task, result, cores = run.task, run.result, available_cores(run.task.config.threads)
    device = find_gpu(task, run.device) or "cpu"
    if run.plan.every is not None:
        return estimate_schedule_seconds(task, run.plan, cores, device)
    seconds = estimate_null_seconds(
        task.workload(), result.evaluated, result.generation, cores, device
    )
    if found.causal is None:
        seconds += estimate_causality_seconds(map(len, task.markets.windows), len(run.front))
    if found.trials is None:
        seconds += estimate_trials_seconds(result.data.windows, result.evaluated)
    return seconds
