"""All evidence, first what disagrees with the verdict, and the next step; the same everywhere."""

from collections.abc import Iterator
from pathlib import Path

from data.shell import write_command
from optimizer.evidence.judgement import Judgement
from optimizer.evidence.null import MOST_P_OF_ALL
from optimizer.evidence.robust import CHECKED
from optimizer.evidence.statistic import AGAINST, FOR, Around, Weighed
from optimizer.evidence.verdict import NEXT, Verdict
from optimizer.evidence.weighing import find_pick
from optimizer.formatting import format_count, number
from optimizer.store.result import RunResult

STEPS = {
    "too_little": "more bars, wider bounds (--bound), or rules that trade more often.",
    "luck": "do not trade it; another idea, or more bars: each search of these counts.",
    "lost": "do not trade it; another idea, or more bars.",
    "weak": "wait for new bars, or search with some held out (--holdout 20%).",
    "holds": "see which checks around it failed or were not made, then trade it on paper.",
    "robust": "trade it on paper, on bars that nobody has seen.",
}
"""Next step after each grade where the run itself does not decide it."""


def describe_subject(result: RunResult, judgement: Judgement | None) -> tuple[str, str]:
    """What the verdict of a run is about, and a sentence on it; empty of an empty front."""
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
    yield Weighed(
        "searches",
        describe_searches(judgement),
        AGAINST if _is_searched_too_often(judgement) else "",
    )
    if judgement.fits:
        fits = (
            f"{format_count(judgement.fits, 'forecast')} fitted on these bars, each of which counts"
        )
        yield Weighed("forecasts", f"{fits} as a search; none was fitted again on null bars.")
    yield from (Weighed("not done", note) for note in judgement.notes)


def _is_searched_too_often(judgement: Judgement) -> bool:
    """Whether p is too large because it counts for several tries; of a first one it says it all."""
    return (
        judgement.null is not None
        and judgement.tries > 1
        and judgement.null.p * judgement.tries > MOST_P_OF_ALL
    )


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
    return STEPS.get(verdict.grade, f"{judge} --null 199")


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


def describe_searches(judgement: Judgement) -> str:
    """Number of searches on these bars, and p times that."""
    if judgement.tries == 1:
        return "This is your first search on these bars."
    searches = f"{judgement.searches:,} searches on these bars"
    if judgement.null is None:
        return f"{searches}, this one included: p counts each."
    product = f"p x {judgement.tries} = {float(judgement.null.p * judgement.tries):.3g}"
    limit = "more than" if _is_searched_too_often(judgement) else "at most"
    return f"{searches}: {product}, {limit} {float(MOST_P_OF_ALL):g}."
