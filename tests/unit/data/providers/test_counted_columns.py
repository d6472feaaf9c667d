"""Lists of bars as pandas saves them, whose columns are only counted, and rows without a header."""

import warnings

import numpy as np
import pandas as pd
import pytest

from data import load_bars
from data.errors import DataError
from data.table import LoadOptions
from tests.support.flags import parse_options

COUNT = 60
RANDOM = np.random.Generator(np.random.PCG64(5))
CLOSE = 100 + RANDOM.integers(-9, 10, COUNT).cumsum() / 8
OPEN = np.r_[100.0, CLOSE[:-1]]
HIGH, LOW = np.maximum(OPEN, CLOSE) + 0.25, np.minimum(OPEN, CLOSE) - 0.5
VOLUME = RANDOM.integers(1, 9, COUNT) * 1.5
TIME_MS = 1_704_067_200_000 + 3_600_000 * np.arange(COUNT)

CCXT = [TIME_MS, OPEN, HIGH, LOW, CLOSE, VOLUME]
BINANCE = [*CCXT, TIME_MS + 3_599_999, VOLUME * CLOSE, VOLUME // 1, VOLUME, VOLUME, VOLUME * 0]
LISTS = {"ccxt": CCXT, "Binance": BINANCE}
OTHERS = {
    "Bitfinex": [TIME_MS, OPEN, CLOSE, HIGH, LOW, VOLUME],
    "Coinbase": [TIME_MS // 1000, LOW, HIGH, OPEN, CLOSE, VOLUME],
    "close first": [TIME_MS, CLOSE, HIGH, LOW, OPEN, VOLUME],
    "seconds": [TIME_MS // 1000, OPEN, HIGH, LOW, CLOSE, VOLUME],
    "Gate.io": [TIME_MS // 1000, VOLUME, CLOSE, HIGH, LOW, OPEN],
}
MONEY = VOLUME * CLOSE + 0.5
WIDE = {
    "Bybit": [TIME_MS, OPEN, HIGH, LOW, CLOSE, VOLUME, MONEY],
    "KuCoin": [TIME_MS // 1000, OPEN, CLOSE, HIGH, LOW, VOLUME, MONEY],
    "Kraken": [TIME_MS // 1000, OPEN, HIGH, LOW, CLOSE, (HIGH + LOW) / 2, VOLUME, VOLUME // 1],
    "OKX": [TIME_MS, OPEN, HIGH, LOW, CLOSE, VOLUME, VOLUME / 8, MONEY, VOLUME * 0 + 1],
    "money first": [TIME_MS, MONEY, VOLUME, CLOSE, OPEN, LOW, HIGH],
}


def save(columns, folder, form):
    """A frame of columns that have no names, saved by pandas; its source."""
    frame = pd.DataFrame(dict(enumerate(columns)))
    path = folder / f"bars.{form.partition(' ')[0]}"
    if path.suffix == ".csv":
        frame.to_csv(path, index=form.endswith("index"))
    else:
        getattr(frame.set_axis(frame.columns.astype(str), axis=1), f"to_{path.suffix[1:]}")(path)
    return str(path)


def assert_is_the_series(bars):
    """The bars, to the last bit."""
    assert bars.timestamp.tolist() == (TIME_MS * 10**6).tolist()
    for name, column in zip(("open", "high", "low", "close", "volume"), CCXT[1:], strict=True):
        assert getattr(bars, name).tolist() == column.tolist(), name


@pytest.mark.parametrize("form", ["csv", "csv with index", "parquet", "feather"])
@pytest.mark.parametrize("program", LISTS)
def test_lists_of_programs_are_known_by_what_they_hold(tmp_path, program, form):
    """Names of pandas are columns 0, 1, 2; the note names their meaning."""
    bars = load_bars(save(LISTS[program], tmp_path, form))
    assert_is_the_series(bars)
    assert bars.notes[0].startswith(f"names only count columns: read as {program} lists bars")


def test_a_list_without_volume_is_read_when_a_person_says_so(tmp_path):
    """The options that change no order."""
    spec = save(CCXT, tmp_path, "csv")
    assert not load_bars(spec, LoadOptions(columns={"volume": "none"})).volume.any()


@pytest.mark.parametrize("form", ["csv", "csv with index", "parquet"])
@pytest.mark.parametrize("kind", OTHERS)
def test_other_lists_are_refused_with_their_order(tmp_path, kind, form):
    """The message names the order that the values show, and it reads them."""
    spec = save(OTHERS[kind], tmp_path, form)
    with pytest.raises(DataError, match="names only count columns, and") as caught:
        load_bars(spec)
    assert_is_the_series(load_bars(spec, parse_options(str(caught.value))))


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("head", ["counted", "counted, index", "none"])
@pytest.mark.parametrize("kind", WIDE)
def test_lists_of_other_widths_are_refused_with_their_order(tmp_path, kind, head, order):
    """By the first rows, with names or places; a line of counted names is no row."""
    frame = pd.DataFrame(dict(enumerate(WIDE[kind])))[::order]
    path = tmp_path / "bars.csv"
    frame.to_csv(path, header=head != "none", index=head == "counted, index")
    with pytest.raises(DataError, match="say which is which") as caught:
        load_bars(str(path))
    options = parse_options(str(caught.value), sort=order < 0)
    assert_is_the_series(load_bars(str(path), options))


@pytest.mark.parametrize("odd", ["1e999", "-1e308", "", "x"])
def test_numbers_that_are_none_leave_the_order_of_others(tmp_path, odd):
    """The advice follows from the rest, without a warning of the computation."""
    frame = pd.DataFrame(dict(enumerate(WIDE["KuCoin"]))).astype(object)
    for row in (3, 4):
        frame.iloc[row, 2] = odd
    frame.to_csv(tmp_path / "bars.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="open=1 --column high=3 --column low=4 --column cl"):
            load_bars(str(tmp_path / "bars.csv"))


def test_prices_alone_are_refused_with_no_volume(tmp_path):
    """The volume that a list does not have is said, and its columns are named."""
    spec = save(CCXT[:5], tmp_path, "csv")
    with pytest.raises(DataError, match=r"names only count 5 columns; .*volume=none") as caught:
        load_bars(spec)
    assert load_bars(spec, parse_options(str(caught.value))).close.tolist() == CLOSE.tolist()


@pytest.mark.parametrize("row", ["", "1,2", ",,,,,,,,,,"], ids=["blank", "short", "long"])
def test_names_that_count_columns_over_other_rows_are_refused(tmp_path, row):
    """Whatever stands in the first of them."""
    (tmp_path / "bars.csv").write_text(f"0,1,2,3,4,5,6\n{row}\n")
    with pytest.raises(DataError, match=r"names only count 7 columns; they hold .*: bars have a time"):
        load_bars(str(tmp_path / "bars.csv"))


@pytest.mark.parametrize("text", ["0,1,2,3,4,5,6\n", "0,1,2,3,4,5,6"])
def test_names_that_count_columns_alone_are_no_bars(tmp_path, text):
    """A file that holds nothing else says so."""
    (tmp_path / "bars.csv").write_text(text)
    with pytest.raises(DataError, match="there are no bars after the header line"):
        load_bars(str(tmp_path / "bars.csv"))


def test_one_bad_bar_is_no_other_order(tmp_path):
    """It is refused as a bad bar, and dropped with the option."""
    spec = save([TIME_MS, OPEN, np.r_[HIGH[:-1], 1.0], *CCXT[3:]], tmp_path, "csv")
    with pytest.raises(DataError, match="1 row with a high below"):
        load_bars(spec)
    assert len(load_bars(spec, LoadOptions(drop_bad_bars=True))) == COUNT - 1


ROWS = {
    "ticker": "AAA,{day},{o},{h},{l},{c},{v}",
    "MetaStock": "AAA,D,{day},000000,{o},{h},{l},{c},{v},0",
}


@pytest.mark.parametrize("kind", ["ticker", "MetaStock"])
def test_rows_that_begin_with_a_ticker_are_read_by_the_places_that_are_named(tmp_path, kind):
    """Market, date, time of day and prices each in their place."""
    lines = [
        ROWS[kind].format(day=f"202401{i + 1:02d}", o=OPEN[i], h=HIGH[i], l=LOW[i], c=CLOSE[i],
                          v=VOLUME[i])
        for i in range(20)
    ]  # fmt: skip
    (tmp_path / "x.csv").write_text("\n".join([*lines, ""]))
    with pytest.raises(DataError, match="say which is which by place, such as") as caught:
        load_bars(str(tmp_path / "x.csv"))
    bars = load_bars(str(tmp_path / "x.csv"), parse_options(str(caught.value)))
    assert (bars.symbol, bars.timeframe) == ("AAA", "1d")
    assert (bars.open.tolist(), bars.close.tolist()) == (OPEN[:20].tolist(), CLOSE[:20].tolist())


def test_contracts_that_follow_one_another_are_one_market_where_a_person_says_so(tmp_path):
    """The message about several markets offers it where times go on, and only there."""
    rows = [f"2024-01-{i + 1:02d},ES{'HM'[i // 5]}4,10,12,9,11,5" for i in range(10)]
    header = "date,symbol,open,high,low,close,volume"
    (tmp_path / "es.csv").write_text("\n".join([header, *rows, ""]))
    spec = str(tmp_path / "es.csv")
    with pytest.raises(DataError, match=r"es\.csv#ESH4, or read all rows as one market") as caught:
        load_bars(spec)
    bars = load_bars(spec, parse_options(str(caught.value)))
    assert (len(bars), bars.symbol) == (10, "es")
    assert len(load_bars(f"{spec}#ESM4")) == 5


def test_markets_beside_one_another_are_never_one(tmp_path):
    """Their times come twice: one market is named instead."""
    rows = [f"2024-01-{i // 2 + 1:02d},{'AB'[i % 2]},10,12,9,11,{i}" for i in range(10)]
    header = "date,symbol,open,high,low,close,volume"
    (tmp_path / "x.csv").write_text("\n".join([header, *rows, ""]))
    with pytest.raises(DataError, match=r"such as x\.csv#A$"):
        load_bars(str(tmp_path / "x.csv"))
    with pytest.raises(DataError, match="parts the rows into 2 markets"):
        load_bars(str(tmp_path / "x.csv"), LoadOptions(columns={"symbol": "none"}))
