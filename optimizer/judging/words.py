"""Evidence in plain words, first what disagrees with the verdict; the same wherever it is read.

Nothing here promises anything: a p belongs to a named test, and what is undefined says why.
"""

import math
import shlex
from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from optimizer.evidence.cscv import NOISE_RANGE
from optimizer.evidence.robust import KEPT_FRAC
from optimizer.evidence.sharpe import MOST_COMPARED
from optimizer.evidence.unseen import MOST_DOUBT
from optimizer.evidence.verdict import MOST_P, MOST_P_OF_ALL, NEXT
from optimizer.judging.judgement import (
    CausalRecord,
    FoldsRecord,
    HeldOutRecord,
    Judgement,
    NullKind,
    NullRecord,
    Number,
    PickRecord,
    RobustRecord,
    TrialsRecord,
    VerdictRecord,
)
from optimizer.judging.verdict import read_out_of_sample, read_tally
from optimizer.runs.payload import Payload
from optimizer.runs.result import RunResult
from optimizer.shown import format_count, fraction, number

SMALLEST_CHANCE = 0.001

FEWEST_FOR_TWO = 199
"""Null searches of which one may do as well: p is (1 + 1) / (199 + 1) then, its limit."""

STEPS = {
    "too_little": "more bars, wider bounds (--bound), or rules that trade more often.",
    "luck": "do not trade it; another idea, or more bars: each search of these counts.",
    "lost": "do not trade it; another idea, or more bars.",
    "weak": "wait for new bars, or search with some held out (--holdout 20%).",
    "holds": "see which checks around it failed or were not made, then trade it on paper.",
    "robust": "trade it on paper, on bars that nobody has seen.",
}
"""What to do after each grade where the run itself does not decide it."""

FOR, AGAINST = "for", "against"
"""More than luck; where evidence says neither, nothing."""

CHECKED = {
    "neighbours": "plateau",
    "costs": "costs",
    "late entries": "delay",
    "within a bar": "within_bar",
    "left out": "left_out",
}
"""Rows to the checks of `optimizer.evidence.robust.CHECKS`."""

Told = tuple[str, str]
"""What a sentence is about, and the sentence."""


class Weighed(NamedTuple):
    """A row of evidence.

    Args:
        speaks: ``for`` or ``against`` more than luck, empty for neither.
    """

    about: str
    sentence: str
    speaks: str


def weigh_evidence(found: Judgement) -> list[Weighed]:
    """All evidence but the pick, a sentence each, first what disagrees with the verdict."""
    sides = dict(_sides(found))
    disagrees = FOR if found.verdict.grade == "luck" else AGAINST
    rows = [Weighed(*row, sides.get(row[0], "")) for row in sentences(found) if row[0] != "pick"]
    return sorted(rows, key=lambda row: row.speaks != disagrees)


def sentences(found: Judgement) -> Iterator[Told]:
    """All evidence, a sentence each."""
    if found.pick is not None:
        yield "pick", words_of_pick(found.pick)
    if found.null is not None:
        yield from _null(found.null)
    yield from _unseen(found)
    yield from _trials(found)
    if found.robust is not None:
        yield from _robust(found.robust)
    if found.causal is not None:
        yield from _causal(found.causal)
    yield "searches", describe_searches(found)
    if found.fits:
        fits = f"{format_count(found.fits, 'forecast')} fitted on these bars, each of which counts"
        yield "forecasts", f"{fits} as a search; none was fitted again on null bars."
    yield from (("not done", note) for note in found.notes)


def words_of_pick(pick: PickRecord) -> str:
    """Which member is the one answer of a run, and why."""
    why = "named by --pick" if pick.is_named else "the strongest of the front"
    trades = f"Member {pick.member}, {why}: {format_count(pick.trades, 'trade')}"
    if pick.strength is None:
        return f"{trades}, their strength is {_number(pick, 'strength')}."
    side = "below" if pick.strength < 0 else "above"
    return f"{trades} that lie about {_short(abs(pick.strength))} standard errors {side} zero."


