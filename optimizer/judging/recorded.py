"""What was found out about a run, read from its record."""

from dataclasses import replace

from optimizer.judging.judgement import Judgement
from optimizer.runs.result import RunResult, recorded_result
from optimizer.runs.store import RunStore

JUDGEMENT = "judgement"
"""Name of the rows of evidence that hold judgements; the last one counts."""


def opened_result(store: RunStore) -> tuple[RunResult | None, Judgement | None]:
    """The result of a run with what was opened of it, and its newest judgement; None without."""
    result = recorded_result(store)
    found = None if result is None else recorded_judgement(store)
    return result and with_held_out(result, found), found


def recorded_judgement(store: RunStore) -> Judgement | None:
    """The newest judgement of a run; None where it was never judged.

    Raises:
        StoreError: When the evidence is damaged.
    """
    rows = [row for name, row in store.evidence if name == JUDGEMENT]
    return Judgement.read(rows[-1]) if rows else None


def with_held_out(result: RunResult, found: Judgement | None) -> RunResult:
    """A result whose members have their figures on held-out bars, where those were opened."""
    if found is None or found.held_out is None:
        return result
    held_out = found.held_out
    parts = zip(result.front, held_out.members, held_out.by_window, strict=True)
    front = tuple(replace(one, held_out=kept, by_window=each) for one, kept, each in parts)
    return replace(result, front=front)
