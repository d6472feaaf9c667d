"""Grades of a record: only those that people can be told."""

import pytest

from optimizer.judging.judgement import VerdictRecord
from optimizer.shown import GRADE_WORDS


def test_an_unknown_grade_is_refused() -> None:
    """A record naming a grade of its own would be shown without colour and words."""
    with pytest.raises(ValueError, match="no such grade"):
        VerdictRecord("latest", "")


@pytest.mark.parametrize("grade", GRADE_WORDS)
def test_a_known_grade_is_read(grade: str) -> None:
    """Every grade that has words is one that a record may hold."""
    assert VerdictRecord(grade, "").grade == grade
