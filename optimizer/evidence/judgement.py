"""Judgement of a run's pick: its evidence as it is recorded, its verdict, and its sentences.

A number that is undefined is None, and ``why`` has the reason by its name. Verdict, answer and
sentences are the same wherever they are shown.
"""

import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from data.shell import write_command
from engine.workload import GPU_START_S, Workload
from optimizer.evidence.betting import DEFAULT_SEARCHES, FEWEST_SEARCHES
from optimizer.evidence.bootstrap import BootstrapRecord
from optimizer.evidence.checkpoint import SETTINGS
from optimizer.evidence.cscv import CscvRecord
from optimizer.evidence.expectation import ExpectedRecord, add_year, expect
from optimizer.evidence.figures import Number
from optimizer.evidence.folds import CPCV, FOLD, FoldsRecord, PathsRecord
from optimizer.evidence.holdout import HeldOutRecord
from optimizer.evidence.jobs.executor import GPU_STEP_S, INDIVIDUAL_S, MOST_ROWS, ROWS_OF_ONE
from optimizer.evidence.ledger import LedgerRecord
from optimizer.evidence.lookahead import CausalRecord
from optimizer.evidence.null import NULL, NULL_FLAGS, NullRecord
from optimizer.evidence.pick import PickRecord
from optimizer.evidence.power import PowerRecord
from optimizer.evidence.robust import CHECKED, RobustRecord
from optimizer.evidence.schedule import NULL_SCHEDULE, STEP, ScheduleRecord, name_duration
from optimizer.evidence.sharpe import SharpeRecord
from optimizer.evidence.statistic import AGAINST, FOR, Around, Statistic, Weighed
from optimizer.evidence.trials import TrialsRecord
from optimizer.evidence.verdict import (
    NEXT,
    NOT_TESTED,
    SIMULATED,
    Facts,
    ScheduleFacts,
    Verdict,
    decide,
)
from optimizer.formatting import GRADE_RANKS, format_count, number
from optimizer.run.tables import chosen_member, require_result, resume_command
from optimizer.store.caveats import JUDGEMENT, OPENED, RunAnswer, describe_gone, mapping_or_empty
from optimizer.store.payload import OPTIONAL, Payload
from optimizer.store.result import RunResult, load_result
from optimizer.store.store import RunStore

LOGGER = logging.getLogger(__name__)

READ_FIRST = ("schedule", "null", "folds", "cpcv", "held_out")
"""Statistics that decide; the others follow as they are recorded."""

Asked = Mapping[str, Any]
"""Settings of rows: knobs of the judge, and the kind of a null market."""


class RowQuestion(NamedTuple):
    """A question that leaves rows before a judgement states them."""

    part: str  # of a judgement, which states them
    noun: str  # of a row
    # True if the part follows from so many rows of these settings.
    states: Callable[[Any, Asked, int], bool]
    place: str = ""  # of a row, with settings in braces
    also: tuple[str, ...] = ()  # flags of the judge beside those of the settings

    def describe(self, asked: Asked, count: int) -> str:
        """So many rows, in words."""
        return format_count(count, self.noun) + self.place.format_map(asked)

    def list_flags(self, asked: Asked) -> str:
        """Flags of the judge that goes on with rows of these settings."""
        knobs = [
            f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
            for name, value in asked.items()
            if value is not False and name != "kind"
        ]
        return " ".join((*knobs, *self.also))


def _states_null(null: NullRecord | None, asked: Asked, count: int) -> bool:
    return null is not None and null.states(asked["null_keep"], asked["kind"], count)


def _states_schedules(made: ScheduleRecord, asked: Asked, count: int) -> bool:
    is_same = vars(made.settings).items() <= asked.items()
    return is_same and _states_null(made.null, asked, count)


ON_BARS = " on {kind} bars"

