"""Evidence in plain words: a sentence for each part, the same in the terminal and on the page.

Nothing here promises anything: a p belongs to a named test, and what is undefined says why.
"""

import math
from collections.abc import Iterator

from optimizer.evidence.cscv import NOISE_RANGE
from optimizer.evidence.robust import KEPT_FRAC
from optimizer.judging.judgement import (
    Judgement,
    NullKind,
    Number,
    PickRecord,
    RobustRecord,
    Why,
)
from optimizer.runs.result import RunResult
from optimizer.shown import counted, fraction, number

SMALLEST_CHANCE = 0.001

Told = tuple[str, str]
"""What a sentence is about, and the sentence."""


def sentences(found: Judgement) -> Iterator[Told]:
    """All evidence, a sentence each."""
    yield from _pick(found)
    yield from _null(found)
    yield from _unseen(found)
    yield from _trials(found)
    if found.robust is not None:
        yield from _robust(found.robust)
    if found.causal is not None:
        causal = found.causal
        if causal.mismatches:
            later = f"{causal.mismatches} differences, the first before {causal.first}"
            yield "look-ahead", f"Trades use later bars: {later}."
        else:
            cuts = f"{causal.cuts} cuts, 0 differences"
            yield "look-ahead", f"No trade of any member uses a later bar: {cuts}."
    yield (
        "searches",
        f"{counted(found.searches, 'front')} searched on these bars, this one included.",
    )
    if found.fits:
        fits = f"{counted(found.fits, 'forecast')} fitted on these bars, each of which counts"
        yield "forecasts", f"{fits} as a search; none was fitted again on null bars."
    yield from (("not done", note) for note in found.notes)


def words_of_pick(pick: PickRecord) -> str:
    """Which member is the one answer of a run, and why."""
    strength = _number(pick.strength, "strength", pick.why)
    why = "named by --pick" if pick.is_named else "the member of greatest strength"
    return (
        f"Individual {pick.member}, {why}: {counted(pick.trades, 'trade')}, which lie about "
        f"{strength} standard errors above zero."
    )


def words_of_count(result: RunResult, found: Judgement | None) -> str:
    """How many individuals a search tried: all evaluations, and how many of them are distinct."""
    evaluated = result.evaluated or result.timing.evaluated
    words = f"{counted(evaluated, 'individual')} evaluated"
    if result.polished:
        words += f", {number(result.polished)} to polish the front"
    if found is not None and found.trials is not None and found.trials.evaluated:
        words += f", {number(found.trials.evaluated)} of them distinct"
    return words


def _pick(found: Judgement) -> Iterator[Told]:
    if found.pick is not None:
        yield "pick", words_of_pick(found.pick)


def _null(found: Judgement) -> Iterator[Told]:
    if found.null is None:
        return
    for name in ("shuffled", "mirrored"):
        kind: NullKind | None = getattr(found.null, name)
        if kind is not None:
            did = f"{kind.strength.at_least} of {kind.run} searches on {name} bars did as well"
            rest = "; the rest was left" if kind.stopped else ""
            yield f"{name} bars", f"{did} (p = {kind.strength.p:.3g}){rest}."


def _unseen(found: Judgement) -> Iterator[Told]:
    if found.folds is not None:
        folds = found.folds
        mean = _number(folds.mean_r, "mean_r", folds.why)
        gained = sum(row.mean_r is not None and row.mean_r > 0 for row in folds.rows)
        yield (
            "folds",
            (
                f"Searched again on {len(folds.rows)} parts, judged on the bars after each: {mean} "
                f"R a trade over {counted(folds.trades, 'trade')}; {gained} gained."
            ),
        )
    if found.cpcv is not None:
        paths = found.cpcv
        yield (
            "paths",
            (
                f"{paths.splits} splits searched again: strength of {len(paths.paths)} paths from "
                f"{_short(paths.least)}, median {_short(paths.median)}."
            ),
        )
    if found.held_out is not None:
        held = found.held_out
        mean = _number(held.mean_r, "mean_r", held.why)
        psr = _chance(held.psr, "psr", held.why)
        yield (
            "held-out bars",
            (
                f"{mean} R a trade over {counted(held.trades, 'trade')}; PSR {psr}; "
                f"{counted(held.looks, 'front')} looked at on such bars."
            ),
        )


