"""Oddities of series, beside the rows of the corpus: real markets, and gaps by their length."""

import numpy as np

from data import LoadOptions, jumps_of, load_bars, longest_gaps
from tests.support.series import MINUTE_NS, START_NS, make_bars


def test_real_series_have_no_false_alarm(real_folder):
    """Six markets with crashes: three lows of a stock that are none, its splits, its warning."""
    alarms = {
        path.stem: jumps_of(load_bars(str(path), LoadOptions(dedupe=True)))
        for path in sorted(real_folder.glob("*.parquet"))
    }
    *lows, a, b, c, d, e = alarms.pop("aapl_1h")
    apple = (a, b, c, d, e)
    assert [line[:27] for line in lows] == [
        f"the low of {time}"
        for time in ("2009-09-21T13:00", "2010-08-31T18:00", "2011-01-03T18:00")
    ]
    assert [line.partition(", as a ")[2][:3] for line in apple] == ["2:1", "", "2:1", "7:1", "4:1"]
    assert set(alarms.values()) == {()}


def test_gaps_are_told_longest_first():
    """When, how long, and how many bars are missing; a whole series has none."""
    places = np.r_[0:10, 11:31, 35:55]
    bars = make_bars(50, timestamp=START_NS + 15 * MINUTE_NS * places)
    assert [gap["missing_bars"] for gap in longest_gaps(bars)] == [4, 1]
    assert longest_gaps(make_bars(50)) == []