QUESTIONS: Mapping[str, RowQuestion] = {
    NULL: RowQuestion("null", "search", _states_null, ON_BARS, NULL_FLAGS),
    FOLD: RowQuestion("folds", "fold", lambda made, asked, _: asked == made.settings),
    CPCV: RowQuestion(
        "cpcv",
        "combinatorial split",
        lambda made, asked, _: made.splits == comb(*map(int, asked["cpcv"].split(","))),
    ),
    STEP: RowQuestion(
        "schedule", "step", lambda made, asked, _: asked == vars(made.settings.searched)
    ),
    NULL_SCHEDULE: RowQuestion("schedule", "schedule", _states_schedules, ON_BARS, NULL_FLAGS),
    OPENED: RowQuestion("held_out", "look", lambda *_: True, " at held-out bars", ("--open",)),
}
"""Questions by the name of their rows."""

Rows = Sequence[tuple[str, Mapping[str, object]]]
"""Questions and rows of evidence, oldest first."""

LEAST_TESTED_FRAC = Fraction(1, 10)
"""Of the pick's trades: a symbol with so many has to be tested by some fold."""

FEWEST_DAYS = 20
"""Below so many days nothing is said of a year."""

STEPS = {
    "too_little": "more bars, wider bounds (--bound), or rules that trade more often.",
    "luck": "do not trade it; another idea, or more bars: each search of these counts.",
    "lost": "do not trade it; another idea, or more bars.",
    "weak": "wait for new bars, or search with some held out (--holdout 20%).",
    "holds": "see which checks around it failed or were not made, then trade it on paper.",
    "robust": "trade it on paper, on new bars.",
}
"""Next step after each grade where the run itself does not decide it."""


@dataclass(frozen=True, kw_only=True)
class Judgement(Payload):
    """All evidence on a run; a part outside the plan is None."""

    what: ClassVar[str] = "the judgement"

    verdict: Verdict
    pick: PickRecord | None = None
    null: NullRecord | None = None
    folds: FoldsRecord | None = None
    cpcv: PathsRecord | None = None
    trials: TrialsRecord | None = None
    sharpe: SharpeRecord | None = None
    cscv: CscvRecord | None = None
    bootstrap: BootstrapRecord | None = None
    robust: RobustRecord | None = None
    causal: CausalRecord | None = None
    held_out: HeldOutRecord | None = None
    # The search repeated through time; the verdict is about it if it was made.
    schedule: Annotated[ScheduleRecord | None, OPTIONAL] = None
    # Edges that the search would find, where that was measured.
    power: Annotated[PowerRecord | None, OPTIONAL] = None
    searches: int = 1  # distinct fronts that were searched on bars overlapping these, this included
    ledger: Annotated[LedgerRecord | None, OPTIONAL] = None  # of its folder, when it was judged
    # Forecasts fitted on these bars before one was chosen for the strategy to read.
    fits: Annotated[int, OPTIONAL] = 0
    # Mean R of the pick on other bars; None where nothing is known of it, and of a schedule.
    expected: Annotated[ExpectedRecord | None, OPTIONAL] = None
    notes: tuple[str, ...] = ()  # parts that were left out, and why
    answer: Annotated[RunAnswer | None, OPTIONAL] = None  # None where none can be picked

    @property
    def tries(self) -> int:
        """Number of tries on these bars: each forecast counts as a search does."""
        return self.searches + self.fits

    @property
    def wealth(self) -> float | None:
        """E-value of the search: the smallest of its kinds of null markets; None without any."""
        null = self.null if self.schedule is None else self.schedule.null
        return None if null is None else null.wealth

    @property
    def parts(self) -> Iterator[Statistic]:
        """Statistics that were made, in the order in which they are read."""
        order = dict.fromkeys((*READ_FIRST, *(part.name for part in fields(self))))
        values = (getattr(self, name) for name in order)
        return (part for part in values if isinstance(part, Statistic))


def read_opened_result(store: RunStore) -> tuple[RunResult | None, Judgement | None]:
    """The result of a run with its opened part, and its newest judgement; None without."""
    result = load_result(store)
    judgement = None if result is None else read_judgement(store)
    return result and add_held_out(result, judgement), judgement


