"""From a spec to checked bars: repairs, durations, notes."""

import numpy as np
import pandas as pd
import pytest

from data import LoadOptions, load_bars
from data.errors import BarsError, DataError, LimitError, TableError, TimeframeError
from tests.support.series import MINUTE_NS, NAMES, csv_text, make_bars, make_columns, write_csv

HEADER = "timestamp,open,high,low,close,volume\n"


def make_rows(count, picks=None, **changes):
    """A CSV file of legal rows, some picked, with single cells replaced."""
    columns = make_columns(count)
    for name, (at, value) in changes.items():
        columns[name][at] = value
    chosen = np.arange(count) if picks is None else np.array(picks)
    return csv_text({name: column[chosen] for name, column in columns.items()})


def test_clean_file_has_no_notes(tmp_path):
    """Nothing assumed, nothing repaired, nothing to say."""
    spec = write_csv(tmp_path, make_rows(6))
    bars = load_bars(spec)
    assert bars.notes == ()
    assert (bars.symbol, bars.source, bars.timeframe, bars.is_simulated) == (
        "series",
        spec,
        "15m",
        False,
    )
    assert bars.content_hash == make_bars(6).content_hash


@pytest.mark.parametrize("text", ["", "\n", HEADER, HEADER.strip()], ids=ascii)
def test_file_without_bars_is_refused(tmp_path, text):
    """Empty files and files with a header only are no series."""
    with pytest.raises(DataError, match=r"series.csv: .*(empty|blank|no bars)"):
        load_bars(write_csv(tmp_path, text))


def test_one_bar_needs_its_duration(tmp_path):
    """One bar does not show how long it lasts; --source-timeframe or --timeframe states it."""
    spec = write_csv(tmp_path, make_rows(1))
    with pytest.raises(TimeframeError, match=r"series.csv: 1 bar does not show .*--source-"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(timeframe="15m"))
    assert (len(bars), bars.timeframe) == (1, "15m")
    assert bars.notes == ("bars read as 15m because --timeframe says so",)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cell", ["nan", "", "inf", "-inf", "1e400", "-1"])
def test_bad_cell_is_refused_or_dropped_on_request(tmp_path, name, cell):
    """Row 3 is named with the option; with the option it is dropped and counted."""
    lines = make_rows(6).splitlines()
    cells = lines[4].split(",")
    cells[1 + NAMES.index(name)] = cell
    lines[4] = ",".join(cells)
    spec = write_csv(tmp_path, "\n".join(lines))
    with pytest.raises(BarsError, match=r"series.csv: 1 row .*: row 3 \(.*--drop-bad-bars"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(drop_bad_bars=True))
    gap = "1 gap, 1 bar missing; the longest from 2024-01-01T00:30 to 2024-01-01T01:00"
    assert bars.notes == ("dropped 1 bad row", gap)
    assert np.array_equal(make_bars(6).close[[0, 1, 2, 4, 5]], bars.close)


@pytest.mark.parametrize(
    ("name", "value"), [("open", 0.0), ("high", 100.0), ("low", 101.0), ("high", 0.0)]
)
def test_row_that_contradicts_itself_is_refused_or_dropped(tmp_path, name, value):
    """Zero prices and a high or low inside the body."""
    spec = write_csv(tmp_path, make_rows(6, **{name: (3, value)}))
    with pytest.raises(BarsError, match=r"row 3 \(.*--drop-bad-bars"):
        load_bars(spec)
    assert len(load_bars(spec, LoadOptions(drop_bad_bars=True))) == 5


def test_row_without_a_time_is_refused_or_dropped(tmp_path):
    """A missing time is a bad row."""
    columns = make_columns(4)
    times = ["2024-01-01T00:00Z", "", "2024-01-01T00:30Z", "2024-01-01T00:45Z"]
    spec = write_csv(tmp_path, csv_text(columns, times=times))
    with pytest.raises(BarsError, match=r"1 row without a time: row 1 \(no time"):
        load_bars(spec)
    dropped, gap = load_bars(spec, LoadOptions(drop_bad_bars=True)).notes
    assert dropped == "dropped 1 bad row"
    assert gap == "1 gap, 1 bar missing; the longest from 2024-01-01T00:00 to 2024-01-01T00:30"


