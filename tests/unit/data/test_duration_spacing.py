"""More than one spacing in a file, beside gaps and sessions, which are none."""

import numpy as np
import pytest

from data import LoadOptions, join_bars, load_bars
from data.errors import TimeframeError
from data.timeframe import check_spacing
from tests.support.series import (
    MINUTE_NS,
    START_NS,
    csv_text,
    make_bars,
    make_columns,
    write_csv,
    write_parquet,
)

DAY = 1440
WEEKDAYS = [day for day in range(300) if day % 7 < 5]


def after(*minutes):
    """Times with these steps."""
    return START_NS + np.concatenate(([0], np.cumsum(minutes))).astype(np.int64) * MINUTE_NS


def at(*minutes):
    """Times so many minutes after the first."""
    return START_NS + np.concatenate(minutes).astype(np.int64) * MINUTE_NS


MIXED = {
    "1m then 5m": (1, after(*[1] * 600, *[5] * 400)),
    "5m then 1m": (1, after(*[5] * 400, *[1] * 600)),
    "a tenth of 5m": (1, after(*[1] * 900, *[5] * 100)),
    "a tenth of 5m here and there": (
        1,
        after(*np.random.Generator(np.random.PCG64(1)).choice([1, 5], 1000, p=[0.9, 0.1])),
    ),
    "2 % of 2m": (1, after(*[1] * 980, *[2] * 20)),
    "hours then days": (60, after(*[60] * 700, *[DAY] * 300)),
    "days then weeks": (DAY, after(*[DAY] * 300, *[7 * DAY] * 60)),
    "three spacings": (1, after(*[1] * 800, *[5] * 100, *[15] * 100)),
    "sessions of 1m, then of 5m": (
        1,
        at(*(day * DAY + np.arange(0, 390, 1 if day < 200 else 5) for day in WEEKDAYS)),
    ),
}


def sessions(minutes, *hours):
    """Bars of so many minutes between pairs of hours, on weekdays."""
    spans = zip(hours[::2], hours[1::2], strict=True)
    day_times = np.concatenate([np.arange(a * 60, b * 60, minutes) for a, b in spans])
    return minutes, at(*(day * DAY + day_times for day in WEEKDAYS))


def thin(share, count=5000):
    """One-minute bars of which a share is there."""
    rng = np.random.Generator(np.random.PCG64(2))
    return 1, at(np.flatnonzero(rng.random(count) < share))


ONE = {
    "nights, 1m": sessions(1, 14, 21),
    "nights, 1h": sessions(60, 14, 21),
    "two bars a day": sessions(240, 8, 16),
    "a break at noon": sessions(15, 1, 3, 5, 7),
    "an hour a day closed": sessions(15, 0, 23),
    "an hour a day closed, 1h": sessions(60, 0, 23),
    "days": (DAY, at(np.array(WEEKDAYS) * DAY)),
    "half days": (1, at(*(d * DAY + np.arange(390 if d % 20 else 210) for d in WEEKDAYS))),
    "summer time": (60, at(*(d * DAY + 60 * np.arange(7) + 60 * (d > 150) for d in WEEKDAYS))),
    "half of all minutes": thin(0.55),
    "most minutes": thin(0.9),
    "1 % of 5m": (1, after(*[1] * 1980, *[5] * 19)),
}


@pytest.mark.parametrize(("minutes", "times"), MIXED.values(), ids=MIXED)
def test_more_than_one_spacing_is_refused_with_a_histogram(tmp_path, minutes, times):
    """In every form of file; a stated duration is believed and quoted."""
    columns = {**make_columns(len(times)), "timestamp": times}
    for spec in (write_csv(tmp_path, csv_text(columns)), write_parquet(tmp_path, columns)):
        with pytest.raises(
            TimeframeError, match=r"^series.*: bars are spaced in more than one way"
        ):
            load_bars(spec)
        named = f"{minutes}m" if minutes < 60 else f"{minutes // 60}h" if minutes < DAY else "1d"
        bars = load_bars(spec, LoadOptions(timeframe=named))
        assert f"bars read as {named} because --timeframe says so" in bars.notes


def test_the_histogram_counts_each_spacing(tmp_path):
    """Most first, then what else holds more than one in a hundred."""
    times = after(*[1] * 800, *[5] * 100, *[15] * 100, 999)
    spec = write_csv(tmp_path, csv_text({**make_columns(len(times)), "timestamp": times}))
    words = r"\(800 of 1m, 100 of 5m, 100 of 15m, and 1 other steps, sessions and gaps\); part the"
    with pytest.raises(TimeframeError, match=words):
        load_bars(spec)


def test_bars_of_two_spacings_are_not_merged(tmp_path):
    """A coarser bar of them would hold some bars once and some five times over."""
    times = MIXED["1m then 5m"][1]
    spec = write_csv(tmp_path, csv_text({**make_columns(len(times)), "timestamp": times}))
    with pytest.raises(TimeframeError, match="spaced in more than one way"):
        load_bars(spec, LoadOptions(timeframe="1h"))


@pytest.mark.parametrize(("minutes", "times"), ONE.values(), ids=ONE)
def test_gaps_and_sessions_are_no_spacing(minutes, times):
    """However many they are."""
    check_spacing(times, minutes * MINUTE_NS)


def test_pieces_of_real_series_have_one_spacing(real_folder):
    """Wherever a file begins and ends: nights, weekends, summer time, thin hours, lost bars."""
    rng = np.random.Generator(np.random.PCG64(3))
    for path in sorted(real_folder.glob("*.parquet")):
        bars = load_bars(str(path), LoadOptions(dedupe=True))
        check_spacing(bars.timestamp, bars.timeframe_ns)
        for count in (40, 400, 4000):
            for start in rng.integers(0, len(bars) - count, 40):
                piece = bars.timestamp[start : start + count]
                if 2 * (np.diff(piece) == bars.timeframe_ns).sum() >= count:
                    check_spacing(piece, bars.timeframe_ns)


def test_gaps_are_noted_wherever_bars_are_loaded(tmp_path):
    """As read, merged to coarser bars, and joined: those of the bars that result."""
    columns = make_columns(400)
    columns["timestamp"][100:] += 60 * MINUTE_NS
    spec = write_csv(tmp_path, csv_text(columns))
    gap = "1 gap, 4 bars missing; the longest from 2024-01-02T00:45 to 2024-01-02T02:00"
    assert load_bars(spec).notes == (gap,)
    hours = load_bars(spec, LoadOptions(timeframe="1h"))
    notes = [note for note in hours.notes if "missing" in note]
    assert notes == ["1 gap, 1 bar missing; the longest from 2024-01-02T00:00 to 2024-01-02T02:00"]
    late = make_bars(10, start_ns=START_NS + 10 * DAY * MINUTE_NS)
    (whole,) = [note for note in join_bars([late, load_bars(spec)], "x").notes if "gap" in note]
    assert whole.startswith("2 gaps, ")
