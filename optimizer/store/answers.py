"""Answer of a run, recorded with its result and its judgements, so that lists only read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from optimizer.store.payload import Payload

JUDGEMENT, DRIFT, OPENED = "judgement", "drift", "opened"
"""Names of rows of evidence: judgements, drift of new trades, looks at held-out bars."""


@dataclass(frozen=True)
class RunAnswer(Payload):
    """Numbers of the pick on searched bars, or of a schedule's account; None where undefined."""

    what: ClassVar[str] = "the answer"

    strength: float | None = None
    total_return: float | None = None
    trades: int | None = None
    cagr: float | None = None
    max_drawdown: float | None = None
    wealth: float | None = None  # e-value against luck; None before null searches
    # Expected mean R on other bars; None if unknown, and for a schedule.
    expected: float | None = None
    expected_cagr: float | None = None  # growth a year that goes with it
    # Mean R a trade of folds together, and of the pick on held-out bars; None where not known.
    folds: float | None = None
    held_out: float | None = None


def mapping_or_empty(value: object) -> Mapping[str, object]:
    """A part of a record that should be a mapping, an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}
