"""Local times to UTC."""

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from data import LoadOptions, load_bars, zones
from data.checks import NO_TIME
from data.errors import TableError
from data.zones import LocalZone, earliest_moments, find_utc_offsets
from tests.support.series import csv_text, make_columns, write_csv

HOUR_NS = 3600 * 10**9


def local(*texts):
    """Local times as nanoseconds."""
    return np.array(texts, dtype="datetime64[ns]").astype(np.int64)


def in_utc(local_ns, tz, ambiguous=None):
    """Local times as nanoseconds UTC."""
    return zones.localise(local_ns, LocalZone(tz, ambiguous), "f")[0]


def test_new_york_sessions_open_at_half_past_nine_on_both_sides_of_the_change():
    """09:30 is 14:30 UTC in winter and 13:30 UTC in summer."""
    given = local("2024-03-08T09:30", "2024-03-11T09:30", "2024-11-01T09:30", "2024-11-04T09:30")
    expected = local("2024-03-08T14:30", "2024-03-11T13:30", "2024-11-01T13:30", "2024-11-04T14:30")
    assert expected.tolist() == in_utc(given, "America/New_York").tolist()


def test_hours_around_a_change_are_shifted_by_their_own_offset():
    """On the day of the change, the hours before and after differ."""
    given = local("2024-03-10T01:59", "2024-03-10T03:00")
    expected = local("2024-03-10T06:59", "2024-03-10T07:00")
    assert expected.tolist() == in_utc(given, "America/New_York").tolist()


def test_time_that_exists_twice_is_refused():
    """01:30 on the day in autumn could be two hours."""
    given = local("2024-11-03T00:30", "2024-11-03T01:30", "2024-11-03T02:30")
    with pytest.raises(TableError, match=r"1 local times exist twice.*row 1 2024-11-03T01:30"):
        in_utc(given, "America/New_York")


def test_time_that_does_not_exist_is_refused():
    """02:30 on the day in spring never was, though zoneinfo would map it."""
    with pytest.raises(TableError, match=r"1 local times do not exist.*row 0 2024-03-10T02:30"):
        in_utc(local("2024-03-10T02:30"), "America/New_York")


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
    actual = in_utc(naive[once].astype(np.int64), zone)
    assert np.array_equal(expected, actual)


