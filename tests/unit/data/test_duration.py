"""How long bars of a source last, and at which end of a bar its time lies."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data import LoadOptions, join_bars, keep_bars, load_bars
from data.errors import BarsError, TableError, TimeframeError
from data.zones import find_utc_offsets
from tests.support.series import MINUTE_NS, START_NS, csv_text, make_columns, write_csv

HOUR_NS = 60 * MINUTE_NS
DAY_NS = 24 * HOUR_NS


def thin_minutes(folder, count=6000, share=0.3):
    """A market of which a share of all minutes trades."""
    traded = np.flatnonzero(np.random.Generator(np.random.PCG64(2)).random(count) < share)
    columns = {**make_columns(len(traded)), "timestamp": START_NS + traded * MINUTE_NS}
    return write_csv(folder, csv_text(columns)), columns


def at_times(folder, times, name="series.csv"):
    """A file of bars at times as text."""
    return write_csv(folder, csv_text(make_columns(len(times)), times=times), name)


def test_minutes_of_a_thin_market_are_merged(tmp_path):
    """A quarter is what traded in it; none is filled, and none is made where nothing traded."""
    spec, columns = thin_minutes(tmp_path)
    bars = load_bars(spec, LoadOptions(source_timeframe="1m", timeframe="15m"))
    quarter = columns["timestamp"] // (15 * MINUTE_NS)
    first = np.flatnonzero(np.diff(quarter, prepend=-1))
    assert np.array_equal(bars.timestamp, quarter[first] * 15 * MINUTE_NS)
    assert np.array_equal(bars.open, columns["open"][first])
    assert np.array_equal(bars.high, np.maximum.reduceat(columns["high"], first))
    assert bars.volume.sum() == columns["volume"].sum()
    merged = f"merged {len(columns['open'])} bars of 1m into {len(first)} of 15m; "
    assert any(note.startswith(merged) for note in bars.notes)
    assert "bars read as 1m because --source-timeframe says so" in bars.notes


@pytest.mark.parametrize("wanted", [None, "15m", "1h"])
def test_the_remedy_for_steps_that_show_no_duration_helps(tmp_path, wanted):
    """The option that the message names, with the value that it names."""
    spec, _ = thin_minutes(tmp_path)
    with pytest.raises(TimeframeError) as refused:
        load_bars(spec, LoadOptions(timeframe=wanted))
    (stated,) = re.findall(r"such as --source-timeframe (\w+)", str(refused.value))
    bars = load_bars(spec, LoadOptions(source_timeframe=stated, timeframe=wanted))
    assert bars.timeframe == (wanted or "1m")


def test_two_spacings_are_merged_where_a_person_states_the_duration(tmp_path):
    """The remedy of that message, too."""
    steps = np.array([0, *[1] * 600, *[5] * 400])
    columns = {**make_columns(len(steps)), "timestamp": START_NS + np.cumsum(steps) * MINUTE_NS}
    spec = write_csv(tmp_path, csv_text(columns))
    with pytest.raises(TimeframeError, match="or say --source-timeframe 1m"):
        load_bars(spec, LoadOptions(timeframe="1h"))
    bars = load_bars(spec, LoadOptions(source_timeframe="1m", timeframe="1h"))
    assert bars.timeframe == "1h"


def test_a_stated_duration_that_steps_leave_no_room_for_is_refused(tmp_path):
    """Bars of 5m cannot open a minute apart."""
    spec = write_csv(tmp_path, csv_text(make_columns(50, MINUTE_NS)))
    with pytest.raises(TimeframeError, match=r"49 of 49 bars open sooner .* most of them 1m"):
        load_bars(spec, LoadOptions(source_timeframe="5m"))
    with pytest.raises(TimeframeError, match="--source-timeframe 'soon' is not a duration"):
        load_bars(spec, LoadOptions(source_timeframe="soon"))


def test_kept_bars_state_their_duration_and_zone(tmp_path):
    """Whatever the steps of a thin market show; no option is needed a second time."""
    spec, _ = thin_minutes(tmp_path)
    options = LoadOptions(source_timeframe="1m", tz="Europe/Helsinki")
    bars = load_bars(spec, options)
    path, _ = keep_bars(bars, tmp_path / "kept")
    kept = load_bars(str(path))
    assert (kept.content_hash, kept.timeframe, kept.zone) == (
        bars.content_hash, "1m", "Europe/Helsinki",
    )  # fmt: skip
    for wanted in ("15m", "1h", "4h", "1d"):
        merged = load_bars(spec, replace(options, timeframe=wanted))
        assert load_bars(str(path), LoadOptions(timeframe=wanted)).content_hash == (
            merged.content_hash
        )
    with pytest.raises(TimeframeError, match="states that its bars last 1m; leave it out"):
        load_bars(str(path), LoadOptions(source_timeframe="5m"))
    assert load_bars(str(path), LoadOptions(source_timeframe="1m")).notes == kept.notes
    with pytest.raises(TimeframeError, match="stamped at their open; leave --stamped out"):
        load_bars(str(path), LoadOptions(stamped="close"))


def test_a_kept_file_without_a_statement_gets_one(tmp_path):
    """The same bars, written by an older version, are written anew without --replace."""
    spec, _ = thin_minutes(tmp_path)
    bars = load_bars(spec, LoadOptions(source_timeframe="1m"))
    path, _ = keep_bars(bars, tmp_path)
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    with pytest.raises(TimeframeError, match="do not show how long"):
        load_bars(str(path))
    assert keep_bars(bars, tmp_path) == (path, True)
    assert keep_bars(bars, tmp_path) == (path, False)
    assert load_bars(str(path)).timeframe == "1m"


def test_a_statement_about_other_bars_is_not_used(tmp_path):
    """Pyarrow hands metadata on when rows are dropped, with a note."""
    path, _ = keep_bars(load_bars(write_csv(tmp_path, csv_text(make_columns(60)))), tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array(range(0, 60, 4))), path)
    bars = load_bars(str(path))
    assert bars.timeframe == "1h"
    assert "the duration that this file states was stated of other bars, and is not used" in (
        bars.notes
    )


def test_bars_stamped_at_their_close_open_a_duration_earlier(tmp_path):
    """The bar that a vendor stamps 10:45 is that of 10:30."""
    spec = write_csv(tmp_path, csv_text(make_columns(12)))
    opens, closes = load_bars(spec), load_bars(spec, LoadOptions(stamped="close"))
    assert np.array_equal(closes.timestamp, opens.timestamp - 15 * MINUTE_NS)
    assert closes.notes == ("bars are stamped at their close because --stamped says so",)
    hours = load_bars(spec, LoadOptions(stamped="close", timeframe="1h"))
    assert hours.timestamp[0] == START_NS - HOUR_NS
    with pytest.raises(TableError, match="--stamped must be open or close"):
        LoadOptions(stamped="middle")


def test_a_short_last_bar_opens_at_the_previous_close(tmp_path):
    """Hours from half past nine end with half an hour: 15:30 to 16:00, stamped 16:00."""
    times = [
        f"2024-01-{day:02d}T{clock}Z"
        for day in (2, 3, 4)
        for clock in [f"{hour}:30" for hour in range(10, 16)] + ["16:00"]
    ]
    options = LoadOptions(stamped="close", source_timeframe="1h")
    with pytest.raises(TimeframeError, match="open sooner"):
        load_bars(at_times(tmp_path, times), options)
    many = [f"{day:%Y-%m-%d}T{hour:02d}:00Z" for day in (datetime(2024, 1, 1) + timedelta(d)
            for d in range(20)) for hour in range(24)]  # fmt: skip
    late = [*many, "2024-01-20T23:30Z"]
    bars = load_bars(at_times(tmp_path, late, "late.csv"), LoadOptions(stamped="close"))
    assert np.diff(bars.timestamp)[-2:].tolist() == [HOUR_NS, HOUR_NS]


def test_days_stamped_at_their_close_keep_local_midnights(tmp_path):
    """The day on which clocks change is an hour shorter or longer."""
    days = [f"{datetime(2024, 3, 1) + timedelta(day):%Y-%m-%d}" for day in range(60)]
    options = LoadOptions(stamped="close", tz="America/New_York")
    bars = load_bars(at_times(tmp_path, days), options)
    opens = [datetime.fromtimestamp(t // 10**9, ZoneInfo("America/New_York")).hour
             for t in bars.timestamp.tolist()]  # fmt: skip
    assert set(opens) == {0}


@pytest.mark.parametrize("end", ["59.999", "59", "59.999999"])
def test_closes_that_name_the_last_moment_are_put_at_its_end(tmp_path, end):
    """Binance's close time is a millisecond before the next bar opens."""
    times = [f"2024-01-01T{hour:02d}:59:{end}Z" for hour in range(10)]
    bars = load_bars(at_times(tmp_path, times), LoadOptions(stamped="close"))
    assert np.array_equal(bars.timestamp, START_NS + HOUR_NS * np.arange(10))


