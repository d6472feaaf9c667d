"""Coarser bars from finer ones."""

import numpy as np
import pytest

from data import resample
from data.errors import TimeframeError
from tests.support.series import MINUTE_NS, START_NS, make_bars

HOUR_NS = 60 * MINUTE_NS
DAY_NS = 24 * HOUR_NS


def test_four_quarters_make_an_hour():
    """First open, highest high, lowest low, last close, sum of volumes, stamped with the open."""
    bars = make_bars(
        4,
        open=np.array([10.0, 11, 12, 13]),
        high=np.array([15.0, 19, 16, 17]),
        low=np.array([9.0, 8, 7, 10]),
        close=np.array([11.0, 12, 13, 14]),
        volume=np.array([1.0, 2, 3, 4]),
    )
    hour = resample(bars, HOUR_NS)
    assert hour.timestamp.tolist() == [START_NS]
    assert [hour.open[0], hour.high[0], hour.low[0], hour.close[0]] == [10, 19, 7, 14]
    assert hour.volume[0] == 10
    assert hour.timeframe == "1h"
    assert hour.notes == ("merged 4 bars of 15m into 1 of 1h; 0 hold fewer than 4",)


def test_left_edge_belongs_and_right_edge_does_not():
    """The bar that opens at 01:00 starts the second hour."""
    hours = resample(make_bars(5), HOUR_NS)
    assert hours.timestamp.tolist() == [START_NS, START_NS + HOUR_NS]
    assert hours.close.tolist() == [100.75, 101.0]


def test_incomplete_bars_are_kept_and_counted():
    """A series from 00:30 to 01:15 has two hours with two bars each."""
    hours = resample(make_bars(4, start_ns=START_NS + HOUR_NS // 2), HOUR_NS)
    assert hours.timestamp.tolist() == [START_NS, START_NS + HOUR_NS]
    assert "2 hold fewer than 4" in hours.notes[0]


def test_hours_without_bars_do_not_exist():
    """A gap stays a gap: nothing is filled."""
    time = START_NS + 15 * MINUTE_NS * np.array([0, 1, 2, 3, 12, 13, 14, 15])
    hours = resample(make_bars(8, timestamp=time), HOUR_NS)
    assert hours.timestamp.tolist() == [START_NS, START_NS + 3 * HOUR_NS]
    assert hours.gaps().missing_bars == 2


def test_volume_is_summed_oldest_first():
    """1e16 + 1 + 1 loses both ones from the left, and would not from the right."""
    hour = resample(make_bars(4, volume=np.array([1e16, 1.0, 1.0, 0.0])), HOUR_NS)
    assert hour.volume[0] == 1e16


def test_weeks_start_on_monday():
    """Daily bars from Monday 2024-01-01 merge into weeks that open on Mondays."""
    weeks = resample(make_bars(14, step_ns=DAY_NS), 7 * DAY_NS)
    assert weeks.timestamp.tolist() == [START_NS, START_NS + 7 * DAY_NS]


def test_same_duration_changes_nothing():
    """Asking for what the bars have gives the bars."""
    bars = make_bars(4)
    assert resample(bars, bars.timeframe_ns) is bars


@pytest.mark.parametrize(
    ("wanted_ns", "words"), [(5 * MINUTE_NS, "5m is finer"), (20 * MINUTE_NS, "20m is no multiple")]
)
def test_finer_and_uneven_durations_are_refused(wanted_ns, words):
    """Bars can only be merged whole."""
    with pytest.raises(TimeframeError, match=f"--timeframe {words} .*15m"):
        resample(make_bars(4), wanted_ns)


def test_bars_that_reach_over_an_edge_are_refused():
    """Hours that open at half past do not fit into four hours."""
    bars = make_bars(5, step_ns=HOUR_NS, start_ns=START_NS + HOUR_NS // 2)
    with pytest.raises(TimeframeError, match=r"1 bars of 1h reach over an edge.*2024-01-01T03:30"):
        resample(bars, 4 * HOUR_NS)


def test_marks_of_the_series_are_kept():
    """Symbol, source, simulation and earlier notes survive."""
    bars = make_bars(4, source="sample", is_simulated=True, notes=("first",))
    hour = resample(bars, HOUR_NS)
    assert (hour.symbol, hour.source, hour.is_simulated) == ("TEST", "sample", True)
    assert hour.notes[0] == "first"
