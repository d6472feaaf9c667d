"""A column of closes beside the times of bars: which end of a bar each holds."""

import re

import pytest

from data import load_bars
from data.errors import DataError
from data.table import LoadOptions
from tests.support.flags import parse_options

DAY = 86_400 * 10**9
DAYS = [f"2024-01-0{i}" for i in range(1, 6)]
BARS = "10,12,9,11,5"


def write(folder, *columns, name="bars.csv"):
    """A file of days whose columns of times have a name and a time a day each; and its source."""
    lines = [",".join([*(own for own, _ in columns), "open,high,low,close,volume"])]
    lines += [",".join([*(times[i] for _, times in columns), BARS]) for i in range(4)]
    (folder / name).write_text("\n".join([*lines, ""]))
    return f"csv:{folder / name}"


OPENS, CLOSES = [day + "T00:00:00Z" for day in DAYS[:4]], [day + "T00:00:00Z" for day in DAYS[1:]]
LAST_MOMENTS = [day + "T23:59:59.999Z" for day in DAYS[:4]]
FIRST_NS, NEXT_NS = (19_723 * DAY, 19_724 * DAY)
"""The first two days of 2024."""


@pytest.mark.parametrize("time", ["timestamp", "date", "time", "t"])
@pytest.mark.parametrize("closes", [CLOSES, LAST_MOMENTS], ids=["midnight", "a moment before"])
def test_times_that_are_those_of_closes_are_no_opens(tmp_path, time, closes):
    """Refused with two ways on: as closes they open a day earlier, as opens they stay."""
    spec = write(tmp_path, (time, CLOSES), ("close_time", closes))
    with pytest.raises(DataError, match="the times of column 'close_time'") as caught:
        load_bars(spec)
    assert load_bars(spec, parse_options(str(caught.value), columns={})).timestamp[0] == FIRST_NS
    options = parse_options(str(caught.value), stamped="open")
    assert load_bars(spec, options).timestamp[0] == NEXT_NS


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_typed_times_are_compared_too(tmp_path, kind):
    """As pandas keeps them."""
    import pandas as pd

    frame = pd.read_csv(write(tmp_path, ("timestamp", CLOSES), ("timeClose", CLOSES))[4:])
    for name in ("timestamp", "timeClose"):
        frame[name] = pd.to_datetime(frame[name])
    path = tmp_path / f"bars.{kind}"
    getattr(frame, f"to_{kind}")(path)
    with pytest.raises(DataError, match="the times of column 'timeClose'"):
        load_bars(str(path))
    assert load_bars(str(path), LoadOptions(stamped="close")).timestamp[0] == FIRST_NS


def test_an_open_beside_its_close_is_an_open(tmp_path):
    """Bars of seconds too, whose close is a moment before the next."""
    assert load_bars(write(tmp_path, ("time", OPENS), ("end", CLOSES))).timestamp[0] == FIRST_NS
    seconds = [f"2024-01-01T00:00:0{i}Z" for i in range(4)]
    ends = [f"2024-01-01T00:00:0{i}.999Z" for i in range(4)]
    assert load_bars(write(tmp_path, ("time", seconds), ("end", ends))).timeframe == "1s"


def test_a_close_tells_two_columns_of_times_apart(tmp_path):
    """CoinMarketCap's three columns where all lie at midnight: with opens, or closes if asked."""
    spec = write(tmp_path, ("timestamp", CLOSES), ("timeOpen", OPENS), ("timeClose", CLOSES))
    bars = load_bars(spec)
    assert bars.timestamp[0] == FIRST_NS
    assert "column 'timestamp' is not read: it says when bars close" in bars.notes
    bars = load_bars(spec, LoadOptions(stamped="close"))
    assert bars.timestamp[0] == FIRST_NS
    assert "column 'timeOpen' is not read: it says when bars open" in bars.notes


@pytest.mark.parametrize(
    "columns",
    [[("open_time", OPENS)], [("start", OPENS), ("end", CLOSES)], [("t", OPENS), ("end", CLOSES)]],
    ids=["by name", "by name beside closes", "by what a close tells"],
)
def test_opens_are_not_shifted_as_closes(tmp_path, columns):
    """--stamped close of times that open is refused; without it they are read."""
    spec = write(tmp_path, *columns)
    with pytest.raises(DataError, match="says when bars open; leave --stamped out") as caught:
        load_bars(spec, LoadOptions(stamped="close"))
    assert load_bars(spec).timestamp[0] == FIRST_NS
    options = parse_options(str(caught.value), stamped="close")
    assert load_bars(spec, options).timestamp[0] == FIRST_NS - DAY


def test_bars_that_would_close_before_they_open_are_refused(tmp_path):
    """As where one of two columns is local; the time alone is read with the option."""
    late = [day + "T05:00:00Z" for day in DAYS[1:]]
    spec = write(tmp_path, ("time", late), ("close_time", CLOSES))
    with pytest.raises(DataError, match="bars would close before they open: row 0 has") as caught:
        load_bars(spec)
    bars = load_bars(spec, parse_options(str(caught.value)))
    assert bars.timestamp[0] == NEXT_NS + 5 * 3600 * 10**9


@pytest.mark.parametrize("ends", [["x"] * 4, [""] * 4, ["0"] * 4], ids=["text", "empty", "zero"])
def test_what_is_called_an_end_and_holds_no_times_is_skipped(tmp_path, ends):
    """The bars are read without it."""
    assert load_bars(write(tmp_path, ("time", OPENS), ("end", ends))).timestamp[0] == FIRST_NS


