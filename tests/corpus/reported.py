"""Cases that traders reported: rows without a time, trades, headers behind #, clocks, markets."""

import datetime as dt
import lzma
import struct

import pandas as pd

from data.errors import BarsError, DataError, SourceError, TableError
from tests.corpus.row import bars, reads, refuses, text
from tests.support.series import csv_text, make_columns

WEEKDAYS = [str(day.date()) for day in pd.bdate_range("2024-01-02", periods=60)]
OHLCV = "open,high,low,close,volume"
SIXTY = csv_text(make_columns(60), WEEKDAYS)
EMPTY = ",,,,,\n" * 2
"""Rows of separators alone, as a spreadsheet leaves them."""


def weeks(holidays):
    """Fridays, or the day before where that is a holiday."""
    fridays = [dt.date(2015, 1, 2) + dt.timedelta(weeks=k) for k in range(600)]
    return [str(day - dt.timedelta(days=k in holidays)) for k, day in enumerate(fridays)]


def headed(head, order=(0, 1, 2, 3, 4, 5), above=()):
    """Sixty hours under a header behind #."""
    rows = [line.split(",") for line in csv_text(make_columns(60)).splitlines()[1:]]
    lines = [",".join(row[place] for place in order) for row in rows]
    return text("\n".join([*above, f"# {head}", *lines, ""]))


def crossed(name, steps):
    """Two markets, each of them at two places or of two durations."""
    rows = [
        f"{symbol},{part},{1704067200 + step * i},100,101,99,100.5,{i}"
        for part, step in steps.items()
        for symbol in ("BTCUSDT", "ETHUSDT")
        for i in range(60)
    ]
    return text("\n".join([f"symbol,{name},timestamp,{OHLCV}", *rows, ""]), f"{name}.csv")


def server_hours():
    """Hours of 2024 as servers stamp them: New York's clock and seven hours, without weekends."""
    hours = pd.date_range("2024-01-01", "2024-12-31 23:00", freq="h", tz="UTC")
    local = hours.tz_convert("America/New_York").tz_localize(None) + pd.Timedelta(hours=7)
    kept = ~local.duplicated() & (local.day_of_week < 5)
    return hours[kept], local[kept]


def taiwan(encoding):
    """A month of the exchange of Taiwan: a title, names with a comma behind, years of its own."""
    head = '"日期","成交股數","成交金額","開盤價","最高價","最低價","收盤價","漲跌價差","成交筆數",'
    rows = [f"{int(d[:4]) - 1911}/{d[5:7]}/{d[8:]},\"12,000\",9,10.5,12.5,9.5,11.5,+1.00,7,"
            for d in WEEKDAYS]  # fmt: skip
    title = '"113年01月 2330 XYZ           各日成交資訊"'
    return text(
        "\n".join([title, ",".join(f'"{n}"' for n in head) + ",", *rows, ""]).encode(encoding)
    )


HISTORY = struct.pack("<i64s12siiii", 401, b"(C)opyright", b"EURUSD", 60, 5, 0, 0) + bytes(52)
HISTORY += b"".join(struct.pack("<qddddqiq", 1704067200 + 3600 * i, 1, 2, 1, 2, 5, 0, 0)
                    for i in range(60))  # fmt: skip
TICKS = lzma.compress(b"\0\0\0\1" * 500, format=lzma.FORMAT_ALONE)
SIERRA = b"SCID" + struct.pack("<IIHHI", 56, 40, 1, 0, 0) + bytes(36) + b"\1" * 400
TRADES = "".join(
    f"{1267345678 + i},100.5,0.5,50.25,{1704153600000 + 137 * i},True,True\n" for i in range(60)
)
THREE = "".join(f"{1704153600 + i},100.5,0.5\n" for i in range(60))
QUOTES = "".join(f"20240102 17{i // 60:02d}{i % 60:02d}123,1.10427,1.1043,0\n" for i in range(60))
HOURS, LOCAL = server_hours()
SERVER = "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n" + "".join(
    f"{time:%Y.%m.%d}\t{time:%H:%M:%S}\t1.1\t1.2\t1.0\t1.15\t9\t0\t3\n" for time in LOCAL
)

