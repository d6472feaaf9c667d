"""What bars lack is noted for those searched on and those held out, everywhere the same."""

import json

import pytest

from optimizer.config.run_config import RunConfig
from optimizer.report import Run, write_report
from optimizer.run.markets import load_markets
from optimizer.store import find_run
from optimizer.store.result import describe_quality
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow

FEW = ("--holdout", "20%", "--min-trades", "3")


@pytest.fixture
def market(tmp_path):
    """3,000 bars; the last fifth misses 9 of them in 3 gaps, and 6 bars there have no volume."""
    path = tmp_path / "bars.csv"
    write_market(path, 3_009)
    head, *rows = path.read_text().splitlines()
    for place in (2_500, 2_600, 2_700):
        rows[place + 10] = rows[place + 10].rpartition(",")[0] + ",0"
        rows[place + 12] = rows[place + 12].rpartition(",")[0] + ",0"
        rows[place : place + 3] = []
    path.write_text("\n".join([head, *rows]) + "\n")
    return f"csv:{path}"


QUALITY_LINES = [
    "bars searched on: no gap, each with volume",
    "bars held out: 3 gaps, 9 bars missing (1.48%), 6 bars without volume (1.00%)",
]


@pytest.mark.parametrize("name", ["evolve", "backtest"])
def test_both_parts_are_told(command, market, name):
    """One below the other, before anything that was found; JSON has the numbers by window."""
    flags = (name, "--data", market, *FEW[:2], *(SMALL if name == "evolve" else ()))
    lines = command(*flags).out.splitlines()
    first = lines.index(QUALITY_LINES[0])
    assert lines[first : first + 2] == QUALITY_LINES
    result = command(*flags, "--json").json
    windows = result["data"]["windows"] if name == "evolve" else result["windows"]
    numbers = [
        (window["sample"], window["gaps"], window["missing"], window["silent"])
        for window in windows
    ]
    assert numbers == [("in", 0, 0, 0), ("held out", 3, 9, 6)]


def test_the_report_tells_both(command, market, tmp_path):
    """Among the facts about the data."""
    command("evolve", "--data", market, *FEW, *SMALL)
    page = write_report(Run(find_run(tmp_path / "runs", "latest"))).read_text()
    for line in QUALITY_LINES:
        name, _, lacking = line.partition(": ")
        assert name.capitalize() in page
        assert lacking in page


def test_without_held_out_bars_there_is_one_line(market):
    """And none where an older version did not count."""
    windows = load_markets(RunConfig(data=market)).describe()
    (line,) = describe_quality(windows)
    assert line.startswith("bars searched on: 3 gaps")
    older = [json.loads(json.dumps(window.payload())) for window in windows]
    for window in older:
        del window["silent"], window["gaps"], window["missing"]
    assert describe_quality([type(windows[0]).read(window) for window in older]) == ()