def _trials(found: Judgement) -> Iterator[Told]:
    if found.trials is not None and found.trials.evaluated:
        trials = found.trials
        effective = _number(trials.effective, "effective", trials.why, digits=0)
        yield (
            "trials",
            (
                f"{trials.evaluated:,} distinct individuals tried, {trials.judged:,} traded often "
                f"enough, as different as {effective}."
            ),
        )
    if found.sharpe is not None:
        sharpe = found.sharpe
        psr, dsr, all_ = (
            _chance(getattr(sharpe, name), name, sharpe.why)
            for name in ("psr", "dsr_effective", "dsr_all")
        )
        daily = _number(sharpe.daily, "daily", sharpe.why)
        record = _number(sharpe.min_trl, "min_trl", sharpe.why, digits=0)
        yield (
            "sharpe a day",
            (
                f"Sharpe ratio {daily} a day; PSR {psr}, were it the only one tried; DSR {dsr} "
                f"after as many different tries, {all_} after all of them. A record of {record} "
                f"days is needed, it has {sharpe.days:,}."
            ),
        )
    if found.cscv is not None:
        cscv = found.cscv
        size, (low, high) = _noise_range(found)
        pbo = _number(cscv.pbo, "pbo", cscv.why)
        yield (
            "halves",
            (
                f"The best of one half of the bars was below the middle in the other in {pbo} of "
                f"splits (PBO; {low} to {high} on noise searched with {size})."
            ),
        )
    if found.stability is not None:
        stable = found.stability
        least, median = (
            _number(getattr(stable, name), name, stable.why) for name in ("least", "median")
        )
        yield (
            "same trials",
            (
                f"Picked anew among the trials in {stable.splits} splits: strength of paths from "
                f"{least}, median {median}; in-sample, for the search saw all of these bars."
            ),
        )
    if found.bootstrap is not None:
        boot = found.bootstrap
        spa = _number(boot.spa_p, "spa_p", boot.why)
        yield (
            "all trials",
            (f"p = {spa} that no trial beats doing nothing, had they been chosen blindly (SPA)."),
        )


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
            (f"{kept} of {robust.neighbours} near neighbours keep {share} of its strength."),
        )
    even = _number(robust.break_even_bp, "break_even_bp", robust.why)
    if robust.break_even_bp is not None and robust.break_even_bp < 0:
        yield "costs", "It loses before costs."
    else:
        yield (
            "costs",
            (f"Nothing is left at {even} basis points a side; {robust.charged_bp:g} are charged."),
        )
    late = _number(robust.delay, "delay", robust.why)
    yield "late entries", f"Strength {late} with every entry a bar later."
    undecided = _number(robust.undecided, "undecided", robust.why)
    yield "within a bar", f"Stop and target in one bar: {undecided} of trades, the stop is taken."
    lost = [name for name, mean in robust.left_out.items() if mean is None or mean <= 0]
    if lost:
        yield "left out", f"It does not gain without {', '.join(lost)}."
    else:
        yield "left out", "It gains without any one of its parts."
    if len(robust.drawdowns) > 1 and robust.drawdowns[1] is not None:
        fall = fraction(robust.drawdowns[1])
        yield "other orders", f"One account in twenty would have fallen by more than {fall}."


def _number(value: Number, name: str, why: Why, digits: int = 3) -> str:
    if value is None:
        return f"undefined ({why.get(name, 'unknown')})"
    return f"{value:,.0f}" if not digits else _short(value)


def _chance(value: Number, name: str, why: Why) -> str:
    """A probability, which is never quite 0 or 1."""
    if value is None:
        return _number(value, name, why)
    if not SMALLEST_CHANCE <= value <= 1 - SMALLEST_CHANCE:
        return f"below {SMALLEST_CHANCE}" if value < 1 / 2 else f"above {1 - SMALLEST_CHANCE}"
    return f"{value:.3f}"


def _short(value: Number) -> str:
    return "-" if value is None else f"{value:.3g}"