def require_opened_result(store: RunStore) -> tuple[RunResult, Judgement | None]:
    """As `read_opened_result`; StoreError with how to get a result where there is none yet."""
    result, judgement = read_opened_result(store)
    return result or require_result(store), judgement


def read_judgement(store: RunStore) -> Judgement | None:
    """The newest judgement of a run; None where it was never judged.

    Raises:
        StoreError: When the evidence is damaged.
    """
    rows = [row for name, row in store.evidence if name == JUDGEMENT]
    if not rows:
        return None
    judgement = Judgement.read(rows[-1])
    said, step, command = judgement.verdict.sentence.partition(NEXT)
    # The run may have been moved since.
    if flags := re.search(" --(every|null) .*", command):
        sentence = f"{said}{step}{write_command('judge', store.path)}{flags[0]}"
        judgement = replace(judgement, verdict=replace(judgement.verdict, sentence=sentence))
    return judgement


def read_judgements(store: RunStore) -> list[Judgement]:
    """All judgements of a run, oldest first; errors as of `read_judgement`."""
    return [Judgement.read(row) for name, row in store.evidence if name == JUDGEMENT]


def add_held_out(result: RunResult, judgement: Judgement | None) -> RunResult:
    """A result with its members' figures on held-out bars, where those were opened."""
    if judgement is None or judgement.held_out is None:
        return result
    seen = zip(result.front, judgement.held_out.members, judgement.held_out.by_window, strict=True)
    front = (replace(member, held_out=part, by_window=windows) for member, part, windows in seen)
    return replace(result, front=tuple(front))


def add_verdict(
    judgement: Judgement,
    result: RunResult,
    path: Path,
    *,
    seconds: float,
    is_warm_started: bool,
) -> Judgement:
    """Evidence with verdict, answer and expectation, which follow from it.

    Judging it by null searches would take `seconds`, about. A search is warm-started that began
    with individuals of another.
    """
    pick, held_out = judgement.pick, judgement.held_out
    command = write_command("judge", path)
    facts = Facts(
        is_certified=not result.certificate.mismatches,
        differences=0 if judgement.causal is None else judgement.causal.mismatches,
        members=len(result.front),
        trades=0 if pick is None else pick.trades,
        strength=_nan_if_none(None if pick is None else pick.strength),
        mean_r=_nan_if_none(None if pick is None else pick.mean_r),
        command=f"{command} --null {DEFAULT_SEARCHES}",
        seconds=seconds,
        nulls={} if judgement.null is None else judgement.null.tallies,
        folds=judgement.folds,
        held_out=held_out,
        untested=_list_untested(judgement),
        looks=1 if held_out is None else held_out.looks,
        searches=judgement.tries,
        ledger=judgement.ledger,
        checks={} if judgement.robust is None else judgement.robust.checks,
        is_warm_started=is_warm_started,
        is_approximate=judgement.fits > 0,
        is_simulated=result.data.is_simulated,
        gone=_find_gone(result, judgement),
    )
    if judgement.schedule is not None:
        facts = _judge_schedule(facts, judgement.schedule, held_out, command)
    answer = _build_answer(result, judgement)
    if answer is not None:
        answer = replace(
            answer,
            folds=None if facts.folds is None else facts.folds.mean_r,
            held_out=None if facts.held_out is None else facts.held_out.mean_r,
        )
    judged = replace(judgement, verdict=decide(facts), answer=answer)
    expected = None if pick is None else expect_member(result, judged, pick.member)
    if answer is not None and expected is not None:
        year = expected.year
        growth = None if year is None or year.is_r else year.mean
        answer = replace(answer, expected=expected.mean, expected_cagr=growth)
    return replace(judged, expected=expected, answer=answer)


