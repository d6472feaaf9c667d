"""Times of a file to nanoseconds UTC."""

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest

from data.checks import NO_TIME
from data.errors import TableError
from data.providers.times import read_times
from data.zones import LocalZone

NOON_NS = 1_709_294_400 * 10**9
"""2024-03-01T12:00 UTC."""


def read(values, tz=None, kind=None):
    """Read one column of times."""
    zone = None if tz is None else LocalZone(tz)
    return read_times({"t": pa.array(values, type=kind)}, zone, "f")


@pytest.mark.parametrize(
    "text",
    ["2024-03-01T12:00:00Z", "2024-03-01 12:00+00:00", "2024-03-01T13:00+01:00",
     "2024-03-01T07:00:00.000-0500", "2024/03/01 12:00:00 UTC", "2024.03.01 12:00Z",
     " 2024-03-01T12:00:00.000000000Z ", "2024-03-01 12:00:00+00", "2024-03-01 07:00:00-05",
     "2024-03-01T12:00:00,000Z", "2024-03-01t12:00:00z", "2024-03-01 12:00:00 GMT",
     "2024-03-01T07:00:00-05:00[America/New_York]", "2024-03-01T12:00Z[UTC]",
     "2024-03-01 13:00:00 UTC+01:00"],
)  # fmt: skip
def test_iso_text_with_a_zone_is_read(text):
    """Offsets are applied, and nothing is assumed."""
    time_ns, notes = read([text])
    assert time_ns.tolist() == [NOON_NS]
    assert notes == ()


def test_nanoseconds_are_kept():
    """Nine digits of a second survive."""
    assert read(["2024-03-01T12:00:00.123456789Z"])[0][0] == NOON_NS + 123_456_789


def test_offsets_may_change_from_row_to_row():
    """Summer and winter offsets in one column are each applied."""
    time_ns, _ = read(["2024-03-10T01:00-05:00", "2024-03-10T03:00-04:00"])
    assert np.diff(time_ns).tolist() == [3600 * 10**9]


@pytest.mark.parametrize("text", ["2024-03-01T12:00:00", "2024-03-01 12:00", "2024.03.01 12:00"])
def test_text_without_a_zone_is_utc_and_says_so(text):
    """The one note names --tz."""
    time_ns, notes = read([text])
    assert time_ns.tolist() == [NOON_NS]
    assert notes == ("times name no zone, read as UTC; --tz names another",)


def test_text_without_a_zone_is_local_to_tz():
    """Noon in New York in winter is 17:00 UTC."""
    time_ns, notes = read(["2024-03-01T12:00"], tz="America/New_York")
    assert time_ns.tolist() == [NOON_NS + 5 * 3600 * 10**9]
    assert notes == ("times name no zone, read as America/New_York",)


def test_the_machines_own_zone_changes_nothing(monkeypatch):
    """TZ of the machine is never used."""
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert read(["2024-03-01T12:00"])[0].tolist() == [NOON_NS]
        assert read([dt.datetime(2024, 3, 1, 12)])[0].tolist() == [NOON_NS]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_days_are_midnights():
    """A date without a time of day opens at midnight."""
    day_ns = NOON_NS - 12 * 3600 * 10**9
    assert read(["2024-03-01"])[0].tolist() == [day_ns]
    assert read([dt.date(2024, 3, 1)])[0].tolist() == [day_ns]


@pytest.mark.parametrize(("unit", "scale"), [("s", 10**9), ("ms", 10**6), ("us", 1000), ("ns", 1)])
@pytest.mark.parametrize("form", ["number", "text", "typed", "aware"])
def test_every_unit_is_read_in_every_form(unit, scale, form):
    """Whole numbers by magnitude, typed times by their type."""
    number = NOON_NS // scale
    kinds = {"typed": pa.timestamp(unit), "aware": pa.timestamp(unit, tz="America/New_York")}
    values = [str(number)] if form == "text" else [number]
    time_ns, notes = read(values, kind=kinds.get(form))
    assert time_ns.tolist() == [NOON_NS]
    if form in ("number", "text"):
        assert notes == (f"times are whole numbers, read as {unit} since 1970 UTC",)