def suggest_next(result: RunResult, verdict: VerdictRecord, found: Judgement | None) -> str:
    """The step that follows from a verdict."""
    path = shlex.quote(result.path)
    judge = f"python -m optimizer judge {path}"
    command = verdict.sentence.partition(NEXT)[2]
    if command:
        return command
    if verdict.grade == "invalid":
        return f"do not trade it: {_suggest_mending(result, found, path)}."
    if verdict.grade == "weak":
        if result.data.held_out_bars and (found is None or found.held_out is None):
            return f"{judge} --open looks at the held-out bars, once."
        if found is None or found.folds is None:
            return f"{judge} --folds 6 searches again on parts of the bars."
    if verdict.grade == "holds" and found is not None and found.robust is not None:
        checks = found.robust.checks
        failed = ", ".join(row for row, name in CHECKED.items() if not checks.get(name, False))
        return f"weigh what did not hold around it ({failed}), then trade it on paper."
    return STEPS.get(verdict.grade, f"{judge} --null 199")


def _suggest_mending(result: RunResult, found: Judgement | None, path: str) -> str:
    """What to do where engines disagree, or a rule reads later bars."""
    if result.certificate.mismatches:
        return f"python -m optimizer parity --run {path} compares every trade"
    first = "" if found is None or found.causal is None else found.causal.first
    where = f" ({first})" if first else ""
    return f"a rule reads later bars{where}; mend it and search again"


def words_of_count(result: RunResult, found: Judgement | None) -> str:
    """How many individuals a search tried: all evaluations, and how many of them are distinct."""
    evaluated = result.evaluated or result.timing.evaluated
    words = f"{format_count(evaluated, 'candidate')} evaluated"
    if result.polished:
        words += f", {number(result.polished)} to polish the front"
    if found is not None and found.trials is not None and found.trials.evaluated:
        words += f", {number(found.trials.evaluated)} of them distinct"
    return words


def _null(null: NullRecord) -> Iterator[Told]:
    for name, kind in (("shuffled", null.shuffled), ("mirrored", null.mirrored)):
        if kind is not None:
            yield f"{name} bars", _describe_null(kind)


def _describe_null(kind: NullKind) -> str:
    """Strengths of null searches beside the pick's, and p beside its limit."""
    strengths = [-math.inf if value is None else value for value in kind.strengths]
    p = read_tally(kind).p
    limit = "at most" if p <= MOST_P else "and more than luck needs at most"
    sentence = (
        f"Their strength: median {_short(median(strengths))}, greatest {_short(max(strengths))}; "
        f"here {_short(kind.strength.value)}. {kind.strength.at_least} of {kind.run} reached it: "
        f"p = {float(p):.3g}, {limit} {float(MOST_P):g}"
    )
    if kind.stopped:
        sentence += "; the rest was left"
    elif kind.run < FEWEST_FOR_TWO:
        sentence += f"; with {kind.run} searches a single one decides"
    return f"{sentence}."


def describe_searches(found: Judgement) -> str:
    """How many searches were made on these bars, and what that makes of p."""
    if found.tries == 1:
        return "This is your first search on these bars."
    searches = f"{found.searches:,} searches on these bars"
    if found.null is None:
        return f"{searches}, this one included: p counts each."
    kinds = (found.null.shuffled, found.null.mirrored)
    p = max(read_tally(kind).p for kind in kinds if kind is not None)
    product = f"p x {found.tries} = {float(p * found.tries):.3g}"
    limit = "at most" if p * found.tries <= MOST_P_OF_ALL else "more than"
    return f"{searches}: {product}, {limit} {float(MOST_P_OF_ALL):g}."


