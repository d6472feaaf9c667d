"""Files as exchanges, brokers and libraries write them: each holds the same five bars of days."""

import datetime as dt

import pandas as pd

from data.errors import TableError
from tests.corpus import vendors
from tests.corpus.row import reads, refuses, saved, text
from tests.corpus.vendors import BARS
from tests.support.series import NAMES

TIMES = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in range(1, 6)]
DAYS = [f"{time:%Y-%m-%d}" for time in TIMES]


def lines(form, header="", *, newest_first=False):
    """A file: a header, then one line a bar in a form with the names of its parts."""
    rows = vendors.lines(form, times=TIMES).splitlines()[:: -1 if newest_first else 1]
    return "\n".join([*([header] if header else []), *rows, ""])


def comma(text):
    """Decimal commas in place of points."""
    return text.replace(".", ",")


BINANCE = lines("{s}000,{o},{h},{l},{c},{v},{s}999,1.5,7,3.5,4.5,0")
CRYPTO_DATA_DOWNLOAD = lines(
    "{s},{t:%Y-%m-%d} 00:00:00,BTC/USDT,{o},{h},{l},{c},{v},99.5,12",
    "https://www.CryptoDataDownload.com\n"
    "unix,date,symbol,open,high,low,close,Volume BTC,Volume USDT,tradecount",
    newest_first=True,
)
STOOQ = lines(
    "XYZ,D,{t:%Y%m%d},000000,{o},{h},{l},{c},{v},0",
    "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>",
)
METATRADER_5 = lines(
    "{t:%Y.%m.%d}\t00:00:00\t{o}\t{h}\t{l}\t{c}\t{v}\t0\t3",
    "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>",
)
YFINANCE = lines(
    "{t:%Y-%m-%d},{c},{c},{h},{l},{o},{v}",
    "Price,Adj Close,Close,High,Low,Open,Volume\nTicker,XYZ,XYZ,XYZ,XYZ,XYZ,XYZ\nDate,,,,,,",
)
YFINANCE_TWO = lines(
    "{t:%Y-%m-%d},1.0,{c},1.0,{h},1.0,{l},1.0,{o},5,{v}",
    "Price,Close,Close,High,High,Low,Low,Open,Open,Volume,Volume\n"
    "Ticker,ABC,XYZ,ABC,XYZ,ABC,XYZ,ABC,XYZ,ABC,XYZ\nDate,,,,,,,,,,",
)
BY_TICKER = lines(
    "{t:%Y-%m-%d},1.0,1.0,1.0,1.0,5,{o},{h},{l},{c},{v}",
    "Ticker,ABC,ABC,ABC,ABC,ABC,XYZ,XYZ,XYZ,XYZ,XYZ\n"
    "Price,Open,High,Low,Close,Volume,Open,High,Low,Close,Volume\nDate,,,,,,,,,,",
)

FILES = {
    "Binance dump": (BINANCE, {}, "no header line: read as a Binance dump"),
    "Binance dump in microseconds": (
        lines("{s}000000,{o},{h},{l},{c},{v},{s}999999,1.5,7,3.5,4.5,0"), {}, "read as us"),
    "CryptoDataDownload": (CRYPTO_DATA_DOWNLOAD, {"sort": True},
                           "4 rows earlier than the one before, sorted by time"),
    "yfinance with two header lines": (YFINANCE, {}, "column 'Adj Close' is not read"),
    "MetaTrader 5": (METATRADER_5, {}, "column '<VOL>' is zero throughout"),
    "Stooq": (STOOQ, {}, "read as YYYYMMDD"),
    "HistData": (lines("{t:%Y%m%d} 000000;{o};{h};{l};{c};{v}"), {},
                 "no header line: read as time and values"),
    "Nasdaq": (lines("{t:%m/%d/%Y},${c},{v},${o},${h},${l}",
                     "Date,Close/Last,Volume,Open,High,Low", newest_first=True),
               {"sort": True, "time_format": "%m/%d/%Y"}, "times are read as %m/%d/%Y"),
    "Investing.com": ('"Date","Price","Open","High","Low","Vol.","Change %"\n'
                      '"Jan 05, 2024","185.56","182.09","186.01","181.50","59144.5K","1%"\n'
                      '"Jan 04, 2024","181.18","181.99","182.76","180.17","62.3033M","1%"\n'
                      '"Jan 03, 2024","181.91","182.15","183.09","180.88","71.9836M","1%"\n'
                      '"Jan 02, 2024","184.25","184.22","185.88","183.43","58,414.50K","1%"\n'
                      '"Jan 01, 2024","185.64","187.15","188.44","183.89","0.0824887B","1%"\n',
                      {"sort": True}, "read as month name, day, year"),
    "German": (comma(lines("{t:%Y-%m-%d};{o};{h};{l};{c};{v}",
                           "Datum;Er\u00f6ffnung;Hoch;Tief;Schlusskurs;St\u00fcck")), {},
               "read with a decimal comma"),
    "Interactive Brokers with zone": (
        lines("{t:%Y%m%d} 00:00:00 Etc/UTC,{o},{h},{l},{c},{v},{c},7",
              "Date,Open,High,Low,Close,Volume,WAP,Count"), {}, "read as Etc/UTC"),
}  # fmt: skip

