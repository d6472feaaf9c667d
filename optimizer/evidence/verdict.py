"""One grade and one sentence from the facts: is it more than luck?

The first grade that applies is given. Whatever is said is about the pick, or about this way of
searching; nothing is said that the facts do not show. House rules, calibrated on markets of noise
and on planted ones.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from optimizer.evidence.compared import Tally
from optimizer.evidence.robust import CHECKS
from optimizer.evidence.unseen import FEWEST_TRADES, Unseen

GRADES = ("invalid", "too_little", "not_judged", "luck", "weak", "holds", "robust")

FEWEST_SEARCHES = 99
MOST_P, MOST_P_OF_ALL = Fraction(1, 100), Fraction(1, 20)

SIMULATED = "On a simulated market: "
SEARCHING = "Searching this way held out of sample: "


@dataclass(frozen=True)
class Facts:
    """All that a verdict is decided from.

    Args:
        is_certified: Whether no engine contradicts another; False where the certificate is red.
        differences: Trades that use a later bar.
        members: Size of the front.
        trades: Of the pick; 0 where the front is empty.
        command: That would judge the run.
        seconds: How long it would take.
        shuffled: Null searches on shuffled bars by strength; None where there are none.
        mirrored: On mirrored bars, likewise; needed where the shuffled ones do not say luck.
        folds: Re-searched folds together; None where there are none.
        held_out: The pick on held-out bars; None while they are closed or where there are none.
        looks: Fronts that held-out bars sharing a bar with these were opened for, this included.
        searches: Distinct fronts that were searched on bars overlapping these, this included.
        checks: Of `optimizer.evidence.robust.CHECKS` those that were made, and whether they passed.
        is_warm_started: Whether it began from a run on bars that overlap these.
        is_approximate: Whether null searches used forecasts that were not fitted again.
        is_simulated: Whether a program invented the market.
    """

    is_certified: bool
    differences: int
    members: int
    trades: int
    command: str
    seconds: float
    shuffled: Tally | None = None
    mirrored: Tally | None = None
    folds: Unseen | None = None
    held_out: Unseen | None = None
    looks: int = 1
    searches: int = 1
    checks: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    is_warm_started: bool = False
    is_approximate: bool = False
    is_simulated: bool = False

    @property
    def folds_confirm(self) -> bool:
        """Whether this way of searching found what works on bars that it had not seen."""
        return self.folds is not None and self.folds.confirms(self.searches)

    @property
    def held_out_confirms(self) -> bool:
        """Whether the pick worked on bars that the search had not seen."""
        return self.held_out is not None and self.held_out.confirms(self.looks)


@dataclass(frozen=True)
class Verdict:
    """What to believe.

    Args:
        grade: One of `GRADES`.
        sentence: The first line wherever the front is shown.
        reasons: What decided, and first what disagrees.
    """

    grade: str
    sentence: str
    reasons: tuple[str, ...] = ()


def decide(facts: Facts) -> Verdict:
    """The first grade that applies."""
    verdict = next(found for rule in RULES if (found := rule(facts)) is not None)
    prefix = SIMULATED if facts.is_simulated else ""
    return Verdict(verdict.grade, prefix + verdict.sentence, verdict.reasons)


def _invalid(facts: Facts) -> Verdict | None:
    reasons = []
    if not facts.is_certified:
        reasons.append("The reference and the engine disagree.")
    if facts.differences:
        reasons.append(f"{facts.differences} differences show that a later bar was used.")
    sentence = "No verdict: the result cannot be trusted."
    return Verdict("invalid", sentence, tuple(reasons)) if reasons else None


def _too_little(facts: Facts) -> Verdict | None:
    if not facts.members:
        return Verdict("too_little", "Too little to judge: the front is empty.")
    if facts.trades < FEWEST_TRADES:
        count = f"{facts.trades} trade" + ("s" if facts.trades != 1 else "")
        needed = f"the pick has {count}, {FEWEST_TRADES} are needed."
        return Verdict("too_little", f"Too little to judge: {needed}")
    return None


def _not_judged(facts: Facts) -> Verdict | None:
    if _is_enough(facts.shuffled) and (_says_luck(facts.shuffled) or _is_enough(facts.mirrored)):
        return None
    ask = f"{facts.command} takes about {math.ceil(facts.seconds)} s."
    if facts.shuffled is None:
        return Verdict("not_judged", f"Not judged yet: {ask}")
    is_shuffled = not _is_enough(facts.shuffled)
    few, kind = (facts.shuffled, "shuffled") if is_shuffled else (facts.mirrored, "mirrored")
    made = f"{few.searches if few else 0} searches on {kind} bars, {FEWEST_SEARCHES} are needed"
    return Verdict("not_judged", f"Too few null searches to judge: {made}: {ask}")


def _luck(facts: Facts) -> Verdict | None:
    for tally, kind in ((facts.shuffled, "shuffled"), (facts.mirrored, "mirrored")):
        if tally is not None and _says_luck(tally):
            found = f"{tally.at_least} of {tally.searches} searches on {kind} bars did as well."
            return Verdict("luck", f"Consistent with luck: {found}", (_p_of(tally, kind),))
    return None


def _weak(facts: Facts) -> Verdict | None:
    reasons = [*_contradictions(facts), *_too_many_searches(facts)]
    if not (facts.folds_confirm or facts.held_out_confirms):
        reasons.append(_unconfirmed(facts))
    reasons += _limits(facts)
    sentence = "Weak: more than luck on the bars searched, not confirmed elsewhere."
    return Verdict("weak", sentence, (*reasons, *_nulls(facts))) if reasons else None


def _holds(facts: Facts) -> Verdict:
    unseen, is_pick = (facts.held_out, True) if facts.held_out_confirms else (facts.folds, False)
    assert unseen is not None, "without one the grade is weak"
    # What is missing passes no check.
    failed = [name for name in CHECKS if not facts.checks.get(name, False)]
    gained = (
        f"{unseen.mean_r.value:.2g} R a trade over {unseen.trades} trades on bars the search had "
        "not seen"
    )
    reasons = tuple(f"Around it: {name.replace('_', ' ')} did not pass." for name in failed)
    if not failed:
        around = "Holds out of sample, and around it."
        sentence = around if is_pick else f"{SEARCHING}{gained}, and around it."
        return Verdict("robust", sentence, (f"It gained {gained}.", *_nulls(facts)))
    opening = "Holds out of sample: " if is_pick else SEARCHING
    return Verdict("holds", f"{opening}{gained}.", (*reasons, *_nulls(facts)))


RULES: tuple[Callable[[Facts], Verdict | None], ...] = (
    _invalid,
    _too_little,
    _not_judged,
    _luck,
    _weak,
    _holds,
)


def _is_enough(tally: Tally | None) -> bool:
    return tally is not None and (tally.is_stopped or tally.searches >= FEWEST_SEARCHES)


def _says_luck(tally: Tally | None) -> bool:
    return tally is not None and tally.p > MOST_P


def _contradictions(facts: Facts) -> list[str]:
    named = ((facts.held_out, "The pick on held-out bars"), (facts.folds, "Searching in folds"))
    return [
        f"{name} did not gain: {unseen.mean_r.value:.2g} R a trade over {unseen.trades} trades."
        for unseen, name in named
        if unseen is not None and unseen.contradicts
    ]


def _too_many_searches(facts: Facts) -> list[str]:
    if not _greater_p(facts) * facts.searches > MOST_P_OF_ALL:
        return []
    needed = MOST_P_OF_ALL.denominator * facts.searches - 1
    return [
        f"{facts.searches} searches were made on these bars, which needs {needed} null searches."
    ]


def _limits(facts: Facts) -> list[str]:
    found = []
    if facts.is_warm_started:
        found.append("It began from a run on bars that overlap these.")
    if facts.is_approximate and facts.held_out is None:
        found.append("Forecasts were not fitted again on null bars, so that p is approximate.")
    return found


def _unconfirmed(facts: Facts) -> str:
    if facts.folds is None and facts.held_out is None:
        return "There are neither folds nor held-out bars."
    return "Neither folds nor held-out bars confirm it."


def _greater_p(facts: Facts) -> Fraction:
    return max(tally.p for tally in (facts.shuffled, facts.mirrored) if tally is not None)


def _nulls(facts: Facts) -> tuple[str, ...]:
    named = ((facts.shuffled, "shuffled"), (facts.mirrored, "mirrored"))
    return tuple(_p_of(tally, kind) for tally, kind in named if tally is not None)


def _p_of(tally: Tally, kind: str) -> str:
    did = f"{tally.at_least} of {tally.searches} searches on {kind} bars did as well"
    return f"{did} (p = {float(tally.p):.3g})."