def test_whole_floats_are_read_as_whole_numbers():
    """A spreadsheet's 1709294400.0 is a number of seconds."""
    assert read([1709294400.0, np.nan])[0].tolist() == [NOON_NS, NO_TIME]


@pytest.mark.parametrize(
    "values",
    [[0, 1, 2], [-1709294400], [20241301], ["20240101", "5"],
     [NOON_NS // 10**9, NOON_NS // 10**6], ["9999999999999999999"], [2**63 - 1],
     [1709294400.5], [1.7e18], ["-5"]],
    ids=str,
)  # fmt: skip
def test_numbers_without_one_reading_are_refused(values):
    """Dates written as numbers, counters, mixed units and fractions are not guessed at."""
    with pytest.raises(TableError, match="column 't' holds"):
        read(values)


@pytest.mark.parametrize(
    "text",
    ["03/04/2024", "31/12/2024 10:00", "1 Jan 2024", "12:00", "2024-13-01", "2024-02-30",
     "2024-03-01T25:00", "24-03-01", "2024-03-01T12:00 EST", "0001-01-01",
     "2300-01-01", "2024-03-01T12:00+99:00", "now", "2024-03-01T12:00:60"],
)  # fmt: skip
def test_text_without_one_reading_is_refused(text):
    """Anything but a real ISO 8601 time is shown with its row, or named."""
    with pytest.raises(TableError, match=r"f: column 't'.*"):
        read(["2024-03-01T12:00" + ("Z" if "+" in text else ""), text])


def test_strange_rows_are_shown():
    """The first five rows and the number of the others."""
    with pytest.raises(TableError, match=r"row 0 '03/04/24', .* and 2 more; write ISO 8601"):
        read(["03/04/24"] * 7)


@pytest.mark.parametrize(
    ("text", "words"),
    [("20240301 120000", "YYYYMMDD"), ("20240301  12:00:00", "YYYYMMDD"),
     ("202403011200", "YYYYMMDD"), ("20240301120000", "YYYYMMDD"),
     ("01.03.2024 12:00:00.000", "day.month.year"),
     ("01.03.2024 13:00:00.000 GMT+0100", "day.month.year"),
     ("Mar 1, 2024 12:00", "month name, day, year"),
     ("1-Mar-2024 12:00", "day, month name, year"),
     ("March 01, 2024 12:00 PM", "month name, day, year"),
     ("2024-3-1 12:00", "year-month-day"), ("20240301T120000Z", "YYYYMMDD"),
     ("20240301T1200+00", "YYYYMMDD"), ("20240301120000000", "YYYYMMDD"),
     ("20240301 12:00:00,000", "YYYYMMDD"), ("20240301-12:00:00", "YYYYMMDD-HHMMSS"),
     ("3/1/2024, 12:00:00\u202fPM", "month/day/year"),
     ("2024-Mar-01 12:00", "year, month name, day"),
     ("01/03/2024 12:00:00 p. m.", "day/month/year"), ("1.3.2024 14:00 GMT+2", "day.month.year"),
     ("Fri Mar 01 2024 13:00:00 GMT+0100 (Central European Standard Time)",
      "month name, day, year"), ("Fri, 01 Mar 2024 12:00:00 GMT", "day, month name, year")],
)  # fmt: skip
def test_other_forms_with_one_reading_are_read_and_told(text, words):
    """The note shows an example and how it was read."""
    settled = text[:4].replace("01/0", "13/0").replace("3/1/", "3/13/") + text[4:]
    time_ns, notes = read([text, settled])
    assert time_ns[0] == NOON_NS
    example = text[:40].replace("\u202f", " ")
    assert notes[0] == f"times such as {example!r} are read as {words}"


def test_whole_days_as_numbers_are_dates():
    """20240301 is no number of anything since 1970."""
    for value in (20240301, "20240301"):
        assert read([value])[0].tolist() == [NOON_NS - 12 * 3600 * 10**9]


@pytest.mark.parametrize(
    ("other", "words"), [("13/01/2024", "day/month/year"), ("01/13/2024", "month/day/year")]
)
def test_one_day_above_twelve_settles_all(other, words):
    """A reading counts only where it fits every row."""
    _, notes = read(["03/04/2024", other])
    assert notes[0].endswith(words)


@pytest.mark.parametrize(
    "text", ["2024-03-01 12:00 GMT", "01.03.2024 12:00 GMT", "1 Mar 2024 12:00 UTC"]
)
def test_a_zone_that_is_named_counts_more_than_tz(text):
    """GMT behind a time is its zone in every form; --tz is not applied to it."""
    time_ns, notes = read([text], tz="Asia/Tokyo")
    assert time_ns.tolist() == [NOON_NS]
    assert "--tz Asia/Tokyo changes no time" in notes[-1]


@pytest.mark.parametrize(
    "zone", ["US/Eastern", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Japan"]
)
def test_every_name_of_a_zone_is_known(zone):
    """Digits, signs and three parts belong to names of zones."""
    (time_ns,), notes = read([f"20240301 12:00:00 {zone}"])
    assert time_ns == read(["2024-03-01T12:00"], tz=zone)[0][0]
    assert f"times name no zone, read as {zone}" in notes


@pytest.mark.parametrize("zone", ["EST", "CET", "MST", "March", "PRC"])
def test_short_names_of_zones_are_refused(zone):
    """Whether EST stands for summer too is not known."""
    with pytest.raises(TableError, match=r"no single reading|short names of zones"):
        read([f"2024-03-01 12:00:00 {zone}"])


@pytest.mark.parametrize(
    ("good", "odd"),
    [("1709294400000", "open_time"), ("2024-03-01T12:00", "time"), ("20240301 12:00", "Total"),
     ("13/01/2024", "2024-01-13")],
)  # fmt: skip
def test_the_row_that_is_unlike_most_others_is_blamed(good, odd):
    """Rows that most others are like are not shown."""
    with pytest.raises(TableError, match=f"unlike most others: row 2 '{odd}'; correct these rows"):
        read([good, good, odd, good])


@pytest.mark.parametrize(
    "text", ["03/04/2024", "3-4-2024 9:30:00", "03/04/2024, 09:30:00.123 PM", "3/4/2024 9:30 a. m.",
             "03/04/2024T09:30:00+02:00", "03/04/2024 09:30 GMT"]
)  # fmt: skip
def test_formats_that_a_message_names_are_read(text):
    """Both formats of a date with two readings work, and differ in day and month."""
    with pytest.raises(TableError) as caught:
        read([text])
    formats = re.findall("--time-format '([^']+)'", str(caught.value))
    day_first, month_first = (
        read_times({"t": pa.array([text])}, None, "f", form)[0][0] for form in formats
    )
    assert (day_first - month_first) // (24 * 3600 * 10**9) == 30


def test_days_and_months_that_may_be_exchanged_are_refused():
    """Both readings are named, and the option that settles it does."""
    with pytest.raises(TableError, match=r"day/month/year and month/day/year; --time-format"):
        read(["03/04/2024"])
    (day_first,), _ = read_times({"t": pa.array(["03/04/2024"])}, None, "f", "%d/%m/%Y")
    (month_first,), _ = read_times({"t": pa.array(["03/04/2024"])}, None, "f", "%m/%d/%Y")
    assert (day_first - month_first) // (24 * 3600 * 10**9) == 30


@pytest.mark.parametrize(
    ("form", "text"),
    [("%d/%m/%y %H%M", "01/03/24 1200"), ("%Y-%m-%d %I:%M:%S %p", "2024-03-01 12:00:00 pm"),
     ("%b %d %Y %H:%M:%S.%f", "Mar 01 2024 12:00:00.000"), ("%Y%m%d%%%H", "20240301%12"),
     ("%d.%m.%Y %H:%M%z", "01.03.2024 14:30+02:30"),
     ("%Y-%m-%d %H:%M:%S%z", "2024-03-01 12:00:00+00"),
     ("%Y%m%d%H%M%S%f", "20240301120000000000"), ("%Y %j %H", "2024 061 12"),
     ("%a %d-%b-%Y %H:%M %Z", "Fri 01-MAR-2024 12:00 GMT")],
)  # fmt: skip
def test_a_form_that_a_person_names_is_used(form, text):
    """Every directive has its meaning; missing values stay missing."""
    time_ns, notes = read_times({"t": pa.array([text, None])}, None, "f", form)
    assert time_ns.tolist() == [NOON_NS, NO_TIME]
    assert f"times are read as {form}" in notes


@pytest.mark.parametrize(
    "form", ["", "%d", "%Y-%m", "%Y-%m-%d %m", "%Y %q", "%Y-%m-%d %", "%d %b %m %Y", "%Y %U %w",
             "%Y-%m-%d %I:%M", "%Y-%m-%d %H:%M %p", "%Y-%m-%d %H %I %p", "%F %T", "%Y-%-m-%-d",
             "%Y-%m-%d %z %Z", "%Y %j %d"]
)  # fmt: skip
def test_forms_that_make_no_time_are_refused(form):
    """Year, month and day, each once, of what is known."""
    with pytest.raises(TableError, match="--time-format"):
        read_times({"t": pa.array(["2024-03-01"])}, None, "f", form)


def test_times_unlike_the_named_form_are_shown():
    """Nothing is skipped because it does not fit."""
    with pytest.raises(TableError, match=r"not as --time-format says: row 1 '2024-03-01'"):
        read_times({"t": pa.array(["01/03/2024", "2024-03-01"])}, None, "f", "%d/%m/%Y")


def test_afternoon_is_told_from_morning():
    """Twelve at night and twelve at noon are where they belong."""
    texts = ["1/31/2024 12:05 AM", "1/31/2024 9:30 AM", "1/31/2024 12:05 PM", "1/31/2024 9:30 PM"]
    time_ns, _ = read(texts)
    minutes = (time_ns // (60 * 10**9) % 1440).tolist()
    assert minutes == [5, 570, 725, 1290]


def test_a_zone_by_name_behind_every_time_is_used():
    """As Interactive Brokers writes it; --tz is not needed then."""
    texts = ["20240301 07:00:00 US/Eastern", None, "20240301 08:00:00 US/Eastern"]
    time_ns, notes = read(texts)
    assert time_ns.tolist() == [NOON_NS, NO_TIME, NOON_NS + 3600 * 10**9]
    assert "times name no zone, read as US/Eastern" in notes
    assert "--tz Asia/Tokyo changes no time" in read(texts, tz="Asia/Tokyo")[1][-1]


@pytest.mark.parametrize(
    "texts",
    [["20240301 07:00 US/Eastern", "20240301 08:00 Asia/Tokyo"],
     ["20240301 07:00 US/Eastern", "20240301 08:00"], ["20240301 07:00 Us/Nowhere"]],
    ids=["two", "one", "unknown"],
)  # fmt: skip
def test_zones_that_are_not_one_zone_are_refused(texts):
    """Two zones, a zone in some rows only, and one that does not exist."""
    with pytest.raises(TableError):
        read(texts)


def test_mixed_zones_and_none_are_refused():
    """A column names its zone in every row or in none."""
    with pytest.raises(TableError, match="1 of 2 times name a zone; write all or none"):
        read(["2024-03-01T12:00Z", "2024-03-01T12:15"])


def test_missing_times_are_marked():
    """Null and empty rows have no time; whole-column emptiness is no error here."""
    assert read(["2024-03-01T12:00Z", "", None])[0].tolist() == [NOON_NS, NO_TIME, NO_TIME]
    assert read([NOON_NS, None])[0].tolist() == [NOON_NS, NO_TIME]
    assert read(["", ""])[0].tolist() == [NO_TIME, NO_TIME]
    assert read([None], kind=pa.timestamp("ms"))[0].tolist() == [NO_TIME]


def test_repeated_hours_of_a_zone_that_each_time_names():
    """Interactive Brokers names the zone; the option in the message settles the hour."""
    texts = [f"20241103 0{hour}:30:00 US/Eastern" for hour in range(3)]
    with pytest.raises(TableError, match="--tz US/Eastern --ambiguous earlier"):
        read(texts)
    zone = LocalZone("US/Eastern", "later")
    time_ns, _ = read_times({"t": pa.array(texts)}, zone, "f")
    assert (np.diff(time_ns) // (3600 * 10**9)).tolist() == [2, 1]


def test_tz_that_is_not_needed_is_said():
    """Times that carry their zone are not shifted by --tz."""
    for values in (["2024-03-01T12:00Z"], [NOON_NS]):
        time_ns, notes = read(values, tz="America/New_York")
        assert time_ns.tolist() == [NOON_NS]
        assert "--tz America/New_York changes no time" in notes[-1]


def test_tz_must_exist_even_where_it_is_not_needed():
    """A typing error is never passed over."""
    with pytest.raises(TableError, match="no IANA zone"):
        read(["2024-03-01T12:00Z"], tz="America/New_Yrok")


def test_date_and_time_of_day_are_joined():
    """Two text columns make one time."""
    columns = {"d": pa.array(["2024.03.01"]), "t": pa.array(["12:00"])}
    assert read_times(columns, None, "f")[0].tolist() == [NOON_NS]


@pytest.mark.parametrize(
    ("date", "time"),
    [("2024-03-02", "2024-03-01T12:00"), ("2024-03-01 10:00", "12:00"), ("x", "y")],
)
def test_date_and_time_that_do_not_belong_together_are_refused(date, time):
    """Both columns are named."""
    with pytest.raises(TableError, match="columns 'd' and 't' could both be the time"):
        read_times({"d": pa.array([date]), "t": pa.array([time])}, None, "f")


@pytest.mark.parametrize(
    ("date", "time"),
    [("20240301", "120000"), ("20240301", "1200"), ("01.03.2024", "12:00:00"),
     ("2024/03/01", "12:00 PM"), (20240301, "12:00")],
    ids=str,
)  # fmt: skip
def test_date_and_time_of_day_are_joined_in_other_forms(date, time):
    """What each may be alone, both may be together."""
    columns = {"d": pa.array([date]), "t": pa.array([time])}
    assert read_times(columns, None, "f")[0].tolist() == [NOON_NS]


def test_other_types_are_no_times():
    """A column of booleans has no reading."""
    with pytest.raises(TableError, match="holds bool, which is no time"):
        read([True])


def test_typed_times_beyond_64_bits_are_refused():
    """The year 3000 in microseconds does not fit into nanoseconds."""
    with pytest.raises(TableError, match="1678 to 2262"):
        read([dt.datetime(3000, 1, 1)])


@pytest.mark.parametrize(
    ("texts", "time"),
    [
        (["45292", "45293"], "2024-01-01T00:00"),
        (["45292.416667", "45292.458333"], "2024-01-01T10:00"),
        (["45292,5", "45292,75"], "2024-01-01T12:00"),
        ([45292, 45293], "2024-01-01T00:00"),
        ([None, 45292.25], "2024-01-01T06:00"),
    ],
)
def test_days_of_a_spreadsheet_are_named(texts, time):
    """Refused, since some count from 1904, with the date that they would be."""
    with pytest.raises(TableError, match=rf"as spreadsheets count them \({time}\); give"):
        read_times({"time": pa.array(texts)}, None, "f")


@pytest.mark.parametrize("step_s", [60, 300, 3600, 86400])
def test_ticks_of_net_are_refused(step_s):
    """As nanoseconds they would all lie in 1990, a moment apart."""
    ticks = [638_396_640_000_000_000 + i * step_s * 10**7 for i in range(4)]
    with pytest.raises(TableError, match=r"1990-03-25.* ns .* 2024-01-01T00:00 in ticks of"):
        read_times({"time": pa.array(ticks)}, None, "f")


@pytest.mark.parametrize("step_s", [60, 86400])
def test_nanoseconds_of_1990_are_read(step_s):
    """Whole minutes are no ticks."""
    numbers = [638_323_200 * 10**9 + i * step_s * 10**9 for i in range(4)]
    assert read_times({"time": pa.array(numbers)}, None, "f")[0].tolist() == numbers