def _unseen(found: Judgement) -> Iterator[Told]:
    if (folds := found.folds) is not None:
        gained = sum(row.mean_r is not None and row.mean_r > 0 for row in folds.rows)
        left_out = Counter(name for row in folds.rows for name in row.untested)
        untested = "".join(
            f" {name} is tested in {len(folds.rows) - count} of them."
            for name, count in left_out.items()
        )
        told = (
            f"Searched again on {len(folds.rows)} parts, judged on the bars after each: "
            f"{_number(folds, 'mean_r')} R a trade over {format_count(folds.trades, 'trade')}; "
            f"{gained} gained."
        )
        yield "folds", told + untested
    if (paths := found.cpcv) is not None:
        told = (
            f"{paths.splits} splits searched again: strength of {len(paths.paths)} paths from "
            f"{_short(paths.least)}, median {_short(paths.median)}."
        )
        yield "paths", told
    if (held := found.held_out) is not None:
        told = (
            f"{_number(held, 'mean_r')} R a trade over {format_count(held.trades, 'trade')}; "
            f"PSR {_chance(held, 'psr')}; {format_count(held.looks, 'front')} looked at on such "
            "bars."
        )
        yield "held-out bars", told


def _trials(found: Judgement) -> Iterator[Told]:
    if (trials := found.trials) is not None and trials.evaluated:
        yield "trials", _describe_trials(trials)
    if (sharpe := found.sharpe) is not None:
        told = (
            f"Sharpe ratio {_number(sharpe, 'daily')} a day; PSR {_chance(sharpe, 'psr')}, were it "
            f"the only one tried; DSR {_chance(sharpe, 'dsr_effective')} after as many different "
            f"tries, {_chance(sharpe, 'dsr_all')} after all of them. A record of "
            f"{_number(sharpe, 'min_trl', digits=0)} days is needed, it has {sharpe.days:,}."
        )
        yield "sharpe a day", told
    if (cscv := found.cscv) is not None:
        size, (low, high) = _noise_range(found)
        told = (
            f"The best of one half of the bars was below the middle in the other in "
            f"{_number(cscv, 'pbo')} of splits (PBO; {low} to {high} on noise searched with "
            f"{size})."
        )
        yield "halves", told
    if (stable := found.stability) is not None:
        told = (
            f"Best settings of {stable.splits} other time splits: median strength "
            f"{_number(stable, 'median')}, worst {_number(stable, 'least')} (in-sample)."
        )
        yield "same trials", told
    if (boot := found.bootstrap) is not None:
        spa = _number(boot, "spa_p")
        told = f"p = {spa} that no trial beats doing nothing, had they been chosen blindly (SPA)."
        yield "all trials", told


def _describe_trials(trials: TrialsRecord) -> str:
    compared = min(trials.used, trials.judged, MOST_COMPARED)
    tried = f"{format_count(trials.evaluated, 'setting')} tried"
    if trials.judged < trials.evaluated:
        tried += f", {trials.judged:,} with enough trades"
    if compared < trials.judged:
        tried += f", {compared:,} of them compared"
    return f"{tried}, about as many as {_number(trials, 'effective', digits=0)} independent ones."


def _noise_range(found: Judgement) -> tuple[str, tuple[float, float]]:
    """Between which PBO lies on noise, for the measured search that is nearest in size."""
    evaluated = max(found.trials.evaluated, 1) if found.trials is not None else 1
    size = min(NOISE_RANGE, key=lambda one: abs(math.log(one[0] * one[1] / evaluated)))
    return f"{size[0]} x {size[1]}", NOISE_RANGE[size]


