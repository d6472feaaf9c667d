"""Kinds of files: known by what they hold; whatever is not read is named with what helps."""

import gzip
import io
import json
import pickle
import sqlite3
import zipfile

import numpy as np
import pyarrow.parquet as pq

from data.errors import SourceError
from tests.corpus.forms import make_arrow
from tests.corpus.row import reads, refuses, saved, text
from tests.support.series import csv_text, make_columns

TEXT = csv_text(make_columns(5))
BARS = [[1704067200000 + 900000 * i, 100.5, 101, 99, 100.25, 5] for i in range(9)]
RECORDS = [dict(zip(("timestamp", "open", "high", "low", "close", "volume"), bar, strict=True))
           for bar in BARS]  # fmt: skip


def packed(*names):
    """An archive of files that hold little."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return whole.getvalue()


def array():
    """An array as numpy saves it."""
    whole = io.BytesIO()
    np.save(whole, np.ones(3))
    return whole.getvalue()


def write_parquet(path):
    """Sixty bars of a table of pyarrow."""
    pq.write_table(make_arrow(), path)


def write_database(path):
    """A database of one table."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bars (close REAL)")
    connection.close()


AT_ZERO = {"a DuckDB database; write its table with COPY": bytes(8) + b"DUCK",
           "a DBN file of Databento; write it with DBNStore.to": b"DBN\x03",
           "a 7z archive; unpack it": b"7z\xbc\xaf",
           "a zstd file; unpack it": b"\x28\xb5\x2f\xfd"}  # fmt: skip
"""First bytes of kinds."""
JSON = "a JSON file; write it as CSV, in Python: pandas.read_json("
OTHERS = {
    **{words: text(first + bytes(200), "bars.csv") for words, first in AT_ZERO.items()},
    "a spreadsheet; save its sheet as CSV":
        text(packed("[Content_Types].xml", "xl/workbook.xml"), "bars.csv"),
    "an SQLite database; write its table": saved("bars.csv", write_database),
    "a pickle of Python; write it": text(pickle.dumps({"a": 1}), "bars.csv"),
    "a web page or XML and no table": text("<!DOCTYPE html>\n<p>busy", "bars.csv"),
    "a Parquet file; write parquet:PATH": text(gzip.compress(b"PAR1\0"), "bars.csv"),
    f"{JSON}'x.json').to_csv('x.csv', index=False, header=False)":
        text(json.dumps(BARS), "bars.csv"),
    f"{JSON}'x.json').to_csv('x.csv', index=False)": text(json.dumps(RECORDS), "bars.csv"),
    f"{JSON}'x.json', lines=True)": text("\n".join(map(json.dumps, RECORDS)), "bars.csv"),
    "a JSON message and no bars: 'demo key'; download the bars again":
        text('{\n "Information": "demo\\nkey"\n}\n', "bars.csv"),
}  # fmt: skip
"""Kinds with what helps, as text and by path alone."""

ROWS = (
    *(refuses(f"is {words}{source}", file, None, SourceError, f"is {words}", source=source)
      for (words, file), source in zip(OTHERS.items(), ("", "csv:") * len(OTHERS), strict=False)),
    refuses("a line in place of bars", text("You have asked too often today"), None, SourceError,
            "no bars after the header line, 'You have asked too often today'"),
    *(reads(f"a column that begins as a kind does, {name}", text("\n".join(
        [f"{name},{TEXT.splitlines()[0]}", *(f"1,{row}" for row in TEXT.splitlines()[1:]), ""])),
        made=5) for name in ("ORCL_close", "DBN")),
    *(reads(f"text in {name}, {source}", text(TEXT, name), made=5, source=source)
      for name, source in (("AAPL_1day.txt", ""), ("BINANCE:BTCUSDT, 15.csv", "csv:"),
                           ("bars", ""))),
    *(reads(f"Parquet in {name}", saved(name, write_parquet), count=60)
      for name in ("bars.bin", "bars.pq")),
    *(refuses(f"text in {name}, {source}", text(TEXT, name), None, SourceError, words,
              "it may be text; write csv:PATH", source=source)
      for name, words in (("x.parquet", "is no readable Parquet file"),
                          ("x.feather", "is no Feather or Arrow file"))
      for source in ("", f"{name[2:]}:")),
    refuses("Parquet in y.feather", saved("y.feather", write_parquet), None,
            SourceError, "; it is a Parquet file; write parquet:PATH"),
)  # fmt: skip
