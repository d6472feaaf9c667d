"""Grades of a pick: what evidence makes of it, from the worst to the best."""

from typing import Literal, get_args

Grade = Literal["invalid", "too_little", "luck", "lost", "not_judged", "weak", "holds", "robust"]
"""The first that applies counts, as `optimizer.evidence.verdict.decide` takes them."""

GRADES: tuple[Grade, ...] = get_args(Grade)

GRADE_RANKS: dict[str, int] = {grade: rank for rank, grade in enumerate(GRADES)}
"""Of grades, from the worst on."""

GRADE_WORDS = {
    "invalid": "do not use",
    "too_little": "too few trades",
    "luck": "probably luck",
    "lost": "no gain",
    "not_judged": "not judged",
    "weak": "not confirmed",
    "holds": "held on unseen bars",
    "robust": "held, and robust",
}
"""Grades as people read them, the same in lists, reports and badges."""
