"""Files that change while they are read, and pipes in the place of files."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from data import load_bars
from data.errors import SourceError
from data.providers import time_columns
from tests.support.series import csv_text, make_columns, write_csv

FORMS = ("csv", "parquet", "feather")


def write_form(folder, form):
    """The path of a file of a form."""
    path, columns = folder / f"series.{form}", make_columns(50)
    if form.startswith("csv"):
        write_csv(folder, csv_text(columns), path.name)
        return path
    times = pa.array(columns["timestamp"], pa.timestamp("ns", "UTC"))
    table = pa.table({**columns, "timestamp": times})
    write = pq.write_table if form == "parquet" else feather.write_feather
    write(table, str(path))
    return path


def hide_change(path, content):
    """Other bytes of the same number, and the time of the file set back."""
    times = os.stat(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES = {"rewritten": lambda path, content: path.write_bytes(content),
           "removed": lambda path, content: path.unlink(), "hidden": hide_change}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_broken", [False, True])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path, monkeypatch, form, change, is_broken
):
    """Bars of two states are no bars; half a file has other faults, none of which is the reason."""
    path = write_form(tmp_path, form)
    read_times, content = time_columns.read_times, path.read_bytes()
    os.utime(path, ns=(1, 1))

    def late(*arguments):
        change(path, content)
        if is_broken:
            raise SourceError("no times")
        return read_times(*arguments)

    monkeypatch.setattr(time_columns, "read_times", late)
    with pytest.raises(SourceError, match=f"^series.{form}: changed while it was read"):
        load_bars(str(path))
