"""Gaps in open hours, separated from closed ones by calendars and by the rhythm of weeks."""

import subprocess
import sys

import numpy as np
import pytest

from data import LoadOptions, cut_at_gaps, join_bars, load_bars, quality_of, resample
from data.errors import SourceError
from data.hours import find_open_gaps
from data.mmap_store import pack_bars, unpack_bars
from data.timeframe import DAY_NS
from data.zones import earliest_moments
from tests.support.series import MINUTE_NS, START_NS, csv_text, make_bars, make_columns, write_csv

calendars = pytest.importorskip("exchange_calendars")

pytestmark = pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
"""The package asks pandas so; Python hides a library's own deprecations."""

HOUR_NS = 60 * MINUTE_NS


def exchange(name, minutes, start="2024-01-08", end="2024-12-31"):
    """Opens of all bars of an exchange, and its calendar."""
    calendar = calendars.get_calendar(name, start=start, end=end)
    step = minutes * MINUTE_NS
    opens, closes = calendar.opens_nanos, calendar.closes_nanos
    if name == "XTKS":
        opens = np.sort(np.concatenate((opens, calendar.break_ends_nanos)))
        closes = np.sort(np.concatenate((closes, calendar.break_starts_nanos)))
    spans = zip(opens.tolist(), closes.tolist(), strict=True)
    return np.concatenate([np.arange(a, b, step) for a, b in spans]), calendar


def weekdays_off(calendar, first, last):
    """Weekdays without a session."""
    days = np.arange(first, last + 1)
    sessions = calendar.sessions.to_numpy().astype("datetime64[D]")
    return [str(day) for day in days if np.is_busday(day) and day not in sessions]


