"""All evidence on a finished run, part after part, and the verdict that follows from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from data.bars import Bars
from data.progress import Progress, Watch
from engine.batch import Engine
from engine.runtime.machine import available_cores
from optimizer.errors import ConfigError, StoreError
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
from optimizer.evidence.judgement import (
    Judgement,
    add_verdict,
    list_unstated,
    read_judgements,
)
from optimizer.evidence.lookahead import (
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
from optimizer.evidence.pick import Pick, select_pick
from optimizer.evidence.plan import Plan
from optimizer.evidence.robust import build_robust_record
from optimizer.evidence.schedule_searches import (
    FoundSteps,
    StepSetup,
    build_step_settings,
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
from optimizer.run.problem import JustSearched, Trials, trials_fit
from optimizer.run.purposes import JUDGE, restore_limits, restore_start, restore_task
from optimizer.run.record import recorded_fits
from optimizer.run.search import on_searched_bars, search
from optimizer.run.tables import newest_front, require_result
from optimizer.run.task import Task
from optimizer.search.evolution import front_hash
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.answers import JUDGEMENT

FindPicks = Callable[[str], list[FoldPick]]
"""Finds the picks of splits, given what they are a part of."""


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
        executor = executor or ThisMachine(pool)
        return _Judge(store, plan, flags, watch, just, executor).judge()


class _Judge:
    """One run being judged; other arguments as of `judge_run`."""

    def __init__(
        self,
        store: RunStore,
        plan: Plan,
        flags: Mapping[str, object],
        watch: Watch,
        just: JustSearched | None,
        executor: Executor,
    ) -> None:
        self._store, self._plan, self._watch = store, plan, watch
        self._just, self._executor = just, executor
        self._result = require_result(store)
        self._whole = restore_task(store, JUDGE, flags)
        self._warm_start = restore_start(store, self._whole)
        reached = {"generations": self._result.generation, "plateau": None}
        self._task = on_searched_bars(self._whole, **reached)
        limits = restore_limits(store, self._whole, self._result)
        asked = self._task.config.model_copy(update=limits)
        self._again = replace(self._task, config=asked)
        self._purge = plan.choose_purge(self._task)
        self._front: Floats = newest_front(store, self._result).genomes
        self._device = self._result.device.name
        self._earlier = read_judgements(store)
        self._found = Judgement(verdict=Verdict("not_judged", ""))

    def judge(self) -> Judgement:
        """Every part that is asked for, and the verdict."""
        if len(self._result.gone) < len(self._front):
            parts = self._collect_parts()
            # Now, because what was left out is noted on the way.
            self._found = replace(self._found, **parts)
        before = (judgement.searches for judgement in self._earlier)
        searches = count_searches(self._store.path, self._result, before)
        judgement = add_verdict(
            replace(self._found, searches=searches, fits=recorded_fits(self._store)),
            self._result,
            self._store.path,
            seconds=self._estimate_seconds(),
            is_warm_started=self._warm_start is not None,
        )
        judgement = replace(judgement, notes=(*judgement.notes, *self._note_unstated(judgement)))
        self._store.add_evidence(JUDGEMENT, judgement.payload())
        self._store.flush()
        return judgement

    def _note_unstated(self, judgement: Judgement) -> Iterator[str]:
        """Notes on rows of an interrupted judge that this judgement does not state either."""
        self._store.flush()
        for unstated in list_unstated(self._store.evidence, (*self._earlier, judgement)):
            yield unstated.note

    def _find_engine(self) -> Engine:
        """Engine that has just searched the same bars, if it is in this process; else a new one.

        It is the caller's to end.
        """
        markets = self._task.markets
        before = None if self._just is None else self._just.take_engine()
        if isinstance(before, Engine) and _same_bars(before.series, markets.searched):
            return before.on(markets.windows)
        return self._task.engine()

    def _estimate_seconds(self) -> float:
        """Seconds that null searches take, about, and the parts that are not made yet."""
        task, cores = self._task, available_cores(self._task.config.threads)
        device = find_gpu(task, self._device) or "cpu"
        if self._plan.every is not None:
            return estimate_schedule_seconds(task, self._plan, cores, device)
        checked = task.markets.windows if self._found.causal is None else ()
        look_ahead_s = estimate_causality_seconds(map(len, checked), len(self._front))
        evaluated, windows = self._result.evaluated, self._result.data.windows
        trials_s = 0.0 if self._found.trials else estimate_trials_seconds(windows, evaluated)
        null_s = estimate_null_seconds(
            task.workload(), evaluated, self._result.generation, cores, device
        )
        return null_s + look_ahead_s + trials_s

    def _select_pick(self, engine: Engine) -> Pick:
        """The pick; what an earlier judgement found out about it stays."""
        pick = select_pick(engine, self._front, self._plan.pick, self._result.gone)
        earlier = self._earlier[-1] if self._earlier else None
        if earlier and earlier.pick and earlier.pick.member == pick.member:
            self._found = replace(earlier, notes=())
        return pick

    def _select_strongest(self, engine: Engine, pick: Pick) -> Pick:
        """The strongest member, which a named pick need not be."""
        if self._plan.pick is None:
            return pick
        return select_pick(engine, self._front, gone=self._result.gone)

    def _collect_parts(self) -> dict[str, Any]:
        """Parts of the judgement by name."""
        plan, engine = self._plan, self._find_engine()
        self._device = engine.device
        pick = self._select_pick(engine)
        # Splits that do not fit the bars are refused before any work.
        walks, combinations = self._split_walks(), plan.split_combinations(self._task)
        steps = self._plan_steps()
        if walks or combinations or steps or plan.null:
            self._executor.check(self._task)
        looks = check_open(self._whole, self._store, self._result, pick) if plan.is_open else None
        is_named = plan.pick is not None
        parts: dict[str, Any] = {"pick": pick.build_record(self._task, is_named=is_named)}
        # Processes of the folds start while statistics are made.
        folds = self._plan_folds(walks, engine) if walks else None
        if plan.blocks:
            parts |= self._evaluate_trials(engine, pick)
        if self._found.robust is None:
            self._watch(Progress("judging: neighbours, costs and delay"))
            parts["robust"] = build_robust_record(self._task, engine, pick)
        if plan.causal:
            self._watch(Progress("judging: look-ahead"))
            parts["causal"] = build_causal_record(
                find_searched(self._task), engine, self._front, self._watch
            )
        if plan.groups is not None:
            parts["cpcv"] = self._evaluate_cpcv(combinations, engine, *plan.groups)
        found = None if steps is None else self._search_steps(steps, engine)
        # Greatest strengths are compared, whichever member is the pick.
        strongest = self._select_strongest(engine, pick)
        # Engines of folds and of null markets need its memory.
        del engine
        if folds is not None:
            parts["folds"] = folds()
        # They may have had it themselves.
        del folds
        if steps is not None and found is not None:
            parts["schedule"] = evaluate_schedule(
                self._store, steps, found, plan, self._executor, self._watch, self._device
            )
        elif plan.null:
            parts["null"] = self._evaluate_null(strongest)
        if looks is not None:
            made = parts.get("schedule", self._found.schedule)
            parts["held_out"] = build_held_out_record(
                self._whole,
                self._store,
                self._result,
                pick,
                looks,
                judged=[judgement.held_out for judgement in self._earlier],
                go_on=made and partial(measure_held_out_steps, self._store, self._whole, made),
            )
        return parts

    def _evaluate_trials(self, engine: Engine, pick: Pick) -> dict[str, Any]:
        """Statistics over all trials of the search."""
        kept = None if self._just is None else self._just.trials
        trials = self._repeat_search(engine) if kept is None else kept
        self._watch(Progress("judging: statistics over all trials"))
        if trials is None:
            return {"trials": TOO_MANY}
        plan, task = self._plan, self._task
        judged = JudgedTrials.of(task, trials)
        columns = build_daily_columns(task, engine, judged, self._front, pick, plan.trials)
        effective = count_effective_trials(columns.used)
        return {
            "trials": judged.build_record(columns.used.shape[1], effective),
            "sharpe": measure_sharpe(columns.pick, columns.first, len(judged.genomes), effective),
            "cscv": build_cscv_record(engine, judged.genomes, plan.blocks),
            "bootstrap": compare_with_nothing(
                columns.used,
                choose_block_length(columns.front),
                task.config.seed,
                plan.resamples,
                threads=task.config.threads,
            ),
        }

    def _note(self, text: str) -> None:
        self._found = replace(self._found, notes=(*self._found.notes, text))

    def _repeat_search(self, engine: Engine) -> Trials | None:
        """The trials of the search made again, which has to find the same front.

        None where they are too many to keep: of a search just made without making it again.
        """
        n_genes = len(self._task.spec.layout)
        if self._just is not None and not trials_fit(self._result.evaluated, n_genes):
            return None
        self._watch(Progress("judging: the search again"))
        outcome = search(self._task, engine, self._warm_start, keeps_trials=True)
        hashed = front_hash(outcome.front.genomes, outcome.front.objectives)
        if hashed != self._result.front_hash:
            raise StoreError(
                f"run '{self._store.run_id}': the search made again found front {hashed[:12]}, "
                f"recorded is {self._result.front_hash[:12]}: it was not made by this version, or "
                "its result was changed"
            )
        return outcome.trials

    def _split_walks(self) -> tuple[Split, ...]:
        """Folds; none where the bars are too few for them and they were not asked for by name."""
        try:
            return self._plan.split_walks(self._task)
        except ConfigError as error:
            if not self._plan.is_lenient:
                raise
            self._note(f"no folds: {error}")
            return ()

    def _plan_steps(self) -> StepSetup | None:
        """Steps of a schedule; None where none is asked for."""
        if self._plan.every is None:
            return None
        settings = build_step_settings(self._plan, self._purge)
        setup = StepSetup(self._again, settings, self._warm_start)
        # Dates that do not fit are refused before any work.
        assert setup.steps
        return setup

    def _search_steps(self, steps: StepSetup, engine: Engine) -> FoundSteps:
        return search_steps(self._store, steps, engine, self._executor, self._watch)

    def _plan_folds(self, splits: tuple[Split, ...], engine: Engine) -> Callable[[], FoldsRecord]:
        plan = self._plan
        settings = FoldSettings(plan.folds, plan.train_groups, self._purge, plan.anchored)
        find = self._plan_searches(settings, splits, engine, self._device)
        return lambda: build_folds_record(self._task, splits, find("folds"), settings)

    def _evaluate_cpcv(
        self, splits: tuple[Split, ...], engine: Engine, count: int, tests: int
    ) -> PathsRecord:
        settings = PathSettings(
            f"{count},{tests}", self._purge, self._plan.choose_embargo(self._task)
        )
        picks = self._plan_searches(settings, splits, engine, None)("combinatorial splits")
        return build_paths_record(self._task, splits, picks, count, tests)

    def _plan_searches(
        self,
        settings: RowSettings[Any],
        splits: tuple[Split, ...],
        engine: Engine,
        used: str | None,
    ) -> FindPicks:
        """Searches of splits, those that are not known yet; their processes start now.

        `used` as of `Executor.submit`.
        """
        kept, count = Checkpoint(self._store, settings, FoldPick), len(splits)
        setup = FoldSetup(self._again, splits, self._warm_start)
        jobs = kept.list_missing(count)
        ended = self._executor.submit(setup, jobs, engine=engine, used=used)
        return partial(kept.complete, count, ended, self._watch)

    def _evaluate_null(self, pick: Pick) -> NullRecord:
        """Null searches on shuffled bars, and on mirrored ones where those do not say luck."""
        plan = self._plan
        compare = partial(compare_front, self._task, self._result, plan.stop_after)
        test = NullTest(self._store, NullSettings, pick.strength, plan.stop_after, compare)
        setup = NullSetup(self._again, plan.null_keep, self._warm_start)
        submit = partial(self._executor.submit, used=self._device)
        return test.make(setup, plan.null, submit, self._watch)


def find_searched(task: Task) -> Searched:
    """A task as the search for later bars reads it."""
    markets, config = task.markets, task.config
    return Searched(
        task.spec, task.costs, markets.series, markets.windows, markets.names,
        seed=config.seed, threads=config.threads, memory=config.memory,
    )  # fmt: skip


def _same_bars(some: Sequence[Bars], others: Sequence[Bars]) -> bool:
    return [bars.content_hash for bars in some] == [bars.content_hash for bars in others]
