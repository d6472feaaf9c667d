"""What to find out about a run."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from optimizer.config.evidence import EvidenceSettings
from optimizer.evidence.compared import DEFAULT_SEARCHES, DEFAULT_STOP_AFTER
from optimizer.evidence.null import Keep
from optimizer.evidence.returns import MOST_TRIALS
from optimizer.evidence.splits import DEFAULT_FOLDS, DEFAULT_TRAIN_GROUPS
from optimizer.judging.judgement import Judgement

DEFAULT_BLOCKS, DEFAULT_RESAMPLES = 12, 999

OF_FOLDS = ("folds", "train", "anchored", "purge")
OF_TRIALS = ("blocks", "resamples", "trials")
"""Knobs that ask for a part anew."""


@dataclass(frozen=True)
class Plan:
    """What to find out.

    Args:
        null: Null searches of each kind; 0 for none.
        keep: Rhythm that shuffled bars keep.
        stop_after: Null searches at least as good after which the rest is left.
        folds: Folds to search again; 0 for none.
        train: Groups that a fold is trained on.
        anchored: Whether training begins at the start.
        cpcv: N and k of combinatorial splits to search again; None for none.
        purge: Bars cut before a test; the longest holding time if None.
        embargo: Bars cut after a test; the longest warm-up if None.
        blocks: Of CSCV; 0 for no statistics over trials.
        resamples: Of the bootstrap.
        trials: Used in statistics over days at most.
        causal: Whether to look for look-ahead in the whole front.
        pick: Number of another member; None for that of greatest strength.
        is_open: Whether to look at the bars that were held out.
        is_lenient: Whether folds that the bars are too few for are left out, and a note says so.
    """

    null: int = 0
    keep: Keep | Literal["auto"] = "auto"
    stop_after: int = DEFAULT_STOP_AFTER
    folds: int = DEFAULT_FOLDS
    train: int = DEFAULT_TRAIN_GROUPS
    anchored: bool = False
    cpcv: tuple[int, int] | None = None
    purge: int | None = None
    embargo: int | None = None
    blocks: int = DEFAULT_BLOCKS
    resamples: int = DEFAULT_RESAMPLES
    trials: int = MOST_TRIALS
    causal: bool = False
    pick: int | None = None
    is_open: bool = False
    is_lenient: bool = False


def plan_of(
    settings: EvidenceSettings,
    named: Collection[str] = (),
    earlier: Judgement | None = None,
    *,
    pick: int | None = None,
    is_open: bool = False,
) -> Plan:
    """What knobs ask for; what an earlier judgement has is not found out again unless named.

    Args:
        settings: All knobs.
        named: Those that a person gave.
        earlier: Newest judgement of the run; one of another pick says nothing.
        pick: Number of another member than the strongest.
        is_open: Whether to look at held-out bars.
    """
    if earlier is not None and pick is not None:
        earlier = earlier if earlier.pick and earlier.pick.member == pick else None
    has_folds = earlier is not None and earlier.folds is not None
    has_trials = earlier is not None and earlier.trials is not None
    null = settings.null or (DEFAULT_SEARCHES if settings.judge else 0)
    asks_folds, asks_trials = (
        any(name in named for name in part) for part in (OF_FOLDS, OF_TRIALS)
    )
    cpcv: tuple[int, ...] = ()
    if settings.cpcv is not None:
        cpcv = tuple(map(int, settings.cpcv.split(",")))
    return Plan(
        null=null,
        keep=settings.null_keep,
        stop_after=settings.stop_after,
        folds=0 if has_folds and not asks_folds else settings.folds,
        train=settings.train,
        anchored=settings.anchored,
        cpcv=(cpcv[0], cpcv[1]) if cpcv else None,
        purge=settings.purge,
        embargo=settings.embargo,
        blocks=0 if has_trials and not asks_trials else settings.blocks,
        resamples=settings.resamples,
        trials=settings.trials,
        causal=null > 0 and (earlier is None or earlier.causal is None),
        pick=pick,
        is_open=is_open,
        is_lenient=not asks_folds,
    )
