"""Files as exchanges, brokers and libraries write them: each holds the same four bars."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

from data import LoadOptions, load_bars
from data.errors import BarsError, TableError
from tests.support.series import START_NS

DAY_S = 86_400
ROWS = ((100.5, 102.25, 99.75, 101.0, 1500.0), (101.0, 103.0, 100.5, 102.5, 2500.0),
        (102.5, 102.75, 98.0, 98.5, 10_000.0), (98.5, 99.25, 97.75, 99.0, 750.0))  # fmt: skip
"""Open, high, low, close and volume of the first four days of 2024."""

SECONDS = [START_NS // 10**9 + DAY_S * i for i in range(4)]
DAYS = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]


def lines(form, header="", *, tail="", newest_first=False):
    """A file: a header, then one line a bar in a form with the names of its parts."""
    messages = []
    for day, second, (o, h, low, c, v) in zip(DAYS, SECONDS, ROWS, strict=True):
        year, month, date = day.split("-")
        messages.append(
            form.format(
                day=day, s=second, y=year, m=month, d=date, o=o, h=h, l=low, c=c, v=v, n=int(v)
            )
        )
    messages = messages[::-1] if newest_first else messages
    return "\n".join([*([header] if header else []), *messages]) + "\n" + tail


def comma(text):
    """Decimal commas in place of points."""
    return text.replace(".", ",")


BINANCE = lines("{s}000,{o},{h},{l},{c},{v},{s}999,1.5,7,3.5,4.5,0")
CRYPTO_DATA_DOWNLOAD = lines(
    "{s},{day} 00:00:00,BTC/USDT,{o},{h},{l},{c},{v},99.5,12",
    "https://www.CryptoDataDownload.com\n"
    "unix,date,symbol,open,high,low,close,Volume BTC,Volume USDT,tradecount",
    newest_first=True,
)
STOOQ = lines(
    "XYZ,D,{y}{m}{d},000000,{o},{h},{l},{c},{n},0",
    "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>",
)
METATRADER_5 = lines(
    "{y}.{m}.{d}\t00:00:00\t{o}\t{h}\t{l}\t{c}\t{n}\t0\t3",
    "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>",
)
YFINANCE = lines("{day},{c},{c},{h},{l},{o},{n}", "Price,Adj Close,Close,High,Low,Open,Volume\n"
                 "Ticker,XYZ,XYZ,XYZ,XYZ,XYZ,XYZ\nDate,,,,,,")  # fmt: skip
YFINANCE_TWO = lines(
    "{day},1.0,{c},1.0,{h},1.0,{l},1.0,{o},5,{n}",
    "Price,Close,Close,High,High,Low,Low,Open,Open,Volume,Volume\n"
    "Ticker,ABC,XYZ,ABC,XYZ,ABC,XYZ,ABC,XYZ,ABC,XYZ\nDate,,,,,,,,,,",
)
BY_TICKER = lines(
    "{day},1.0,1.0,1.0,1.0,5,{o},{h},{l},{c},{n}",
    "Ticker,ABC,ABC,ABC,ABC,ABC,XYZ,XYZ,XYZ,XYZ,XYZ\n"
    "Price,Open,High,Low,Close,Volume,Open,High,Low,Close,Volume\nDate,,,,,,,,,,",
)

FILES = {
    "Binance dump": (BINANCE, {}, "no header line: read as a Binance dump"),
    "Binance dump with header": (
        lines("{s}000,{o},{h},{l},{c},{v},{s}999,1.5,7,3.5,4.5,0",
              "open_time,open,high,low,close,volume,close_time,quote_volume,count,"
              "taker_buy_volume,taker_buy_quote_volume,ignore"), {}, "read as ms"),
    "Binance dump in microseconds": (
        lines("{s}000000,{o},{h},{l},{c},{v},{s}999999,1.5,7,3.5,4.5,0"), {}, "read as us"),
    "Kraken dump": (lines("{s},{o},{h},{l},{c},{v},17"), {}, "read as a Kraken dump"),
    "Bitstamp": (lines("{s},{o},{h},{l},{c},{v}", "timestamp,open,high,low,close,volume"), {},
                 "read as s"),
    "CryptoDataDownload": (CRYPTO_DATA_DOWNLOAD, {"sort": True},
                           "3 rows earlier than the one before, sorted by time"),
    "TradingView": (lines("{day}T00:00:00Z,{o},{h},{l},{c},{v},50",
                          "time,open,high,low,close,Volume,Volume MA"), {}, None),
    "yfinance": (lines("{day},{o},{h},{l},{c},{c},{n}",
                       "Date,Open,High,Low,Close,Adj Close,Volume"), {},
                 "column 'Adj Close' is not read"),
    "yfinance intraday": (lines("{day} 01:00:00+01:00,{o},{h},{l},{c},{n}",
                                "Datetime,Open,High,Low,Close,Volume"), {}, None),
    "yfinance with two header lines": (YFINANCE, {}, "column 'Adj Close' is not read"),
    "MetaTrader 4": (lines("{y}.{m}.{d},00:00,{o},{h},{l},{c},{n}"), {},
                     "no header line: read as a MetaTrader export"),
    "MetaTrader 5": (METATRADER_5, {}, "column '<VOL>' is zero throughout"),
    "Stooq": (STOOQ, {}, "read as YYYYMMDD"),
    "HistData": (lines("{y}{m}{d} 000000;{o};{h};{l};{c};{n}"), {},
                 "no header line: read as time and values"),
    "Dukascopy": (lines("{d}.{m}.{y} 00:00:00.000,{o},{h},{l},{c},{v}",
                        "Gmt time,Open,High,Low,Close,Volume"), {}, "read as day.month.year"),
    "Interactive Brokers": (lines("{y}{m}{d}  00:00:00,{o},{h},{l},{c},{n},{c},7",
                                  "date,open,high,low,close,volume,average,barCount"), {},
                            "read as YYYYMMDD"),
    "Nasdaq": (lines("{m}/{d}/{y},${c},{n},${o},${h},${l}",
                     "Date,Close/Last,Volume,Open,High,Low", newest_first=True),
               {"sort": True, "time_format": "%m/%d/%Y"}, "times are read as %m/%d/%Y"),
    "Investing.com": ('"Date","Price","Open","High","Low","Vol.","Change %"\n'
                      '"Jan 04, 2024","99.0","98.5","99.25","97.75","0.75K","1%"\n'
                      '"Jan 03, 2024","98.5","102.5","102.75","98.0","10K","1%"\n'
                      '"Jan 02, 2024","102.5","101.0","103.0","100.5","2.50K","1%"\n'
                      '"Jan 01, 2024","101.0","100.5","102.25","99.75","0.0015M","1%"\n',
                      {"sort": True}, "read as month name, day, year"),
    "German": (comma(lines("{day};{o};{h};{l};{c};{v}",
                           "Datum;Er\u00f6ffnung;Hoch;Tief;Schlusskurs;St\u00fcck")), {},
               "read with a decimal comma"),
    "French": (comma(lines("{d}/{m}/{y};{o};{h};{l};{c};{v}",
                           "Date;Ouverture;Plus haut;Plus bas;Cl\u00f4ture;Volume")),
               {"time_format": "%d/%m/%Y"}, "read with a decimal comma"),
    "Spanish": (lines("{day},{o},{h},{l},{c},{v}",
                      "Fecha,Apertura,M\u00e1ximo,M\u00ednimo,Cierre,Volumen"), {}, None),
    "Polish": (lines("{day},{o},{h},{l},{c},{v}",
                     "Data,Otwarcie,Najwyzszy,Najnizszy,Zamkniecie,Wolumen"), {}, None),
    "Chinese": (lines("{day},{o},{h},{l},{c},{v}",
                      "\u65e5\u671f,\u5f00\u76d8,\u6700\u9ad8,\u6700\u4f4e,\u6536\u76d8,"
                      "\u6210\u4ea4\u91cf"), {}, None),
    "Japanese": (lines("{day},{o},{h},{l},{c},{v}",
                       "\u65e5\u4ed8,\u59cb\u5024,\u9ad8\u5024,\u5b89\u5024,\u7d42\u5024,"
                       "\u51fa\u6765\u9ad8"), {}, None),
    "pandas": (lines("{day},{o},{h},{l},{c},{v}", ",open,high,low,close,volume"), {}, None),
    "pandas read again": (lines("{day},{o},{h},{l},{c},{v}",
                                "Unnamed: 0,open,high,low,close,volume"), {}, None),
    "Interactive Brokers with zone": (
        lines("{y}{m}{d} 00:00:00 Etc/UTC,{o},{h},{l},{c},{n},{c},7",
              "Date,Open,High,Low,Close,Volume,WAP,Count"), {}, "read as Etc/UTC"),
    "Sierra Chart": (lines("{y}/{m}/{d}, 00:00:00.000000, {o}, {h}, {l}, {c}, {v}, 5",
                           "Date, Time, Open, High, Low, Last, Volume, NumberOfTrades"), {},
                     None),
    "Tiingo": (lines("{day} 00:00:00+00:00,{c},{h},{l},{o},{n},1.5",
                     "date,close,high,low,open,volume,adjClose"), {}, "'adjClose' is not read"),
    "Polygon flat file": (lines("XYZ,{n},{o},{c},{h},{l},{s}000000000,5",
                                "ticker,volume,open,close,high,low,window_start,transactions"),
                          {}, "read as ns"),
    "Excel": ("sep=;\n" + lines("{day};{o};{h};{l};{c};{v}", "Date;Open;High;Low;Close;Volume"),
              {}, "1 lines above the header are passed over"),
    "other names": (lines("{day},{o},{h},{l},{c},{v}", "When,A,B,C,D,E"),
                    {"columns": {"timestamp": "When", "open": "a", "high": "B", "low": "C",
                                 "close": "D", "volume": "E"}}, None),
    "no names": (lines("x,{day},{o},{c},{h},{l},{v}").replace("x,", "1,"),
                 {"columns": {"timestamp": "2", "open": "3", "close": "4", "high": "5", "low": "6",
                              "volume": "7"}}, "columns are named by their places"),
}  # fmt: skip


def write(folder, text, name="XYZ.csv"):
    """Write a file and give its spec."""
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return f"csv:{path}"


def assert_is_the_series(bars):
    """The four bars, to the last bit."""
    assert (bars.timestamp // 10**9).tolist() == SECONDS
    names = ("open", "high", "low", "close", "volume")
    actual = np.stack([getattr(bars, name) for name in names], axis=1)
    assert actual.tolist() == [list(row) for row in ROWS]
    assert bars.timeframe == "1d"


@pytest.mark.parametrize("name", FILES)
def test_layout_is_recognised(tmp_path, name):
    """Every layout gives the same bars, and notes its assumptions."""
    text, options, note = FILES[name]
    bars = load_bars(write(tmp_path, text), LoadOptions(**options))
    assert_is_the_series(bars)
    assert note is None or any(note in message for message in bars.notes), bars.notes


@pytest.mark.parametrize("name", ["Binance dump", "MetaTrader 5", "German"])
def test_layout_is_recognised_when_packed(tmp_path, name):
    """Packing changes nothing."""
    text, options, _ = FILES[name]
    assert_is_the_series(load_bars(write(tmp_path, text, "XYZ.csv.gz"), LoadOptions(**options)))


def test_headers_of_a_western_windows_are_read(tmp_path):
    """Programs of brokers write such files still; the note names the reading."""
    text, options, _ = FILES["German"]
    (tmp_path / "XYZ.csv").write_bytes(text.encode("cp1252"))
    bars = load_bars(f"csv:{tmp_path}/XYZ.csv", LoadOptions(**options))
    assert_is_the_series(bars)
    assert bars.notes[0].startswith("text is read as Windows-1252; save it as UTF-8 if")


def test_tickers_of_digits_are_no_row_of_values(tmp_path):
    """As exchanges of Korea and Japan name their shares."""
    text = YFINANCE_TWO.replace("ABC", "005930").replace("XYZ", "000660")
    with pytest.raises(TableError, match="names 2 markets"):
        load_bars(write(tmp_path, text))


@pytest.mark.parametrize("text", [YFINANCE_TWO, BY_TICKER], ids=["by price", "by ticker"])
def test_a_file_of_two_tickers_asks_for_one(tmp_path, text):
    """Columns are paired with their ticker; the one behind the path is read."""
    spec = write(tmp_path, text)
    with pytest.raises(TableError, match=r"2 markets \('ABC', 'XYZ'\).* such as XYZ.csv#ABC"):
        load_bars(spec)
    bars = load_bars(f"{spec}#XYZ")
    assert_is_the_series(bars)
    assert bars.symbol == "XYZ"
    with pytest.raises(TableError, match="no market 'QQQ' in this file; it holds 'ABC', 'XYZ'"):
        load_bars(f"{spec}#QQQ")


def test_one_market_is_picked_from_rows_of_many(tmp_path):
    """Rows of the market behind the path, in the file's order."""
    market = lines("{day},{o},{h},{l},{c},{v},XYZ", "date,open,high,low,close,volume,ticker")
    text = market + lines("{day},1.0,1.0,1.0,1.0,5,ABC")
    bars = load_bars(write(tmp_path, text, "all.csv") + "#XYZ")
    assert_is_the_series(bars)
    assert bars.symbol == "XYZ"


