"""Grades of a record: only those with words for people."""

import pytest

from optimizer.evidence.verdict import Verdict
from optimizer.grades import GRADE_WORDS, GRADES


def test_every_grade_has_words_in_its_order_and_no_other_is_read():
    """Lists of runs are sorted by that order; another would be shown without colour and words."""
    assert [*GRADE_WORDS] == [*GRADES]
    assert [Verdict(grade, "").grade for grade in GRADE_WORDS] == [*GRADES]
    with pytest.raises(ValueError, match="grade"):
        Verdict("latest", "")
