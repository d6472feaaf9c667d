"""Texts for people are short and never claim more than is known; results read back exactly."""

import csv
import io
import json
import math
import os
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.files import read_ordinary
from data.progress import Progress
from optimizer.api import evolve
from optimizer.atomic_write import write_output, write_whole
from optimizer.cli.console import (
    WIDTH_OF_A_FILE,
    Lines,
    facts_table,
    format_csv,
    plain_table,
    replace_nan,
)
from optimizer.cli.notes import handle_signals, note, stop_now, wrap_text
from optimizer.cli.progress import listening, open_show
from optimizer.cli.result import (
    front_tables,
    front_title,
    genes_tables,
)
from optimizer.errors import OptimizerError
from optimizer.run.tables import SHOWN_MEMBERS, find_differing
from optimizer.store.result import Member
from tests.support.commands import write_market


def print_plain(*things):
    """The text of a console that is no terminal."""
    stream = io.StringIO()
    console = Lines(stream)
    for thing in things:
        console.print(thing)
    return stream.getvalue()


def test_no_text_commands_the_terminal(capsys):
    """Names and symbols of a record come from anywhere; lines of a text stay lines."""
    table = plain_table("strategy", "data")
    table.add_row("a\x1b[31mred\x1b]0;title\x07", "b\u202etxt\x9b2J")
    text = print_plain(table, "one\ntwo\x1b[2J über 日本 🦊")
    assert {character for character in text if not character.isprintable()} == {"\n"}
    note("\x1b[31m")
    assert capsys.readouterr().err == "note: ?[31m\n"
    for part in ("a?[31mred?]0;title?", "b?txt?2J", "one\ntwo?[2J über 日本 🦊"):
        assert part in text


def test_lines_are_never_broken_nor_cut_where_the_output_is_a_file():
    """A program reads a line as one; brackets and words between colons stay as they are."""
    stream = io.StringIO()
    text = "[bold]x[/bold] :smile: " + "word " * 200 + "end"
    Lines(stream).say(text)
    assert stream.getvalue() == text + "\n"
    long = "x" * (2 * WIDTH_OF_A_FILE)
    assert "".join(print_plain(facts_table({"name": long})).split()) == "name" + long


def members(count):
    """Members as a result lists them."""
    return [
        Member(
            genes={"ema_fast": 10 + i, "reward_r": 2.123456},
            objectives={"sharpe": 1.0 + i / 64, "max_drawdown": 0.05},
            metrics={"trades": 1234.0, "win_rate": 0.5, "mean_r": None, "exposure": 0.25},
        )
        for i in range(count)
    ]


def test_a_large_front_is_shown_by_those_that_differ_most():
    """The best in each objective and the corners between them, under their numbers in the front."""
    goals = ["sharpe", "max_drawdown"]
    crowd = members(50)
    crowd[20].objectives["max_drawdown"] = 0.02
    crowd[33].objectives["max_drawdown"] = 0.9
    crowd.sort(key=lambda member: -member.objectives["sharpe"])
    assert len(find_differing(crowd, goals)) == SHOWN_MEMBERS
    shown = find_differing(crowd, goals, most=20)
    assert len(shown) == 20
    assert list(shown) == sorted(shown)
    assert {0, 16, 29, 49} <= set(shown)
    assert all(crowd[place] is member for place, member in shown.items())
    assert all(word in front_title(50, 20) for word in ("50 members, 20", "--front all"))
    text = print_plain(*front_tables(shown, goals))
    assert [int(line.split()[0]) for line in text.splitlines()[2:]] == list(shown)
    assert (front_title(5, 5), front_title(1, 1)) == ("Front: 5 members", "Front: 1 member")


@pytest.mark.parametrize("width", [40, 80])
def test_tables_fit_and_the_pick_is_marked(width):
    """Metrics beside the objectives give way, many genes go on below; no number is cut."""
    genes = {f"gene_{place}": 1234.5 + place for place in range(15)}
    crowd = [replace(member, genes=genes) for member in members(50)]
    shown = find_differing(crowd, ["sharpe", "max_drawdown"], 27)
    assert 27 in shown
    front = front_tables(shown, ["sharpe", "max_drawdown"], width, 27, {27: 0.1875})
    text = print_plain(*front, *genes_tables(shown, width))
    assert max(map(len, map(str.rstrip, text.splitlines()))) <= width
    assert "…" not in text
    assert [line.split()[0] for line in text.splitlines() if "*" in line] == ["*27"]
    expected = [line.split()[0] for line in text.splitlines() if "0.1875" in line]
    assert expected == (["*27"] if width == 80 else [])
    assert all(f"{1234.5 + place:,.0f}" in text for place in range(15))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a note: what is long", ["a note:", "  what is", "  long"]),
        (
            "do: python -m optimizer judge 'my runs/x 1' --open now",
            ["do:", "  python -m optimizer judge 'my runs/x 1' --open", "  now"],
        ),
        ("  a reason.", ["  a", "    reason."]),
        ("in about 27 s", ["in about", "  27 s"]),
        ("unbreakable-hyphens.and/a/path", ["unbreakable-hyphens.and/a/path"]),
    ],
)
def test_lines_break_between_words_and_never_within_a_command(text, lines):
    """In a terminal of ten columns."""
    assert wrap_text(text, 10).split("\n") == lines


SMALL = {"population": 8, "generations": 1, "min_trades": 3, "judge": False, "polish": 0}


def test_lines_say_where_a_search_runs(tmp_path):
    """Notes, bars, device, memory, run; if quiet notes alone."""
    bars = write_market(tmp_path / "bars.csv", silent=1.0)
    shown = {}
    for quiet in (False, True):
        stream = io.StringIO()
        show = open_show(Lines(stream), quiet=quiet)
        run = evolve(data=bars, runs=str(tmp_path), device="cpu", progress=show, **SMALL)
        shown[quiet] = stream.getvalue().splitlines()
    note = f"note: {run.task.markets.notes[0]}"
    assert shown[True] == [note]
    assert shown[False][:2] == [note, "seller_exhaustion on bars 15m, 3,000 bars"]
    assert shown[False][2].startswith("device cpu: ")
    assert shown[False][3].startswith("memory for 8 individuals on 3,000 bars: ")
    assert shown[False][4].endswith(" MB at most")
    assert shown[False][-1].startswith("replaying: ")


@pytest.mark.parametrize("phase", ["generation", "replaying: 4 members"])
def test_a_signal_waits_for_the_end_of_a_generation_alone(phase):
    """A second one, and one while none is searched, ends all; afterwards all is as before."""
    before = signal.getsignal(signal.SIGTERM)
    with listening(open_show(Lines(io.StringIO()))) as show:
        show(Progress(phase, 1, 9))
        if phase == "generation":
            signal.raise_signal(signal.SIGTERM)
            assert show.is_stopping
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_is_handled_once_the_compiler_is_done():
    """It drops what is raised while it calls Python, and goes on with a loop that is half there."""
    inside = {"__name__": "llvmlite.binding.executionengine", "signal": signal}
    exec("def call_back():\n    signal.raise_signal(signal.SIGTERM)", inside)
    with handle_signals(stop_now):
        inside["call_back"]()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)


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
