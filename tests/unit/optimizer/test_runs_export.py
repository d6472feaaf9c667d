"""Export: rows that say everything, floats that read back exactly, cells that run nothing."""

import csv
import io
import json

import pytest

from optimizer.runs import RunStore
from optimizer.runs.export import all_rows, front_rows, write_csv, write_json
from optimizer.runs.rows import front_population
from tests.support.recording import HEADER, made


@pytest.fixture
def store(tmp_path):
    """A run of four generations that keeps older fronts only."""
    with RunStore.create(tmp_path, "run-1", HEADER, keep="front") as opened:
        for number in range(4):
            opened.record(made(number))
            opened.flush()
        yield opened


def text_of(write, rows):
    """What a writer writes."""
    stream = io.StringIO(newline="")
    count = write(rows, stream)
    return stream.getvalue(), count


def test_front_rows_name_genes_objectives_and_failures(store):
    """Whole genes are whole numbers; the order is that of survival."""
    front = front_population(made(3).population)
    rows = list(front_rows(store, 3))
    assert len(rows) == len(front) > 0
    assert list(rows[0]) == [
        "generation",
        "individual",
        "ema_fast",
        "=z",
        "sharpe",
        "max_drawdown",
        "violation",
        "failure",
    ]
    assert rows[0]["ema_fast"] == front.genomes[0, 0]
    assert isinstance(rows[0]["ema_fast"], int)
    assert rows[0]["sharpe"] == front.objectives[0, 0]
    assert rows[0]["failure"] == ""


def test_all_rows_have_what_is_still_kept(store):
    """Whole populations of the newest two generations, fronts of those before."""
    counts = [0] * 4
    undefined = 0
    for row in all_rows(store):
        counts[row["generation"]] += 1
        undefined += row["sharpe"] is None
        assert (row["failure"] == "too_few_trades") == (row["sharpe"] is None)
    fronts = [len(front_population(made(number).population)) for number in range(2)]
    assert counts == [*fronts, 6, 6]
    assert undefined == 4


def test_summaries_only_have_no_rows(tmp_path):
    """Of generations of which only the summary was kept there is nothing to export."""
    with RunStore.create(tmp_path, "run-2", HEADER, keep="last") as store:
        for number in range(4):
            store.record(made(number))
        store.flush()
        assert {row["generation"] for row in all_rows(store)} == {2, 3}


def test_csv_reads_back_exactly_and_runs_no_formula(store):
    """Floats have all their digits, None is empty, and a name that starts with = gets a quote."""
    rows = list(all_rows(store))
    text, count = text_of(write_csv, rows)
    read = list(csv.DictReader(io.StringIO(text)))
    assert count == len(read) == len(rows)
    for expected, actual in zip(rows, read, strict=True):
        assert float(actual["'=z"]) == expected["=z"]
        sharpe = float(actual["sharpe"]) if actual["sharpe"] else None
        assert sharpe == expected["sharpe"]
        assert actual["ema_fast"] == str(expected["ema_fast"])


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_text_that_a_spreadsheet_would_run_is_quoted(start):
    """Text gets a quote in front; a negative number stays a number."""
    text, _ = text_of(write_csv, [{"a": f"{start}1", "b": -1.5, "c": "1"}])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["a", "b", "c"],
        [f"'{start}1", "-1.5", "1"],
    ]


def test_json_reads_back_exactly(store):
    """The array holds the very rows; without rows it is empty."""
    rows = list(all_rows(store))
    text, count = text_of(write_json, rows)
    assert json.loads(text) == rows
    assert count == len(rows)
    assert text_of(write_json, []) == ("[]\n", 0)
    assert text_of(write_csv, []) == ("", 0)


def test_header_without_names_gives_numbers(tmp_path):
    """Columns are numbered when the header does not name them, or names another count."""
    with RunStore.create(tmp_path, "run-3", {"genes": ["only one"]}) as store:
        store.record(made(0))
        store.flush()
        row = list(all_rows(store))[-1]
    assert list(row)[2:6] == ["gene_0", "gene_1", "objective_0", "objective_1"]
    assert row["failure"] == "1"


def test_gene_and_objective_of_one_name_both_show(tmp_path):
    """An objective named as a gene is told apart."""
    header = {"genes": ["x", "y"], "objectives": ["x", "z"]}
    with RunStore.create(tmp_path, "run-4", header) as store:
        store.record(made(0))
        store.flush()
        row = next(front_rows(store, 0))
    assert list(row)[2:6] == ["x", "y", "objective_x", "z"]
