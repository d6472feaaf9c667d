"""Results are written whole, strictly, and so that they read back exactly."""

import csv
import io
import json
import math
import os
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.files import read_ordinary
from optimizer.atomic_write import write_output, write_whole
from optimizer.cli.console import format_csv, replace_nan
from optimizer.errors import OptimizerError


@given(value=st.floats(allow_nan=False))
def test_floats_read_back_as_the_same_bits(value):
    """Of a table and of JSON, subnormals and minus zero among them; infinities are null there."""
    ((cell,),) = list(csv.reader(io.StringIO(format_csv(["x"], [[value]]))))[1:]
    assert float(cell).hex() == value.hex()
    (read,) = json.loads(json.dumps(replace_nan([value]), allow_nan=False))
    assert read is None if math.isinf(value) else read.hex() == value.hex()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@SUM(A1)"])
def test_text_never_runs_as_a_formula(text):
    """A spreadsheet shows it; numbers below zero stay numbers, unknown ones are empty cells."""
    table = format_csv(["a", "b", "c", "d", "e"], [[text, -1.5, None, math.nan, 0.0]])
    rows = list(csv.reader(io.StringIO(table, newline="")))
    assert rows[1] == [f"'{text}", "-1.5", "", "", "0.0"]


def test_a_file_is_replaced_whole_also_behind_a_link(tmp_path):
    """The new content is there, byte by byte, and no draft beside it."""
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old " * 1000)
    link.symlink_to(target)
    write_whole(link, "new\r\n\u00e9")
    assert link.is_symlink()
    assert target.read_bytes() == "new\r\n\u00e9".encode()
    assert sorted(tmp_path.iterdir()) == [link, target]


@pytest.mark.parametrize("name", ["bars.csv", "linked.csv", "hard.csv", "../in/bars.csv"])
def test_a_source_is_never_written_over(tmp_path, monkeypatch, name):
    """By whatever name; files beside it may be."""
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    source = tmp_path / "in" / "bars.csv"
    source.write_text("a year of work")
    (tmp_path / "in" / "linked.csv").symlink_to(source)
    os.link(source, tmp_path / "in" / "hard.csv")
    read_ordinary(source, 100)
    with pytest.raises(OptimizerError, match=r"bars.csv|linked.csv|hard.csv"):
        write_output(Path(name), "trades")
    assert source.read_text() == "a year of work"
    write_output(Path("other.csv"), "trades")
    assert Path("other.csv").read_text() == "trades"


KEPT = "no earlier result"
"""Words of the refusal to replace a file."""


@pytest.mark.parametrize(
    ("before", "after", "may_replace"),
    [
        ("member,genes.b\n0,1\n", "member,genes.a\n0,1\n", True),
        ("timestamp,open\n", "member,genes.a\n0,1\n", False),
        ('"""My strategy."""\n', "# a: b.\n# Member 0 of run x.\n", False),
        ("# b: c.\n# Member 7 of run y.\n", "# a: b.\n# Member 0 of run x.\n", True),
        ("<!doctype html>\n<html>", "<!doctype html>\n<html lang=en>", True),
        ('{"ema": 3}', '{\n  "judgement": 1}', False),
    ],
)
def test_a_result_replaces_only_results_of_its_kind(tmp_path, before, after, may_replace):
    """Of any run; a person's own file stays."""
    path = tmp_path / "there"
    path.write_text(before)
    if may_replace:
        write_output(path, after)
    else:
        with pytest.raises(OptimizerError, match=KEPT):
            write_output(path, after)
    assert path.read_text() == (after if may_replace else before)


def test_tables_replace_tables_with_the_same_first_column(tmp_path):
    """Bars in Parquet stay, as do a damaged file and a database, which may be a run."""
    path, files = tmp_path / "front.parquet", {}
    for name in ("member", "timestamp"):
        pq.write_table(pa.table({name: [1, 2]}), path)
        files[name] = path.read_bytes()
    with pytest.raises(OptimizerError, match=KEPT):
        write_output(path, files["member"])
    path.write_bytes(files["timestamp"][:-1])
    with pytest.raises(OptimizerError, match=KEPT):
        write_output(path, files["member"])
    path.write_bytes(files["member"])
    write_output(path, files["member"])
    run = tmp_path / "run.sqlite"
    with sqlite3.connect(run) as database:
        database.execute("create table a (b)")
    before = run.read_bytes()
    with pytest.raises(OptimizerError, match=KEPT):
        write_output(run, "trades")
    assert run.read_bytes() == before
