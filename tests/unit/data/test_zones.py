"""Local times to UTC."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.checks import NO_TIME
from data.errors import TableError
from data.providers import times
from data.providers.times import localise
from tests.support.series import csv_text, make_columns, write_csv

HOUR_NS = 3600 * 10**9


def local(*texts):
    """Local times as nanoseconds."""
    return np.array(texts, dtype="datetime64[ns]").astype(np.int64)


def test_new_york_sessions_open_at_half_past_nine_on_both_sides_of_the_change():
    """09:30 is 14:30 UTC in winter and 13:30 UTC in summer."""
    given = local("2024-03-08T09:30", "2024-03-11T09:30", "2024-11-01T09:30", "2024-11-04T09:30")
    expected = local("2024-03-08T14:30", "2024-03-11T13:30", "2024-11-01T13:30", "2024-11-04T14:30")
    assert expected.tolist() == localise(given, "America/New_York", "f").tolist()


def test_hours_around_a_change_are_shifted_by_their_own_offset():
    """On the day of the change, the hours before and after differ."""
    given = local("2024-03-10T01:59", "2024-03-10T03:00")
    expected = local("2024-03-10T06:59", "2024-03-10T07:00")
    assert expected.tolist() == localise(given, "America/New_York", "f").tolist()


def test_time_that_exists_twice_is_refused():
    """01:30 on the day in autumn could be two hours."""
    given = local("2024-11-03T00:30", "2024-11-03T01:30", "2024-11-03T02:30")
    with pytest.raises(TableError, match=r"1 local times exist twice.*row 1 2024-11-03T01:30"):
        localise(given, "America/New_York", "f")


def test_time_that_does_not_exist_is_refused():
    """02:30 on the day in spring never was, though zoneinfo would map it."""
    with pytest.raises(TableError, match=r"1 local times do not exist.*row 0 2024-03-10T02:30"):
        localise(local("2024-03-10T02:30"), "America/New_York", "f")


@pytest.mark.parametrize(
    "zone", ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]
)
def test_every_quarter_of_a_year_agrees_with_the_standard_library(zone):
    """Each local time that exists once gets the offset that zoneinfo gives it."""
    utc = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[15m]")
    aware = [datetime.fromisoformat(f"{t}+00:00").astimezone(ZoneInfo(zone)) for t in utc]
    naive = np.array([t.replace(tzinfo=None) for t in aware], dtype="datetime64[ns]")
    _, first, count = np.unique(naive, return_index=True, return_counts=True)
    once = first[count == 1]
    expected = utc[once].astype("datetime64[ns]").astype(np.int64)
    actual = localise(naive[once].astype(np.int64), zone, "f")
    assert np.array_equal(expected, actual)


def test_missing_times_stay_missing():
    """A row without a time is not shifted."""
    time = np.array([NO_TIME, local("2024-01-01")[0]])
    assert localise(time, "Asia/Tokyo", "f").tolist() == [NO_TIME, time[1] - 9 * HOUR_NS]


@pytest.mark.parametrize("tz", ["", "../../etc/passwd", "/etc/localtime", "EST5PDT9", "Mars", "é"])
def test_unknown_zone_is_refused(tz):
    """Names that are no zone are refused, paths among them."""
    with pytest.raises(TableError, match="is no IANA zone"):
        localise(local("2024-01-01"), tz, "f")


def test_machine_without_zone_data_says_so(monkeypatch):
    """The zone may be right and the machine bare."""
    monkeypatch.setattr(times, "available_timezones", set)
    with pytest.raises(TableError, match="install the package tzdata"):
        localise(local("2024-01-01"), "Mars/Base", "f")


def test_near_miss_gets_a_hint():
    """A typing error is answered with the zone that was meant."""
    with pytest.raises(TableError, match="did you mean 'America/New_York'"):
        localise(local("2024-01-01"), "america/new_yrok", "f")


@pytest.mark.parametrize("name", ["time_utc", "Gmt time", "Time (UTC)", "DATE_UTC"])
def test_a_column_that_says_utc_needs_no_note(tmp_path, name):
    """Dukascopy and others say so in the name; --tz still wins, and is told."""
    columns = make_columns(4)
    times = [f"2024-01-01 0{hour}:00:00" for hour in range(4)]
    text = csv_text(columns, times=times, header=f"{name},open,high,low,close,volume")
    spec = write_csv(tmp_path, text)
    assert load_bars(spec).notes == ()
    local = load_bars(spec, LoadOptions(tz="Asia/Tokyo"))
    assert local.notes == ("times name no zone, read as Asia/Tokyo",)


@pytest.mark.parametrize("name", ["timestamp", "Datum", "time"])
def test_a_column_that_says_no_zone_is_noted_once(tmp_path, name):
    """One line, in a plain file and in two columns that say the same."""
    columns = make_columns(4)
    times = [f"2024-01-01 0{hour}:00:00" for hour in range(4)]
    text = csv_text(columns, times=times, header=f"{name},open,high,low,close,volume")
    assert len(load_bars(write_csv(tmp_path, text)).notes) == 1
