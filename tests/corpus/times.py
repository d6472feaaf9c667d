"""Times of bars: written in every form, counted in every unit, typed, and without a reading."""

import datetime as dt

import pyarrow as pa

from data.errors import TableError
from data.shell import quote_word
from tests.corpus.row import ONE, bars, reads, refuses

NOON, NOON_S = "2024-03-01T12:00", 1_709_294_400
MIDNIGHT = "2024-03-01"
NO_ZONE = "times name no zone, read as UTC; --tz names another"


def one(*times, **more):
    """A file of these times."""
    return bars(list(times), **more)


def typed(times, kind, **more):
    """A Parquet file of these times, of a type."""
    return bars(pa.array(times, kind), kind="parquet", **more)


def at(name, *times, options=None, first=NOON, **seen):
    """A row of times, of which the first is noon unless another is said."""
    return reads(name, one(*times), ONE | (options or {}), first=first, **seen)


def no(name, *times, words=(), options=None, error=TableError, **more):
    """A row of times that are refused."""
    words = (words,) if isinstance(words, str) else words
    return refuses(name, one(*times), ONE | (options or {}), error, *words, **more)


ISO = ("2024-03-01T12:00:00Z", "2024-03-01T13:00+01:00", "2024-03-01T07:00:00.000-0500",
       "2024/03/01 12:00:00 UTC", "2024.03.01 12:00Z", " 2024-03-01T12:00:00.000000000Z ",
       "2024-03-01 07:00:00-05", '"2024-03-01T12:00:00,000Z"', "2024-03-01t12:00:00z",
       "2024-03-01T07:00:00-05:00[America/New_York]", "2024-03-01 13:00:00 UTC+01:00")  # fmt: skip

OTHER_FORMS = {
    "20240301 120000": "YYYYMMDD", "202403011200": "YYYYMMDD",
    "01.03.2024 13:00:00.000 GMT+0100": "day.month.year",
    '"Mar 1, 2024 12:00"': "month name, day, year", "1-Mar-2024 12:00": "day, month name, year",
    '"March 01, 2024 12:00 PM"': "month name, day, year", "2024-3-1 12:00": "year-month-day",
    "20240301T120000Z": "YYYYMMDD", '"20240301 12:00:00,000"': "YYYYMMDD",
    "20240301-12:00:00": "YYYYMMDD-HHMMSS", "2024-Mar-01 12:00": "year, month name, day",
    "1.3.2024 14:00 GMT+2": "day.month.year",
    "Fri Mar 01 2024 13:00:00 GMT+0100 (Central European Standard Time)": "month name, day, year",
}  # fmt: skip


BAD_FORMATS = ("", "%d", "%Y-%m", "%Y-%m-%d %m", "%Y %q", "%Y-%m-%d %", "%d %b %m %Y",
               "%Y-%m-%d %I:%M", "%Y-%m-%d %H:%M %p", "%F %T", "%Y-%m-%d %z %Z",
               "%Y %j %d")  # fmt: skip

NUMBERS = ([0, 1, 2], [20241301], ["20240101", "5"], [NOON_S, NOON_S * 1000 + 1, 7],
           ["9999999999999999999"], [NOON_S + 0.5], ["-5"])  # fmt: skip

TEXTS = ("1 Jan 2024", "12:00", "2024-02-30", "2024-03-01T25:00", "24-03-01", "2300-01-01", "now",
         "2024-03-01T12:00:60", "03/04/2024")  # fmt: skip

TWO_READINGS = {
    "03/04/2024": "%d/%m/%Y", '"03/04/2024, 09:30:00.123 PM"': "%d/%m/%Y, %I:%M:%S.%f %p",
    "3/4/2024 9:30 a. m.": "%d/%m/%Y %I:%M %p",
    "03/04/2024T09:30:00+02:00": "%d/%m/%YT%H:%M:%S%z",
}  # fmt: skip


CLOCKS = {"03/04/2024": "00:00", '"03/04/2024, 09:30:00.123 PM"': "21:30:00.123",
          "03/04/2024T09:30:00+02:00": "07:30"}  # fmt: skip


def swap(form):
    """The format with day and month exchanged."""
    return form.replace("%d", "%x").replace("%m", "%d").replace("%x", "%m")