def _robust(robust: RobustRecord) -> Iterator[Told]:
    if robust.plateau is None:
        yield "neighbours", f"Undefined: {robust.why.get('plateau', '')}."
    else:
        kept = round(robust.plateau * robust.neighbours)
        share = "half" if KEPT_FRAC == 1 / 2 else fraction(KEPT_FRAC)
        yield (
            "neighbours",
            f"{kept} of {robust.neighbours} near neighbours keep {share} of its strength.",
        )
    even = _number(robust, "break_even_bp")
    if robust.break_even_bp is not None and robust.break_even_bp < 0:
        yield "costs", "It loses before costs."
    else:
        yield "costs", f"Breaks even at {even} bp a side; you pay {robust.charged_bp:g}."
    late, undecided = _number(robust, "delay"), _number(robust, "undecided")
    yield "late entries", f"Strength {late} with every entry a bar later."
    yield "within a bar", f"Stop and target in one bar: {undecided} of trades, the stop is taken."
    lost = [name for name, mean in robust.left_out.items() if mean is None or mean <= 0]
    if lost:
        yield "left out", f"Loses without {', '.join(lost)}."
    else:
        yield "left out", "Still gains when any one symbol or quarter is left out."
    if len(robust.drawdowns) > 1 and robust.drawdowns[1] is not None:
        fall = fraction(robust.drawdowns[1])
        yield "other orders", f"One account in twenty would have fallen by more than {fall}."


def _causal(causal: CausalRecord) -> Iterator[Told]:
    if causal.mismatches:
        later = f"{causal.mismatches} differences, the first before {causal.first}"
        yield "look-ahead", f"Trades use later bars: {later}."
    else:
        cuts = f"{causal.cuts} cuts, 0 differences"
        yield "look-ahead", f"No trade of any member uses a later bar: {cuts}."


def _number(record: Payload, name: str, digits: int = 3) -> str:
    """A number of a record that says why where it is undefined."""
    told = vars(record)
    value: Number = told[name]
    if value is None:
        return f"undefined ({told['why'].get(name, 'unknown')})"
    return f"{value:,.0f}" if not digits else _short(value)


def _chance(record: Payload, name: str) -> str:
    """A probability, which is never quite 0 or 1."""
    value: Number = vars(record)[name]
    if value is None:
        return _number(record, name)
    if not SMALLEST_CHANCE <= value <= 1 - SMALLEST_CHANCE:
        return f"below {SMALLEST_CHANCE}" if value < 1 / 2 else f"above {1 - SMALLEST_CHANCE}"
    return f"{value:.3f}"


def _short(value: Number) -> str:
    return "-" if value is None else f"{value:.3g}"


def _sides(found: Judgement) -> Iterator[tuple[str, str]]:
    """For or against, by row; what decides by the rules of the verdict, the rest at 1 in 20."""
    null = found.null
    kinds = [] if null is None else [("shuffled", null.shuffled), ("mirrored", null.mirrored)]
    ps = [(f"{name} bars", read_tally(kind).p) for name, kind in kinds if kind is not None]
    yield from ((name, _side(p <= MOST_P)) for name, p in ps)
    yield "folds", _find_side(found.folds, found.tries)
    looks = 1 if found.held_out is None else found.held_out.looks
    yield "held-out bars", _find_side(found.held_out, looks)
    if found.sharpe is not None and found.sharpe.dsr_effective is not None:
        yield "sharpe a day", _side(found.sharpe.dsr_effective >= 1 - MOST_DOUBT)
    if found.bootstrap is not None and found.bootstrap.spa_p is not None:
        yield "all trials", _side(found.bootstrap.spa_p <= MOST_DOUBT)
    if found.robust is not None:
        checks = found.robust.checks
        # One that passes says that a result is sturdy, which luck may be too.
        yield from ((row, AGAINST) for row, name in CHECKED.items() if not checks.get(name, True))
    if found.causal is not None and found.causal.mismatches:
        yield "look-ahead", AGAINST
    if ps and max(p for _, p in ps) * found.tries > MOST_P_OF_ALL:
        yield "searches", AGAINST


def _side(is_for: bool) -> str:
    return FOR if is_for else AGAINST


def _find_side(record: FoldsRecord | HeldOutRecord | None, times: int) -> str:
    """What trades on unseen bars say, which may be neither."""
    unseen = read_out_of_sample(record)
    if unseen is None or not (unseen.contradicts or unseen.confirms(times)):
        return ""
    return _side(unseen.confirms(times))
