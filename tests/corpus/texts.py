"""Text files: separators, archives, ends of lines, damage, and lines that are no rows."""

import codecs
import gzip
import io
import zipfile

from data.errors import BarsError, DataError, LimitError, SourceError, TableError
from tests.corpus.row import bars, reads, refuses, text
from tests.support.series import csv_text, make_columns

TEXT = csv_text(make_columns(5))
"""Five bars of the builder."""
LONG = csv_text(make_columns(300))
HEAD = "Time,Open,High,Low,Last,Volume"
DAYS = [f"2024-01-0{i},10,12,9,11,{i}" for i in range(1, 6)]
FIVE = {"values": {"volume": [1, 2, 3, 4, 5]}}


def archive(*files):
    """A zip archive of names and contents."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as whole:
        for name, content in files:
            whole.writestr(name, content)
    return packed.getvalue()


def joined(*rows, end="\n"):
    """A file of these lines."""
    return text("\n".join(rows) + end)


def cut(words, head, rows):
    """Rows of a file whose last row was cut, which is no remark and no bar."""
    for n in range(1, 16, 5):
        lines = joined(head, *rows[:4], rows[4][:n], end="")
        yield refuses(f"{words}, the last one cut to {n}", lines, None, DataError)


def last(volume, end=""):
    """A file whose last number has no end of line behind it."""
    volumes = ("3", "1.25", "7", "8", volume)
    rows = [row[:-1] + number for row, number in zip(DAYS, volumes, strict=True)]
    return joined(HEAD, *rows, end=end)


def again(line):
    """A row of a file whose header comes again behind the third bar and at the end."""
    lines = joined(HEAD, *DAYS[:3], line, *DAYS[3:], line)
    words = ("row 3 names the columns again", "--drop-bad-bars")
    then = {**FIVE, "notes": "dropped 2 rows that name the columns again"}
    return refuses(f"{line!r} again", lines, None, TableError, *words, then=then)


COMMON = {
    "plain": TEXT.encode(),
    "mark of UTF-8": codecs.BOM_UTF8 + TEXT.encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "lines of Windows": TEXT.replace("\n", "\r\n").encode(),
    "semicolons": TEXT.replace(",", ";").encode(),
    "tabs": TEXT.replace(",", "\t").encode(),
    "zip of macOS": archive(("x.csv", TEXT), ("__MACOSX/._x.csv", "x"), ("folder/", "")),
    "a separator behind each row": TEXT.replace("Z,", "Z,").replace(".0\n", ".0,\n").encode(),
    "a separator before each line": "".join(f",{line}\n" for line in TEXT.splitlines()).encode(),
}
"""Files of the five bars that leave nothing to say."""

ABOVE = {"sep": ("sep=,\n", 1),
         "titles": ("AAPL, Apple Inc.\n\ndaily; adjusted\n", 3)}  # fmt: skip
BELOW = {"Barchart": ['"Downloaded from Barchart.com as of 11-25-2026 10:53am CST"'],
         "a spreadsheet": ["Data provided by the exchange,,,,,"]}  # fmt: skip
DAMAGED = {
    "two tables in an archive": (
        archive(("a.csv", TEXT), ("b.csv", TEXT)),
        "archive of 2 files",
        "data import FOLDER --join NAME",
    ),
    "Parquet": (b"PAR1" + bytes(50), "Parquet file; write parquet:PATH"),
    "a name that is no text": (b"time,open\x81,high\n1,2,3\n", "no text in UTF-8"),
    "cut gzip": (gzip.compress(TEXT.encode())[:-20], "cannot be unpacked"),
    "a short row": (TEXT.encode() + b"1,2,3\n", "no readable CSV file", "6 columns", "complete"),
    "a long row": (
        TEXT.encode() + b"2024-01-06,10,5,11,12,9,7\n",
        "6 columns",
        "commas stand in cells",
    ),
}
"""Damage, and words of its refusal."""

YFINANCE = ("Price,Close,High,Low,Open,Volume", "Ticker,X,X,X,X,X", "Date,,,,,")
SAME = [f"2024-01-0{i},11,12,9,10,{i}" for i in range(1, 6)]
NAMES_OF_BINANCE = "open_time,open,high,low,close,volume,close_time,quote_volume,count,a,b,ignore"
BINANCE = [
    f"{1_735_516_800_000 + 86_400_000 * i},10,12,9,11,{i + 1},{1_735_603_199_999 + i},1,2,3,4,0"
    for i in range(4)
]

ROWS = (
    *(reads(f"five bars, {words}", text(content), made=5, notes=())
      for words, content in COMMON.items()),
    *(reads(f"{words} above", text(above + TEXT), made=5, notes=f"{count} lines above the header")
      for words, (above, count) in ABOVE.items()),
    *(reads(f"{words} below{end!r}", joined(HEAD, *DAYS, *remarks, end=end), **FIVE,
            notes=[f"a line below the rows is passed over: {line.split(',,')[0].strip()[:9]!r}"[:-1]
                   for line in filter(None, remarks)])
      for words, remarks in BELOW.items() for end in ("\n", "\r\n")),
    *(refuses(words, text(content), None, SourceError, "series.csv: ", *message)
      for words, (content, *message) in DAMAGED.items()),

    *(reads(f"symbol of {name[:9]}", text(TEXT, name), symbol=symbol, made=5)
      for name, symbol in (("eth.csv.gz", "eth"), ("a.b.CSV", "a.b"),
                           ("x" * 90 + ".csv", "x" * 61 + "..."))),
    refuses("a name that harms a terminal", text(TEXT, "a\x1b[31m.csv"), None, BarsError,
            "cannot be printed"),
    *(reads(f"a column says {symbol}", bars(5, symbol=symbol), symbol=symbol, made=5)
      for symbol in ("NA", "../../x", "nan")),
    refuses("a column of two symbols", bars(5, ticker=[f"S{i % 2}" for i in range(5)]), None,
            TableError, "names 2 markets", "'S0', 'S1'", "series.csv#S0"),
    reads("a report beside a table in an archive",
          text(archive(("DAT_ASCII_M1.txt", "Status\n"), ("DAT_ASCII_M1.csv", TEXT))), made=5,
          notes="of its archive 'DAT_ASCII_M1.txt' is not read"),

    refuses("unpacked larger than the cap", text(TEXT, "series.csv.gz"), {"max_bytes": 100},
            LimitError, "unpacks to more than 100 bytes", "--max-bytes"),
    *(refuses(f"a file of {head.count(',') + 1} columns, {words}", joined(head, *rows), None,
              SourceError, "has a line of", f"{head.count(',') + 1} columns")
      for words, head, rows in (
          ("named", HEAD + ",x" * 200_000, [row + ",1" * 200_000 for row in DAYS]),
          ("wide rows", HEAD + ",x" * 20_000, [row + ",1000000" * 20_000 for row in DAYS]))),
    *(refuses(f"zero bytes in line {line}{packed}",
              text(LONG[:at] + "\0" * 4096 + LONG[at:], f"series.csv{packed}"), None, SourceError,
              f"holds 4096 zero bytes, the first in line {line}")
      for at, line, packed in ((0, 1, ""), (2000, 32, ".gz"), (len(LONG), 302, ""))),
    *(refuses(f"a last number {volume} that may be cut", last(volume), None, SourceError,
              "its last line has no end", f"'{volume}'", "may be cut")
      for volume in ("1234", "12.5")),
    *cut("dates", HEAD, DAYS),
    *cut("symbols", f"Symbol,{HEAD}", [f"{name},{row}" for name, row in zip(
        ("AAPL", "BRK.B", "MSFT", "T", "X"), DAYS, strict=True)]),
    *(refuses(f"{word!r} below the rows", joined(HEAD, *DAYS, word), None, SourceError,
              "no readable CSV file") for word in ("Total", "x,y")),
    *(refuses(f"a last line {words}", joined(HEAD, *DAYS, line), None, DataError)
      for words, line in (("of two ends", "Down\rloaded from a x"), ("never closed", '"'))),

    *map(again, (HEAD, "date,o,h,l,close,vol")),
    refuses("names of yfinance again", joined(*YFINANCE, *SAME[:3], *YFINANCE, *SAME[3:]), None,
            TableError, "row 3 names the columns again",
            then={**FIVE, "notes": "dropped 3 rows that name the columns again"}),
    reads("a header below rows that had none", joined(*BINANCE[:2], NAMES_OF_BINANCE, *BINANCE[2:]),
          {"drop_bad_bars": True}, values={"volume": [1, 2, 3, 4]}),
)  # fmt: skip