ROWS = (
    # firefly-iii/firefly-iii#691, bardsoftware/ganttproject#1634: rows of separators alone
    *(refuses(f"two rows without a time, {words}, {options}", text(content), options,
              BarsError, "2 rows without a time", "--drop-bad-bars", then={"count": 60})
      for words, content in (("at the end", SIXTY + EMPTY),
                             ("within", SIXTY.replace(WEEKDAYS[3], EMPTY + WEEKDAYS[3])))
      for options in ({}, {"sort": True}, {"dedupe": True})),
    refuses("two times that are missing, Parquet", bars(
        pd.to_datetime([*WEEKDAYS[:5], None, None, *WEEKDAYS[5:9]], utc=True), kind="parquet"),
        None, BarsError, "2 rows without a time", "--drop-bad-bars", then={"count": 9}),
    # binance/binance-public-data#354, #278
    *(refuses(f"{words} without names", text(content, file), None, TableError, words.split()[0],
              never="--column")
      for words, file, content in (("trades of Binance", "ETHUSDT-trades-2024-01-02.csv", TRADES),
                                   ("trades of Kraken", "XBTUSD.csv", THREE),
                                   ("quotes of HistData", "DAT_ASCII_EURUSD.csv", QUOTES))),
    # astropy/astropy#8674, numpy/numpy#28244: np.savetxt writes "# " before its header
    reads("names behind #", headed(f"time,{OHLCV}"), count=60),
    reads("names behind # below a title", headed(f"time,{OHLCV}", above=["History"]), count=60),
    reads("a quoted name behind #", headed(f'"time",{OHLCV}'), count=60),
    *(refuses(f"{name} behind # is no volume", headed(f"time,open,high,low,close,{name}"), None,
              TableError, "volume") for name in ("open_interest", "vwap", "trades")),
    reads("names behind # in another order", headed("time,close,high,low,open,volume", (
        0, 4, 2, 3, 1, 5)), values={"open": {0: 99.875}, "close": {0: 100.0}}),
    reads("volume first behind #", headed("time,volume,open,high,low,close", (0, 5, 1, 2, 3, 4)),
          values={"volume": {0: 10.0}, "close": {0: 100.0}}),
    # alpacahq/Alpaca-API#227
    *(row for name, steps in (("exchange", {"binance": 3600, "bybit": 3600}),
                              ("interval", {"1h": 3600, "4h": 14_400}))
      for row in (refuses(f"two markets by {name}", crossed(name, steps), None, TableError,
                          "2 markets", "#BTCUSDT"),
                  refuses(f"one of two markets by {name}", crossed(name, steps), None, DataError,
                          f"'{name}'", *steps, never="--sort", market="BTCUSDT",
                          then={"count": 60, "timeframe": "1h"}))),
    # lucas-campagna/mt5linux#25, fxcm/MarketData#1, CryptoSignal/Crypto-Signal#544
    reads("hours of a server", text(SERVER), {"tz": "America/New_York+7h"},
          times=[int(hour.value) for hour in HOURS]),
    # spreadsheets, FRED and EIA (ND), C runtimes (1.#QNAN), Nasdaq (N/D)
    *(refuses(f"a row of {word}", bars(WEEKDAYS, **{
        name: {7: word} for name in ("open", "high", "low", "close")}), None, BarsError, "row 7",
        "--drop-bad-bars", then={"count": 59, "notes": "dropped 1 bad row"})
      for word in ("#DIV/0!", "ND", "N/D", "\u2014", "1.#QNAN", "(null)", "#VALUE!", "-1.#IND")),
    # mlouielu/twstock#22, k66inthesky/TW-stock#2, zake7749/Chatbot#12
    reads("names of Taiwan", text("日期,開盤價,最高價,最低價,收盤價,成交股數\n" + "".join(
        f"{day.replace('-', '/')},10,12,9,11,5\n" for day in WEEKDAYS)), times=WEEKDAYS,
        values={"high": [12] * 60, "volume": [5] * 60}),
    reads("names of Korea", text("일자,시가,고가,저가,종가,거래량\n" + "".join(
        f"{day.replace('-', '/')},10,12,9,11,5\n" for day in WEEKDAYS)), times=WEEKDAYS,
        values={"close": [11] * 60}),
    *(refuses(f"years of Taiwan in {encoding}", taiwan(encoding), None, DataError, "Taiwan",
              "1911") for encoding in ("big5", "utf-8")),
    # FX31337/FX-BT-Scripts#85, cuemacro/findatapy#13
    *(refuses(f"{words}{source}", text(content, file), None, SourceError, words, source=source)
      for words, file, content in (("MetaTrader", "EURUSD60.hst", HISTORY),
                                   ("Dukascopy", "00h_ticks.bi5", TICKS),
                                   ("Sierra Chart", "ESH4.scid", SIERRA))
      for source in ("", "csv:")),
)  # fmt: skip
