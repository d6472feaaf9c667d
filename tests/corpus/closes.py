"""A column of closes beside the times of bars, and times that are stamped at closes."""

import pyarrow as pa

from data.errors import DataError
from tests.corpus.row import bars, every, reads, refuses

DATES = [f"2024-01-0{i}" for i in range(1, 6)]
FIRST, NEXT, BEFORE = "2024-01-01", "2024-01-02", "2023-12-31"
OPENS, CLOSES = [f"{day}T00:00:00Z" for day in DATES[:4]], [f"{day}T00:00:00Z" for day in DATES[1:]]
MOMENTS = [f"{day}T23:59:59.999Z" for day in DATES[:4]]
LATE = [f"{day}T05:00:00Z" for day in DATES[1:]]
YEARS_LATE = [time.replace("2024", "2027") for time in OPENS]
FIRSTS = [f"2024-01-0{i}T00:{i * i:02}:07.{i}91Z" for i in range(1, 5)]
LASTS = [f"2024-01-0{i}T2{4 - i}:00:31.03Z" for i in range(1, 5)]
THOUSANDS = [1000 * 86_400 * i for i in range(10, 14)]
SECONDS = [f"2024-01-01T00:00:0{i}Z" for i in range(4)]
CLOSE = {"stamped": "close"}
BOTH_WAYS = [({"columns": {}}, {"first": FIRST}), ({"stamped": "open"}, {"first": NEXT})]
"""As closes bars open a day earlier, as opens they stay."""


def timed(name, times, close_name="close_time", closes=CLOSES):
    """A file of times and of closes."""
    return bars({name: times, close_name: closes})


def as_type(kind):
    """Times and closes as pandas keeps them."""
    day = pa.array(every("1d", 5)).cast(pa.timestamp("ns", "UTC"))
    return bars({"timestamp": day[1:], "timeClose": day[1:]}, kind=kind)


def closing_after(*days):
    """Bars 1,000 days apart that close so many days after they open."""
    return [str(time + 86_400 * day) for time, day in zip(THOUSANDS, days, strict=True)]


ROWS = (
    *(refuses(f"{name} holds closes, {words}", timed(name, CLOSES, closes=closes), {}, DataError,
              "the times of column 'close_time'", then=BOTH_WAYS)
      for name, closes, words in (("timestamp", CLOSES, "midnights"),
                                  ("t", MOMENTS, "a moment before"))),
    *(refuses(f"closes typed in {kind}", as_type(kind), {}, DataError,
              "the times of column 'timeClose'", then=BOTH_WAYS)
      for kind in ("parquet", "feather")),
    reads("three columns of CoinMarketCap", bars({"timestamp": CLOSES, "timeOpen": OPENS,
                                                  "timeClose": CLOSES}), first=FIRST,
          notes="column 'timestamp' is not read: it says when bars close"),
    *(refuses(f"opens are no closes: {'/'.join(columns)}", bars(columns), CLOSE, DataError,
              "says when bars open", "leave --stamped out",
              then=[({"columns": {}}, {"first": FIRST}), (CLOSE, {"first": BEFORE})])
      for columns in ({"open_time": OPENS}, {"start": OPENS, "end": CLOSES},
                      {"t": OPENS, "end": CLOSES})),
    refuses("closes that a person names", bars({"close_time": CLOSES}),
            {"columns": {"timestamp": "close_time"}}, DataError, "says when bars close",
            "--stamped close", then={"first": FIRST}),
    *(refuses(f"no time although its name says so: {left}",
              bars({"time_left": [left] * 4, "timestamp": OPENS}), {}, DataError,
              "--column timestamp=timestamp reads",
              then=[({"time_format": None}, {"first": FIRST})])
      for left in ("35", "01/02/2024")),
    *(refuses(f"closes after the next {name}", timed(name, OPENS, closes=YEARS_LATE), {}, DataError,
              "after the next one opens", "row 0", then={"first": FIRST})
      for name in ("time", "open_time")),
    refuses("first and last trades", bars({"time_open": FIRSTS, "time_close": LASTS}), {},
            DataError, "begin and end at their trades"),
    reads("first and last trades of periods", bars({"time_period_start": OPENS, "time_open": FIRSTS,
                                                    "time_close": LASTS}), first=FIRST),
    *(refuses(f"closes long before the next {name}, {days}",
              timed(name, list(map(str, THOUSANDS)), closes=closing_after(*days)), {}, DataError,
              "after they open", "1000d lie between",
              then=[({"columns": {}}, {"timeframe": f"{max(days)}d", "count": 4}),
                    ({"source_timeframe": None}, {"timeframe": "1000d", "count": 4})])
      for name, days in (("time", (1, 1, 1, 1)), ("open_time", (1, 2, 3, 4)))),
)  # fmt: skip