VALUES = dict(zip(NAMES, zip(*BARS, strict=True), strict=True))
SERIES = {"timeframe": "1d", "times": DAYS, "values": VALUES}


def gives(name, content, options=None, note=None, *, file="XYZ.csv", **more):
    """A row that gives the five bars, to the last bit."""
    content = text(content, file) if isinstance(content, str | bytes) else content
    seen = {**SERIES, "symbol": "XYZ", "notes": note, **more}
    return reads(name, content, options, **seen)


def frame():
    """The five bars as freqtrade keeps them."""
    stamps = pd.to_datetime(DAYS, utc=True).astype("datetime64[ms, UTC]")
    return pd.DataFrame(BARS, columns=NAMES).assign(date=stamps)


def both():
    """A frame of two tickers, as yfinance gives it: prices above tickers, times in the index."""
    single = frame().set_index("date").rename(columns=str.title)
    tickers = pd.concat({"XYZ": single, "ABC": single * 2}, axis=1).swaplevel(axis=1)
    return tickers.rename_axis(index="Date")


PAIR = CRYPTO_DATA_DOWNLOAD.replace("symbol", "pairname")
TWO_TIMES = lines("{s},2024-02-01,{o},{h},{l},{c},{v}", "unix,date,open,high,low,close,volume")
PLAIN = lines("{t:%Y-%m-%d},{o},{h},{l},{c},{v}", "Date,Open,High,Low,Close,Volume")


def two_tickers(words, content):
    """Rows of a file of two tickers: columns are paired with theirs, and one must be named."""
    content = text(content, "XYZ.csv") if isinstance(content, str) else content
    return (
        refuses(f"two tickers, {words}", content, None, TableError, "2 markets ('",
                f"{content.name}#", then={"count": 5}),
        gives(f"one of two tickers, {words}", content, market="XYZ"),
        refuses(f"none of two tickers, {words}", content, None, TableError, "no market 'QQQ'",
                "'ABC'", "'XYZ'", market="QQQ"),
    )  # fmt: skip


ROWS = (
    *(gives(name, *entry, symbol={"CryptoDataDownload": "BTC/USDT"}.get(name, "XYZ"))
      for name, entry in FILES.items()),
    gives("German, Windows", FILES["German"][0].encode("cp1252"),
          note="text is read as Windows-1252"),
    *two_tickers("by price", YFINANCE_TWO),
    *two_tickers("by ticker", BY_TICKER),
    *two_tickers("Parquet", saved("prices.parquet", lambda path: both().to_parquet(path))),
    refuses("volume of either asset", text(PAIR), {"sort": True}, TableError, "'Volume BTC'",
            "'Volume USDT'", "volume", then={**SERIES}),
    refuses("times that differ", text(TWO_TIMES), None, TableError, "'unix' and 'date'",
            "row 0", "2024-01-01", then={**SERIES}),
    refuses("a meaning that is none", text(PLAIN), {"columns": {"opn": "Open"}}, TableError,
            "'opn' is unknown", "timestamp, ", "did you mean 'open'"),
    gives("freqtrade", saved("BTC_USDT-1d.feather", lambda path: frame().to_feather(path)),
          symbol="BTC_USDT-1d", notes=()),
)  # fmt: skip