def test_the_volume_of_a_pair_is_that_of_its_base(tmp_path):
    """Without a symbol both could be meant, and an option decides."""
    spec = write(tmp_path, CRYPTO_DATA_DOWNLOAD.replace("symbol", "pairname"))
    with pytest.raises(TableError, match=r"'Volume BTC' and 'Volume USDT' could both be volume"):
        load_bars(spec, LoadOptions(sort=True))
    chosen = LoadOptions(sort=True, columns={"volume": "Volume BTC"})
    assert_is_the_series(load_bars(spec, chosen))


def test_columns_that_disagree_about_the_time_are_refused(tmp_path):
    """Both are shown in the first row that differs; naming one settles it."""
    text = lines("{s},2024-02-01,{o},{h},{l},{c},{v}", "unix,date,open,high,low,close,volume")
    spec = write(tmp_path, text)
    with pytest.raises(TableError, match=r"'unix' and 'date' could both .*row 0 has 2024-01-01"):
        load_bars(spec)
    assert_is_the_series(load_bars(spec, LoadOptions(columns={"timestamp": "unix"})))


def test_files_without_volume_are_read_when_a_person_says_so(tmp_path):
    """Zero throughout, with two notes; else the option is named."""
    spec = write(tmp_path, lines("{day},{o},{h},{l},{c}", "Date,Open,High,Low,Close"))
    with pytest.raises(TableError, match=r"named volume; .* --column volume=none"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(columns={"volume": "none"}))
    assert not bars.volume.any()
    assert "there is no volume: it is read as zero" in bars.notes


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"opn": "Open"}, r"'opn' is unknown; known: timestamp, .* did you mean 'open'"),
        ({"open": "Opening"}, r"open=Opening: there is no such column; columns are 'Date'"),
        ({"open": "17"}, "there is no such column"),
    ],
)
def test_columns_that_do_not_exist_are_refused(tmp_path, columns, words):
    """The option, and the columns there are."""
    spec = write(tmp_path, lines("{day},{o},{h},{l},{c},{v}", "Date,Open,High,Low,Close,Volume"))
    with pytest.raises(TableError, match=words):
        load_bars(spec, LoadOptions(columns=columns))