def test_a_column_of_closes_alone_names_what_reads_it(tmp_path):
    """Followed to the bars."""
    text = csv_text(make_columns(9)).replace("timestamp", "close_time", 1)
    spec = write_csv(tmp_path, text)
    with pytest.raises(TableError) as refused:
        load_bars(spec)
    assert "--column timestamp=close_time --stamped close" in str(refused.value)
    options = LoadOptions(columns={"timestamp": "close_time"}, stamped="close")
    assert load_bars(spec, options).timestamp[0] == START_NS - 15 * MINUTE_NS


def sessions(first, last, step, days=8):
    """Times of New York sessions in UTC, from one clock to another."""
    start = np.array([np.datetime64("2024-01-08") + np.timedelta64(d, "D") for d in range(days)])
    clock = np.arange(first, last + 1, step)
    return [f"{day + np.timedelta64(int(m), 'm')}Z" for day in start for m in clock]


@pytest.mark.parametrize(
    ("first", "last", "step", "is_hinted"),
    [
        (9 * 60 + 35, 16 * 60, 5, True),
        (9 * 60 + 31, 16 * 60, 1, True),
        (9 * 60 + 45, 16 * 60, 15, True),
        (9 * 60 + 30, 15 * 60 + 55, 5, False),
        (9 * 60 + 30, 16 * 60, 1, False),
        (9 * 60 + 30, 15 * 60 + 59, 1, False),
        (0, 24 * 60 - 5, 5, False),
    ],
)
def test_sessions_that_look_stamped_at_their_close_are_noted(
    tmp_path, first, last, step, is_hinted
):
    """09:35 to 16:00; an auction at 16:00 after minutes from 09:30 on is none."""
    spec = at_times(tmp_path, sessions(first, last, step))
    noted = [note for note in load_bars(spec).notes if "--stamped close" in note]
    assert len(noted) == is_hinted
    if is_hinted:
        bars = load_bars(spec, LoadOptions(stamped="close"))
        assert bars.timestamp[0] % DAY_NS == (9 * 60 + 30) * MINUTE_NS