@pytest.mark.parametrize(
    ("zone", "minutes", "repeated"),
    [
        *(("America/New_York", minutes, 120 // minutes) for minutes in (1, 15, 60)),
        *(("Europe/Helsinki", minutes, 120 // minutes) for minutes in (5, 60)),
        ("Australia/Lord_Howe", 10, 6),
        ("Asia/Tokyo", 60, 0),
    ],
)
@pytest.mark.parametrize("step", [1, -1])
def test_the_order_of_rows_tells_repeated_hours_apart(zone, minutes, repeated, step):
    """Every local time of a series comes back as the moment that it was, oldest or newest first."""
    utc = np.arange("2024-01-01", "2025-01-01", dtype=f"datetime64[{minutes}m]")
    utc = utc.astype("datetime64[ns]").astype(np.int64)[::step]
    local_ns = utc + find_utc_offsets(utc, zone)
    times, notes = zones.localise(local_ns, LocalZone(zone), "f")
    assert np.array_equal(times, utc)
    message = f"{repeated} local times that clocks show twice are told apart by the order of rows"
    assert notes == ((message,) if repeated else ())


@pytest.mark.parametrize(("reading", "hour"), [("earlier", 5), ("later", 6)])
def test_an_option_reads_repeated_times_whose_order_settles_nothing(reading, hour):
    """01:30 alone is the first or the second of that night, by the option."""
    given = local("2024-11-03T00:30", "2024-11-03T01:30", "2024-11-03T02:30")
    times, notes = zones.localise(given, LocalZone("America/New_York", reading), "f")
    assert (
        times.tolist()
        == local("2024-11-03T04:30", f"2024-11-03T0{hour}:30", "2024-11-03T07:30").tolist()
    )
    assert notes == (
        f"1 local times that clocks show twice are told apart by --ambiguous {reading}",
    )


@pytest.mark.parametrize(
    "clocks",
    [
        ("01:00", "01:00", "01:30"),
        ("01:00", "01:30", "01:00", "01:30", "01:00"),
        ("01:00", "01:30"),
    ],
    ids=["a row twice", "back two times", "one pass"],
)
def test_an_order_with_two_readings_is_refused_with_the_option(clocks):
    """A row that was written twice is no second pass of the clock."""
    times = local("2024-11-03T00:30", *(f"2024-11-03T{clock}" for clock in clocks))
    with pytest.raises(TableError, match=r"exist twice.*York --ambiguous earlier \(or later\)"):
        in_utc(times, "America/New_York")
    assert len(in_utc(times, "America/New_York", "later")) == len(times)


@pytest.mark.parametrize(
    ("tz", "fixed"), [("America/New_York", "Etc/GMT+5"), ("Europe/Helsinki", "Etc/GMT-2")]
)
def test_skipped_times_name_a_clock_that_is_not_put_forward(tz, fixed):
    """The zone that is named reads the same times."""
    night = "2024-03-10T02:30" if "York" in tz else "2024-03-31T03:30"
    with pytest.raises(TableError, match=f"--tz {re.escape(fixed)} reads a clock that is not put"):
        in_utc(local(night), tz)
    assert len(in_utc(local(night), fixed)) == 1


@pytest.mark.parametrize(
    "tz", ["America/New_York", "Africa/Casablanca", "Australia/Lord_Howe", "America/Boa_Vista"]
)
def test_offsets_of_many_years_agree_with_the_standard_library(tz):
    """Every six hours of fifty years, and the second of each change."""
    utc = np.arange("1970-01-02", "2020-01-01", 6, dtype="datetime64[h]").astype("datetime64[s]")
    actual = zones.find_utc_offsets(utc.astype(np.int64) * 10**9, tz) // 10**9
    zone = ZoneInfo(tz)
    expected = [datetime.fromtimestamp(t, zone).utcoffset() for t in utc.astype(np.int64).tolist()]
    assert actual.tolist() == [int(offset.total_seconds()) for offset in expected]
    changes, offsets = zones._list_changes(tz, 0, 49)
    for change, before, after in zip(changes.tolist(), offsets, offsets[1:], strict=False):
        edge = zones.find_utc_offsets(np.array([change - 10**9, change]), tz)
        assert edge.tolist() == [before, after]


@pytest.mark.parametrize("tz", ["Europe/London", "Pacific/Apia", "Australia/Lord_Howe"])
def test_both_readings_near_a_change_agree_with_the_standard_library(tz):
    """A moment before, at and after each change, alone and by the clock of either fold."""
    changes, offsets = zones._list_changes(tz, 0, 60)
    walls = np.concatenate([changes + offsets[:-1], changes + offsets[1:]])
    for time_ns in np.concatenate([walls + shift for shift in (-(10**9), 0, 10**9)]).tolist():
        time = datetime(1970, 1, 1) + timedelta(microseconds=time_ns // 1000)
        zoned = (time.replace(tzinfo=ZoneInfo(tz), fold=fold) for fold in (0, 1))
        expected = [int(each.utcoffset().total_seconds()) * 10**9 for each in zoned]
        readings = zones._find_local_offsets(np.array([time_ns]), tz)
        assert [int(each[0]) for each in readings] == expected


def test_offsets_agree_with_the_standard_library():
    """Each hour of two years, and midnight where a day begins an hour late."""
    utc = np.arange("2017-06-01", "2019-06-01", dtype="datetime64[h]")
    zone = ZoneInfo("America/Sao_Paulo")
    aware = [datetime.fromisoformat(f"{t}:00+00:00").astimezone(zone) for t in utc]
    expected = [int(t.utcoffset().total_seconds()) * 10**9 for t in aware]
    times = utc.astype("datetime64[ns]").astype(np.int64)
    assert find_utc_offsets(times, "America/Sao_Paulo").tolist() == expected
    (first,) = earliest_moments(local("2018-11-04T00:00"), "America/Sao_Paulo")
    assert first == local("2018-11-04T03:00")[0]


def test_missing_times_stay_missing():
    """A row without a time is not shifted."""
    time = np.array([NO_TIME, local("2024-01-01")[0]])
    assert in_utc(time, "Asia/Tokyo").tolist() == [NO_TIME, time[1] - 9 * HOUR_NS]


@pytest.mark.parametrize("tz", ["", "../../etc/passwd", "/etc/localtime", "EST5PDT9", "Mars", "é"])
def test_unknown_zone_is_refused(tz):
    """Names that are no zone are refused, paths among them."""
    with pytest.raises(TableError, match="is no IANA zone"):
        in_utc(local("2024-01-01"), tz)


def test_machine_without_zone_data_says_so(monkeypatch):
    """The zone may be right and the machine bare."""
    monkeypatch.setattr(zones, "available_timezones", set)
    with pytest.raises(TableError, match="install the package tzdata"):
        in_utc(local("2024-01-01"), "Mars/Base")


def test_near_miss_gets_a_hint():
    """A typing error is answered with the zone that was meant."""
    with pytest.raises(TableError, match="did you mean 'America/New_York'"):
        in_utc(local("2024-01-01"), "america/new_yrok")


@pytest.mark.parametrize("name", ["time_utc", "Gmt time", "Time (UTC)", "DATE_UTC"])
def test_a_column_that_says_utc_needs_no_note(tmp_path, name):
    """Dukascopy and others name it in the file's name; --tz still wins, with a note."""
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
