"""Cases that traders published, each of which was once read wrongly or refused for a false reason.

Behind # stands where: projects of GitHub, programs, vendors. Kinds of cases that have a table of
their own (forms, names, numbers, kinds, markets, places, texts) are there, not here.
"""

import datetime as dt
import itertools

import pyarrow as pa

from data.errors import DataError, TableError
from tests.corpus.row import bars, every, reads, refuses, table, text
from tests.support.series import NAMES, iso, make_columns

DAYS = ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]
OHLCV = "open,high,low,close,volume"


def lines(head, *rows, end="\n"):
    """A file of a header and rows."""
    return text("\n".join([head, *rows]) + end)


def same(times, head="time"):
    """Bars of one price at these times."""
    return lines(f"{head},{OHLCV}", *(f"{time},100,101,99,100.5,5" for time in times))


def minutes(form, start="2024-01-02T09:00", count=4):
    """Quarters of an hour in a form of time."""
    first = dt.datetime.fromisoformat(start)
    return [(first + dt.timedelta(minutes=15 * i)).strftime(form) for i in range(count)]


BAOSTOCK = {"time_format": "%Y%m%d%H%M%S%f"}
QUARTERS = dict.fromkeys(minutes("%Y-%m-%dT%H:%M", count=20))
CLOCKS = {
    "typed": ([dt.date(2024, 1, 2)] * 20, [dt.time.fromisoformat(t[11:]) for t in QUARTERS]),
    "half typed": ([dt.date(2024, 1, 2)] * 20, [t[11:] for t in QUARTERS]),
    "whole numbers": ([20240102] * 20, [int(t[11:].replace(":", "")) for t in QUARTERS]),
}
MARKETCAP = "timeOpen;timeClose;timeHigh;timeLow;name;open;high;low;close;volume;timestamp"
COINAPI = "time_period_start,time_period_end,time_open,time_close,price_open,price_high,price_low,"


def of_coinapi(late):
    """Hours whose first trade came so many milliseconds late."""
    hours = [t[:19] for t in iso(every("1h", 61))]
    return lines(f"{COINAPI}price_close,volume_traded,trades_count", *(
        f"{a}.0000000Z,{b}.0000000Z,{a[:17]}{late(i) // 1000:02d}.{late(i) % 1000:03d}0000Z,"
        f"{a[:14]}59:58.2000000Z,100,101,99,100.5,5,7"
        for i, (a, b) in enumerate(itertools.pairwise(hours))))  # fmt: skip


def of_marketcap(*names):
    """Days of CoinMarketCap, newest first, some columns of times under other names."""
    head = MARKETCAP
    for name, other in names:
        head = head.replace(name, other)
    return lines(head, *(f'"{d}T00:00:00.000Z";"{d}T23:59:59.999Z";"{d}T11:00:00.000Z";'
                         f'"{d}T05:00:00.000Z";"7";100.0;102.0;99.0;101.0;5.5;"{d}T23:59:59.999Z"'
                         for d in DAYS[::-1]))  # fmt: skip


SELDOM = same(1704067200 + 60 * i for i in range(20_000) if i * i % 7 == 2 or i % 11 == 3)
FUTURES = "open_time,open,high,low,close,volume,close_time,quote_volume,count,a,b,ignore"
MONTHS = [
    [f"{i}000,100,101,99,100.5,5,{i + 3599}999,500,9,1,1,0" for i in range(at, at + 72_000, 3600)]
    for at in (1740787200, 1740859200)
]
ADJUSTED = ("2020-08-19,31.60,31.70,31.50,31.60,407774",
            "2020-08-20,31.601051485694285,31.6055601247991,31.58527124882741,31.605560124799105,1",
            "2020-08-21,31.60,31.70,31.50,31.60,407774")  # fmt: skip

