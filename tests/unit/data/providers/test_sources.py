"""The source that a spec names, the files that it stands for, and what is no file."""

import json
import os
import re

import pandas as pd
import pytest

from data import expand_spec, load_bars
from data.errors import DataError, SourceError
from data.providers import find_provider
from tests.corpus.kinds import BARS, RECORDS, TEXT
from tests.support.series import make_bars

FIVE = make_bars(5).content_hash
KNOWN = "known: ccxt:.*, csv:PATH, feather:PATH, parquet:PATH, polygon:SYMBOL"


@pytest.mark.parametrize(
    ("spec", "name", "address"),
    [("sample", "sample", ""), ("csv:C:/x:y.csv", "csv", "C:/x:y.csv"),
     ("dir/a.csv", "csv", "dir/a.csv"), ("a.CSV.GZ", "csv", "a.CSV.GZ"),
     ("a.parquet", "parquet", "a.parquet"), ("a.feather", "feather", "a.feather"),
     ("a.csv#BTC/USD", "csv", "a.csv#BTC/USD")],
)  # fmt: skip
def test_spec_names_a_source_and_an_address(spec, name, address):
    """The name stands before the first colon; a bare path is recognised by its ending."""
    provider, actual = find_provider(spec)
    assert (name, address) == (provider.name, actual)


@pytest.mark.parametrize(
    ("spec", "words"),
    [*((spec, KNOWN) for spec in ("", "a.txt", "folder", ":a.csv", "x:a.csv", "x\0y")),
     ("smaple", "'sample'"), ("CSV:a.csv", "'csv'"), ("parqet:a", "'parquet'"),
     ("sample:x", "'x'"), ("csv:", "csv:PATH"), ("csv:a\0b", "zero byte"),
     ("csv:none.csv", "^none.csv: "), ("csv:a\x1b.csv", r"a\\x1b.csv'"),
     ("x" * 100_000, "^.{1,200}$")],
)  # fmt: skip
def test_what_is_no_source_is_answered_in_a_line(spec, words):
    """With the sources that there are, and the one that was meant."""
    with pytest.raises(DataError, match=words):
        load_bars(spec)


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "feather"])
def test_folders_and_pipes_are_no_files(tmp_path, form):
    """Only an ordinary file is read: a pipe would never end."""
    os.mkfifo(tmp_path / f"pipe.{form}")
    (tmp_path / f"folder.{form}").mkdir()
    for path in (tmp_path / f"pipe.{form}", tmp_path / f"folder.{form}", "/dev/zero"):
        with pytest.raises(SourceError, match="is no file"):
            load_bars(f"{form.partition('.')[0]}:{path}")


@pytest.mark.parametrize(
    "text",
    [json.dumps(BARS), json.dumps(RECORDS), "\n".join(map(json.dumps, RECORDS))],
    ids=["lists", "records", "lines"],
)  # fmt: skip
def test_the_way_from_json_to_csv_works(tmp_path, monkeypatch, text):
    """The line of Python in the message makes a file that is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(SourceError, match="in Python: ") as caught:
        load_bars("x.json")
    exec(str(caught.value).partition("Python: ")[2], {"pandas": pd})
    bars = load_bars("x.csv")
    assert bars.timestamp[0] == 1704067200 * 10**9
    assert bars.close.tolist() == [100.25] * 9


EXPANDED = {
    **{spec: [spec] for spec in ("sample", "csv:x.csv", "nonsense:x", "", "csv:")},
    "csv:folder": ["csv:folder/a.csv.gz", "csv:folder/b.csv"],
    "parquet:folder/": ["parquet:folder/c.parquet"],
    "folder": ["folder/a.csv.gz", "folder/b.csv", "folder/c.parquet"],
    "csv:folder/?.csv": ["csv:folder/b.csv"],
    "csv:folder/**/*.csv": ["csv:folder/b.csv", "csv:folder/within/d.csv"],
    "csv:odd/a[1].csv": ["csv:odd/a[1].csv"],
    "a:b.dat#1": ["a:b.dat#1"],
    "BINANCE:all": ["BINANCE:all/x.csv"],
}
"""Specs with what each stands for: itself, or files of a folder or pattern in order."""


def test_a_folder_or_a_pattern_stands_for_its_files(tmp_path, monkeypatch):
    """Other files do not count; what exists is meant as it stands; nothing found is an error."""
    monkeypatch.chdir(tmp_path)
    for name in ("folder/b.csv", "folder/a.csv.gz", "folder/c.parquet", "folder/README.md",
                 "folder/._b.csv", "folder/within/d.csv", "odd/a[1].csv", "a:b.dat#1",
                 "BINANCE:all/x.csv", "texts/a.txt"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TEXT)
    for spec, files in EXPANDED.items():
        assert expand_spec(spec) == tuple(files), spec
    for path in ("a:b.dat#1", "BINANCE:all/x.csv"):
        assert load_bars(path).content_hash == FIVE
    for spec in ("parquet:folder/within", "csv:folder/*.txt"):
        with pytest.raises(SourceError, match="no file"):
            expand_spec(spec)
    for spec in ("csv:texts", "texts", "texts/"):
        with pytest.raises(SourceError, match=r"a\.txt") as caught:
            expand_spec(spec)
        (named,) = expand_spec(re.search(r"'(.*)'$", str(caught.value))[1])
        assert load_bars(named).content_hash == FIVE
