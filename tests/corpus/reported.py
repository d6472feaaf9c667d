"""Cases that traders reported: rows without a time, series by interval, clocks of servers."""

import pandas as pd

from data.errors import BarsError, DataError, TableError
from tests.corpus.row import bars, reads, refuses, text
from tests.support.series import csv_text, make_columns

WEEKDAYS = [str(day.date()) for day in pd.bdate_range("2024-01-02", periods=60)]
OHLCV = "open,high,low,close,volume"
SIXTY = csv_text(make_columns(60), WEEKDAYS)
EMPTY = ",,,,,\n" * 2
"""Rows of separators alone, as a spreadsheet leaves them."""


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
      for options in ({}, {"sort": True})),
    refuses("two times that are missing, Parquet", bars(
        pd.to_datetime([*WEEKDAYS[:5], None, None, *WEEKDAYS[5:9]], utc=True), kind="parquet"),
        None, BarsError, "2 rows without a time", "--drop-bad-bars", then={"count": 9}),
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
)  # fmt: skip
