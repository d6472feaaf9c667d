"""Clocks, zones and hours that change, windows between times, and when numbers were known."""

from datetime import datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import (
    LoadOptions,
    Window,
    cut_at_gaps,
    join_bars,
    joined,
    jumps_of,
    load_bars,
    parse_holdout,
    parts,
    quality_of,
    resample,
    split_window,
)
from data.bars import Bars, groups
from data.errors import BarsError, DataError, WindowError
from data.hours import find_open_gaps, gap_lines
from data.mmap_store import pack_bars, unpack_bars
from data.point_in_time import DatedNumbers, read_dated
from data.timeframe import check_spacing, count_steps
from data.zones import LocalZone, earliest_moments, to_local
from tests.corpus.rhythm import file_of, without_three
from tests.corpus.row import time_ns
from tests.support.series import MINUTE_NS, START_NS, make_bars

DAY_NS, HOUR_NS = 1440 * MINUTE_NS, 60 * MINUTE_NS
NEW_YORK = "America/New_York"


def sessions(first, end, hours, *, zone="UTC", step=15, seed=1):
    """Opens of bars between minutes of weekdays that a function of the day gives, on a clock.

    One day in fifty is a holiday, one in a hundred ends at half time.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    days = np.arange(np.datetime64(first), np.datetime64(end))
    opens = []
    for day in days[np.is_busday(days) & (rng.random(len(days)) > 0.02)]:
        start, stop = hours(day)
        stop = (start + stop) // 2 if rng.random() < 0.01 else stop
        minutes = np.arange(start, stop, step) + int(day.astype(int)) * 1440
        opens.append(minutes * MINUTE_NS)
    return earliest_moments(np.concatenate(opens), zone)


def stocks(first, end, **more):
    """Sessions from 09:30 to 16:00."""
    return sessions(first, end, lambda day: (570, 960), **more)


def then(before, after):
    """Times of one part and of the next."""
    return np.concatenate((before, after))


JOINED = {
    "UTC, then New York": (
        then(stocks("2023-10-02", "2024-01-16", zone=NEW_YORK), stocks("2024-01-16", "2024-05-02")),
        "14:30 until 2024-01-15 and at 09:30 from 2024-01-16"),
    "New York, then Chicago": (
        then(stocks("2023-04-03", "2023-07-06"), stocks("2023-07-06", "2024-02-01") - HOUR_NS),
        "09:30 until 2023-07-05 and at 08:30 from 2023-07-06"),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_two_clocks_and_the_day_between_them_are_named(name):
    """Nights are no gaps then, and parts that are mapped say the same."""
    times, words = JOINED[name]
    gaps = find_open_gaps(times, 15 * MINUTE_NS)
    assert gaps.clocks.startswith(f"sessions begin at {words} on: is it one clock?")
    assert gaps.clocks in gap_lines(times, 15 * MINUTE_NS, gaps)
    assert gaps.missing.sum() <= 10
    ones = np.ones(len(times))
    bars = Bars(times, ones, ones, ones, ones, ones, "X", 15 * MINUTE_NS, open_gaps=gaps)
    assert unpack_bars(pack_bars(bars)).open_gaps.notes == gaps.notes


def later_in_winter(day):
    """Sessions that begin and end an hour later from October to March."""
    month = int(day.astype("M8[M]").astype(int)) % 12
    return (540, 1020) if 3 <= month < 9 else (600, 1080)


ONE = {
    "summer time in UTC": stocks("2021-01-04", "2024-05-02", zone=NEW_YORK),
    "the hour that Ramadan takes": stocks("2021-01-04", "2024-05-02", zone="Africa/Casablanca"),
    "opens before and after": sessions(
        "2022-01-04", "2024-05-02",
        lambda day: (570, 960) if day < np.datetime64("2023-05-01") else (240, 1200)),
    "half years": sessions("2021-01-04", "2024-05-02", later_in_winter),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_hours_that_change_are_one_clock(name):
    """Of an exchange, of the year, of a season."""
    gaps = find_open_gaps(ONE[name], 15 * MINUTE_NS)
    assert gaps.clocks == ""
    assert not any("one clock" in line for line in gap_lines(ONE[name], 15 * MINUTE_NS, gaps))


@pytest.fixture
def stock(tmp_path):
    """The path of a file of a New York stock that lacks three bars."""
    path = tmp_path / "series.parquet"
    file_of(without_three).write(path)
    return str(path)


@pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
def test_parts_of_a_series_know_its_closed_hours(stock):
    """Windows and parts between long gaps count what they lack, and add up."""
    bars = load_bars(stock)
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


@pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
def test_every_way_to_bars_says_the_same(stock):
    """Read, merged, joined from parts, mapped from a file."""
    bars = load_bars(stock)
    gaps, pauses = bars.notes
    hours = resample(bars, HOUR_NS)
    assert hours.open_gaps is not None
    assert sum("missing" in note for note in hours.notes) == len(hours.open_gaps.missing)
    assert not any("gaps in open hours, 3" in note for note in hours.notes)
    joined = join_bars([bars.cut(0, 3000), bars.cut(3000, len(bars))], "x")
    assert (joined.notes[1:], joined.open_gaps.missing.tolist()) == ((gaps, pauses), [2, 1])
    mapped = unpack_bars(pack_bars(bars))
    assert mapped.open_gaps.notes == bars.open_gaps.notes
    assert mapped.gaps_in_open_hours() == bars.gaps_in_open_hours()
    by_name = load_bars(stock, LoadOptions(calendar="XNYS"))
    assert by_name.gaps_in_open_hours() == bars.gaps_in_open_hours()
    assert by_name.content_hash == bars.content_hash


@pytest.mark.parametrize(
    "tz",
    ["America/New_York", "Africa/Casablanca", "Australia/Lord_Howe", "America/Boa_Vista"],
)  # fmt: skip
def test_offsets_of_many_years_agree_with_the_standard_library(tz):
    """Every six hours of fifty years, and the hours around each change of them."""
    times = np.arange("1970-01-02", "2020-01-01", np.timedelta64(6, "h"), dtype="datetime64[h]")
    seconds = times.astype("datetime64[s]").astype(np.int64)
    before = seconds[:-1][np.diff(to_local(seconds * 10**9, tz) - seconds * 10**9) != 0]
    near = (before[:, None] + np.arange(0, 6 * 3600, 900)).ravel()
    for moments in (seconds, near, near - 1):
        zone = ZoneInfo(tz)
        aware = [datetime.fromtimestamp(moment, zone) for moment in moments.tolist()]
        expected = [time.utcoffset().total_seconds() for time in aware]
        offsets = to_local(moments * 10**9, tz) - moments * 10**9
        assert (offsets / 10**9).tolist() == expected


def test_a_day_may_begin_an_hour_late():
    """Clocks of Brazil were put forward at midnight."""
    (first,) = earliest_moments(np.array([time_ns("2018-11-04")]), "America/Sao_Paulo")
    assert first == time_ns("2018-11-04T03:00")


BARS = make_bars(96)
"""One day of 15-minute bars."""


@given(st.integers(0, 95), st.integers(2, 96), st.integers(1, 99))
def test_parts_are_neighbours_and_share_no_bar(start, length, percent):
    """Together they are the window; the later one has the share, rounded down."""
    window = Window(0, start, min(start + length, 96))
    share = parse_holdout(f"{percent}%")
    if int(len(window) * Fraction(percent, 100)) == 0:
        with pytest.raises(WindowError, match="none held out"):
            split_window(BARS, window, share)
        return
    seen, kept = split_window(BARS, window, share)
    assert (seen.start, seen.end, kept.end) == (window.start, kept.start, window.end)
    assert len(kept) == len(window) * percent // 100


def test_a_time_parts_where_bars_open_from_then_on():
    """The bar that opens at that very time is held out; a part without a bar is refused."""
    seen, kept = split_window(BARS, Window(3, 8, 90), parse_holdout("2024-01-01T06:00"))
    assert (seen, kept) == (Window(3, 8, 24), Window(3, 24, 90, "held_out"))
    for when in ("2023-12-31", "2024-01-01T02:00", "2024-01-01T22:45", "2030-01-01"):
        with pytest.raises(WindowError, match="82 bars"):
            split_window(BARS, Window(0, 8, 90), parse_holdout(when))


@given(st.integers(0, 50), st.integers(1, 500), st.integers(1, 20))
def test_groups_part_a_range_evenly(start, length, count):
    """Neighbours cover the range once, and their lengths differ by at most one bar."""
    ranges = groups(start, start + length, count)
    assert [bar for a, b in ranges for bar in range(a, b)] == list(range(start, start + length))
    lengths = [b - a for a, b in ranges]
    assert len(ranges) == count
    assert max(lengths) - min(lengths) <= 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), max_size=5), st.data())
def test_joined_parts_are_the_windows_again(gaps, data):
    """Whatever was cut; windows with bars between them stay apart, and so do series and roles."""
    windows, start = [], 0
    for number, (gap, length) in enumerate(gaps):
        start += gap + 1
        windows.append(Window(number % 2, start, start + length, ("train", "test")[number % 2]))
        start += length
    shortest = min((length for _, length in gaps), default=1)
    count = data.draw(st.integers(1, shortest))
    assert joined(parts(windows, count)) == tuple(windows)
    assert joined([Window(0, 0, 5), Window(0, 5, 9, "held_out")])[0] == Window(0, 0, 5)
    with pytest.raises(WindowError, match="parts"):
        parts([*windows, Window(0, 0, 3)], 4)


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(None, None, 0, 8), ("2024-01-01T00:30", None, 2, 8), (None, "2024-01-01T00:30", 0, 2),
     ("2024-01-01 00:31", "2024-01-01T01:00:01", 3, 5),
     ("2024-01-01T01:30+01:00", "2024-01-01T01:00Z", 2, 4), ("1066-10-14", "9999-12-31", 0, 8)],
)  # fmt: skip
def test_window_between_times(start, end, first, last):
    """The start belongs to the window, the end does not; no zone means UTC."""
    assert Window.between(make_bars(8), start, end) == Window(0, first, last)


def test_windows_without_bars_are_refused():
    """A window holds at least one bar; the whole one runs to after the last."""
    for bounds in ((-1, 0, 1), (0, -1, 1), (0, 1, 1), (0, 2, 1), (0, 0, 1, "validate")):
        with pytest.raises(WindowError):
            Window(*bounds)
    for start, words in (("2025-01-01", "2024-01-01T00:00"), ("yesterday", "no time")):
        with pytest.raises(WindowError, match=words):
            Window.between(make_bars(8), start)
    assert Window.whole(make_bars(7), series=2) == Window(2, 0, 7)


HEAD = "known_at,value\n"


@pytest.fixture
def write(tmp_path):
    """Write text as CSV; gives its path."""

    def write_csv(text):
        (tmp_path / "rates.csv").write_text(text)
        return str(tmp_path / "rates.csv")

    return write_csv


def test_times_are_utc_and_ascending(write, tmp_path):
    """Whatever order they were written in, typed or as text; an empty value is not known."""
    bars = read_dated(write(f"{HEAD}1970-01-03T00:00Z,2\n1970-01-02T00:30Z,\n"))
    assert bars.known_at.tolist() == [DAY_NS + 30 * MINUTE_NS, 2 * DAY_NS]
    assert str(bars.values.tolist()) == "[nan, 2.0]"
    times = pa.array([86_400, 172_800], pa.timestamp("s", "Europe/Berlin"))
    pq.write_table(pa.table({"known_at": times, "value": [1, 2]}), tmp_path / "rates.PARQUET")
    assert read_dated(str(tmp_path / "rates.PARQUET")).known_at.tolist() == [DAY_NS, 2 * DAY_NS]


def test_a_file_of_several_symbols_tells_them_apart(write, tmp_path):
    """Each gets its own numbers, also where its name is of digits; of another it has none."""
    bars = read_dated(
        write("symbol,known_from,value\n000700,1970-01-02,1\nB,1970-01-02,2\n000700,1970-01-04,3\n")
    )
    assert bars.of("000700").values.tolist() == [1.0, 3.0]
    assert bars.of("B").known_at.tolist() == [DAY_NS]
    assert len(bars.of("C").values) == 0
    times = pa.array([86_400], pa.timestamp("s", "UTC"))
    table = pa.table({"known_at": times, "symbol": [700], "value": [3]})
    pq.write_table(table, tmp_path / "rates.parquet")
    assert read_dated(str(tmp_path / "rates.parquet")).of("700").values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("text", "is_by_day", "there", "in_utc"),
    [("2024-01-31T09:30:00", False, 14.5, 9.5), ("2024-01-31", True, 5, 0),
     ("2024-01-31T09:30:00Z", False, 9.5, 9.5)],
)  # fmt: skip
def test_times_that_name_no_zone_are_of_the_zone_given(write, text, is_by_day, there, in_utc):
    """Read as UTC, they would be known hours before they were; a date begins at its midnight."""
    path = write(f"{HEAD}{text},1\n")
    bars, plain = read_dated(path, LocalZone("America/New_York")), read_dated(path)
    assert bars.is_by_day == is_by_day
    assert (bars.known_at % DAY_NS).tolist() == [there * HOUR_NS]
    assert (plain.known_at % DAY_NS).tolist() == [in_utc * HOUR_NS]


REFUSED = {
    "timestamp,value\n1970-01-02,1\n": "known_at",
    HEAD: "no row",
    f"{HEAD}12,1\n": "ISO",
    f"{HEAD}1970-01-02,inf\n": "infinite",
    f"{HEAD}3000-01-02,1\n": "1678",
    "known_at,known_from,value\n1970-01-02,1970-01-03,1\n": "two columns",
    "symbol,known_at,value\nB,1970-01-02,1\nA,1970-01-02,1\nA,1970-01-02,2\n":
        "of A are known from 1970-01-02",
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_what_is_no_such_file_is_refused(write, text, words):
    """A period is not the time from which a number was known."""
    with pytest.raises(DataError, match=words):
        read_dated(write(text))


UNPAID = {
    "doubled": ("1970-01-02T00:00Z,1\n1970-01-02T00:00Z,1", "1970-01-02T00:00 is in the minute"),
    "in one minute": ("1970-01-02T08:00:00Z,1\n1970-01-02T08:00:01Z,1", "1970-01-02T08:00:01"),
    "future": ("1970-01-02T00:00Z,1\n2199-01-02T00:00Z,1", "2199-01-02T00:00"),
    "unknown": ("1970-01-02T00:00Z,1\n1970-01-02T08:00Z,nan", "1970-01-02T08:00 has no rate"),
}


@pytest.mark.parametrize(("rows", "words"), UNPAID.values(), ids=UNPAID)
def test_payments_are_sorted_single_and_past(write, rows, words):
    """As another column each file is read."""
    path = write(f"{HEAD}{rows}\n")
    assert len(read_dated(path).values) == 2
    with pytest.raises(DataError, match=words):
        read_dated(path, is_paid=True)


def test_payments_of_several_symbols_have_an_order_of_their_own(write):
    """They are of the minute in which they are made."""
    path = write("symbol,known_at,value\nA,1970-01-02T08:00:00.011Z,1\nB,1970-01-02T00:00Z,2\n"
                 "A,1970-01-02T16:00Z,3\nB,1970-01-02T08:00Z,4\n")  # fmt: skip
    read = read_dated(path, is_paid=True)
    assert (read.of("A").as_payments().timestamp % DAY_NS).tolist() == [8 * HOUR_NS, 16 * HOUR_NS]
    assert read.of("B").as_payments().rates.tolist() == [2.0, 4.0]


def test_dated_numbers_are_known_late_and_grow_old():
    """At the first close that is not before their time; not after so many minutes."""
    bars = make_bars(8, start_ns=0)
    numbers = DatedNumbers(np.array([15, 40, 40]) * MINUTE_NS, np.array([1.0, 2.0, 3.0]), None)
    known = numbers.at_closes(bars, max_age=50)
    assert str(known.tolist()) == str([1.0, 1.0, 3.0, 3.0, 3.0, 3.0, np.nan, np.nan])
    assert np.isnan(DatedNumbers(numbers.known_at[:0], np.zeros(0), None).at_closes(bars)).all()
    with pytest.raises(DataError, match="max_age"):
        numbers.at_closes(bars, max_age=0)


def test_a_day_of_23_hours_closes_when_the_next_opens():
    """What is known half an hour later belongs to the next day."""
    opens = np.array([5, 29, 52, 76]) * HOUR_NS + START_NS
    bars = make_bars(4, timestamp=opens, timeframe_ns=DAY_NS)
    numbers = DatedNumbers(np.array([opens[2] + HOUR_NS // 2]), np.array([7.0]), None)
    assert np.array_equal(numbers.at_closes(bars), [np.nan, np.nan, 7.0, 7.0], equal_nan=True)


def test_extra_columns_are_part_of_the_bars():
    """They are cut with them and hashed by name; without any the hash is what it was."""
    bars, values = make_bars(20), np.arange(20.0)
    beside = bars.cut(0, 20, extra={"b": values, "a": -values})
    assert beside.until(7).extra["b"].tolist() == values[:7].tolist()
    assert bars.cut(0, 20).content_hash == bars.content_hash != beside.content_hash
    swapped = bars.cut(0, 20, extra={"a": values, "b": -values})
    same = bars.cut(0, 20, extra={"a": -values + 0.0, "b": values})
    assert swapped.content_hash != beside.content_hash == same.content_hash
    with pytest.raises(DataError, match="length"):
        bars.cut(0, 20, extra={"a": values[:3]})
    with pytest.raises(DataError, match="infinite at bar 1"):
        bars.cut(0, 2, extra={"a": np.array([1, np.inf])})
    with pytest.raises(ValueError, match="read-only"):
        beside.extra["a"][0] = 1.0


SERIES = {"spy_1m": (102_236, 642, "1m"), "bifiusdt_5m": (71_769, 0, "5m"),
          "uniusdt_15m": (87_539, 4_262, "15m"), "btcusdt_1h": (58_419, 28, "1h"),
          "gbpjpy_1h": (57_600, 501, "1h"), "aapl_1h": (40_831, 5_849, "1h")}  # fmt: skip
"""Bars after exact duplicates, gaps, and duration, as the description of the set states them."""

ALARMS = {"aapl_1h": (
    "the low of 2009-09-21T13:00", "the low of 2010-08-31T18:00", "the low of 2011-01-03T18:00",
    "2:1", "", "2:1", "7:1", "4:1",
)}  # fmt: skip
"""Three lows of a stock that are none, its splits, its warning; no crash of six markets is one."""


@pytest.mark.parametrize("name", SERIES)
def test_a_series_is_read_as_it_is_described(real_folder, name):
    """Its bars and gaps, no false alarm, and one spacing in each piece, wherever that begins."""
    bars = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    assert SERIES[name] == (len(bars), bars.gaps().count, bars.timeframe)
    assert (bars.symbol, bars.is_simulated) == (name, False)
    alarms = ALARMS.get(name, ())
    lines = [
        line[:27] if words.startswith("the") else line.partition(", as a ")[2][:3]
        for line, words in zip(jumps_of(bars), alarms, strict=True)
    ]
    assert tuple(lines) == alarms
    rng = np.random.Generator(np.random.PCG64(3))
    for count in (40, 400, 4000):
        for start in rng.integers(0, len(bars) - count, 20):
            piece = bars.timestamp[start : start + count]
            if 2 * (np.diff(piece) == bars.timeframe_ns).sum() >= count:
                check_spacing(count_steps(piece), bars.timeframe_ns)


def test_a_series_with_duplicates_asks_for_dedupe(real_folder):
    """57 exact copies; nearly all of its gaps lie in its last fifth."""
    spec = f"parquet:{real_folder}/uniusdt_15m.parquet"
    with pytest.raises(BarsError, match=r"57 rows .*--dedupe"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(dedupe=True))
    assert "dropped 57 repeated rows" in bars.notes
    cut = len(bars) - len(bars) // 5
    assert [quality_of(bars, *part).gaps.count for part in ((0, cut), (cut,))] == [9, 4253]