def _judge_schedule(
    facts: Facts, schedule: ScheduleRecord, held_out: HeldOutRecord | None, command: str
) -> Facts:
    """Facts on the way of searching: stitched trades, and the schedule on null markets."""
    lookback = f"--every {schedule.every} --train {schedule.train}"
    return replace(
        facts,
        members=sum(bool(row.genes) for row in schedule.rows),
        trades=schedule.trades,
        strength=_nan_if_none(schedule.strength),
        mean_r=_nan_if_none(schedule.mean_r),
        command=f"{command} {lookback} --null {DEFAULT_SEARCHES}",
        nulls={} if schedule.null is None else schedule.null.tallies,
        folds=schedule,
        held_out=held_out if held_out is not None and held_out.by_steps else None,
        untested=(),
        checks={},
        gone=schedule.gone,
        schedule=ScheduleFacts(
            name_duration(schedule.every), len(schedule.rows), schedule.mismatches
        ),
    )


def derive_verdict(result: RunResult, judgement: Judgement | None) -> Verdict:
    """Verdict that comes first wherever a front is shown: of the newest judgement, if any."""
    if judgement is not None:
        return judgement.verdict
    known = Judgement(verdict=Verdict("not_judged", ""), pick=_find_strongest(result))
    # As of `InStepSetup.estimate`, by the record alone.
    individuals, bars, cores = result.evaluated, result.data.bars, result.device.threads
    work = Workload(individuals * bars, min(ROWS_OF_ONE * individuals, MOST_ROWS) * bars, threads=1)
    beside_s, searches = INDIVIDUAL_S * individuals, 2 * FEWEST_SEARCHES
    seconds = searches * (work.cpu_s + beside_s) / cores
    if result.device.name != "cpu":
        asking_s = work.gpu_s + GPU_STEP_S * result.generation + beside_s / max(cores - 1, 1)
        seconds = min(seconds, GPU_START_S + searches * asking_s)
    path = Path(result.path)
    return add_verdict(known, result, path, seconds=seconds, is_warm_started=False).verdict


def derive_member_verdict(result: RunResult, judgement: Judgement | None, member: int) -> Verdict:
    """The part of a verdict that is about one member: praise of another is none of it."""
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
    return Verdict(grade, f"Not tested for luck itself; of {whose}: {verdict.sentence}")


def find_pick(result: RunResult, judgement: Judgement | None) -> PickRecord | None:
    """Member that is the one answer of a run, judged or not; None of an empty front."""
    return (judgement and judgement.pick) or _find_strongest(result)


def choose_member(store: RunStore, count: int, member: int | None) -> int:
    """Number of the named member of a run's front of so many, else of its pick, which is logged.

    ConfigError when there is no such member, and where there are several and no pick.
    """
    result, judgement = (None, None) if member is not None else read_opened_result(store)
    if result is not None and (pick := find_pick(result, judgement)) is not None:
        member = pick.member
        if count > 1:
            line = "run %s: member %d of its front, which is its pick"
            LOGGER.info(line, store.run_id, member, extra={"is_once": True})
    return chosen_member(f"run '{store.run_id}'", count, member)


def expect_member(
    result: RunResult, judgement: Judgement | None, member: int
) -> ExpectedRecord | None:
    """Mean R that a member is expected to earn on other bars; None where nothing is known of it."""
    if judgement is None or not _can_expect(result, judgement):
        return None
    nulls = () if judgement.null is None else judgement.null.shuffled.strengths
    pick, metrics, folds = judgement.pick, result.front[member].metrics, None
    mean_r, strength = metrics.get("mean_r"), metrics.get("strength")
    if pick is not None and member == pick.member:
        mean_r, strength = pick.mean_r, pick.strength
        folds = judgement.folds
    expected = expect(mean_r, strength, nulls, folds)
    if expected is None:
        return None
    trades, growth = metrics.get("trades_per_year"), metrics.get("cagr")
    return add_year(expected, trades, growth, result.risk_fraction)


