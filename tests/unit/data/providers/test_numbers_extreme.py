"""Numbers at the edge of what a float holds: no warning of numpy, and words that fit."""

import warnings

import numpy as np
import pytest

from data import LoadOptions, jumps_of, load_bars, quirks_of
from data.errors import BarsError, TimeframeError
from tests.support.series import NAMES, csv_text, make_bars, make_columns, write_csv


@pytest.fixture(autouse=True)
def no_warnings():
    """A warning would be a line of source on the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def alternating(low, high):
    """Bars that lie at one price and at another in turns."""
    price = np.where(np.arange(40) % 2, high, low)
    return {**make_columns(40), **dict.fromkeys(NAMES[:4], price)}


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1e-300, 1e300, "inf times the close"), (1.0, 1e300, "1e+300 times the close"),
     (1e-5, 1e302, "1e+307 times the close"), (1.0, 4.0, "+300% from the close")],
)  # fmt: skip
def test_prices_that_alternate_are_told_in_short_words(low, high, words):
    """Neither a warning nor three hundred digits."""
    lines = quirks_of(make_bars(40, **alternating(low, high)))
    assert any(f"is {words}" in line for line in lines)
    assert all(len(line) < 120 for line in lines)
    jumps_of(make_bars(40, **alternating(low, high)))


def test_an_offset_that_is_too_large_is_refused(tmp_path):
    """What comes of it is no number."""
    spec = write_csv(tmp_path, csv_text(alternating(1.0, 1e308)))
    with pytest.raises(BarsError, match="20 rows with a value that is missing or not finite"):
        load_bars(spec, LoadOptions(price_offset=1.7e308))


def test_volumes_that_add_up_to_no_number_are_refused(tmp_path):
    """The option is to blame, and not a row."""
    spec = write_csv(tmp_path, csv_text({**make_columns(40), "volume": np.full(40, 1e308)}))
    assert len(load_bars(spec)) == 40
    with pytest.raises(TimeframeError, match=r"--timeframe 1h: volumes from 2024-01-01T00:00 on"):
        load_bars(spec, LoadOptions(timeframe="1h"))


def test_a_tick_beyond_all_prices_is_taken(tmp_path):
    """It widens what it was asked to widen."""
    spec = write_csv(tmp_path, csv_text(alternating(1e-300, 1e300)))
    assert len(load_bars(spec, LoadOptions(tick=1.7e308))) == 40