def test_the_bar_in_the_making_is_noted(tmp_path):
    """Until its close; afterwards without a note, and coarser bars are measured themselves."""
    spec = write_csv(tmp_path, csv_text(make_columns(8)))
    last = START_NS + 7 * 15 * MINUTE_NS
    open_, closed = (
        load_bars(spec, now_ns=last + minutes * MINUTE_NS).notes for minutes in (14, 15)
    )
    assert closed == ()
    assert open_ == (
        "the bar of 2024-01-01T01:45 is still open until 2024-01-01T02:00: its high, low, close "
        "and volume may change, --to 2024-01-01T01:45 trades without it",
    )
    day = load_bars(spec, LoadOptions(timeframe="1d"), now_ns=last + HOUR_NS)
    assert day.notes[-1].startswith("the bar of 2024-01-01T00:00 is still open until 2024-01-02T00")


def test_a_high_that_misses_the_close_by_a_rounding_is_widened(tmp_path):
    """Prices that were adjusted by a factor; five units in the last place are a fault."""
    columns = make_columns(9)
    columns["close"][4] = 31.605560124799105
    columns["open"][4] = columns["low"][4] = 31.5
    for ulps, is_read in ((1, True), (4, True), (5, False)):
        columns["high"][4] = columns["close"][4] - ulps * np.spacing(columns["close"][4])
        columns["low"][5] = columns["open"][5] + np.spacing(columns["open"][5])
        spec = write_csv(tmp_path, csv_text(columns), f"{ulps}.csv")
        if not is_read:
            with pytest.raises(Exception, match="1 row with a high below open or close: row 4"):
                load_bars(spec)
            continue
        bars = load_bars(spec)
        assert bars.high[4] == bars.close[4]
        assert bars.low[5] == bars.open[5]
        assert bars.notes == (
            "2 bars widened to open and close, which high or low missed by a rounding (4 units in "
            "the last place or less)",
        )


