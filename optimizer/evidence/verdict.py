"""One grade and one sentence from the facts: is it more than luck?

The first grade that applies counts. Its sentence is about the pick, or about this way of
searching, and claims no more than the facts show. House rules, calibrated on markets of noise and
on planted ones.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from data.progress import format_duration
from optimizer.evidence.betting import FURTHER_SEARCHES, Tally, count_needed, format_p
from optimizer.evidence.ledger import LedgerRecord
from optimizer.evidence.null import KINDS
from optimizer.evidence.out_of_sample import (
    FEWEST_CLOSING_DAYS,
    FEWEST_TRADES,
    STANDARD_ERROR,
    OutOfSample,
    add_up,
)
from optimizer.evidence.robust import CHECKS
from optimizer.formatting import GRADES, format_count
from optimizer.store.caveats import describe_gone
from optimizer.store.payload import Payload

SIMULATED = "On a simulated market: "
SEARCHING = "Searching this way held"
NOT_TESTED = "Not tested for luck yet"

NEXT = " Next: "
"""Stands before the command at the end of the sentence of what is not judged."""


class ScheduleFacts(NamedTuple):
    """Facts that a sentence on a schedule names."""

    every: str  # from one search to the next
    steps: int
    mismatches: int = 0  # steps that picked otherwise without later bars


@dataclass(frozen=True)
class Facts:
    """Facts that a verdict is decided from."""

    is_certified: bool  # whether no engine contradicts another; False where the certificate is red
    differences: int  # trades that use a later bar
    members: int  # size of the front
    trades: int  # of the pick; 0 where the front is empty
    command: str  # that would judge the run
    seconds: float  # how long it would take
    # The pick's over the searched bars; NaN if undefined or unknown.
    strength: float = math.nan
    mean_r: float = math.nan  # of the pick's trades there; NaN if undefined or unknown
    # Null searches by strength, of each kind of bars; mirrored ones are needed where the shuffled
    # ones do not say luck.
    nulls: Mapping[str, Tally] = field(default_factory=lambda: MappingProxyType({}))
    folds: OutOfSample | None = None  # re-searched folds together; None where there are none
    # The pick on held-out bars; None while they are closed or where there are none.
    held_out: OutOfSample | None = None
    untested: tuple[str, ...] = ()  # symbols with a tenth of the pick's trades that no fold tests
    # Fronts that held-out bars sharing a bar with these were opened for, this included.
    looks: int = 1
    searches: int = 1  # distinct fronts that were searched on bars overlapping these, this included
    ledger: LedgerRecord | None = None  # of the folder; None if unknown
    # Results of the checks made, of `optimizer.evidence.robust.CHECKS`.
    checks: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    is_warm_started: bool = False  # whether it began from a run on bars that overlap these
    is_approximate: bool = False  # whether null searches used forecasts that were not fitted again
    is_simulated: bool = False  # whether a program invented the market
    gone: str = ""  # when the account of the pick, or of all members, stood at nothing; else empty
    # Of a schedule, whose stitched trades are `folds` and all other facts too; None where a pick
    # is judged.
    schedule: ScheduleFacts | None = None

    @property
    def noun(self) -> str:
        """Noun of the null searches or schedules."""
        return "searches" if self.schedule is None else "schedules"

    @property
    def folds_confirm(self) -> bool:
        """True if this way of searching worked on unseen bars."""
        is_sure = self.folds is not None and self.folds.confirms(self.searches)
        return is_sure and not self.untested

    @property
    def held_out_confirms(self) -> bool:
        """True if the pick worked on unseen bars."""
        return self.held_out is not None and self.held_out.confirms(self.looks)

    @property
    def traded_unseen(self) -> Mapping[str, OutOfSample]:
        """Trades on bars that the search had not seen, by where, as far as there were any."""
        name = "folds" if self.schedule is None else "steps"
        unseen = ((name, self.folds), ("held-out bars", self.held_out))
        return {where: trades for where, trades in unseen if trades is not None and trades.trades}

    @property
    def lost_unseen(self) -> Mapping[str, OutOfSample]:
        """Trades on unseen bars that did not gain."""
        return {name: trades for name, trades in self.traded_unseen.items() if trades.contradicts}


@dataclass(frozen=True)
class Verdict(Payload):
    """Verdict on a run: a grade and its sentence."""

    grade: str  # one of `optimizer.formatting.GRADES`
    sentence: str  # the first line wherever the front is shown
    reasons: tuple[str, ...] = ()  # further deciding facts, first the contradicting ones

    def __post_init__(self) -> None:
        if self.grade not in GRADES:
            raise ValueError("there is no such grade")


def decide(facts: Facts) -> Verdict:
    """The first grade that applies."""
    verdict = next(verdict for rule in RULES if (verdict := rule(facts)) is not None)
    prefix = SIMULATED if facts.is_simulated else ""
    return Verdict(verdict.grade, prefix + verdict.sentence, verdict.reasons)


def _grade_invalid(facts: Facts) -> Verdict | None:
    reasons = []
    if not facts.is_certified:
        reasons.append("the reference and the engine disagree")
    if facts.differences:
        reasons.append(
            f"{format_count(facts.differences, 'difference')} between trades with and without "
            "later bars"
        )
    if facts.gone:
        reasons.append(describe_gone(facts.gone))
    if facts.schedule is not None and facts.schedule.mismatches:
        mismatches = format_count(facts.schedule.mismatches, "step")
        reasons.append(f"{mismatches} picked by bars after its date")
    return Verdict("invalid", f"Do not use this result: {'; '.join(reasons)}.") if reasons else None


def _grade_too_little(facts: Facts) -> Verdict | None:
    if not facts.members:
        return Verdict("too_little", "Too few trades to judge: the front is empty.")
    if facts.trades < FEWEST_TRADES:
        needed = f"{facts.trades}, {FEWEST_TRADES} are needed."
        return Verdict("too_little", f"Too few trades to judge: {needed}")
    closing_days = FEWEST_CLOSING_DAYS if facts.folds is None else facts.folds.closing_days
    if facts.schedule is not None and closing_days < FEWEST_CLOSING_DAYS:
        needed = f"{closing_days}, {FEWEST_CLOSING_DAYS} are needed."
        return Verdict("too_little", f"Too few days with trades to judge: {needed}")
    return None


def _grade_luck(facts: Facts) -> Verdict | None:
    for kind, tally in facts.nulls.items():
        if tally.is_luck:
            sentence = f"{describe_tally(tally, kind)}: probably luck."
            if count_needed(tally.at_least) <= FURTHER_SEARCHES:
                sentence += (
                    f" (A market with an edge could still show it with --null {FURTHER_SEARCHES}.)"
                )
            if facts.schedule is None:
                sentence += _add_losses(facts.lost_unseen)
            return Verdict("luck", sentence, _as_sentences(_list_losses(facts)))
    return None


def _grade_lost(facts: Facts) -> Verdict | None:
    if facts.strength <= 0:
        what = "gains nothing" if facts.strength > -STANDARD_ERROR else "loses"
        sentence = f"It {what}: {facts.trades:,} trades, {_format_r(facts.mean_r)} each."
        return Verdict("lost", sentence, _as_sentences(_list_losses(facts)))
    count = sum(unseen.trades for unseen in facts.lost_unseen.values())
    if count < FEWEST_TRADES or facts.folds_confirm or facts.held_out_confirms:
        return None
    # Evidence that tells no gain from none does not make up for a loss.
    _, mean_r, strength = add_up(facts.traded_unseen.values())
    if strength >= STANDARD_ERROR:
        return None
    is_nought = mean_r > 0 or abs(strength) < STANDARD_ERROR
    what = "Nothing gained" if is_nought else "Lost"
    return Verdict("lost", f"{what} on bars the search had not seen: {_describe_unseen(facts)}.")


def _grade_not_judged(facts: Facts) -> Verdict | None:
    lacking = [kind for kind in KINDS if kind not in facts.nulls or not facts.nulls[kind].is_more]
    if not lacking:
        return None
    sentence = f"{NOT_TESTED}."
    if facts.nulls:
        tally = facts.nulls.get(lacking[0])
        made = f"{tally.searches if tally else 0} {facts.noun} on {lacking[0]} bars"
        needed = count_needed(tally.at_least if tally else 0)
        sentence = f"{NOT_TESTED}: {made}, {needed} are needed."
    if facts.traded_unseen:
        sentence += f" So far: {_describe_unseen(facts, is_told=True)}."
    takes = format_duration(math.ceil(facts.seconds))
    return Verdict("not_judged", f"{sentence}{NEXT}{facts.command} (about {takes}).")


def _grade_weak(facts: Facts) -> Verdict | None:
    reasons, ledger = _list_losses(facts), facts.ledger
    if ledger is not None and not ledger.is_believed:
        own = f"its e-value is {ledger.wealth:.3g}, {ledger.needed:.3g} is needed"
        reasons.append(
            f"of {format_count(ledger.searches, 'search')} in this folder {ledger.believed} may be "
            f"believed, and it is not among them ({own})"
        )
    # The stitched trades of a schedule have to confirm.
    is_held = facts.schedule is None and facts.held_out_confirms
    if not (facts.folds_confirm or is_held):
        reasons.append(_explain_unconfirmed(facts))
    if facts.is_warm_started:
        reasons.append("it began from a run on bars that overlap these")
    if facts.is_approximate and not facts.held_out_confirms:
        reasons.append("forecasts were not fitted again on null bars, so that p is approximate")
    if not reasons:
        return None
    why, *rest = reasons
    greater = max(tally.p for tally in facts.nulls.values())
    sentence = (
        f"More than luck on the bars searched (p = {format_p(greater)}), "
        f"not confirmed elsewhere: {why}."
    )
    return Verdict("weak", sentence, _as_sentences(rest))


def _grade_schedule(facts: Facts) -> Verdict | None:
    """Grade of a schedule with confirming trades; nothing around it is tried."""
    if facts.schedule is None or facts.folds is None:
        return None
    every, steps, _ = facts.schedule
    null = describe_tally(facts.nulls["shuffled"], "shuffled")
    sentence = (
        f"Searching every {every} held out of sample: {_describe_mean(facts.folds)} in "
        f"{format_count(steps, 'step')}. {null}."
    )
    return Verdict("holds", sentence)


def _grade_holds(facts: Facts) -> Verdict:
    unseen, is_pick = (facts.held_out, True) if facts.held_out_confirms else (facts.folds, False)
    assert unseen is not None, "without one the grade is weak"
    # A missing check does not pass.
    failed = [name for name in CHECKS if not facts.checks.get(name, False)]
    opening = "Held" if is_pick else SEARCHING
    sentence = f"{opening} on bars the search had not seen: {_describe_mean(unseen)}"
    if not failed:
        return Verdict("robust", f"{sentence}, and around it.")
    reasons = tuple(f"Around it: {name.replace('_', ' ')} did not pass." for name in failed)
    return Verdict("holds", f"{sentence}.", reasons)


RULES: tuple[Callable[[Facts], Verdict | None], ...] = (
    _grade_invalid,
    _grade_too_little,
    _grade_luck,
    _grade_lost,
    _grade_not_judged,
    _grade_weak,
    _grade_schedule,
    _grade_holds,
)


def describe_tally(tally: Tally, kind: str) -> str:
    """Null markets of a kind on which the search did as well.

    >>> describe_tally(Tally(17, 2), "shuffled")
    'As good on 2 of 17 shuffled markets'
    """
    return f"As good on {tally.at_least} of {tally.searches} {kind} markets"


def _as_sentences(reasons: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{reason[0].upper()}{reason[1:]}." for reason in reasons)


def _format_r(mean_r: float) -> str:
    """Two decimals, or one digit where they would be zeros."""
    return f"{mean_r:.2f} R" if abs(mean_r) >= 0.005 or not mean_r else f"{mean_r:.1g} R"


def _format_mean(trades: int, mean_r: float) -> str:
    return f"{_format_r(mean_r)} a trade over {trades:,} trade" + ("s" if trades > 1 else "")


def _describe_mean(unseen: OutOfSample) -> str:
    return _format_mean(unseen.trades, unseen.value("mean_r"))


def _describe_result(trades: int, mean_r: float, strength: float) -> str:
    """Gain or loss of trades, or that there is neither, where they tell none from the other.

    >>> _describe_result(393, -0.004, -0.08)
    'gained nothing: -0.004 R a trade over 393 trades'
    >>> _describe_result(54, 0.09, 0.4)
    'gained too little to tell: 0.09 R a trade over 54 trades'
    """
    if abs(strength) < STANDARD_ERROR:
        little = "too little to tell" if mean_r > 0 else "nothing"
        return f"gained {little}: {_format_mean(trades, mean_r)}"
    return f"{'gained' if mean_r > 0 else 'lost'} {_format_mean(trades, abs(mean_r))}"


def _describe_unseen(facts: Facts, *, is_told: bool = False) -> str:
    """All trades on unseen bars in one sum, and each part of it; `is_told` as a sentence."""
    parts = facts.traded_unseen
    trades, mean_r, strength = add_up(parts.values())
    result = _describe_result(trades, mean_r, strength) if is_told else _format_mean(trades, mean_r)
    if len(parts) == 1:
        (where,) = parts
        return f"{where} {result}" if is_told else f"{result} ({where})"
    apart = ", ".join(
        f"{where} {_format_r(part.value('mean_r'))} over {part.trades:,}"
        for where, part in parts.items()
    )
    return f"{' and '.join(parts)} together {result} ({apart})"


def _add_losses(losses: Mapping[str, OutOfSample]) -> str:
    """Sentences on losses, or on no gain, beside being luck."""
    lost = [where for where, unseen in losses.items() if not unseen.is_nought]
    nought = [where for where, unseen in losses.items() if unseen.is_nought]
    sentence = f" It lost in {' and '.join(lost)} as well." if lost else ""
    return sentence + (f" It gained nothing in {' and '.join(nought)}." if nought else "")


def _list_losses(facts: Facts) -> list[str]:
    return [
        f"{where} {'gained nothing' if unseen.is_nought else 'lost'}: {_describe_mean(unseen)}"
        for where, unseen in facts.lost_unseen.items()
    ]


def _explain_unconfirmed(facts: Facts) -> str:
    if facts.schedule is not None:
        return "its trades through time are not sure enough"
    if facts.folds is None and facts.held_out is None:
        return "there are neither folds nor held-out bars"
    if facts.folds is not None and facts.untested and facts.folds.confirms(facts.searches):
        return f"no fold tests {', '.join(facts.untested)}, where the pick trades"
    if len(facts.traded_unseen) > 1:
        return f"{_describe_unseen(facts, is_told=True)}, which is not sure enough"
    return "neither folds nor held-out bars are sure enough"
