"""Local times to UTC."""

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from data import LoadOptions, keep_bars, load_bars, zones
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


@pytest.mark.parametrize(
    ("tz", "key"),
    [
        ("America/New_York+7:00", "America/New_York+7h"),
        ("America/New_York+07:00", "America/New_York+7h"),
        ("America/New_York+420m", "America/New_York+7h"),
        ("Asia/Kolkata-5h30m", "Asia/Kolkata-5:30"),
        ("UTC-30m", "UTC-0:30"),
        ("Etc/GMT+5", "Etc/GMT+5"),
        ("Etc/GMT+5+2h", "Etc/GMT+5+2h"),
        ("EET+0h", "EET"),
    ],
)
def test_a_shift_may_follow_a_zone(tz, key):
    """However it is written, the clock has one name, which means it again."""
    assert zones.find_zone(tz).key == key == zones.find_zone(key).key


@pytest.mark.parametrize(
    ("tz", "hint"),
    [
        ("America/New_York+7", r"did you mean 'America/New_York\+7h'"),
        ("America/New_York +7h", r"did you mean 'America/New_York\+7h'"),
        ("UTC+2", r"did you mean 'UTC\+2h'"),
        ("America/New_York+15h", "up to 14 hours added"),
        ("EET+1h+1h", "no IANA zone"),
        ("EET+7:60", "no IANA zone"),
        ("New_York+7h", "no IANA zone"),
    ],
)
def test_what_is_nearly_a_shift_is_refused(tz, hint):
    """The message writes the shift as it may be written."""
    with pytest.raises(TableError, match=hint):
        LocalZone(tz)


@pytest.mark.parametrize("step", [1, -1])
def test_a_shifted_clock_repeats_and_skips_the_hours_of_its_zone(step):
    """Those of New York at one in the morning, seven hours later: each moment comes back."""
    utc = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[15m]")
    utc = utc.astype("datetime64[ns]").astype(np.int64)[::step]
    tz = "America/New_York+7h"
    on_clock = zones.to_local(utc, "America/New_York") + 7 * HOUR_NS
    assert np.array_equal(zones.to_local(utc, tz), on_clock)
    times, notes = zones.localise(on_clock, LocalZone(tz), "f")
    assert np.array_equal(times, utc)
    assert notes == ("8 local times that clocks show twice are told apart by the order of rows",)
    with pytest.raises(TableError, match=r"do not exist.*--tz Etc/GMT-2 reads a clock"):
        in_utc(local("2024-03-10T09:30"), tz)
    assert zones.earliest_moments(local("2024-11-03T08:30"), tz) == local("2024-11-03T05:30")


def write_weeks(folder, file_tz, opens=17, minutes=60):
    """A year of bars around the clock, from Sunday to Friday in New York, on a server's clock."""
    utc = np.arange("2024-01-01", "2025-01-01", dtype=f"datetime64[{minutes}m]")
    utc = utc.astype("datetime64[ns]").astype(np.int64)
    york = zones.to_local(utc, "America/New_York")
    since_open = (york - (3 * 24 + opens) * HOUR_NS) % (7 * 24 * HOUR_NS)
    inside = since_open < (5 * 24 + 17 - opens) * HOUR_NS
    columns = {**make_columns(int(inside.sum())), "timestamp": utc[inside]}
    written = zones.to_local(utc[inside], file_tz).astype("datetime64[ns]").astype("datetime64[s]")
    return write_csv(folder, csv_text(columns, times=written.astype(str).tolist()))


@pytest.mark.parametrize("given", [None, "EET", "Europe/Helsinki", "America/New_York+7h"])
@pytest.mark.parametrize("true_tz", ["America/New_York+7h", "EET", "UTC"])
@pytest.mark.parametrize("opens", [17, 18])
def test_a_year_of_weeks_names_the_clock_of_its_server(tmp_path, given, true_tz, opens):
    """Weeks begin at one hour of New York by one clock, which is named where another was taken."""
    bars = load_bars(write_weeks(tmp_path, true_tz, opens), LoadOptions(tz=given))
    told = [note for note in bars.notes if "weeks begin at one hour" in note]
    is_right = (given or "UTC") == true_tz or {given, true_tz} == {"EET", "Europe/Helsinki"}
    assert bool(told) == (not is_right and true_tz != "UTC")
    assert all(f"with --tz {true_tz}, as" in note for note in told)


def test_days_weeks_and_kept_bars_follow_a_shifted_clock(tmp_path):
    """All weeks are whole, and come back from a kept file with their clock."""
    spec = write_weeks(tmp_path, "America/New_York+7h")
    weeks = load_bars(spec, LoadOptions(tz="America/New_York+07:00", timeframe="1w"))
    assert weeks.zone == "America/New_York+7h"
    assert {str(zones.to_local(weeks.timestamp, weeks.zone).astype("datetime64[ns]")[k])[11:16]
            for k in range(len(weeks))} == {"00:00"}  # fmt: skip
    bars = load_bars(spec, LoadOptions(tz="America/New_York+7h"))
    kept, _ = keep_bars(bars, tmp_path / "kept")
    assert load_bars(str(kept)).zone == bars.zone


@pytest.mark.parametrize("tz", [None, "Asia/Tokyo"])
def test_a_market_with_hours_of_its_own_names_no_server(tmp_path, tz):
    """Tokyo's stocks begin their weeks at 00:00 UTC all year, and close each day."""
    utc = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[h]")
    utc = utc[(utc.astype(int) % 24 < 6) & np.is_busday(utc.astype("datetime64[D]"))]
    columns = make_columns(len(utc))
    spec = write_csv(tmp_path, csv_text(columns, times=[f"{t}:00:00" for t in utc.astype(str)]))
    notes = load_bars(spec, LoadOptions(tz=tz)).notes
    assert not [note for note in notes if "weeks begin" in note]


def test_rows_without_a_time_name_no_clock():
    """Nothing is known of them."""
    assert zones.clock_that_repeats(NO_TIME) is None
    assert zones.clock_that_skips(np.full(3, NO_TIME), HOUR_NS) is None


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