def local_midnights(count):
    """Dates of so many days."""
    return [f"{datetime(2024, 1, 1) + timedelta(days=day):%Y-%m-%d}" for day in range(count)]


@pytest.mark.parametrize("tz", ["America/New_York", "Asia/Kolkata", "Europe/Helsinki"])
def test_days_of_local_midnights_become_weeks(tmp_path, tz):
    """Monday to Sunday on that clock, across both changes of it."""
    spec = at_times(tmp_path, local_midnights(364))
    days = load_bars(spec, LoadOptions(tz=tz))
    if tz != "Asia/Kolkata":
        utc = at_times(
            tmp_path, [f"{np.datetime64(int(t), 'ns')}Z" for t in days.timestamp], "u.csv"
        )
        with pytest.raises(TimeframeError, match="name the zone of their clock with --tz"):
            load_bars(utc, LoadOptions(timeframe="1w"))
        named = load_bars(utc, LoadOptions(timeframe="1w", tz=tz))
        assert named.notes[0].startswith(f"--tz {tz} changes no time")
    weeks = load_bars(spec, LoadOptions(tz=tz, timeframe="1w"))
    assert np.array_equal(weeks.timestamp, days.timestamp[::7])
    assert np.array_equal(weeks.close, days.close[6::7])
    assert any("0 hold fewer than 7" in note for note in weeks.notes)


@pytest.mark.parametrize(
    ("tz", "clock", "first"),
    [
        ("America/New_York", "17:00", "2024-01-07"),
        ("America/Chicago", "17:00", "2024-01-07"),
        ("America/New_York", "09:30", "2024-01-08"),
        (None, "16:00", "2024-01-07"),
    ],
)
def test_days_that_open_at_another_time_become_weeks(tmp_path, tz, clock, first):
    """The day that opens on Sunday at 17:00 is Monday's; a stock's day opens at 09:30."""
    start = datetime.fromisoformat(f"{first}T{clock}")
    days = [start + timedelta(day) for day in range(350) if day % 7 < 5]
    spec = at_times(tmp_path, [f"{day:%Y-%m-%d %H:%M}" for day in days])
    weeks = load_bars(spec, LoadOptions(tz=tz, timeframe="1w"))
    opens = load_bars(spec, LoadOptions(tz=tz))
    assert np.array_equal(weeks.timestamp, opens.timestamp[::5])
    assert np.array_equal(weeks.close, opens.close[4::5])
    assert any(note.endswith("0 hold fewer than the usual 5") for note in weeks.notes)


