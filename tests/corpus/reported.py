"""Hours of a server, as traders reported them: its clock is New York's and seven hours."""

import pandas as pd

from tests.corpus.row import reads, text


def server_hours():
    """Hours of 2024 as servers stamp them, without weekends."""
    hours = pd.date_range("2024-01-01", "2024-12-31 23:00", freq="h", tz="UTC")
    local = hours.tz_convert("America/New_York").tz_localize(None) + pd.Timedelta(hours=7)
    kept = ~local.duplicated() & (local.day_of_week < 5)
    return hours[kept], local[kept]


HOURS, LOCAL = server_hours()
SERVER = "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n" + "".join(
    f"{time:%Y.%m.%d}\t{time:%H:%M:%S}\t1.1\t1.2\t1.0\t1.15\t9\t0\t3\n" for time in LOCAL
)

ROWS = (
    # lucas-campagna/mt5linux#25, fxcm/MarketData#1, CryptoSignal/Crypto-Signal#544
    reads("hours of a server", text(SERVER), {"tz": "America/New_York+7h"},
          times=[int(hour.value) for hour in HOURS]),
)  # fmt: skip