def expect_members(
    result: RunResult, judgement: Judgement | None, members: Iterable[int]
) -> dict[int, float]:
    """Expected mean R of some members, where it is known."""
    made = ((member, expect_member(result, judgement, member)) for member in members)
    return {member: expected.mean for member, expected in made if expected is not None}


def describe_expected(result: RunResult, judgement: Judgement | None, member: int) -> str:
    """Sentence on a member's expected earnings, or on the way to find them out."""
    if not _can_expect(result, judgement):
        return ""
    expected = expect_member(result, judgement, member)
    if expected is not None:
        return expected.describe()
    judge = write_command("judge", Path(result.path))
    return f"not known yet; {judge} --null {DEFAULT_SEARCHES} finds out."


def _can_expect(result: RunResult, judgement: Judgement | None) -> bool:
    """True if an expectation exists: never for a schedule, with its trades on unseen bars."""
    if judgement is not None and judgement.schedule is not None:
        return False
    return derive_verdict(result, judgement).grade not in ("invalid", "too_little")


def build_unfinished_verdict(path: Path, *, is_simulated: bool) -> Verdict:
    """Verdict of a run with an unfinished search: nothing to judge yet."""
    command = resume_command(path)
    sentence = f"{NOT_TESTED}: the run is not finished, {command} goes on with it."
    return Verdict("not_judged", (SIMULATED if is_simulated else "") + sentence)


def _find_gone(result: RunResult, judgement: Judgement) -> str:
    """Moment at which the account of the pick, or of all members, stood at nothing; else empty."""
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
        growth = _compute_growth(made.equity, made.rows[0].date, last)
        return RunAnswer(
            made.strength,
            made.equity - 1.0,
            made.trades,
            growth,
            made.max_drawdown,
            judgement.wealth,
        )
    if pick is None:
        return None
    answer = result.build_answer(pick.member, pick.strength, pick.trades)
    return replace(answer, wealth=judgement.wealth)


def _compute_growth(equity: float, first: str, last: str) -> float | None:
    """Growth a year of an account from 1, compounded; None below `FEWEST_DAYS`.

    >>> round(_compute_growth(1.21, "2023-01-01T00:00", "2024-12-31T12:00"), 9)
    0.1
    """
    length = datetime.fromisoformat(last) - datetime.fromisoformat(first)
    days = length.total_seconds() / 86_400
    return max(equity, 0.0) ** (365.25 / days) - 1.0 if days >= FEWEST_DAYS else None


def _list_untested(judgement: Judgement) -> tuple[str, ...]:
    """Symbols with a tenth of the pick's trades or more that no fold tests."""
    if judgement.folds is None or judgement.pick is None or not judgement.folds.rows:
        return ()
    never = set.intersection(*(set(row.untested) for row in judgement.folds.rows))
    by_symbol = judgement.pick.trades_by_symbol
    least = LEAST_TESTED_FRAC * sum(by_symbol.values())
    return tuple(name for name, count in by_symbol.items() if name in never and count >= least)


def _nan_if_none(value: Number) -> float:
    """A recorded number; NaN for an undefined one."""
    return math.nan if value is None else value


def describe_subject(result: RunResult, judgement: Judgement | None) -> tuple[str, str]:
    """Subject of a run's verdict, and a sentence on it; empty for an empty front."""
    if judgement is not None and judgement.schedule is not None:
        return "account of all steps", judgement.schedule.describe()
    pick = find_pick(result, judgement)
    return "pick", "" if pick is None else pick.describe()


def weigh_evidence(judgement: Judgement) -> list[Weighed]:
    """All evidence but the pick, a sentence each, first what disagrees with the verdict."""
    disagrees = FOR if judgement.verdict.grade == "luck" else AGAINST
    return sorted(_list_rows(judgement), key=lambda row: row.speaks != disagrees)