@pytest.mark.parametrize("tz", ["Europe/Helsinki", "America/New_York", "America/Sao_Paulo"])
@pytest.mark.parametrize("hours", [2, 4, 24])
def test_bars_of_a_local_clock_become_its_own(tmp_path, tz, hours):
    """As pandas groups the same times by that clock; also the day that begins at 01:00."""
    utc = np.arange("2018-01-01", "2019-01-01", dtype="datetime64[h]")
    zone = ZoneInfo(tz)
    local = [datetime.fromisoformat(f"{t}:00+00:00").astimezone(zone) for t in utc]
    bars = load_bars(
        at_times(tmp_path, [f"{t}:00Z" for t in utc]),
        LoadOptions(tz=tz, timeframe=f"{hours}h"),
    )
    blocks = [(t.date(), t.hour // hours) for t in local]
    first = [i for i, block in enumerate(blocks) if i == 0 or block != blocks[i - 1]]
    assert len(bars) == len(dict.fromkeys(blocks))
    closes = make_columns(len(utc))["close"]
    assert bars.close[:-1].tolist() == closes[np.array(first[1:]) - 1].tolist()
    inside = bars.timestamp[1:] - utc[first[1:]].astype("datetime64[ns]").astype(np.int64)
    assert not inside.any()


def test_a_typed_zone_is_that_of_the_file(tmp_path):
    """A frame of pandas in New York's time becomes New York's days without a flag."""
    times = np.arange("2024-03-01T05", "2024-03-20T04", dtype="datetime64[h]")
    for tz, first in (("America/New_York", 5), ("+05:30", 0), ("UTC", 0)):
        typed = pa.array(times.astype("datetime64[ns]"), pa.timestamp("ns", tz=tz))
        columns = {**make_columns(len(times)), "timestamp": typed}
        path = tmp_path / f"{first}{tz[:3]}.parquet"
        pq.write_table(pa.table(columns), path)
        days = load_bars(str(path), LoadOptions(timeframe="1d"))
        assert days.timestamp[0] % DAY_NS == first * HOUR_NS


def test_joined_parts_of_two_zones_have_none(tmp_path):
    """Parts of one zone keep it."""
    early = write_csv(tmp_path, csv_text(make_columns(9)), "a.csv")
    late = write_csv(tmp_path, csv_text(make_columns(9, start_ns=START_NS + DAY_NS)), "b.csv")
    parts = [load_bars(spec, LoadOptions(tz="Asia/Tokyo")) for spec in (early, late)]
    assert join_bars(parts, "x").zone == "Asia/Tokyo"
    assert join_bars([parts[0], load_bars(late)], "x").zone == "UTC"


@pytest.mark.parametrize("minutes", [15, 60])
@pytest.mark.parametrize("tz", ["America/New_York", "Europe/Helsinki", "Australia/Sydney"])
def test_local_times_that_name_no_zone_are_told_of_clocks(tmp_path, tz, minutes):
    """A row that repeats or steps back in autumn: the zone that is named reads the file."""
    utc = np.arange("2024-01-01", "2025-01-01", minutes, dtype="datetime64[m]")
    local_ns = utc.astype(np.int64) * MINUTE_NS
    local_ns = local_ns + find_utc_offsets(local_ns, tz)
    spec = at_times(tmp_path, [str(np.datetime64(int(t), "ns"))[:16] for t in local_ns])
    with pytest.raises(BarsError) as refused:
        load_bars(spec)
    (named,) = re.findall(r"showed this hour twice: --tz (\S+) reads it so", str(refused.value))
    assert named == tz
    assert len(load_bars(spec, LoadOptions(tz=named))) == len(utc)


def test_bars_off_the_clock_are_not_told_of_zones(tmp_path):
    """An exchange that came back at 09:28:15 follows no zone."""
    times = [f"2024-01-01T{hour:02d}:28:15Z" for hour in range(20)]
    with pytest.raises(TimeframeError, match="reach over an edge") as refused:
        load_bars(at_times(tmp_path, times), LoadOptions(timeframe="4h"))
    assert "--tz" not in str(refused.value)
