"""Durations of bars as text, and pieces of real series, beside the rows of the corpus."""

import numpy as np
import pytest

from data import LoadOptions, format_timeframe, load_bars, parse_timeframe
from data.timeframe import check_spacing, count_steps


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1m"), (3600, "1h"), (5400, "90m"), (86400, "1d"), (1209600, "2w")]
)
def test_longest_unit_that_divides_is_written(seconds, text):
    """Writing and reading again gives the same duration."""
    assert format_timeframe(seconds * 10**9) == text
    assert parse_timeframe(text) == seconds * 10**9


def test_pieces_of_real_series_have_one_spacing(real_folder):
    """Wherever a file begins and ends: nights, weekends, summer time, thin hours, lost bars."""
    rng = np.random.Generator(np.random.PCG64(3))
    for path in sorted(real_folder.glob("*.parquet")):
        bars = load_bars(str(path), LoadOptions(dedupe=True))
        check_spacing(count_steps(bars.timestamp), bars.timeframe_ns)
        for count in (40, 400, 4000):
            for start in rng.integers(0, len(bars) - count, 40):
                piece = bars.timestamp[start : start + count]
                if 2 * (np.diff(piece) == bars.timeframe_ns).sum() >= count:
                    check_spacing(count_steps(piece), bars.timeframe_ns)
