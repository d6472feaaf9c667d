"""A judgement found anew: from its own rows, from the bars, and its verdict from all of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

from data.errors import DataError
from engine.batch import Engine
from engine.errors import EngineError
from optimizer.errors import OptimizerError, StoreError
from optimizer.evidence.folds import FoldsRecord, PathsRecord
from optimizer.evidence.holdout import HeldOutRecord
from optimizer.evidence.lookahead import CausalRecord
from optimizer.evidence.null import NullRecord
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.evidence.splits import combinatorial, walk_forward
from optimizer.evidence.verdict import NEXT, Verdict
from optimizer.judging.checkpoint import Checkpoint
from optimizer.judging.folds import FoldPick, build_folds_record, build_paths_record
from optimizer.judging.going_on import measure_held_out_steps
from optimizer.judging.holdout import LookRecord, count_opened_looks, measure_held_out
from optimizer.judging.judgement import Judgement
from optimizer.judging.lookahead import build_causal_record
from optimizer.judging.null import NullTest, compare_front
from optimizer.judging.pick import Pick, build_pick_record, select_pick
from optimizer.judging.robust import build_robust_record
from optimizer.judging.scheduling import restore_schedule_record
from optimizer.judging.verdict import add_verdict
from optimizer.run.columns import recorded_fits
from optimizer.run.identity import recorded_identity
from optimizer.run.purposes import OPENED
from optimizer.run.search import on_searched_bars
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.payload import Payload
from optimizer.store.result import RunResult
from optimizer.verifying.differing import as_far_as_recorded, find_differences
from optimizer.verifying.stated import find_stop_rule

ROUNDING = 1e-9
"""Share of a figure by which logarithms and their like differ between machines, and far more."""


def verdict_problems(store: RunStore, result: RunResult, judgement: Judgement) -> Iterator[str]:
    """Differences of the verdict from that of its own evidence; no bars are needed for it."""
    identity = recorded_identity(store.header)
    is_warm = identity is not None and identity.warm_start is not None
    follows = add_verdict(judgement, result, store.path, seconds=0.0, is_warm_started=is_warm)
    yield from find_differences("verdict", _plain(judgement.verdict), _plain(follows.verdict))
    yield from find_differences("judgement.fits", judgement.fits, recorded_fits(store))
    yield from _look_problems(store, result, judgement)


def _look_problems(store: RunStore, result: RunResult, judgement: Judgement) -> Iterator[str]:
    """Rows on looks at held-out bars that are of another front or another member."""
    rows = [LookRecord.read(row) for name, row in store.evidence if name == OPENED]
    for row in rows:
        yield from find_differences("opened.front", row.front, result.front_hash)
    if judgement.held_out is None:
        return
    if not rows:
        yield "judgement.held_out: no row of evidence says that held-out bars were looked at"
    for row in rows:
        if judgement.pick is not None and row.member not in (None, judgement.pick.member):
            yield from find_differences("opened.member", row.member, judgement.pick.member)


def _plain(verdict: Verdict) -> dict[str, object]:
    """A verdict without the command that goes on, which hangs on where it was given."""
    return replace(verdict, sentence=verdict.sentence.partition(NEXT)[0]).payload()


@dataclass(frozen=True, eq=False)
class Rejudged:
    """The newest judgement of a run, and what follows of it."""

    store: RunStore  # of the run
    result: RunResult  # of it
    whole: Task  # its task with all of its bars
    genomes: Floats  # [F, G], at least one, by number
    judgement: Judgement  # as it was recorded

    @cached_property
    def task(self) -> Task:
        """Task that was judged."""
        return on_searched_bars(self.whole, generations=self.result.generation, plateau=None)

    @cached_property
    def engine(self) -> Engine:
        """Of the searched windows."""
        return self.task.engine(device="cpu")

    @cached_property
    def pick(self) -> Pick:
        """Member that was judged."""
        recorded = self.judgement.pick
        member = recorded.member if recorded and recorded.is_named else None
        return select_pick(self.engine, self.genomes, member, self.result.gone)

    def problems(self) -> Iterator[str]:
        """Parts that are recorded otherwise than they follow, a line each."""
        judgement = self.judgement
        parts: dict[str, Callable[[], Payload]] = {
            "pick": lambda: build_pick_record(
                self.task, self.pick, is_named=bool(judgement.pick and judgement.pick.is_named)
            ),
            "robust": lambda: build_robust_record(self.task, self.engine, self.pick),
            "causal": self._causal,
            "null": self._null,
            "folds": self._folds,
            "cpcv": self._paths,
            "held_out": self._held_out,
            "schedule": self._schedule,
        }
        for name, find in parts.items():
            recorded: Payload | None = getattr(judgement, name)
            if recorded is None:
                continue
            try:
                expected = find().payload()
            except (OptimizerError, DataError, EngineError, LookupError, ValueError) as error:
                yield f"judgement.{name} does not follow from the rows of evidence: {error}"
                continue
            values = recorded.payload()
            yield from find_differences(
                f"judgement.{name}", values, as_far_as_recorded(values, expected, apart=ROUNDING)
            )

    def _causal(self) -> CausalRecord:
        recorded = self.judgement.causal
        assert recorded is not None
        return build_causal_record(
            self.task, self.engine, self.genomes, is_shared=recorded.is_shared
        )

    def _null(self) -> NullRecord:
        recorded = self.judgement.null
        assert recorded is not None
        strongest = select_pick(self.engine, self.genomes, gone=self.result.gone)
        stop_after = find_stop_rule(recorded)
        build_kind = partial(compare_front, self.task, self.result, stop_after)
        test = NullTest(self.store, "null", strongest.strength, stop_after, build_kind)
        return test.restore(recorded.planned, recorded.keep)

    def _folds(self) -> FoldsRecord:
        recorded = self.judgement.folds
        assert recorded is not None
        markets, count = self.task.markets, len(recorded.rows)
        splits = walk_forward(
            markets.series,
            markets.uncut,
            folds=count,
            train_groups=recorded.train,
            purge=recorded.purge,
            anchored=recorded.kind == "anchored",
        )
        name = f"fold/{recorded.kind}-{count}-{recorded.train}-{recorded.purge}"
        picks = self._picks(name, len(splits))
        return build_folds_record(
            self.task, splits, picks, recorded.kind, (recorded.train, recorded.purge)
        )

    def _paths(self) -> PathsRecord:
        """That of the splits of which so many are recorded; settings stand in the rows' names."""
        recorded = self.judgement.cpcv
        assert recorded is not None
        names = dict.fromkeys(
            name.rpartition("/")[0] for name, _ in self.store.evidence if name.startswith("cpcv/")
        )
        markets = self.task.markets
        record: PathsRecord | None = None
        for name in names:
            count, tests, purge, embargo = map(int, name.partition("/")[2].split("-"))
            splits = combinatorial(
                markets.series,
                markets.uncut,
                count=count,
                tests=tests,
                purge=purge,
                embargo=embargo,
            )
            record = build_paths_record(
                self.task, splits, self._picks(name, len(splits)), count, tests
            )
            if record == recorded:
                break
        if record is None:
            raise StoreError("there are none of its splits")
        return record

    def _picks(self, name: str, count: int) -> list[FoldPick]:
        return Checkpoint(self.store, name, FoldPick).require(count)

    def _schedule(self) -> ScheduleRecord:
        recorded = self.judgement.schedule
        assert recorded is not None
        return restore_schedule_record(self.store, self.task, recorded, self.engine)

    def _held_out(self) -> HeldOutRecord:
        recorded = self.judgement.held_out
        assert recorded is not None
        # Looks in other folders may have come since, but none goes.
        looks = max(recorded.looks, count_opened_looks(self.store))
        engine = self.whole.full_engine(device="cpu")
        steps, made = None, self.judgement.schedule
        if recorded.by_steps and made is not None:
            inputs = self.store, self.whole, self.result, made
            steps = measure_held_out_steps(*inputs, may_search=False)
        return measure_held_out(self.whole, engine, self.genomes, self.pick, looks, steps)