def test_dates_and_times_of_day_are_compared_as_one(tmp_path):
    """Two columns of the time, and the options that name both."""
    clocks = ["00:00"] * 4
    spec = write(tmp_path, ("date", DAYS[1:]), ("time", clocks), ("close_time", CLOSES))
    with pytest.raises(DataError, match="--column date=date --column time=time") as caught:
        load_bars(spec)
    options = parse_options(str(caught.value), stamped="open")
    assert load_bars(spec, options).timestamp[0] == NEXT_NS


@pytest.mark.parametrize("name", ["close_time", "end"])
def test_a_column_of_closes_that_a_person_names_is_no_open(tmp_path, name):
    """The half of a remedy is refused with the other half."""
    spec = write(tmp_path, (name, CLOSES))
    with pytest.raises(DataError, match="says when bars close; --stamped close") as caught:
        load_bars(spec, LoadOptions(columns={"timestamp": name}))
    options = parse_options(str(caught.value), columns={"timestamp": name})
    assert load_bars(spec, options).timestamp[0] == FIRST_NS


@pytest.mark.parametrize("left", [["35"] * 4, ["soon"] * 4, ["01/02/2024"] * 4])
def test_a_column_that_is_called_as_a_time_and_is_none_is_left_out_by_an_option(tmp_path, left):
    """The message names the column that is one."""
    spec = write(tmp_path, ("time_left", left), ("timestamp", OPENS))
    with pytest.raises(
        DataError, match="--column timestamp=timestamp reads times without"
    ) as caught:
        load_bars(spec)
    (name,) = re.findall(r"--column timestamp=(\w+) reads", str(caught.value))
    bars = load_bars(spec, LoadOptions(columns={"timestamp": name}))
    assert bars.timestamp[0] == FIRST_NS


def test_an_estimate_is_no_close_on_the_clock_of_new_york(tmp_path):
    """A short name of a zone ends names of times alone."""
    text = f"time,open,high,low,close,volume,close_est\n{DAYS[0]},{BARS},7\n{DAYS[1]},{BARS},8\n"
    (tmp_path / "bars.csv").write_text(text)
    assert load_bars(str(tmp_path / "bars.csv")).close.tolist() == [11.0, 11.0]


@pytest.mark.parametrize("name", ["time", "open_time", "time_open"])
def test_bars_that_would_close_after_the_next_opens_are_refused(tmp_path, name):
    """Closes of other days, also beside times whose name says that bars open at them."""
    late = [day.replace("2024", "2027") + "T00:00:00Z" for day in DAYS[:4]]
    spec = write(tmp_path, (name, OPENS), ("close_time", late))
    with pytest.raises(DataError, match="close after the next one opens: row 0 has") as caught:
        load_bars(spec)
    assert load_bars(spec, parse_options(str(caught.value))).timestamp[0] == FIRST_NS


def test_times_of_first_and_last_trades_are_no_opens(tmp_path):
    """CoinAPI's files without the period's start: no step is that of a bar."""
    moments = ["00:00:00.091", "00:00:07.5", "00:00:00.2", "00:01:31.03"]
    firsts = [f"{day}T{moment}Z" for day, moment in zip(DAYS, moments, strict=False)]
    lasts = [
        first.replace("T00", f"T{hour}")
        for first, hour in zip(firsts, (23, 22, 21, 20), strict=True)
    ]
    spec = write(tmp_path, ("time_open", firsts), ("time_close", lasts))
    with pytest.raises(DataError, match="begin and end at their trades"):
        load_bars(spec)
    spec = write(
        tmp_path, ("time_period_start", OPENS), ("time_open", firsts), ("time_close", lasts)
    )
    assert load_bars(spec).timestamp[0] == FIRST_NS


@pytest.mark.parametrize("name", ["time", "open_time"])
@pytest.mark.parametrize("lasting", [[1, 1, 1, 1], [1, 2, 3, 4]], ids=["alike", "each other"])
def test_bars_that_close_long_before_the_next_opens_are_refused(tmp_path, name, lasting):
    """Steps are gaps then, or closes are none: a person says which."""
    opens = [1000 * DAY * i for i in range(10, 14)]
    closes = [time + count * DAY for time, count in zip(opens, lasting, strict=True)]
    spec = write(
        tmp_path, *((own, [str(time // 10**9) for time in times])
                    for own, times in ((name, opens), ("close_time", closes)))
    )  # fmt: skip
    with pytest.raises(
        DataError, match=r"close \dd after they open .* 1000d lie between"
    ) as caught:
        load_bars(spec)
    message = str(caught.value)
    bars = load_bars(spec, parse_options(message, columns={}))
    assert (bars.timestamp.tolist(), bars.timeframe) == (opens, f"{max(lasting)}d")
    bars = load_bars(spec, parse_options(message, source_timeframe=None))
    assert (bars.timestamp.tolist(), bars.timeframe) == (opens, "1000d")


@pytest.mark.parametrize("end", ["16:00:00", "06:30:00", "23:59:59.999"])
def test_days_that_close_with_their_session_are_days(tmp_path, end):
    """However short it is."""
    closes = [f"{day}T{end}Z" for day in DAYS[:4]]
    assert load_bars(write(tmp_path, ("time", OPENS), ("close_time", closes))).timeframe == "1d"
