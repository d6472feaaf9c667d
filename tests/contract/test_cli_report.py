"""report, and what evolve and backtest draw: its path, its content, what is refused."""

import json
import re
from pathlib import Path

import pytest

from optimizer import load_run
from optimizer.formatting import format_gene, metric
from optimizer.report import page_html
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

QUICK = [argument for argument in SMALL if argument != "--no-report"]

DATA = ("--data", "csv:bars.csv")


def read_rows(page):
    """Cells of the table of the front, row by row: the number behind each, and its text."""
    (table,) = re.findall(r'<table[^>]*id="front-table".*?</table>', page, re.DOTALL)
    cell = re.compile(r'<td[^>]*data-value="([^"]*)"[^>]*>(.*?)</td>', re.DOTALL)
    rows = re.findall(r"<tr[^>]*data-member=.*?</tr>", table, re.DOTALL)
    return [
        [(value, re.sub("<[^>]*>", "", text).strip()) for value, text in cell.findall(row)]
        for row in rows
    ]


@pytest.fixture
def run_path(command, recordings):
    """The path of a run with its report."""
    recordings.copy("noise")
    path = load_run("latest", "runs").path
    assert command("report", "latest").code == 0
    return path


def test_evolve_ends_with_a_report(command, market, run_path):
    """The page lies in the run's folder; its path is printed where JSON is not."""
    outcome = command("evolve", *DATA, *QUICK, "--json", "--quiet")
    place = load_run("latest", "runs").path / "report.html"
    assert outcome.json["front_hash"]
    assert str(place) in outcome.err
    page = place.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert len(page) < 6_000_000
    again = command("evolve", "--resume", run_path.name, "--runs", "runs")
    assert f"report {run_path / 'report.html'}\n\n" in again.out


def test_figures_of_the_page_are_those_of_the_record(run_path):
    """Each cell has the recorded number, and shows it as the terminal does."""
    run = load_run(str(run_path))
    page = (run_path / "report.html").read_text(encoding="utf-8")
    names = re.findall(r'data-column="\d+" class="\w+"><button type="button">([^<]*)<', page)
    rows = read_rows(page)
    front = {
        json.dumps(candidate.genes, sort_keys=True): candidate for candidate in run.result.front
    }
    assert len(rows) == len(front) > 0
    for row, member in zip(rows, run.members, strict=True):
        stored = front[json.dumps(member.genes, sort_keys=True)]
        expected = {**stored.genes, **stored.metrics, **stored.objectives}
        for name, (value, text) in list(zip(names, row, strict=True))[1:]:
            key = name.replace(" ", "_")
            assert float(value) == expected[key], name
            is_gene = key in stored.genes
            shown = format_gene(expected[key]) if is_gene else metric(key, float(expected[key]))
            assert text == shown, name


def test_a_report_without_its_bars_says_what_is_missing(command, market, run_path, tmp_path):
    """When the data is gone, the front is still shown, and a reason why trades are not.

    Its new path can be given.
    """
    run = load_run(str(run_path), data="csv:gone.csv")
    page = page_html(run)
    assert "The bars could not be loaded" in page
    assert len(read_rows(page)) == len(run.members)
    moved = tmp_path / "moved.csv"
    moved.write_bytes(Path(market.removeprefix("csv:")).read_bytes())
    command.succeed("report", "latest", "--runs", "runs", "--data", f"csv:{moved}")
    written = (run_path / "report.html").read_text(encoding="utf-8")
    assert "The bars could not be loaded" not in written
    other = command.succeed(
        "report", "latest", "--runs", "runs", "--data", "sample", "--out", "other.html"
    )
    assert other.err.startswith("note: ")
