"""Values of knobs, as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.config.run_config import make_config
from optimizer.config.values import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [("7", 7), ("512MiB", 2**29), ("2GB", 2 * 10**9), ("1.5 kb", 1500), (" 4 GiB ", 2**32)],
)
def test_amounts_of_memory_are_read(text, count):
    """Units of 1000 and of 1024 differ, and case does not count."""
    assert parse_bytes(text) == count
    assert make_config({"memory": text}, where="here").memory == count


@pytest.mark.parametrize("text", ["", "x", "-1", "1TB", "1e9", "MiB", "1,5GB", "9" * 40])
def test_other_amounts_are_refused(text):
    """A number and a known unit, or nothing."""
    with pytest.raises(ValueError, match="not an amount"):
        parse_bytes(text)


@given(count=st.integers(0, 10**15 - 1))
def test_amounts_are_written_so_that_they_read_back(count):
    """No digit is lost for the sake of a unit."""
    assert parse_bytes(format_bytes(count)) == count