def _list_rows(judgement: Judgement) -> Iterator[Weighed]:
    evaluated = 1 if judgement.trials is None else max(judgement.trials.evaluated, 1)
    around = Around(judgement.tries, evaluated)
    for part in judgement.parts:
        yield from part.list_rows(around)
    if (ledger := judgement.ledger) is not None:
        is_against = judgement.wealth is not None and ledger.searches > 1 and not ledger.is_believed
        yield Weighed("searches", ledger.describe(), AGAINST if is_against else "")
    if judgement.fits:
        fits = (
            f"{format_count(judgement.fits, 'forecast')} fitted on these bars, each of which counts"
        )
        yield Weighed("forecasts", f"{fits} as a search; none was fitted again on null bars.")
    yield from (Weighed("not done", note) for note in judgement.notes)


def suggest_next(result: RunResult, verdict: Verdict, judgement: Judgement | None) -> str:
    """The step that follows from a verdict."""
    judge = write_command("judge", Path(result.path))
    command = verdict.sentence.partition(NEXT)[2]
    if command:
        return command
    if verdict.grade == "invalid":
        return f"do not trade it: {_suggest_mending(result, judgement)}."
    if verdict.grade == "weak":
        if result.data.held_out_bars and (judgement is None or judgement.held_out is None):
            return f"{judge} --open looks at the held-out bars, once."
        if judgement is None or judgement.folds is None:
            return f"{judge} --folds 6 searches again on parts of the bars."
    if verdict.grade == "holds" and judgement is not None and judgement.robust is not None:
        checks = judgement.robust.checks
        failed = ", ".join(row for row, name in CHECKED.items() if not checks.get(name, False))
        return f"weigh what did not hold around it ({failed}), then trade it on paper."
    return STEPS.get(verdict.grade, f"{judge} --null {DEFAULT_SEARCHES}")


def _suggest_mending(result: RunResult, judgement: Judgement | None) -> str:
    """Next step where engines disagree, a rule reads later bars, or an account is gone."""
    if result.certificate.mismatches:
        return f"{write_command('parity', '--run', Path(result.path))} compares every trade"
    parts = () if judgement is None else (judgement.causal, judgement.schedule)
    if not any(part.mismatches for part in parts if part is not None):
        return "stake less in account(...), so that no close takes all of it, and search again"
    first = "" if judgement is None or judgement.causal is None else judgement.causal.first
    where = f" ({first})" if first else ""
    return f"a rule reads later bars{where}; mend it and search again"


def describe_count(result: RunResult, judgement: Judgement | None) -> str:
    """Number of candidates that a search tried: all evaluations, and distinct ones among them."""
    evaluated = result.evaluated or result.timing.evaluated
    words = f"{format_count(evaluated, 'candidate')} evaluated"
    if result.polished:
        words += f", {number(result.polished)} to polish the front"
    if judgement is not None and judgement.trials is not None and judgement.trials.evaluated:
        words += f", {number(judgement.trials.evaluated)} of them distinct"
    return words


class Unstated(NamedTuple):
    """Rows of one question and settings that no judgement states."""

    what: str  # in words, with their number
    flags: str  # of the judge that goes on with them

    @property
    def note(self) -> str:
        """Note of a judgement that leaves them out."""
        return f"not judged to the end: {self.what}, which judge {self.flags} goes on with"


def list_unstated(rows: Rows, judgements: Sequence[Judgement]) -> list[Unstated]:
    """Rows that an interrupted judge left, in the order in which they were begun."""
    counts: Counter[tuple[str, tuple[tuple[str, Any], ...]]] = Counter()
    for name, row in rows:
        if name in QUESTIONS:
            counts[name, tuple(mapping_or_empty(row.get(SETTINGS)).items())] += 1
    left = []
    for (name, items), count in counts.items():
        question, asked = QUESTIONS[name], dict(items)
        parts = (getattr(judgement, question.part) for judgement in judgements)
        if not any(part is not None and question.states(part, asked, count) for part in parts):
            left.append(Unstated(question.describe(asked, count), question.list_flags(asked)))
    return left
