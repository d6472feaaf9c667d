"""The source that a spec names, and what is no file."""

import json
import os
import re

import pandas as pd
import pytest

from data import PROVIDERS, expand_spec, load_bars
from data.errors import DataError, SourceError
from data.providers import find_provider
from tests.corpus.kinds import BARS, RECORDS, TEXT
from tests.support.commands import printed
from tests.support.series import make_bars

FIVE = make_bars(5).content_hash


@pytest.mark.parametrize(
    ("spec", "name", "address"),
    [
        ("sample", "sample", ""),
        ("csv:a.csv", "csv", "a.csv"),
        ("csv:C:/x:y.csv", "csv", "C:/x:y.csv"),
        ("parquet:a", "parquet", "a"),
        ("dir/a.csv", "csv", "dir/a.csv"),
        ("a.CSV.GZ", "csv", "a.CSV.GZ"),
        ("a.parquet", "parquet", "a.parquet"),
        ("a.feather", "feather", "a.feather"),
        ("a.csv#BTC/USD", "csv", "a.csv#BTC/USD"),
    ],
)
def test_spec_names_a_source_and_an_address(spec, name, address):
    """The name stands before the first colon; a bare path is recognised by its ending."""
    provider, actual = find_provider(spec)
    assert (name, address) == (provider.name, actual)


@pytest.mark.parametrize(
    ("spec", "words"),
    [(spec, "known: ccxt:.*, csv:PATH, feather:PATH, parquet:PATH, polygon:SYMBOL")
     for spec in ("", "a.txt", "folder", "a.parquet.bak", ":a.csv", "x:a.csv", "x\0y")]
    + [("smaple", "did you mean 'sample'"), ("CSV:a.csv", "did you mean 'csv'"),
       ("parqet:a", "did you mean 'parquet'"), ("sample:x", "sample takes no address, got 'x'"),
       ("csv:", "write csv:PATH"), ("csv:a\0b", "zero byte"),
       ("csv:none.csv", "^none.csv: there is no such file"),
       ("csv:a\x1b.csv", r"a\\x1b.csv': there is no such file"),
       ("x" * 100_000, "^.{1,200}$")],
)  # fmt: skip
def test_what_is_no_source_is_answered_in_a_line(spec, words):
    """With the sources that there are, and the one that was meant."""
    with pytest.raises(DataError, match=words):
        load_bars(spec)


def test_registry_is_keyed_by_name():
    """Each provider is found under its own name and has its own module."""
    assert all(name == provider.name for name, provider in PROVIDERS.items())
    assert len({provider.module for provider in PROVIDERS.values()}) == len(PROVIDERS)


def test_naming_sources_loads_no_library():
    """Importing the package costs neither pandas nor pyarrow."""
    code = "import data, sys; print(sorted({'pandas', 'pyarrow'} & set(sys.modules)))"
    assert printed(code) == "[]\n"


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "feather"])
def test_folders_and_pipes_are_no_files(tmp_path, form):
    """Only an ordinary file is read: a pipe would never end."""
    os.mkfifo(tmp_path / f"pipe.{form}")
    (tmp_path / f"folder.{form}").mkdir()
    for address in ("pipe", "folder"):
        with pytest.raises(SourceError, match="is no file"):
            load_bars(f"{form.partition('.')[0]}:{tmp_path}/{address}.{form}")
    with pytest.raises(SourceError, match="is no file"):
        load_bars("csv:/dev/zero")


@pytest.mark.parametrize(
    "text",
    [json.dumps(BARS), json.dumps(RECORDS), "\n".join(map(json.dumps, RECORDS)),
     json.dumps(RECORDS, indent=1)], ids=["lists", "records", "lines", "indented"],
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


@pytest.mark.parametrize("name", ["a:b.dat#1", "BINANCE:all/x.csv"])
def test_a_path_with_a_colon_is_a_path(tmp_path, monkeypatch, name):
    """TradingView names files so, and people folders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(TEXT)
    (spec,) = expand_spec(name.partition("/")[0])
    assert load_bars(spec).content_hash == FIVE


def test_a_folder_of_other_endings_names_a_pattern(tmp_path, monkeypatch):
    """And the pattern that it names finds the files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text(TEXT)
    for spec in ("csv:folder", "folder", "folder/"):
        with pytest.raises(SourceError, match=r"it holds a\.txt: name such files by") as caught:
            expand_spec(spec)
        (named,) = expand_spec(re.search(r"'(.*)'$", str(caught.value))[1])
        assert load_bars(named).content_hash == FIVE
