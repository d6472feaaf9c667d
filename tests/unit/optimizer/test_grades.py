"""Grades of a record: only those with words for people."""

import pytest

from optimizer.evidence.verdict import Verdict
from optimizer.grades import GRADE_WORDS, GRADES


def test_an_unknown_grade_is_refused() -> None:
    """A record naming a grade of its own would be shown without colour and words."""
    with pytest.raises(ValueError, match="no such grade"):
        Verdict("latest", "")


@pytest.mark.parametrize("grade", GRADE_WORDS)
def test_a_known_grade_is_read(grade: str) -> None:
    """Every grade that has words is one that a record may hold."""
    assert Verdict(grade, "").grade == grade


def test_every_grade_has_words_in_its_order() -> None:
    """Lists of runs are sorted by that order."""
    assert [*GRADE_WORDS] == [*GRADES]
