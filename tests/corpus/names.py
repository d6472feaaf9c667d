"""Names of columns: of programs and languages, in capitals, doubled, missing, misleading."""

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from data.errors import DataError, TableError
from data.providers.columns import PERIOD_STARTS
from tests.corpus.row import bars, every, reads, refuses, saved, table, text
from tests.support.series import NAMES, iso, make_columns

LANGUAGES = {"gb18030": ("日期,开盘,收盘,最高,最低,成交量", "GB 18030"),
             "cp1251": ("Дата,Открытие,Закрытие,Максимум,Минимум,Объем", "Windows-1251"),
             "cp1252": ("Datum,Eröffnung,Schluss,Hoch,Tief,Stück", "Windows-1252"),
             "cp932": ("日付,始値,終値,高値,安値,出来高", "Shift JIS")}  # fmt: skip
"""Names of time, open, close, high, low and volume by encoding, and how a note calls it."""
ROWS_OF_DAYS = "".join(f"2024-01-0{i},10.5,11,12,9,{i}\n" for i in range(1, 6))
PLAIN = f"time,open,close,high,low,volume\n{ROWS_OF_DAYS}"
FIVE = {"open": [10.5] * 5, "high": [12] * 5, "low": [9] * 5, "close": [11] * 5,
        "volume": [1, 2, 3, 4, 5]}  # fmt: skip
DAYS = [f"2024-01-0{i}" for i in range(1, 5)]
HEADS = ("timestamp", *NAMES)


def named(*names, order=HEADS, **more):
    """Five bars of the builder under other names, in another order, beside other columns."""
    columns = make_columns(5)
    columns["timestamp"] = iso(columns["timestamp"])
    return table({**{name: columns[own] for name, own in zip(names, order, strict=True)}, **more})


def days(head, *cells, count=4):
    """Rows of days whose cells are formats of the day and its number."""
    rows = [",".join(cells).format(day=day, i=i) for i, day in enumerate(DAYS[:count])]
    return text("\n".join([head, *rows, ""]))


def pair(kind, names, columns):
    """A file of columns of which two have one name."""

    def write(path):
        if kind == "csv":
            rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
            path.write_text("\n".join([",".join(names), *rows, ""]))
            return
        arrow = pa.Table.from_arrays([pa.array(column) for column in columns], names=list(names))
        {"parquet": pq.write_table, "feather": feather.write_feather}[kind](arrow, str(path))

    return saved(f"bars.{kind}", write)


KINDS = ("csv", "parquet")
CELLS = [[f"{day}T00:00Z" for day in DAYS],
         *([first + i for i in range(4)] for first in (10.0, 12.0, 9.0, 11.0, 5.0))]  # fmt: skip
BESIDE = [9.5, 10.5, 11.5, 12.5]
CLOSE = {"values": {"close": CELLS[4]}}


def doubled(kind):
    """Rows of files in which one name stands twice."""
    for name in ("open", "close", "volume"):
        place = HEADS.index(name)
        yield refuses(f"{name} twice, {kind}", pair(kind, [*HEADS, name], [*CELLS, BESIDE]), None,
                      TableError, f"could both be {name}", f"--column {name}={place + 1} ",
                      f"--column {name}=7",
                      then=[({}, {"values": {name: CELLS[place]}}),
                            ({"columns": {name: "7"}}, {"values": {name: BESIDE}})])  # fmt: skip
    yield refuses(f"close as close, {kind}", pair(kind, [*HEADS, "close"], [*CELLS, BESIDE]),
                  {"columns": {"close": "close"}}, TableError, "2 columns are named so",
                  then=CLOSE)  # fmt: skip
    two = pair(kind, [*HEADS, "note", "note"], [*CELLS, list("abcd"), list("efgh")])
    yield reads(f"two notes, {kind}", two, **CLOSE)
    moods = pair(kind, [*HEADS, "mood", "mood"], [*CELLS, BESIDE, CELLS[4]])
    yield refuses(f"two aligned columns, {kind}", moods, {"aligned_columns": ("mood",)}, TableError,
                  "--aligned-column mood=7 or --aligned-column mood=8",
                  then=[({"aligned_columns": ("mood=8",)},
                         {"values": {"mood": CELLS[4]}})])  # fmt: skip


HALF_PAST = iso(every("1h", 5, "2024-01-01T00:30"))
BARS = ("{day}", "10", "12", "9", "11")

ROWS = (
    *(reads(f"names in {encoding}", text(f"{head}\n{ROWS_OF_DAYS}".encode(code)), values=FIVE,
            notes=f"text is read as {encoding}") for code, (head, encoding) in LANGUAGES.items()),
    *(refuses(f"cells parted by {mark!r}", text(PLAIN.replace(",", mark)), None, DataError,
              "cells must be separated by a comma, semicolon, tab or")
      for mark in (":", " ")),

    *(reads(f"names such as {names[1]}", named(*names), made=5, notes=()) for names in (
        ("timestamp", *NAMES), ("t", "o", "h", "l", "c", "v"),
        ("Open Time", "Open", "High", "Low", "Close", "Volume"),
        ("TIME", "OPEN", "HIGH", "LOW", "CLOSE", "VOL"))),
    reads("another order", named("close", "volume", "low", "date", "high", "open", order=(
        "close", "volume", "low", "timestamp", "high", "open")), made=5, notes=()),
    *(refuses(f"two columns for {first}", named("date", *NAMES, **{second: 1}), None, TableError,
              f"columns '{first}' and '{second}' could both be")
      for first, second in (("close", "Close"), ("volume", "vol"), ("open", "o"))),
    refuses("no high and no volume", bars(5, head="date", high=None, volume=None), None, TableError,
            "named high or volume", "'date', 'open'"),
    reads("closes of nautilus_trader", named("ts_event", *NAMES, ts_init=1), made=5,
          notes=["nautilus_trader", "--stamped close reads them so"]),
    *(row for kind in KINDS for row in doubled(kind)),
    refuses("a name with blanks", pair(
        "csv", [*HEADS[:4], "Closing Price", "volume", "Close Price"], [*CELLS, BESIDE]), None,
        TableError, "--column 'close=Closing Price'", then=CLOSE),
    *(refuses(f"{start} beside a later {time}", named(start, *NAMES, **{time: HALF_PAST}), None,
              TableError, f"columns '{start}' and '{time}' could both be the time")
      for start in PERIOD_STARTS for time in ("timestamp", "Date")),

    *(refuses(f"{name} is no volume", days(f"time,open,high,low,close,{name}", *BARS, "{i}"), None,
              TableError, name, then={"count": 4})
      for name in ("Volume MA", "volume_zscore", "Volume USDT")),
    *(refuses(f"volumes of {volume!r}", days("time,open,high,low,close,volume", *BARS, volume),
              None, TableError, "volume", then={"values": {"volume": [0] * 4}})
      for volume in ("-1", "")),
    reads("volumes of both assets", days(
        "time,symbol,open,high,low,close,Volume MA,Volume BTC,Volume USDT", "{day}", "BTC/USDT",
        *BARS[1:], "1", "2", "3"), values={"volume": [2.0] * 4}),
    *(reads(f"{traded} of {number} beside ticks", days(
        f"time,open,high,low,close,tick_volume,spread,{traded}", *BARS, "7", "1", number),
        values={"volume": volume}, **{told: "counts ticks"})
      for traded in ("Real Volume", "<VOL>")
      for number, volume, told in (("{i}", [0.0, 1.0, 2.0, 3.0], "unsaid"),
                                   ("0", [7.0] * 4, "notes"))),
)  # fmt: skip