def test_file_of_bad_rows_only_is_refused(tmp_path):
    """Dropping every row leaves no series."""
    spec = write_csv(tmp_path, make_rows(3, low=(slice(None), 1e9)))
    with pytest.raises(BarsError, match="no bars left after dropping bad rows"):
        load_bars(spec, LoadOptions(drop_bad_bars=True))


def test_equal_duplicates_are_refused_or_dropped_on_request(tmp_path):
    """Row 1 three times over: two are dropped and counted."""
    spec = write_csv(tmp_path, make_rows(4, picks=[0, 1, 1, 1, 2, 3]))
    with pytest.raises(BarsError, match=r"series.csv: 2 rows equal to .*row 2 .*row 3 .*--dedupe"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(dedupe=True))
    assert bars.notes == ("dropped 2 repeated rows",)
    assert bars.content_hash == make_bars(4).content_hash


def test_different_duplicates_are_always_refused(tmp_path):
    """Two rows of one time with different closes are both shown, whatever the options."""
    columns = {name: column[[0, 1, 1, 2]] for name, column in make_columns(3).items()}
    columns["close"][2] = 100.0
    spec = write_csv(tmp_path, csv_text(columns))
    for options in (LoadOptions(), LoadOptions(dedupe=True, drop_bad_bars=True)):
        with pytest.raises(BarsError, match=r"row 1 \(.*close=100.25 .* and row 2 \(.*close=100.0"):
            load_bars(spec, options)


def test_row_numbers_are_those_of_the_file_after_a_repair(tmp_path):
    """Dropped rows do not shift the numbers in a later message."""
    spec = write_csv(tmp_path, make_rows(6, picks=[0, 1, 3, 2, 4, 5], volume=(1, -1.0)))
    with pytest.raises(BarsError, match="not ascending at row 3"):
        load_bars(spec, LoadOptions(drop_bad_bars=True))


@pytest.mark.parametrize(("picks", "at"), [([0, 2, 1, 3], 2), ([3, 2, 1, 0], 1), ([0, 1, 0, 2], 2)])
def test_order_is_never_repaired(tmp_path, picks, at):
    """Unsorted, reversed and repeated-later rows are refused whatever the options."""
    spec = write_csv(tmp_path, make_rows(4, picks=picks))
    with pytest.raises(BarsError, match=f"series.csv: timestamps are not ascending at row {at}"):
        load_bars(spec, LoadOptions(dedupe=True, drop_bad_bars=True))


@pytest.mark.parametrize("picks", [[0, 2, 1, 3], [3, 2, 1, 0], [0, 2, 1, 1, 3]])
def test_rows_are_sorted_when_asked(tmp_path, picks):
    """The bars are those in order; a note counts the rows out of order."""
    spec = write_csv(tmp_path, make_rows(4, picks=picks))
    bars = load_bars(spec, LoadOptions(sort=True, dedupe=True))
    assert bars.content_hash == make_bars(4).content_hash
    late = int((np.diff(picks) < 0).sum())
    assert bars.notes[0].startswith(f"{late} row")
    assert "sorted by time" in bars.notes[0]


def test_sorting_tells_nothing_of_rows_in_order(tmp_path):
    """What was not needed is no repair."""
    assert load_bars(write_csv(tmp_path, make_rows(4)), LoadOptions(sort=True)).notes == ()


def test_bars_that_miss_by_a_tick_are_widened_when_asked(tmp_path):
    """A high that misses the close by a tick is raised to it; a coarser miss stays an error."""
    columns = make_columns(5)
    columns["high"][2] = columns["close"][2] - 0.01
    columns["low"][3] = columns["open"][3] + 0.01
    spec = write_csv(tmp_path, csv_text(columns))
    with pytest.raises(BarsError, match=r"row 3 \(.*--tick widens those that miss by no more"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(tick=0.01))
    assert bars.notes == ("2 bars widened to open and close, by 0.01 or less",)
    assert (bars.high[2], bars.low[3]) == (columns["close"][2], columns["open"][3])
    with pytest.raises(BarsError, match="low above open"):
        load_bars(spec, LoadOptions(tick=0.009))