ROWS = (
    # baostock.com, minutes whose times are date, clock and milliseconds in one
    *(reads(f"minutes of Baostock, {words}", same(times), options, first="2024-11-12T09:35",
            timeframe="5m", count=len(times))
      for words, times in (("a day", [f"2024111209{m}00000" for m in (35, 40, 45, 50, 55)]),
                           ("two days", [f"202411{day}09{m}00000" for day in (12, 13)
                                         for m in (35, 40, 45, 50)]))
      for options in (BAOSTOCK,)),
    reads("minutes of Baostock, without a format",
          same([f"2024111209{m}00000" for m in (35, 40, 45, 50, 55)]), first="2024-11-12T09:35",
          timeframe="5m"),
    reads("days of Baostock", same([f"202401{day}150000000" for day in (15, 16, 17)]), BAOSTOCK,
          first="2024-01-15T15:00", timeframe="1d"),
    # guptarohit/cryptoCMD#38
    *(reads(f"CoinMarketCap, {words}", of_marketcap(*names), {"sort": True, **options}, times=DAYS,
            timeframe="1d")
      for words, names, options in (
          ("as it is", (), {}), ("said outright", (), {"columns": {"timestamp": "timeOpen"}}),
          ("snake case", (("timeOpen", "time_open"), ("timeClose", "time_close")), {}))),
    # CoinAPI
    *(reads(f"CoinAPI, {words}", of_coinapi(late), options, count=60, timeframe="1h",
            first="2024-01-01", last="2024-01-03T11:00")
      for words, late, options in (
          ("late now and then", lambda i: i * 7919 % 9000, {}), ("always late", lambda i: 120, {}),
          ("merged", lambda i: i * 7919 % 9000, {"timeframe": "1h"}),
          ("said outright", lambda i: 120, {"columns": {"timestamp": "time_period_start"}}))),
    # pola-rs/polars#1386, duckdb, pandas .dt.date
    *(reads(f"a date and a clock, {words}", bars({"date": date, "time": clock}, kind="parquet"),
            times=list(QUARTERS), timeframe="15m") for words, (date, clock) in CLOCKS.items()),
    # pola-rs/polars#23601, questdb/questdb#3039, duckdb/duckdb#1627, arrow-py/arrow#307
    *(reads(f"times such as {minutes(form)[0]}{', said' if options else ''}", same(minutes(form)),
            options, first=first, timeframe="15m")
      for form, options, first in (
          ("%Y-%m-%d %H:%M:%S+00", {}, "2024-01-02T09:00"),
          ("%Y-%m-%d %H:%M:%S+00", {"time_format": "%Y-%m-%d %H:%M:%S%z"}, "2024-01-02T09:00"),
          ("%Y-%m-%d %H:%M:%S-05", {}, "2024-01-02T14:00"),
          ("%Y%m%dT%H%M%SZ", {}, "2024-01-02T09:00"), ("%Y%m%d-%H:%M:%S", {}, "2024-01-02T09:00"))),
    reads("a comma before milliseconds", text("".join(
        f"{row.replace(',', ';')}\n" for row in (f"ts,{OHLCV}", *(
            f"{time},100,101,99,100.5,5" for time in minutes("%Y-%m-%d %H:%M:%S"))))
        .replace(":00;", ":00,000;")), first="2024-01-02T09:00", timeframe="15m"),
    # binance/binance-public-data#283, #246, #177
    refuses("months of Binance put together", lines(FUTURES, *MONTHS[0], FUTURES, *MONTHS[1]), None,
            TableError, "row 20 names the columns again", then={"count": 40, "timeframe": "1h"}),
    # freqtrade/freqtrade#9751, #8982, #3392, polakowo/vectorbt#182
    refuses("minutes of a market that trades seldom", SELDOM, {"timeframe": "15m"}, DataError,
            "--source-timeframe 1m", then={"timeframe": "15m", "first": "2024-01-01"}),
    # freqtrade and own research keep such columns
    *(reads(f"a column of {words} beside bars", bars(5, kind="parquet", other=column), made=5)
      for words, column in (("dicts", [{"a": 1}] * 5), ("lists", [[1]] * 5), ("text", ["a"] * 5),
                            ("bytes", [b"1"] * 5), ("nulls", pa.nulls(5)))),
    # ccxt/ccxt#18181, #21783
    refuses("a time of the message beside the start", table({
        "timestamp": make_columns(5)["timestamp"] // 10**6 + 59_614,
        **{name: make_columns(5)[name] for name in NAMES},
        "start": make_columns(5)["timestamp"] // 10**6}), None, TableError,
        "'timestamp'", "'start'",
        then=[({"columns": {"timestamp": "start"}}, {"made": 5})]),
    # freqtrade#2671, #4114, TheFourGreatErrors/alpha-rptr#20
    reads("a bar that is still open", bars(9, "1h"), now="2024-01-01T08:20", count=9, notes="open"),
    reads("a bar that has just closed", bars(9, "1h"), now="2024-01-01T09:00", count=9, notes=()),
    reads("a bar of the future", bars(9, "1h"), now="2024-01-01T07:50", count=9,
          notes="2024-01-01T08:00"),
    # NinjaTrader, TradeStation, MultiCharts, deltaray-io/iqfeed#1, ccxt#4446
    reads("stamped at the close", same(minutes("%Y%m%d %H%M%S")), {"stamped": "close"},
          first="2024-01-02T08:45", timeframe="15m"),
    # ranaroussi/yfinance#2857, stefan-jansen/machine-learning-for-trading#877
    reads("adjusted prices that miss by one rounding", lines("Date,Open,High,Low,Close,Volume",
                                                             *ADJUSTED),
          values={"high": {1: 31.605560124799105}}, count=3),
    # CME, NSE and Forex keep days of their own
    reads("weeks of days of New York", same([f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}"
                                             for i in range(28)]),
          {"tz": "America/New_York", "timeframe": "1w"}, timeframe="1w", first="2024-01-01T05:00"),
    reads("days of four hours of a broker", same([
        f"2024-01-{8 + i // 6:02d} {4 * (i % 6):02d}:00" for i in range(36)]),
        {"tz": "Europe/Helsinki", "timeframe": "1d"}, timeframe="1d", first="2024-01-07T22:00",
        count=6),
)  # fmt: skip