WRITTEN = (
    *(at(text, text, unsaid=("UTC", "--tz")) for text in ISO),
    at("offsets of both seasons", "2024-03-10T01:00-05:00", "2024-03-10T03:00-04:00",
       first="2024-03-10T06:00", last="2024-03-10T07:00"),
    *(at(text, text, notes=[NO_ZONE]) for text in
      ("2024-03-01T12:00:00", "2024-03-01 12:00", "2024.03.01 12:00")),
    at("winter of New York", "2024-03-01T07:00", options={"tz": "America/New_York"},
       notes="times name no zone, read as America/New_York", zone="America/New_York"),
    at("a day", "2024-03-01", first=MIDNIGHT),
    *(at(f"a form {text}", text, first=NOON, notes=f"are read as {words}")
      for text, words in OTHER_FORMS.items()),
    at("a form with a thin blank", '"3/1/2024, 12:00:00\u202fPM"', '"3/13/2024, 12:00:00\u202fPM"',
       notes="'3/1/2024, 12:00:00 PM' are read as month/day/year"),
    at("days before months", "03/04/2024", "13/04/2024", first="2024-04-03",
       notes="day/month/year"),
    at("months before days", "03/04/2024", "03/13/2024", first="2024-03-04",
       notes="month/day/year"),
    at("mornings and afternoons", "1/31/2024 12:05 AM", "1/31/2024 9:30 AM", "1/31/2024 12:05 PM",
       "1/31/2024 9:30 PM", first=None,
       times=[f"2024-01-31T{clock}" for clock in ("00:05", "09:30", "12:05", "21:30")]),
    *(at(f"a zone beside --tz: {text}", text, options={"tz": "Asia/Tokyo"},
         notes="--tz Asia/Tokyo changes no time") for text in
      ("2024-03-01 12:00 GMT", "01.03.2024 12:00 GMT", "1 Mar 2024 12:00 UTC")),
    *(at(f"the zone {zone}", f"20240301 {clock}:00 {zone}", zone=zone,
         notes=f"times name no zone, read as {zone}") for zone, clock in
      (("US/Eastern", "07:00"), ("America/Argentina/Buenos_Aires", "09:00"),
       ("Etc/GMT+5", "07:00"), ("Japan", "21:00"))),
)  # fmt: skip

UNREAD = (
    *(no(f"no number {numbers}", *numbers, words="'timestamp' holds") for numbers in NUMBERS),
    *(no(f"no time {text}", "2024-03-01T12:00", text, words=("column 'timestamp'", "row 1", text))
      for text in TEXTS),
    *(no(f"a short zone {zone}", f"2024-03-01 12:00:00 {zone}", words="zones") for zone in
      ("EST", "CET")),
    *(no(f"no zone {zone}", f"2024-03-01 12:00:00 {zone}", words="no single reading") for zone in
      ("March", "MST")),
    *(no(f"odd row {odd}", good, good, odd, good, words=("unlike most others", f"row 2 '{odd}'"))
      for good, odd in (("1709294400000", "open_time"), ("2024-03-01T12:00", "time"),
                        ("20240301 12:00", "Total"), ("13/01/2024", "2024-01-13"))),
    *(no(f"two readings {text}", text, then={"notes": f"times are read as {form}"},
         words=("day/month/year", "month/day/year", quote_word(form), quote_word(swap(form))))
      for text, form in TWO_READINGS.items()),
    *(at(f"{text} read as {own}", text, options={"time_format": own},
         first=f"2024-{month}T{CLOCKS.get(text, '09:30')}")
      for text, form in TWO_READINGS.items()
      for own, month in ((form, "04-03"), (swap(form), "03-04"))),
    *(no(f"no format {form!r}", "2024-03-01", options={"time_format": form}, words="--time-format")
      for form in BAD_FORMATS),
    no("not as the format", "01/03/2024", "2024-03-01", options={"time_format": "%d/%m/%Y"},
       words=("--time-format", "row 1 '2024-03-01'")),
    no("a zone by name in one row", "20240301 07:00 US/Eastern", "20240301 08:00"),
    no("a zone in one row", "2024-03-01T12:00Z", "2024-03-01T12:15", words="1 of 2 times"),
    refuses("the year 3000", typed([dt.datetime(3000, 1, 1)], pa.timestamp("us")), ONE, TableError,
            "1678 to 2262"),
    *(no(f"days of a spreadsheet {days}", *days, words=("spreadsheets", time)) for days, time in
      ((["45292", "45293"], "(2024-01-01T00:00)"),
       (["45292.416667", "45292.458333"], "(2024-01-01T10:00)"),
       (['"45292,5"', '"45292,75"'], "(2024-01-01T12:00)"))),
)  # fmt: skip

ROWS = (*WRITTEN, *UNREAD)