def test_a_file_without_names_that_is_not_known_shows_its_first_row(tmp_path):
    """The meaning of eight numbers is not guessed."""
    spec = write(tmp_path, lines("{s},{o},{h},{l},{c},{o},{v},17"))
    with pytest.raises(TableError, match=r"8 columns such as '1704067200'.*--column timestamp=1"):
        load_bars(spec)


def test_columns_in_another_order_than_expected_break_the_law(tmp_path):
    """A dump with open, close, high, low is not taken for one with open, high, low, close."""
    with pytest.raises(BarsError, match="row 0"):
        load_bars(write(tmp_path, lines("{s},{o},{c},{h},{l},{v},17")))


def test_thousands_and_decimals_that_could_be_either_are_refused(tmp_path):
    """1,234 is one number in London and another in Berlin."""
    text = lines('{day},"1,234","1,236","1,233","1,235",{n}', "Date,Open,High,Low,Close,Volume")
    spec = write(tmp_path, text)
    with pytest.raises(TableError, match=r"'Open' holds numbers such as '1,234'; --decimal"):
        load_bars(spec)
    assert load_bars(spec, LoadOptions(decimal=".")).open[0] == 1234.0
    assert load_bars(spec, LoadOptions(decimal=",")).open[0] == 1.234


def frame():
    """The four bars as freqtrade keeps them."""
    columns = {n: [row[i] for row in ROWS] for i, n in enumerate(("open", "high", "low", "close"))}
    stamps = pd.to_datetime(DAYS, utc=True).astype("datetime64[ms, UTC]")
    return pd.DataFrame({"date": stamps, **columns, "volume": [row[4] for row in ROWS]})


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
def test_freqtrade_feather_is_read(tmp_path, compression):
    """However it is packed; the stem names the market."""
    path = tmp_path / "BTC_USDT-1d.feather"
    frame().to_feather(path, compression=compression)
    bars = load_bars(f"feather:{path}")
    assert_is_the_series(bars)
    assert bars.symbol == "BTC_USDT-1d"
    assert bars.notes == ()
    assert load_bars(str(path)).content_hash == bars.content_hash


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_yfinance_frames_are_read_as_pandas_keeps_them(tmp_path, kind):
    """Columns with two names, price and ticker, and the time in the index."""
    single = frame().set_index("date").rename(columns=str.title)
    both = pd.concat({"XYZ": single, "ABC": single * 2}, axis=1).swaplevel(axis=1)
    both.index.name = "Date"
    path = tmp_path / f"prices.{kind}"
    if kind == "parquet":
        both.to_parquet(path)
    else:
        table = pa.Table.from_pandas(both)
        pa.feather.write_feather(table, str(path))
    with pytest.raises(TableError, match=r"2 markets \('XYZ', 'ABC'\)"):
        load_bars(f"{kind}:{path}")
    bars = load_bars(f"{kind}:{path}#XYZ")
    assert_is_the_series(bars)
    assert bars.symbol == "XYZ"
