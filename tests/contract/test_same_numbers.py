"""The same numbers in terminal, JSON, report, Python and exports, of one and of several symbols."""

import csv
import json
import re

import pytest

from optimizer import load_run
from optimizer.report.charts.chart import words
from optimizer.runs.result import FIGURES
from optimizer.shown import metric
from tests.support.commands import write_market
from tests.support.pages import data_of

SEARCH = ("--population", "8", "--generations", "1", "--min-trades", "3", "--no-judge")
LATTICE = ("--search", "lattice", "--step", "reward_r=2", "--min-trades", "3", "--no-judge")


@pytest.mark.parametrize(
    ("symbols", "flags"),
    [
        (1, SEARCH),
        (1, (*SEARCH, "--holdout", "20%")),
        (1, (*SEARCH, "--parts", "3")),
        (1, (*SEARCH, "--parts", "3", "--over-windows", "mean")),
        (1, (*SEARCH, "--objectives", "cagr,calmar,max_drawdown")),
        (1, LATTICE),
        (2, SEARCH),
        (2, (*SEARCH, "--parts", "2")),
        (2, (*SEARCH, "--over-windows", "worst")),
        (3, (*SEARCH, "--holdout", "20%")),
    ],
)
def test_a_member_has_the_same_numbers_everywhere(command, tmp_path, symbols, flags):
    """Each metric of the last member, to the bit as a number, as people read it as text."""
    data = []
    for number in range(symbols):
        data += ["--data", write_market(tmp_path / f"symbol{number}.csv", 4500, seed=number)]
    found = command("evolve", *data, *flags, "--json").json
    last = len(found["front"]) - 1
    expected = found["front"][last]["metrics"]
    assert list(expected) == list(FIGURES)
    recorded = command("runs", "show", "latest", "--json").json["result"]["front"][last]
    member = command("runs", "show", "latest", "--member", str(last), "--json").json
    again = command("backtest", "latest", "--member", str(last), "--json").json
    assert recorded["metrics"] == member["metrics"] == again["metrics"] == expected
    assert recorded["undefined"] == again["undefined"]
    shown = command("runs", "show", "latest", "--member", str(last)).out
    run = load_run(runs=tmp_path / "runs")
    data = data_of((run.path / "report.html").read_text(encoding="utf-8"))
    page = {name: texts[0] for name, *texts in data["members"][last]["metrics"]}
    command("runs", "export", "latest", "front.csv")
    command("runs", "export", "latest", "front.json")
    with open(tmp_path / "front.csv", newline="", encoding="utf-8") as file:
        row = list(csv.DictReader(file))[last]
    exported = json.loads((tmp_path / "front.json").read_text(encoding="utf-8"))
    assert exported["front"][last]["metrics"] == expected
    for name, value in expected.items():
        text = row[f"metrics.{name}"]
        assert (None if text == "" else float(text)) == value, name
        if value is None:
            continue
        # Where a front strives for the worst window, its column is the objective.
        strived = found["front"][last]["objectives"].get(name, value)
        assert run.front[name][last] == strived, name
        assert page[words(name)] == metric(name, strived), name
        line = rf"^ {name}(?: \(worst \w+\))? +{re.escape(metric(name, value))} *$"
        assert re.search(line, shown, re.MULTILINE), name
