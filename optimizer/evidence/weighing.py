"""The verdict that follows from the evidence on a run."""

import math
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path

from data.shell import write_command
from engine.workload import Workload
from optimizer.evidence.figures import Number
from optimizer.evidence.holdout import HeldOutRecord
from optimizer.evidence.jobs.estimates import MOST_ROWS, ROWS_OF_ONE
from optimizer.evidence.judgement import Judgement
from optimizer.evidence.lookahead import estimate_causality_seconds
from optimizer.evidence.null import DEFAULT_SEARCHES, estimate_null_seconds
from optimizer.evidence.pick import PickRecord
from optimizer.evidence.schedule import ScheduleRecord, name_duration
from optimizer.evidence.trials import estimate_trials_seconds
from optimizer.evidence.verdict import (
    NOT_TESTED,
    RULES_VERSION,
    SIMULATED,
    Facts,
    ScheduleFacts,
    Verdict,
    decide,
)
from optimizer.grades import GRADE_RANKS
from optimizer.run.tables import resume_command
from optimizer.store.answers import RunAnswer
from optimizer.store.caveats import describe_gone
from optimizer.store.result import RunResult

LEAST_TESTED_FRAC = Fraction(1, 10)
"""Of the pick's trades: a symbol with so many has to be tested by some fold."""

FEWEST_DAYS = 20
"""Below so many days nothing is said of a year."""


def add_verdict(
    judgement: Judgement,
    result: RunResult,
    path: Path,
    *,
    seconds: float,
    is_warm_started: bool,
) -> Judgement:
    """Evidence with the verdict and the answer that follow from it.

    Args:
        judgement: The evidence; a verdict and an answer that it has are replaced.
        result: Of the run.
        path: The run's.
        seconds: About how long it would take to judge it by null searches.
        is_warm_started: Whether the search began with individuals of another.
    """
    pick, null, held_out = judgement.pick, judgement.null, judgement.held_out
    command = write_command("judge", path)
    facts = Facts(
        is_certified=not result.certificate.mismatches,
        differences=0 if judgement.causal is None else judgement.causal.mismatches,
        members=len(result.front),
        trades=0 if pick is None else pick.trades,
        strength=nan_if_none(None if pick is None else pick.strength),
        mean_r=nan_if_none(None if pick is None else pick.mean_r),
        command=f"{command} --null {DEFAULT_SEARCHES}",
        seconds=seconds,
        shuffled=None if null is None else null.shuffled.tally,
        mirrored=None if null is None or null.mirrored is None else null.mirrored.tally,
        folds=None if judgement.folds is None else judgement.folds.unseen,
        held_out=None if held_out is None else held_out.unseen,
        untested=list_untested(judgement),
        looks=1 if held_out is None else held_out.looks,
        searches=judgement.tries,
        checks={} if judgement.robust is None else judgement.robust.checks,
        is_warm_started=is_warm_started,
        is_approximate=judgement.fits > 0,
        is_simulated=result.data.is_simulated,
        gone=_find_gone(result, judgement),
    )
    if judgement.schedule is not None:
        facts = _judge_schedule(facts, judgement.schedule, held_out, command)
    answer = _build_answer(result, judgement)
    return replace(judgement, verdict=decide(facts), answer=answer, rules=RULES_VERSION)


def _judge_schedule(
    facts: Facts, schedule: ScheduleRecord, held_out: HeldOutRecord | None, command: str
) -> Facts:
    """Facts on the way of searching: stitched trades, and the schedule on null markets."""
    null, lookback = schedule.null, f"--every {schedule.every} --train {schedule.train}"
    return replace(
        facts,
        members=sum(bool(row.genes) for row in schedule.rows),
        trades=schedule.trades,
        strength=nan_if_none(schedule.strength),
        mean_r=nan_if_none(schedule.mean_r),
        command=f"{command} {lookback} --null {DEFAULT_SEARCHES}",
        shuffled=None if null is None else null.shuffled.tally,
        mirrored=None if null is None or null.mirrored is None else null.mirrored.tally,
        folds=schedule.unseen,
        held_out=held_out.unseen if held_out is not None and held_out.by_steps else None,
        untested=(),
        checks={},
        gone=schedule.gone,
        schedule=ScheduleFacts(
            name_duration(schedule.every), len(schedule.rows), schedule.mismatches
        ),
    )


