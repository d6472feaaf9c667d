"""A judgement as far as it has come: p so far, from the rows that an interrupted judge leaves."""

from collections.abc import Mapping
from dataclasses import dataclass

from optimizer.evidence.null import DEFAULT_STOP_AFTER, NullKind, NullRecord, tally
from optimizer.evidence.verdict import Verdict
from optimizer.judging.checkpoint import Rows, read_numbered
from optimizer.judging.judgement import read_judgements, read_opened_result
from optimizer.judging.null import KINDS, Kind, NullSearch, build_null_kind, list_strengths
from optimizer.judging.unstated import NULL, list_unstated
from optimizer.judging.verdict import derive_verdict, find_pick
from optimizer.report.charts.chart import Chart
from optimizer.report.charts.judged import null_strengths
from optimizer.store import RunStore


@dataclass(frozen=True)
class JudgingState:
    """State of a finished run that is being judged, or was."""

    verdict: Verdict
    lines: tuple[str, ...]  # what was found that no judgement states yet
    chart: Chart | None  # strengths of null searches, and of the pick


def read_judging(store: RunStore, *, is_owned: bool) -> JudgingState | None:
    """The judgement of a run as far as it has come; None before the search is over.

    Raises:
        StoreError: When the record is damaged.
    """
    result, judgement = read_opened_result(store)
    if result is None:
        return None
    pick, rows = find_pick(result, judgement), store.evidence
    null = None if pick is None else count_null(rows, pick.strength, store.header)
    lines = [f"{unstated.what} so far" for unstated in list_unstated(rows, read_judgements(store))]
    if null is not None and judgement is None:
        lines += [f"On {name} bars: {kind.describe()}" for name, kind in null.kinds.items()]
    verdict = derive_verdict(result, judgement)
    if judgement is None and is_owned:
        verdict = Verdict("not_judged", "The search is over and is being judged.")
    chart = None if null is None or pick is None else null_strengths(null, pick.strength)
    return JudgingState(verdict, tuple(lines), chart)


def count_null(
    rows: Rows, strength: float | None, header: Mapping[str, object]
) -> NullRecord | None:
    """Null searches that are recorded, held against a pick's strength; None before the first.

    As the judge counts: searches 1, 2, ... up to a gap, and up to the one at which enough did as
    well.
    """
    names = [match for name, _ in rows if (match := NULL.fullmatch(name.rpartition("/")[0]))]
    if not names or strength is None:
        return None
    command, keep = header.get("command"), names[-1]["keep"]
    known = command.get("stop_after") if isinstance(command, Mapping) else None
    stop_after = known if isinstance(known, int) else DEFAULT_STOP_AFTER
    kinds = {kind: _count_kind(rows, keep, kind, (strength, stop_after)) for kind in KINDS}
    shuffled = kinds["shuffled"]
    if shuffled is None:
        return None
    return NullRecord(0, keep, shuffled, kinds["mirrored"], stop_after)


def _count_kind(rows: Rows, keep: str, kind: Kind, limits: tuple[float, int]) -> NullKind | None:
    """Searches on one kind of market, against a strength and until enough reach it."""
    (strength, stop_after), name = limits, f"null/{keep}/{kind}"
    searches = read_numbered([row for row in rows if row[0].startswith(name)], name, NullSearch)
    counted = tally(strength, list_strengths(searches), stop_after)
    if not counted.searches:
        return None
    return build_null_kind(strength, counted, [searches[n + 1] for n in range(counted.searches)])
