"""A number of evidence is defined, or has a reason."""

import math

import pytest

from optimizer.evidence.figures import Figure, find_first_reason, make_undefined


def test_an_undefined_figure_passes_no_check():
    """It compares false with everything."""
    missing = make_undefined("no trades")
    assert math.isnan(missing.value)
    assert not missing.is_defined
    assert not missing.value > 0
    assert not missing.value <= 0


@pytest.mark.parametrize(("value", "why"), [(math.nan, ""), (1.0, "no trades")])
def test_a_figure_is_a_number_or_a_reason(value, why):
    """Neither both nor none."""
    with pytest.raises(ValueError, match="a number or a reason"):
        Figure(value, why)


def test_the_first_reason_is_given():
    """Of several figures, the first that is undefined has the reason."""
    assert find_first_reason(Figure(1.0), make_undefined("a"), make_undefined("b")) == "a"
    assert find_first_reason(Figure(1.0), Figure(-math.inf)) == ""
