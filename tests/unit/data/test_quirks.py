"""What is odd about bars that break no law."""

import numpy as np
import pytest

from data import LoadOptions, jumps_of, load_bars, longest_gaps, quirks_of
from data.hours import gap_lines
from tests.support.series import MINUTE_NS, NAMES, make_bars, make_columns


def test_an_ordinary_series_has_none():
    """Nothing to say of bars that are as they should be."""
    assert quirks_of(make_bars(50)) == ()
    assert longest_gaps(make_bars(50)) == []


def test_silence_is_counted_with_its_longest_run():
    """Bars without volume, their share, and how many stand in a row."""
    volume = make_columns(50)["volume"]
    volume[[3, 10, 11, 12, 49]] = 0
    quirk = "5 bars without volume (10.0%), at most 3 in a row"
    assert quirks_of(make_bars(50, volume=volume)) == (quirk,)


def test_flat_bars_are_counted():
    """A bar whose four prices are one price has no range."""
    close = make_columns(50)["close"]
    flat = dict.fromkeys(("open", "high", "low", "close"), close)
    assert quirks_of(make_bars(50, **flat)) == ("50 bars whose high is the low (100.0%)",)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(2 / 3, "-33% from the close before, as a 3:2 split"),
     (1 / 1.231, "-19% from the close before, as a split or a spin-off makes"),
     (1 / 1000, "is 0.001 times the close before, as a 1000:1 split"),
     (0.8, "-20% from the close before, as a 5:4 split"),
     (0.5, "-50% from the close before, as a 2:1 split"), (1 / 7, "as a 7:1 split"),
     (4.0, "+300% from the close before, as a 1:4 split"),
     (0.63, "-37% from the close before, as a split or a spin-off")],
)  # fmt: skip
def test_jumps_are_told_and_splits_are_named(factor, words):
    """An open far from the close before is shown with what it looks like."""
    columns = make_columns(50)
    for name in ("open", "high", "low", "close"):
        columns[name][20:] *= factor
    (quirk,) = quirks_of(make_bars(50, **columns))
    assert words in quirk
    assert "2024-01-01T05:00" in quirk
    assert ("split" in quirk) == ("split" in words)
    assert jumps_of(make_bars(50, **columns)) == (quirk,)


def jump(factor, *, wild=1.0):
    """A series that jumps once; `wild` widens the bars after it."""
    columns = make_columns(400)
    for name in NAMES[:4]:
        columns[name][200:] *= factor
    columns["high"][200:204] *= wild
    return make_bars(400, **columns)


@pytest.mark.parametrize(
    ("factor", "wild", "words"),
    [
        (0.63, 1.2, ["-37% from the close before"]),
        (0.82, 1.2, ["-18% from the close before"]),
        (0.9, 1.0, []),
    ],
)
def test_news_is_no_split(factor, wild, words):
    """Bars that move on after a jump speak of news; a jump over a night has no note."""
    jumps = jumps_of(jump(factor, wild=wild))
    assert [line.partition("is ")[2] for line in jumps] == words


@pytest.mark.parametrize("factor", [9.2e16, 9.2e7, 1 / 50])
@pytest.mark.parametrize("count", [1, 3])
def test_rows_that_are_no_price_are_one_line(factor, count):
    """Databento marks no price by 2**63 - 1; one line notes that prices are back after it."""
    columns = make_columns(400)
    for name in NAMES[:4]:
        columns[name][200 : 200 + count] *= factor
    (line,) = jumps_of(make_bars(400, **columns))
    later = "the next" if count == 1 else "that 3 bars later"
    assert f"times the close before and {later} is back: no price, take it out" in line


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


def test_many_jumps_do_not_flood():
    """Five are shown, the others counted."""
    columns = make_columns(50)
    scale = np.where(np.arange(50) % 2, 3.3, 1.0)
    for name in ("open", "high", "low", "close"):
        columns[name] = columns[name] * scale
    quirks = quirks_of(make_bars(50, **columns))
    assert len(quirks) == 6
    assert quirks[-1] == "44 more such opens"


def test_gaps_are_told_longest_first():
    """When, how long, and how many bars are missing."""
    timestamp = make_columns(50)["timestamp"]
    timestamp[10:] += 15 * MINUTE_NS
    timestamp[30:] += 60 * MINUTE_NS
    bars = make_bars(50, timestamp=timestamp)
    assert [gap["missing_bars"] for gap in longest_gaps(bars)] == [4, 1]
    (line,) = gap_lines(bars.timestamp, bars.timeframe_ns, None)
    assert line == ("2 gaps, 5 bars missing; the longest from 2024-01-01T07:30 to 2024-01-01T08:45")
    assert quirks_of(bars) == ()