def test_a_tick_does_nothing_to_bars_that_are_right(tmp_path):
    """No note, and not a bit of difference."""
    bars = load_bars(write_csv(tmp_path, make_rows(5)), LoadOptions(tick=10.0))
    assert bars.notes == ()
    assert bars.content_hash == make_bars(5).content_hash


def test_prices_below_zero_need_an_offset(tmp_path):
    """Oil in April 2020: refused; with the option, which adds to every price, it is noted."""
    columns = make_columns(4)
    for name in ("open", "high", "low", "close"):
        columns[name] = columns[name] - 101.0
    spec = write_csv(tmp_path, csv_text(columns))
    with pytest.raises(BarsError, match=r"not above zero: .*--price-offset lifts a market"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(price_offset=101.0))
    assert bars.content_hash == make_bars(4).content_hash
    assert bars.notes == ("101 was added to every price",)


@pytest.mark.parametrize(
    "options", [{"tick": -1.0}, {"tick": float("nan")}, {"price_offset": float("inf")},
                {"decimal": ";"}], ids=str)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options):
    """Each is named."""
    with pytest.raises(TableError, match="--" + next(iter(options)).replace("_", "-")):
        LoadOptions(**options)


def test_zero_volume_everywhere_is_said(tmp_path):
    """Rules about volume cannot fire without volume."""
    bars = load_bars(write_csv(tmp_path, make_rows(4, volume=(slice(None), 0.0))))
    assert bars.notes == ("volume is zero in every bar: volume rules can never fire",)


def test_zero_volume_in_some_bars_is_ordinary(tmp_path):
    """Bars without a trade are legal and need no note."""
    assert load_bars(write_csv(tmp_path, make_rows(4, volume=(slice(0, 3), 0.0)))).notes == ()


def test_constant_price_is_legal(tmp_path):
    """A market that never moves is a series."""
    flat = {name: np.full(4, 5.0) for name in NAMES}
    spec = write_csv(tmp_path, csv_text({**make_columns(4), **flat}))
    assert np.ptp(load_bars(spec).close) == 0.0


def test_timeframe_of_the_file_may_be_named(tmp_path):
    """Asking for what the file holds changes nothing."""
    spec = write_csv(tmp_path, make_rows(4))
    assert load_bars(spec, LoadOptions(timeframe="15m")).notes == ()


@pytest.mark.parametrize("max_bytes", [0, -1, True])
def test_cap_must_leave_room(max_bytes):
    """A cap below one byte is a mistake."""
    with pytest.raises(LimitError, match="--max-bytes must be at least 1"):
        LoadOptions(max_bytes=max_bytes)


def test_coarser_timeframe_merges(tmp_path):
    """One hour from four quarters."""
    bars = load_bars(write_csv(tmp_path, make_rows(8)), LoadOptions(timeframe="1h"))
    assert (len(bars), bars.timeframe) == (2, "1h")
    assert bars.notes == ("merged 8 bars of 15m into 2 of 1h; 0 hold fewer than 4",)


@pytest.mark.parametrize("timeframe", ["5m", "20m", "soon"])
def test_timeframe_that_cannot_be_made_is_refused(tmp_path, timeframe):
    """Finer bars, uneven multiples and no durations."""
    spec = write_csv(tmp_path, make_rows(4))
    with pytest.raises(TimeframeError, match="--timeframe"):
        load_bars(spec, LoadOptions(timeframe=timeframe))


def months(tmp_path):
    """The spec of a file of monthly bars: steps of 31, 29, 31, 30 and 31 days."""
    columns = make_columns(6)
    times = [f"2024-{month:02d}-01T00:00Z" for month in range(1, 7)]
    return write_csv(tmp_path, csv_text(columns, times=times))


