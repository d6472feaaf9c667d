"""What other tests lean on: a loop in one item runs every value and names the one that failed."""

import pytest

from tests.support.looping import each


def test_every_value_is_tried_until_one_fails():
    """The failing value stands in the error's notes, the ones after it are not tried."""
    tried = []

    @each("value", [1, 2, 3])
    def run_looped(value, other):
        tried.append((value, other))
        assert value < 2

    with pytest.raises(AssertionError) as failure:
        run_looped(other="x")
    assert tried == [(1, "x"), (2, "x")]
    assert failure.value.__notes__ == ["with value = 2"]
