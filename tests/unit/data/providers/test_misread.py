"""Files in which one column or form looks like another: read as meant, or refused with a way on."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from data import load_bars
from data.errors import DataError
from data.providers.column_names import PERIOD_STARTS
from data.table import LoadOptions
from tests.support.flags import parse_options
from tests.support.series import make_columns

DAY = 86_400 * 10**9


def write(folder, text, name="bars.csv"):
    """A file, and its source."""
    (folder / name).write_text(text, encoding="utf-8")
    return f"csv:{folder / name}"


def days(header, *cells, count=4):
    """Rows of days, each cell a format of the number of the row and its date."""
    rows = [
        ",".join(cell.format(i=i, day=f"2024-01-{i + 1:02d}") for cell in cells)
        for i in range(count)
    ]
    return "\n".join([header, *rows, ""] if header else [*rows, ""])


BARS = ("{day}", "10", "12", "9", "11")

FILES = {
    "closes": days("timeOpen,open,high,low,close,volume", "{day}T23:59:59.999Z", *BARS[1:], "5"),
    "moving average": days("time,open,high,low,close,Volume MA", *BARS, "{i}"),
    "zscore": days("time,open,high,low,close,volume_zscore", *BARS, "0.5"),
    "volume of the quote": days("time,open,high,low,close,Volume USDT", *BARS, "7"),
    "no volume": days("time,open,high,low,close,volume", *BARS, "-1"),
    "dashes": days("time,open,high,low,close,volume", *BARS, "-"),
    "not available": days("time,open,high,low,close,volume", *BARS, "#N/A"),
    "thousands": days("time,open,high,low,close,volume", "{day}", *["110'300"] * 4, "5"),
    "stocks": days("date,open,high,low,close,volume,Name", *BARS, "5", "AAA")
    + days("", *BARS, "6", "BBB"),
    "assets by minute": "time,Asset_ID,open,high,low,close,volume\n"
    + "".join(f"{1_704_067_200 + 60 * i},{a},1,2,1,2,{a}\n" for i in range(4) for a in (7, 9)),
    "funds": "date,fund,open,high,low,close,volume\n"
    + "".join(f"2024-01-0{i},{f},1,2,1,2,3\n" for i in range(1, 5) for f in ("x y", "z")),
    "close first": "".join(
        f"2024-01-01 {i // 60:02d}:{i % 60:02d},{i + 12},{i + 13},{i + 10},{i + 11},5\n"
        for i in range(40)
    ),
    "open, close, high, low": "".join(
        f"{1_704_067_200 + 60 * i},{10 + i},{11 + i}.5,{12 + i},{9 + i},5,60.5\n" for i in range(9)
    ),
    "ticker first": "".join(f"AAA,2024010{i},10.0,10.5,9.5,10.2,1000\n" for i in range(1, 6)),
    "two times": days(
        "open_time,timestamp,open,high,low,close,volume", "{day}", "{day}T01:00", *BARS[1:], "5"
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_remedy_that_a_message_names_leads_to_bars(tmp_path, kind):
    """What is refused names an option, or a source, with which the file is read."""
    spec = write(tmp_path, FILES[kind])
    with pytest.raises(DataError) as caught:
        load_bars(spec)
    message = str(caught.value)
    market = re.search(r"such as ('?bars\.csv#[^;]+?) --column", message)
    named = shlex.split(market[1])[0].removeprefix("bars.csv") if market else ""
    bars = load_bars(spec + named, parse_options(message))
    assert len(bars) >= 4


def test_a_column_that_says_when_bars_close_is_no_open(tmp_path):
    """Names are split at capitals; a time a moment before midnight is a close."""
    text = days(
        "timeOpen;timeClose;timestamp;open;high;low;close;volume".replace(";", ","),
        "{day}T00:00Z", "{day}T23:59:59.999Z", "{day}T23:59:59.999Z", *BARS[1:], "5",
    )  # fmt: skip
    bars = load_bars(write(tmp_path, text))
    assert bars.timestamp[0] % DAY == 0
    assert "column 'timestamp' is not read: it says when bars close" in bars.notes


def test_the_start_of_a_period_counts_more_than_its_first_trade(tmp_path):
    """As CoinAPI writes both."""
    header = "time_period_start,time_open,time_close,open,high,low,close,volume_traded"
    text = days(header, "{day}T00:00:00Z", "{day}T00:00:07Z", "{day}T23:59:58Z", *BARS[1:], "5")
    bars = load_bars(write(tmp_path, text))
    assert (bars.timestamp % DAY == 0).all()
    assert bars.volume.tolist() == [5.0] * 4


@pytest.mark.parametrize(
    ("header", "time", "symbol"),
    [
        ("MTS,OPEN,CLOSE,HIGH,LOW,VOLUME", "1704067{i}00000", "bars"),
        ("open_time,instrument_name,open,close,high,low,vol", "1704067{i}00000,X-Y", "X-Y"),
    ],
    ids=["bitfinex", "okx"],
)
def test_names_of_exchanges_are_known(tmp_path, header, time, symbol):
    """Times of Bitfinex, and markets of OKX."""
    text = days(header, time, "10", "11", "12", "9", "5")
    assert load_bars(write(tmp_path, text), LoadOptions(source_timeframe="1m")).symbol == symbol


@pytest.mark.parametrize(
    ("row", "places"),
    [
        ("AAA,{day},10,12,9,11,5", {"symbol": "1", "timestamp": "2"}),
        ("0{i} Jan 2024,10,12,9,11,5", {"timestamp": "1"}),
        ("{day},1e-05,1.2e-05,0.9e-05,1.1e-05,5", {"timestamp": "1"}),
    ],
    ids=["ticker", "month", "exponent"],
)
def test_a_first_row_of_numbers_is_no_header(tmp_path, row, places):
    """Columns are named by their places, and no bar is lost."""
    rows = [row.format(i=i, day=f"2024-01-0{i}") for i in range(1, 5)]
    first = len(places) + 1
    values = ("open", "high", "low", "close", "volume")
    columns = {**places, **{name: str(first + k) for k, name in enumerate(values)}}
    bars = load_bars(write(tmp_path, "\n".join([*rows, ""])), LoadOptions(columns=columns))
    assert len(bars) == 4


def test_names_are_known_by_their_places_too(tmp_path):
    """A header line stays one where it names columns."""
    columns = {"timestamp": "1", "open": "2", "high": "3", "low": "4", "close": "5", "volume": "6"}
    spec = write(tmp_path, days("When,A,B,C,D,E", *BARS, "5"))
    assert len(load_bars(spec, LoadOptions(columns=columns))) == 4


def test_volumes_of_both_assets_are_parted_by_the_symbol(tmp_path):
    """Averages beside them are none."""
    header = "time,symbol,open,high,low,close,Volume MA,Volume BTC,Volume USDT"
    text = days(header, "{day}", "BTC/USDT", *BARS[1:], "1", "2", "3")
    assert load_bars(write(tmp_path, text)).volume.tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("written", "number"),
    [("25,09,345", 2_509_345.0), ("1,23,456.50", 123_456.5), ("12,34,56,789", 123_456_789.0)],
)
def test_indian_groups_are_read(tmp_path, written, number):
    """Thousands, then lakhs and crores of two digits."""
    text = days("time;open;high;low;close;volume", "{day};10.5;12.5;9.5;11.5;" + written)
    assert load_bars(write(tmp_path, text)).volume.tolist() == [number] * 4


@pytest.mark.parametrize("price", ["110'165", "110 165", "110-165", "110'16"])
def test_prices_in_thirty_seconds_are_refused(tmp_path, price):
    """With what they would be, and a way on where they may be thousands."""
    text = days("time,open,high,low,close,volume", "{day}", *[price] * 4, "5")
    with pytest.raises(DataError, match=r"is 110\.5\d* in thirty-seconds.*as decimals"):
        load_bars(write(tmp_path, text))


@pytest.mark.parametrize("price", ["110'999", "1'110'165", "110'165.5", "110'400"])
def test_prices_that_are_no_thirty_seconds_are_thousands(tmp_path, price):
    """Digits that no thirty-second has, two groups, or decimals settle it."""
    text = days("time,open,high,low,close,volume", "{day}", *[price] * 4, "5")
    bars = load_bars(write(tmp_path, text))
    assert bars.open[0] == float(price.replace("'", ""))


def test_a_dash_among_prices_is_a_row_without_one(tmp_path):
    """It is dropped with the option."""
    text = days("time,open,high,low,close,volume", *BARS, "5") + "2024-01-05,-,12,9,11,5\n"
    spec = write(tmp_path, text)
    with pytest.raises(DataError, match="missing or not finite"):
        load_bars(spec)
    assert len(load_bars(spec, LoadOptions(drop_bad_bars=True))) == 4


def test_months_in_the_wrong_order_are_one_market(tmp_path):
    """A column that follows from the time parts no markets."""
    rows = [f"2024-{m:02d}-{d:02d},{m},10,12,9,11,5" for m in (2, 1) for d in range(1, 5)]
    text = "\n".join(["time,month,open,high,low,close,volume", *rows, ""])
    with pytest.raises(DataError, match="let --sort do it"):
        load_bars(write(tmp_path, text))


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
def test_ordinary_values_without_names_are_read(tmp_path, order):
    """Opens that meet the close before are in their usual place."""
    close = 100 + np.cumsum(np.random.Generator(np.random.PCG64(1)).integers(-3, 4, 60))
    rows = [
        f"2024-01-01 {i // 60:02d}:{i % 60:02d},{close[i - 1]},{max(close[i - 1 : i + 1])},"
        f"{min(close[i - 1 : i + 1])},{close[i]},5"
        for i in range(1, 60)
    ]
    spec = write(tmp_path, "\n".join([*rows[::order], ""]))
    assert len(load_bars(spec, LoadOptions(sort=True))) == 59


@pytest.mark.parametrize("start", PERIOD_STARTS)
@pytest.mark.parametrize("time", ["timestamp", "open_time", "unix", "Date"])
def test_a_begin_that_another_time_denies_is_refused(tmp_path, start, time):
    """It is no better known than the other, unless a program is known to write both."""
    columns = make_columns(8)
    later = columns["timestamp"] + 7 * 3600 * 10**9
    table = {start: later, time: columns.pop("timestamp"), **columns}
    path = tmp_path / "bars.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    with pytest.raises(DataError, match=f"columns '{start}' and '{time}' could both be the time"):
        load_bars(str(path))


@pytest.mark.parametrize(
    "volumes", [("985", "1.230", "1.231"), ("12.340", "7", "8.001"), ("1.234.567", "9", "1.001")]
)
def test_dots_that_part_thousands_are_refused(tmp_path, volumes):
    """No program writes 1.230 with decimals and 985 without; both remedies are named."""
    rows = [f"2024-01-0{i};10;12;9;11;{volume}" for i, volume in enumerate(volumes, start=1)]
    spec = write(tmp_path, "\n".join(["time;open;high;low;close;volume", *rows, ""]))
    with pytest.raises(DataError, match=r"'volume' holds .* part thousands; --decimal , reads"):
        load_bars(spec)
    whole = [float(volume.replace(".", "")) for volume in volumes]
    assert load_bars(spec, LoadOptions(decimal=",")).volume.tolist() == whole
    if not any(volume.count(".") > 1 for volume in volumes):
        read = load_bars(spec, LoadOptions(decimal="."))
        assert read.volume.tolist() == [float(volume) for volume in volumes]


@pytest.mark.parametrize("missing", ["-", "--", "N/A", "#N/A", "", " - ", "."])
@pytest.mark.parametrize("before", [0, 1, 120])
def test_numbers_that_are_not_there_hide_no_thousands(tmp_path, missing, before):
    """A column of marks and dotted numbers is refused as one of dotted numbers is."""
    volumes = [missing] * before + ["985", missing, "1.230", "1.231"]
    days_of = pd.date_range("2024-01-01", periods=len(volumes)).strftime("%Y-%m-%d")
    rows = [f"{day};10;12;9;11;{volume}" for day, volume in zip(days_of, volumes, strict=True)]
    spec = write(tmp_path, "\n".join(["time;open;high;low;close;volume", *rows, ""]))
    with pytest.raises(DataError, match=r"'volume' holds .* part thousands; --decimal , reads"):
        load_bars(spec)


def test_a_dash_hides_no_thirty_seconds(tmp_path):
    """Prices in thirty-seconds are refused wherever one is missing."""
    rows = [
        f"2024-01-0{i},{','.join([price] * 4)},5"
        for i, price in enumerate(["-", "110'165", "-", "110'160"], start=1)
    ]
    spec = write(tmp_path, "\n".join(["time,open,high,low,close,volume", *rows, ""]))
    with pytest.raises(DataError, match="in thirty-seconds"):
        load_bars(spec, LoadOptions(drop_bad_bars=True))


@pytest.mark.parametrize(
    ("price", "volume", "is_noted"),
    [
        ("42.195", "0", True),
        ("10", "1.234", True),
        ("157.123", "1520", False),
        ("157.123", "0.5", False),
        ("42.195", "1.23456", False),
        ("187.15", "1.234", False),
        ("10", "985", False),
        ("10", "", False),
    ],
)
def test_dots_that_could_part_thousands_are_noted(tmp_path, price, volume, is_noted):
    """Unless another number of the file settles the dots."""
    text = days("time,open,high,low,close,volume", "{day}", *[price] * 4, volume)
    options = LoadOptions(columns={} if volume else {"volume": "none"})
    bars = load_bars(write(tmp_path, text), options)
    assert bars.open[0] == float(price)
    assert any("reads dots as marks of thousands" in note for note in bars.notes) == is_noted


@pytest.mark.parametrize("traded", ["real_volume", "Real Volume", "<VOL>"])
@pytest.mark.parametrize("number", ["3", "0"])
def test_traded_volume_counts_more_than_ticks(tmp_path, traded, number):
    """As MetaTrader writes it, to files and to Python; ticks only where it is zero throughout."""
    header = f"time,open,high,low,close,tick_volume,spread,{traded}"
    bars = load_bars(write(tmp_path, days(header, *BARS, "7", "1", number)))
    assert bars.volume.tolist() == [3.0 if number == "3" else 7.0] * 4
    assert any("counts ticks" in note for note in bars.notes) == (number == "0")