def test_unclear_timeframe_must_be_named(tmp_path):
    """Months differ in length: an option states the duration."""
    spec = months(tmp_path)
    with pytest.raises(TimeframeError, match=r"3 of 31d, 1 of 29d.*--source-timeframe 29d"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(timeframe="30d"))
    assert bars.timeframe == "30d"
    assert bars.notes == ("bars read as 30d because --timeframe says so",)


def test_unclear_bars_are_not_merged(tmp_path):
    """Bars whose own duration is unclear have no edges to keep."""
    with pytest.raises(TimeframeError, match="longer than the most common step"):
        load_bars(months(tmp_path), LoadOptions(timeframe="62d"))


def test_short_steps_are_said(tmp_path):
    """One step in hundreds that is shorter than a bar is kept and noted."""
    columns = make_columns(200)
    columns["timestamp"][100:] -= 5 * MINUTE_NS
    bars = load_bars(write_csv(tmp_path, csv_text(columns)))
    assert bars.notes == ("1 step is shorter than 15m",)


def test_naive_times_are_utc_with_one_note(tmp_path):
    """The note names --tz; with --tz the times are local."""
    times = [f"2024-07-01 09:{minute}" for minute in (30, 45)]
    spec = write_csv(tmp_path, csv_text(make_columns(2), times=times))
    naive, local = load_bars(spec), load_bars(spec, LoadOptions(tz="America/New_York"))
    assert naive.notes == ("times name no zone, read as UTC; --tz names another",)
    assert local.timestamp[0] - naive.timestamp[0] == 4 * 3600 * 10**9


def test_local_times_that_exist_twice_are_refused_with_their_file(tmp_path):
    """The clocks go back: the file must say which hour it means."""
    times = [f"2024-11-03 {clock}" for clock in ("00:30", "01:30", "02:30")]
    spec = write_csv(tmp_path, csv_text(make_columns(3), times=times))
    with pytest.raises(DataError, match=r"series.csv: .*America/New_York.* exist twice.*row 1"):
        load_bars(spec, LoadOptions(tz="America/New_York"))
    bars = load_bars(spec, LoadOptions(tz="America/New_York", ambiguous="later"))
    assert bars.timestamp[1] - bars.timestamp[0] == 2 * 3600 * 10**9


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/London", "Europe/Berlin"])
@pytest.mark.parametrize("step", ["15min", "1h"])
def test_an_hour_that_a_local_clock_skips_is_noted(tmp_path, zone, step):
    """Times that name no zone are read as UTC, which skips none; zoned, the bars are whole."""
    times = pd.date_range("2024-03-01", "2024-04-15", freq=step, tz="UTC")
    for clock, is_local in (("UTC", False), (zone, True)):
        rows = [f"{time:%Y-%m-%d %H:%M},10,12,9,11,5" for time in times.tz_convert(clock)]
        path = tmp_path / "bars.csv"
        path.write_text("\n".join(["time,open,high,low,close,volume", *rows, ""]), encoding="utf-8")
        notes = load_bars(str(path)).notes
        assert any(f"in spring: --tz {zone} reads" in note for note in notes) == is_local
    bars = load_bars(str(path), LoadOptions(tz=zone))
    assert not any("in spring" in note for note in bars.notes)
    assert bars.timestamp.tolist() == [time.value for time in times.as_unit("ns")]


def test_hours_that_are_missing_elsewhere_are_no_clock(tmp_path):
    """One of several falls on the change by chance."""
    times = pd.date_range("2024-03-01", "2024-04-15", freq="1h")
    gone = ["2024-03-10T02", "2024-03-12T02", "2024-03-20T07"]
    kept = times[~times.isin(pd.to_datetime(gone))]
    rows = [f"{time:%Y-%m-%d %H:%M},10,12,9,11,5" for time in kept]
    (tmp_path / "bars.csv").write_text(
        "\n".join(["time,open,high,low,close,volume", *rows, ""]), encoding="utf-8"
    )
    assert not any("in spring" in note for note in load_bars(str(tmp_path / "bars.csv")).notes)
