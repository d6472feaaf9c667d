"""A finished run as the questions about it take it: task, front, pick, engine and trials."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import ConfigDict

from data.bars import Bars
from data.progress import Progress, Watch
from engine.batch import Engine
from optimizer.config.settings import EvidenceSettings
from optimizer.errors import ConfigError, StoreError
from optimizer.evidence.jobs.executor import Executor
from optimizer.evidence.pick import Pick, select_pick
from optimizer.evidence.splits import Split, combinatorial, walk_forward
from optimizer.run.problem import JustSearched, Trials, trials_fit
from optimizer.run.purposes import JUDGE, restore_limits, restore_start, restore_task
from optimizer.run.runner import on_searched_bars, search
from optimizer.run.tables import newest_front, require_result
from optimizer.search.evolution import front_hash
from optimizer.store import RunStore

if TYPE_CHECKING:
    from optimizer.run.task import Task

DEFAULT_TRAIN_GROUPS = 3


class Plan(EvidenceSettings):
    """Parts of a judgement: the knobs, where 0 leaves a part out, and further parts."""

    # Knobs were checked before; a member may come as a number of numpy.
    model_config = ConfigDict(strict=False)

    causal: bool = False  # whether to look for look-ahead in the whole front
    pick: int | None = None  # number of another member; None for that of greatest strength
    is_open: bool = False  # whether to look at the bars that were held out
    is_lenient: bool = False  # whether folds that the bars are too few for are left out and noted

    @property
    def train_groups(self) -> int:
        """Groups that a fold is searched on; a duration is that of a schedule."""
        return self.train if isinstance(self.train, int) else DEFAULT_TRAIN_GROUPS

    def choose_purge(self, task: "Task") -> int:
        """Bars cut from the end of a training before its test: by default the longest trade's."""
        return (task.spec.longest_hold or 0) if self.purge is None else self.purge

    def choose_embargo(self, task: "Task") -> int:
        """Bars cut from the start of a training after a test: by default all that a row reads."""
        if self.embargo is not None:
            return self.embargo
        return task.spec.longest_reach(min(bars.timeframe_ns for bars in task.markets.series))

    def fold_settings(self, task: "Task") -> dict[str, object]:
        """Settings that decide the searches of folds."""
        cut = {"train": self.train_groups, "purge": self.choose_purge(task)}
        return {"folds": self.folds, **cut, "anchored": self.anchored}

    def split_walks(self, task: "Task") -> tuple[Split, ...]:
        """Folds of a task without held-out bars, if any are planned.

        Raises:
            ConfigError: When the bars are too few for them.
        """
        if not self.folds:
            return ()
        return walk_forward(
            task.markets.series,
            task.markets.uncut,
            folds=self.folds,
            train_groups=self.train_groups,
            purge=self.choose_purge(task),
            anchored=self.anchored,
        )

    @property
    def groups(self) -> tuple[int, int] | None:
        """N and k of combinatorial splits to search again; None for none."""
        if self.cpcv is None:
            return None
        count, tests = map(int, self.cpcv.split(","))
        return count, tests


class JudgedRun:
    """A finished run and its judgement; arguments as in `optimizer.evidence.judge.judge_run`.

    Attributes:
        whole: Its task, with held-out bars.
        task: The same on the bars that it searched, to the generations that it reached.
        again: The same with the run's own ending: its search on other bars.
        warm_start: [N, G] genomes that it began with.
        front: [F, G] genomes of its members by number.
        device: The device of the search, or that of `engine`.
        notes: On omitted parts.
    """

    def __init__(
        self,
        store: RunStore,
        plan: Plan,
        flags: Mapping[str, object],
        watch: Watch,
        just: JustSearched | None,
        executor: Executor,
    ) -> None:
        self.store, self.plan, self.watch = store, plan, watch
        self._just, self.executor = just, executor
        self.result = require_result(store)
        self.whole = restore_task(store, JUDGE, flags)
        self.warm_start = restore_start(store, self.whole)
        reached = {"generations": self.result.generation, "plateau": None}
        self.task = on_searched_bars(self.whole, **reached)
        limits = restore_limits(store, self.whole, self.result)
        self.again = replace(self.task, config=self.task.config.model_copy(update=limits))
        self.front = newest_front(store, self.result).genomes
        self.device = self.result.device.name
        self.notes: list[str] = []

    @cached_property
    def engine(self) -> Engine:
        """Engine of the searched bars: that which has just searched them here, or a new one."""
        markets, engine = self.task.markets, None
        before = None if self._just is None else self._just.take_engine()
        if isinstance(before, Engine) and _same_bars(before.series, markets.searched):
            engine = before.on(markets.windows)
        engine = engine or self.task.engine()
        self.device = engine.device
        return engine

    def end_engine(self) -> None:
        """Release the engine, because searches on other bars need its memory."""
        # It is chosen on the engine.
        assert self.strongest
        del self.engine

    @cached_property
    def pick(self) -> Pick:
        """The member that is judged."""
        return select_pick(self.engine, self.front, self.plan.pick, self.result.gone)

    @cached_property
    def strongest(self) -> Pick:
        """The strongest member, which a named pick need not be."""
        if self.plan.pick is None:
            return self.pick
        return select_pick(self.engine, self.front, gone=self.result.gone)

    @cached_property
    def walks(self) -> tuple[Split, ...]:
        """Folds; none where the bars are too few for them and no flag names them."""
        try:
            return self.plan.split_walks(self.task)
        except ConfigError as error:
            if not self.plan.is_lenient:
                raise
            self.notes.append(f"no folds: {error}")
            return ()

    @cached_property
    def combinations(self) -> tuple[Split, ...]:
        """Combinatorial splits, if any are planned."""
        if self.plan.groups is None:
            return ()
        return combinatorial(
            self.task.markets.series,
            self.task.markets.uncut,
            count=self.plan.groups[0],
            tests=self.plan.groups[1],
            purge=self.plan.choose_purge(self.task),
            embargo=self.plan.choose_embargo(self.task),
        )

    def find_trials(self) -> Trials | None:
        """Trials of the search, which is made again where they were not kept.

        None where they are too many to keep: of a search just made without making it again.

        Raises:
            StoreError: When the search made again finds another front.
        """
        n_genes = len(self.task.spec.layout)
        if self._just is not None:
            if self._just.trials is not None:
                return self._just.trials
            if not trials_fit(self.result.evaluated, n_genes):
                return None
        self.watch(Progress("judging: the search again"))
        outcome = search(self.task, self.engine, self.warm_start, keeps_trials=True)
        hashed = front_hash(outcome.front.genomes, outcome.front.objectives)
        if hashed != self.result.front_hash:
            raise StoreError(
                f"run '{self.store.run_id}': the search made again found front {hashed[:12]}, "
                f"recorded is {self.result.front_hash[:12]}: it was not made by this version, or "
                "its result was changed"
            )
        return outcome.trials


def _same_bars(some: Sequence[Bars], others: Sequence[Bars]) -> bool:
    return [bars.content_hash for bars in some] == [bars.content_hash for bars in others]