@pytest.mark.parametrize("minutes", [1, 5, 15, 60])
@pytest.mark.parametrize("name", ["XNYS", "XLON", "XTKS", "XPAR", "XBOM"])
def test_the_rhythm_of_an_exchange_is_its_calendar(name, minutes):
    """Nights, weekends, breaks and changes of clocks are no gaps; holidays are named."""
    times, calendar = exchange(name, minutes)
    gaps = find_open_gaps(times, minutes * MINUTE_NS)
    assert (len(gaps.missing), gaps.calendar) == (0, None)
    assert gaps.pauses == (np.diff(times) > minutes * MINUTE_NS).sum()
    first, last = (times[[0, -1]] // DAY_NS).astype("datetime64[D]")
    assert list(gaps.days_off) == weekdays_off(calendar, first, last)
    known = find_open_gaps(times, minutes * MINUTE_NS, calendar=name)
    assert (len(known.missing), known.days_off) == (0, gaps.days_off)


def test_half_days_are_named_once():
    """New York closes early three times in 2024."""
    times, calendar = exchange("XNYS", 5)
    early = tuple(str(day)[:10] for day in calendar.early_closes)
    assert find_open_gaps(times, 5 * MINUTE_NS).short_days == early
    by_name = find_open_gaps(times, 5 * MINUTE_NS, calendar="XNYS")
    assert by_name.short_days == early
    assert "; 3 half days: 2024-07-03, 2024-11-29, 2024-12-24" in by_name.notes[0]
    assert by_name.rule == "the calendar of XNYS"


@pytest.mark.parametrize("name", [None, "XNYS"])
@pytest.mark.parametrize("minutes", [1, 5, 15, 30])
def test_bars_that_are_lost_are_counted(minutes, name):
    """Those alone, wherever they are in a session; one after the other is a longer gap."""
    times, _ = exchange("XNYS", minutes)
    rng = np.random.Generator(np.random.PCG64(5))
    keep = np.ones(len(times), dtype=np.bool_)
    sessions = np.split(np.arange(len(times)), np.flatnonzero(np.diff(times) > HOUR_NS) + 1)
    for session in rng.choice(len(sessions), 40, replace=False):
        keep[rng.choice(sessions[session][1:-1])] = False
    open_gaps = find_open_gaps(times[keep], minutes * MINUTE_NS, calendar=name)
    assert open_gaps.missing.sum() == 40
    gaps, _ = open_gaps.notes
    assert f"{len(open_gaps.missing)} gaps in open hours, 40 bars missing; the longest from" in gaps


def test_days_of_a_stock_have_no_gaps():
    """Weekends and holidays, by dates that name no zone and by midnights of New York in UTC."""
    _, calendar = exchange("XNYS", 60)
    days = calendar.sessions.to_numpy().astype("datetime64[ns]").astype(np.int64)
    local = earliest_moments(days, "America/New_York")
    for times, zone in ((days, "UTC"), (days + 5 * HOUR_NS, "UTC"), (local, "America/New_York")):
        for name in (None, "XNYS"):
            gaps = find_open_gaps(times, DAY_NS, zone, name)
            assert len(gaps.missing) == 0
            assert "2024-03-29" in gaps.days_off
        lost = find_open_gaps(np.delete(times, 100), DAY_NS, zone, "XNYS")
        assert lost.missing.tolist() == [1]


def test_currencies_open_on_sunday_evening():
    """17:00 of New York on Sunday to Friday; a maintenance hour each day is a pause, too."""
    utc = np.arange("2024-01-08", "2024-12-20", dtype="datetime64[m]").astype(np.int64)
    minutes = utc * MINUTE_NS
    local = minutes - np.where((utc > 28_500_000) & (utc < 28_846_440), 4, 5) * HOUR_NS
    in_week = (local - 4 * DAY_NS) % (7 * DAY_NS)
    is_open = (in_week < 4 * DAY_NS + 17 * HOUR_NS) | (in_week >= 6 * DAY_NS + 17 * HOUR_NS)
    gaps = find_open_gaps(minutes[is_open][::1], MINUTE_NS)
    assert gaps is not None
    assert gaps.missing.sum() <= 3 * 60
    is_break = in_week % DAY_NS // HOUR_NS == 17
    futures = find_open_gaps(minutes[is_open & ~is_break], MINUTE_NS)
    assert futures.pauses > 200
    assert futures.missing.sum() <= 3 * 60


def test_a_market_that_changed_its_hours_has_no_gaps():
    """Futures on American indices paused at 15:15 for a quarter of an hour until June 2021."""
    minutes = np.arange("2019-01-07", "2023-01-06", 5, dtype="datetime64[m]").astype(np.int64)
    in_day = minutes % 1440
    is_open = np.is_busday(minutes.astype("datetime64[m]").astype("datetime64[D]"))
    is_open &= (in_day < 960) | (in_day >= 1020)
    is_pause = (in_day >= 915) & (in_day < 930)
    before = minutes.astype("datetime64[m]") < np.datetime64("2021-06-28")
    times = minutes[is_open & ~(is_pause & before)] * MINUTE_NS
    gaps = find_open_gaps(times, 5 * MINUTE_NS)
    assert gaps.missing.sum() <= 3 * 130
    assert gaps.pauses > 1500


@pytest.mark.parametrize("share", [1.0, 0.9, 0.3, 0.05])
def test_a_market_that_never_closes_has_no_closed_hours(share):
    """However seldom it trades: each minute without a bar is a bar that is missing."""
    rng = np.random.Generator(np.random.PCG64(3))
    minutes = np.flatnonzero(rng.random(60_000) < share)
    assert find_open_gaps(START_NS + minutes * MINUTE_NS, MINUTE_NS) is None


def test_a_thin_stock_has_closed_hours():
    """Three in ten minutes of a session trade; what did not is missing in open hours alone."""
    times, _ = exchange("XNYS", 1)
    rng = np.random.Generator(np.random.PCG64(4))
    thin = times[rng.random(len(times)) < 0.3]
    gaps = find_open_gaps(thin, MINUTE_NS)
    assert gaps.missing.sum() < 0.75 * len(times)
    assert gaps.missing.sum() > 0.6 * len(times)


@pytest.mark.parametrize("days", [4, 10, 20])
def test_a_few_days_have_a_rhythm_of_days(days):
    """A sample of a week or two is not "81 % of bars missing" either."""
    times, _ = exchange("XNYS", 5)
    few = times[: 78 * days]
    gaps = find_open_gaps(few, 5 * MINUTE_NS)
    assert len(gaps.missing) == 0
    assert find_open_gaps(times[:78], 5 * MINUTE_NS) is None


def test_a_long_outage_is_no_holiday():
    """Eleven sessions in a row are a gap, with all their bars."""
    times, _ = exchange("XNYS", 15)
    sessions = np.split(times, np.flatnonzero(np.diff(times) > HOUR_NS) + 1)
    for lost, expected in ((10, 0), (11, 11 * 26)):
        left = np.concatenate([*sessions[:100], *sessions[100 + lost :]])
        assert find_open_gaps(left, 15 * MINUTE_NS).missing.sum() == expected


def stock(folder, minutes=15, lost=(500, 501, 2000)):
    """A file of a New York stock that lacks three bars."""
    times, _ = exchange("XNYS", minutes)
    times = np.delete(times, lost)
    columns = {**make_columns(len(times)), "timestamp": times}
    return write_csv(folder, csv_text(columns))


def test_parts_of_a_series_know_its_closed_hours(tmp_path):
    """Windows and parts between long gaps count what they lack, and add up."""
    bars = load_bars(stock(tmp_path))
    whole = quality_of(bars).gaps
    assert (whole.count, whole.missing_bars) == (2, 3)
    assert bars.gaps().missing_bars > 10_000
    for cut in (499, 500, 501, 1997, 1998, 1999):
        parts = [quality_of(bars, 0, cut).gaps, quality_of(bars, cut).gaps]
        assert sum(part.missing_bars for part in parts) == 3
    series = [part for _, part in cut_at_gaps(bars, 20 * HOUR_NS)]
    assert len(series) > 40
    assert sum(quality_of(part).gaps.missing_bars for part in series) == 3
    longest = bars.gaps_in_open_hours().longest_at
    assert bars.timestamp[longest] - bars.timestamp[longest - 1] == 45 * MINUTE_NS


def test_every_way_to_bars_says_the_same(tmp_path):
    """Read, merged, joined from parts, mapped from a file."""
    spec = stock(tmp_path)
    bars = load_bars(spec)
    (gaps, pauses) = bars.notes
    assert gaps.startswith("2 gaps in open hours, 3 bars missing; the longest from 2024-")
    assert "by the rhythm of its weeks on the clock of America/New_York; 9 days without" in pauses
    hours = resample(bars, HOUR_NS)
    assert hours.open_gaps is not None
    assert sum("missing" in note for note in hours.notes) == len(hours.open_gaps.missing)
    assert not any("gaps in open hours, 3" in note for note in hours.notes)
    joined = join_bars([bars.cut(0, 3000), bars.cut(3000, len(bars))], "x")
    assert (joined.notes[1:], joined.open_gaps.missing.tolist()) == ((gaps, pauses), [2, 1])
    mapped = unpack_bars(pack_bars(bars))
    assert mapped.open_gaps.notes == bars.open_gaps.notes
    assert mapped.gaps_in_open_hours() == bars.gaps_in_open_hours()
    by_name = load_bars(spec, LoadOptions(calendar="XNYS"))
    assert by_name.gaps_in_open_hours() == bars.gaps_in_open_hours()
    assert by_name.content_hash == bars.content_hash


def test_a_calendar_that_is_none_is_refused(tmp_path):
    """A near name is offered, and reads the file; unknown years are noted."""
    spec = stock(tmp_path)
    with pytest.raises(SourceError, match=r"--calendar 'XNYSE' is no exchange.*mean 'XNYS'"):
        load_bars(spec, LoadOptions(calendar="XNYSE"))
    with pytest.raises(SourceError, match=r"--calendar XSHG: it does not know 1970-.*leave it out"):
        find_open_gaps(make_bars(50, start_ns=DAY_NS).timestamp, 15 * MINUTE_NS, calendar="XSHG")


def test_the_package_is_asked_for_where_it_is_missing(tmp_path):
    """The extra is named; without --calendar it is not needed."""
    program = (
        "import sys; sys.modules['exchange_calendars'] = None\n"
        "from data import LoadOptions, load_bars\n"
        f"print(len(load_bars({stock(tmp_path)!r})), 'data.calendars' in sys.modules)\n"
        "try: load_bars('sample', LoadOptions(calendar='XNYS'))\n"
        "except Exception as error: print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    read, refused = ran.stdout.splitlines()
    assert read.endswith(" False")
    assert "pip install 'exhaustion-optimizer[calendars]', or leave --calendar out" in refused
