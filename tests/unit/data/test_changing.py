"""Files that change while they are read, and what is no file."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from data import load_bars
from data.cache import SeriesKey, list_cached
from data.errors import SourceError
from data.providers import source_file, time_columns
from data.vendor.account import find_account
from tests.support.series import csv_text, make_columns, write_csv

FORMS = ("csv", "csv.gz", "parquet", "feather")


def write_form(folder, form, columns):
    """The path of a file of a form."""
    path = folder / f"series.{form}"
    if form.startswith("csv"):
        write_csv(folder, csv_text(columns), path.name)
        return path
    times = pa.array(columns["timestamp"], pa.timestamp("ns", "UTC"))
    table = pa.table({**columns, "timestamp": times})
    if form == "parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, str(path))
    return path


def replace_file(path, content):
    """Move another file into the place of the first, as careful programs write."""
    path.with_name("new").write_bytes(content)
    os.replace(path.with_name("new"), path)


def hide_change(path, content):
    """Other bytes of the same number, and the time of the file set back."""
    times = os.stat(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES = {
    "rewritten": lambda path, content: path.write_bytes(content),
    "grown": lambda path, content: path.write_bytes(content + b"more"),
    "cut": lambda path, content: path.write_bytes(content[:-9]),
    "emptied": lambda path, content: path.write_bytes(b""),
    "replaced": replace_file,
    "removed": lambda path, content: path.unlink(),
    "hidden": hide_change,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, form, change):
    """Bars of two states of a file are no bars, whatever of it was changed."""
    path = write_form(tmp_path, form, make_columns(50))
    read_times, content = time_columns.read_times, path.read_bytes()
    os.utime(path, ns=(1, 1))

    def late(*arguments):
        change(path, content)
        return read_times(*arguments)

    monkeypatch.setattr(time_columns, "read_times", late)
    with pytest.raises(SourceError, match=f"^series.{form}: changed while it was read; wait"):
        load_bars(str(path))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_wrong_with_a_changing_file_is_that_it_changes(tmp_path, monkeypatch, form):
    """Half a file has other faults; none of them is the reason."""
    path = write_form(tmp_path, form, make_columns(50))

    def late(*_):
        path.write_bytes(b"half")
        raise SourceError("no times")

    monkeypatch.setattr(time_columns, "read_times", late)
    with pytest.raises(SourceError, match="changed while it was read"):
        load_bars(str(path))


def test_a_pipe_that_takes_the_place_of_a_file_holds_nothing_up(tmp_path, monkeypatch):
    """Between a look at a file and its opening anything may happen."""
    path = write_form(tmp_path, "csv", make_columns(5))
    monkeypatch.setattr(source_file, "S_ISREG", lambda mode: True)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SourceError, match=r"cannot be read [(]is no file"):
        load_bars(str(path))


def test_a_pipe_in_the_cache_is_no_part(tmp_path):
    """A list of what was fetched passes it over."""
    folder = tmp_path / SeriesKey("polygon", "X:ADAUSD", "15m", adjusted=True).folder
    folder.mkdir(parents=True)
    os.mkfifo(folder / f"0_86400_{'0' * 16}_{'0' * 64}.parquet")
    assert list_cached(tmp_path) == []


def test_a_pipe_with_a_key_is_refused(tmp_path, monkeypatch):
    """The settings of the account are a file."""
    for name in ("POLYGON_API_KEY", "MASSIVE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("data.vendor.account.config_file", lambda: tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="is no file"):
        find_account()