def derive_verdict(result: RunResult, judgement: Judgement | None) -> Verdict:
    """Verdict that comes first wherever a front is shown, or that there is none yet.

    Args:
        result: Of the run.
        judgement: Its newest judgement, None before the first.
    """
    if judgement is not None:
        return judgement.verdict
    empty, path = Judgement(verdict=Verdict("not_judged", "")), Path(result.path)
    individuals, bars = result.evaluated, result.data.bars
    rows = min(ROWS_OF_ONE * individuals, MOST_ROWS)
    work = Workload(individuals * bars, rows * bars)
    lengths = [window.bars for window in result.data.searched] or [bars]
    seconds = estimate_null_seconds(
        work, individuals, result.generation, result.device.threads, result.device.name
    )
    seconds += estimate_causality_seconds(lengths, len(result.front))
    seconds += estimate_trials_seconds(result.data.windows, individuals)
    picked = replace(empty, pick=_find_strongest(result))
    return add_verdict(picked, result, path, seconds=seconds, is_warm_started=False).verdict


def derive_member_verdict(result: RunResult, judgement: Judgement | None, member: int) -> Verdict:
    """Verdict as far as it is of one member: what it says of another, it says nothing good of this.

    Args:
        result: Of the run.
        judgement: Its newest judgement, None before the first.
        member: Number in the front.
    """
    verdict, pick = derive_verdict(result, judgement), find_pick(result, judgement)
    if gone := result.front[member].gone:
        return Verdict("invalid", f"Do not use this member: {describe_gone(gone)}.")
    if judgement is not None and judgement.schedule is not None:
        whose = "the way of searching that found it"
    elif pick is None or member != pick.member:
        whose = "its run" if pick is None else f"member {pick.member} of its run"
    else:
        return verdict
    grade = min(verdict.grade, "not_judged", key=lambda grade: GRADE_RANKS[grade])
    return Verdict(grade, f"Not judged itself; of {whose}: {verdict.sentence}")


def find_pick(result: RunResult, judgement: Judgement | None) -> PickRecord | None:
    """Member that is the one answer of a run, judged or not; None of an empty front.

    Args:
        result: Of the run.
        judgement: Its newest judgement, None before the first.
    """
    return (
        judgement.pick
        if judgement is not None and judgement.pick is not None
        else _find_strongest(result)
    )


def build_unfinished_verdict(path: Path, *, is_simulated: bool) -> Verdict:
    """Verdict of a run whose search is not over, so that there is nothing to judge yet."""
    command = resume_command(path)
    sentence = f"{NOT_TESTED}: the run is not finished, {command} goes on with it."
    return Verdict("not_judged", (SIMULATED if is_simulated else "") + sentence)


def _find_gone(result: RunResult, judgement: Judgement) -> str:
    """When the account of the pick, or of all members, stood at nothing; empty where it stands."""
    held_out = judgement.held_out
    if judgement.pick is not None and held_out is not None and held_out.members:
        return held_out.members[judgement.pick.member].gone
    is_gone = result.front and len(result.gone) == len(result.front)
    return min(result.gone.values()) if is_gone else ""


def _find_strongest(result: RunResult) -> PickRecord | None:
    """Member of greatest strength, by the metrics of the result."""
    number = result.strongest
    if number is None:
        return None
    member = result.front[number]
    strength, mean_r = member.metrics.get("strength"), member.metrics.get("mean_r")
    trades = result.count_trades(number)
    return PickRecord(number, member.genes, strength, trades, mean_r=mean_r)


def _build_answer(result: RunResult, judgement: Judgement) -> RunAnswer | None:
    """Answer of the pick, or of the account of all steps of a schedule."""
    made, pick = judgement.schedule, judgement.pick
    if made is not None:
        last = max(window.last for window in result.data.searched)
        growth = compute_growth(made.equity, made.rows[0].date, last)
        return RunAnswer(made.strength, made.equity - 1.0, made.trades, growth, made.max_drawdown)
    return None if pick is None else result.build_answer(pick.member, pick.strength, pick.trades)


def compute_growth(equity: float, first: str, last: str) -> float | None:
    """Growth a year of an account from 1, compounded; None below `FEWEST_DAYS`.

    >>> round(compute_growth(1.21, "2023-01-01T00:00", "2024-12-31T12:00"), 9)
    0.1
    """
    length = datetime.fromisoformat(last) - datetime.fromisoformat(first)
    days = length.total_seconds() / 86_400
    return max(equity, 0.0) ** (365.25 / days) - 1.0 if days >= FEWEST_DAYS else None


def list_untested(judgement: Judgement) -> tuple[str, ...]:
    """Symbols with a tenth of the pick's trades or more that no fold tests."""
    if judgement.folds is None or judgement.pick is None or not judgement.folds.rows:
        return ()
    never = set.intersection(*(set(row.untested) for row in judgement.folds.rows))
    by_symbol = judgement.pick.trades_by_symbol
    least = LEAST_TESTED_FRAC * sum(by_symbol.values())
    return tuple(name for name, count in by_symbol.items() if name in never and count >= least)


def nan_if_none(value: Number) -> float:
    """A recorded number; NaN where it is undefined."""
    return math.nan if value is None else value
