"""Kinds of files: known by what they hold; whatever is not read is named with what helps."""

import gzip
import json
import pickle
import re
import sqlite3
import zipfile

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from data import DataError, expand_spec, load_bars
from data.errors import SourceError
from tests.support.series import csv_text, make_bars, make_columns
from tests.support.written_forms import make_arrow

TEXT = csv_text(make_columns(5))
BARS = make_bars(5).content_hash


def refuse(path, kind="csv:"):
    """The line with which a file is refused."""
    with pytest.raises(DataError) as caught:
        load_bars(f"{kind}{path}")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write_sheet(path):
    """An archive as Excel writes it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("[Content_Types].xml", "xl/workbook.xml"):
            archive.writestr(name, "<x/>")


def write_array(path):
    """An array as numpy saves it."""
    with path.open("wb") as file:
        np.save(file, np.ones(3))


def write_database(path):
    """A database of one table."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bars (close REAL)")
    connection.commit()
    connection.close()


KINDS = {
    "HDF5": (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(99)), "is an HDF5 file; "),
    "sheet": (write_sheet, "is a spreadsheet; save its sheet as CSV"),
    "old sheet": (lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600)), "old Excel"),
    "SQLite": (write_database, "is an SQLite database; "),
    "pickle": (lambda path: path.write_bytes(pickle.dumps({"a": 1})), "is a pickle of Python; "),
    "frame": (lambda path: pd.DataFrame({"a": [1]}).to_pickle(path), "is a pickle of Python; "),
    "numpy": (write_array, "is an array of numpy; "),
    "DBN": (lambda path: path.write_bytes(b"DBN\x03" + bytes(80)), "is a DBN file of Databento; "),
    "page": (lambda path: path.write_text("<!DOCTYPE html>\n<p>busy"), "is a web page or XML"),
    "gzip of Parquet": (lambda path: path.write_bytes(gzip.compress(b"PAR1\0")), "Parquet"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["bars.csv", "bars.dat"])
def test_kinds_that_are_not_read_are_named(tmp_path, kind, name):
    """By path alone or as text, the cause is what the file is."""
    write, words = KINDS[kind]
    path = tmp_path / name
    write(path)
    assert words in refuse(path) == refuse(path, "")


@pytest.mark.parametrize("name", ["ORCL_close", "RDXdate", "DBN"])
def test_names_that_begin_like_a_kind_are_text(tmp_path, name):
    """Letters alone make no other kind of a text file."""
    path = tmp_path / "bars.csv"
    header, *rows = TEXT.splitlines()
    path.write_text("\n".join([f"{name},{header}", *(f"1,{row}" for row in rows), ""]))
    assert load_bars(str(path)).content_hash == BARS


ROWS = [[1704067200000 + 900000 * i, 100.5, 101, 99, 100.25, 5] for i in range(9)]
NAMES = ["timestamp", "open", "high", "low", "close", "volume"]
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


@pytest.mark.parametrize(
    "text",
    [json.dumps(ROWS), json.dumps(RECORDS), "\n".join(map(json.dumps, RECORDS)),
     json.dumps(RECORDS, indent=1)], ids=["lists", "records", "lines", "indented"],
)  # fmt: skip
def test_the_way_from_json_to_csv_is_named_and_works(tmp_path, monkeypatch, text):
    """The line of Python in the message makes a file that is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text(text)
    line = refuse("x.json")
    assert line.startswith("x.json: is a JSON file; write it as CSV, in Python: pandas.read_json(")
    exec(line.partition("Python: ")[2], {"pandas": pd})
    bars = load_bars("x.csv")
    assert bars.timestamp[0] == 1704067200 * 10**9
    assert bars.close.tolist() == [100.25] * 9


def test_messages_of_services_are_shown(tmp_path):
    """The content in place of bars is named, whether JSON or a line of text."""
    path = tmp_path / "limit.csv"
    path.write_text('{\n "Information": "demo\\nkey"\n}\n')
    assert "is a JSON message and no bars: 'demo key'; download the bars again" in refuse(path)
    path.write_text('{"Meta Data": {"1": "x"}, "Series": {}}')
    assert "is a JSON object and no table; download the bars as CSV" in refuse(path)
    path.write_text("You have asked too often today")
    assert "no bars after the header line, 'You have asked too often today'" in refuse(path)


@pytest.mark.parametrize("name", ["AAPL_1day.txt", "BINANCE:BTCUSDT, 15.csv", "bars", "a:b.dat#1"])
def test_a_path_is_read_by_what_it_holds(tmp_path, monkeypatch, name):
    """Text, whatever it is called, as long as there is such a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(TEXT)
    assert load_bars(name).content_hash == load_bars(f"csv:{name}").content_hash == BARS


@pytest.mark.parametrize("name", ["bars.bin", "bars.pq", "bars.parquet.1"])
def test_a_parquet_file_is_read_whatever_its_ending(tmp_path, name):
    """Its first bytes are those of Parquet."""
    pq.write_table(make_arrow(), tmp_path / name)
    assert len(load_bars(str(tmp_path / name))) == 60


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [("parquet", "x.parquet", "is no readable Parquet file; it may be text; write csv:PATH"),
     ("feather", "x.feather", "is no Feather or Arrow file; it may be text; write csv:PATH")],
)  # fmt: skip
def test_an_ending_that_misleads_is_told(tmp_path, source, name, words):
    """The source that is named instead reads the file."""
    path = tmp_path / name
    path.write_text(TEXT)
    assert words in refuse(path, f"{source}:") == refuse(path, "")
    assert load_bars(f"csv:{path}").content_hash == BARS
    pq.write_table(make_arrow(), tmp_path / "y.feather")
    assert "; it is a Parquet file; write parquet:PATH" in refuse(tmp_path / "y.feather", "")
    assert len(load_bars(f"parquet:{tmp_path}/y.feather")) == 60


def test_a_folder_of_other_endings_names_a_pattern(tmp_path, monkeypatch):
    """And the pattern that it names finds the files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text(TEXT)
    for spec in ("csv:folder", "folder", "folder/"):
        with pytest.raises(SourceError, match=r"it holds a\.txt: name such files by") as caught:
            expand_spec(spec)
        (named,) = expand_spec(re.search(r"'(.*)'$", str(caught.value))[1])
        assert load_bars(named).content_hash == BARS


def test_a_folder_with_a_colon_in_its_name_is_a_folder(tmp_path, monkeypatch):
    """TradingView names files so, and people folders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "BINANCE:all").mkdir()
    (tmp_path / "BINANCE:all" / "x.csv").write_text(TEXT)
    (spec,) = expand_spec("BINANCE:all")
    assert load_bars(spec).content_hash == BARS


def test_a_name_of_nothing_is_refused():
    """Neither a source nor a file."""
    for spec in ("nothing.txt", "what:ever", "x\0y", ""):
        with pytest.raises(SourceError, match="is unknown and no file; known: ccxt:"):
            load_bars(spec)
