"""The same numbers in terminal, JSON, report, Python and exports, of one and of several symbols."""

import json
import re

import pytest

from optimizer import load_run
from optimizer.formatting import GRADE_WORDS, metric, words
from optimizer.store.result import FIGURES
from tests.support.commands import read_csv
from tests.support.pages import read_data

SEARCH = ("--population", "8", "--generations", "1", "--min-trades", "3", "--no-judge")


@pytest.mark.parametrize(
    "flags",
    [
        (*SEARCH, "--objectives", "cagr,calmar,max_drawdown", "--holdout", "20%"),
        (*SEARCH, "--parts", "2", "--over-windows", "mean"),
        ("symbols", *SEARCH, "--over-windows", "worst"),
    ],
    ids=["held out", "parts", "symbols"],
)
def test_a_member_has_the_same_numbers_everywhere(command, recordings, tmp_path, flags):
    """Each metric of the last member, to the bit as a number, as people read it as text."""
    result = recordings.copy(*flags)
    last = len(result["front"]) - 1
    expected = result["front"][last]["metrics"]
    assert list(expected) == list(FIGURES)
    recorded = command("runs", "show", "latest", "--json").json["result"]["front"][last]
    member = command("runs", "show", "latest", "--member", str(last), "--json").json
    again = command("backtest", "latest", "--member", str(last), "--json").json
    assert recorded["metrics"] == member["metrics"] == again["metrics"] == expected
    assert recorded["undefined"] == again["undefined"]
    shown = command("runs", "show", "latest", "--member", str(last)).out
    run = load_run(runs=tmp_path / "runs")
    data = read_data((run.path / "report.html").read_text(encoding="utf-8"))
    page = {name: texts[0] for name, *texts in data["members"][str(last)]["metrics"]}
    command("runs", "export", "latest", "front.csv")
    command("runs", "export", "latest", "front.json")
    row = read_csv("front.csv")[last]
    exported = json.loads((tmp_path / "front.json").read_text(encoding="utf-8"))
    assert exported["front"][last]["metrics"] == expected
    for name, value in expected.items():
        text = row[f"metrics.{name}"]
        assert (None if text == "" else float(text)) == value, name
        if value is None:
            continue
        # Where a front strives for the worst window, its column is the objective.
        strived = result["front"][last]["objectives"].get(name, value)
        assert run.front[name][last] == strived, name
        assert page[words(name)] == metric(name, strived), name
        line = rf"^ {name}(?: \(worst \w+\))? +{re.escape(metric(name, value))} *$"
        assert re.search(line, shown, re.MULTILINE), name


@pytest.mark.parametrize("name", ["noise", "held out"])
def test_the_answer_of_a_run_is_the_same_everywhere(command, recordings, tmp_path, name):
    """Grade, pick, strength, trades, return and what was held out, as numbers and as text."""
    recordings.copy(name)
    if name == "held out":
        command.succeed("judge", "latest", "--folds", "0", "--blocks", "0", "--open")
    assert command("report", "latest").code == 0
    run = load_run(runs=tmp_path / "runs")
    result = command("runs", "show", "latest", "--json").json["result"]
    judgement = result["judgement"]
    pick, held, verdict = judgement["pick"], judgement.get("held_out"), judgement["verdict"]
    member = result["front"][pick["member"]]
    metrics, grade = member["metrics"], verdict["grade"]
    assert (run.verdict.grade, run.pick.member) == (grade, pick["member"])
    assert (run.pick.strength, run.pick.trades) == (pick["strength"], pick["trades"])
    assert (metrics["strength"], metrics["mean_r"]) == (pick["strength"], pick["mean_r"])
    (listed,) = command("runs", "list", "--json").json
    assert (listed["verdict"], listed["strength"]) == (grade, pick["strength"])
    assert (listed["trades"], listed["total_return"]) == (pick["trades"], metrics["total_return"])
    trades = run.trades(pick["member"])
    assert (trades["sample"] == "in").sum() == pick["trades"]
    unseen = trades[trades["sample"] == "held out"]
    assert bool(held) == run.has_held_out == (name == "held out")
    if held:
        assert len(unseen) == held["trades"]
        for figure in ("total_return", "max_drawdown", "trades"):
            value = member["held_out"]["metrics"][figure]
            assert held["members"][pick["member"]]["metrics"][figure] == value
            assert run.front[f"held_out_{figure}"][pick["member"]] == value
        if len(unseen):
            assert unseen["r"].mean() == pytest.approx(held["mean_r"], rel=1e-12)
    texts = {figure: metric(figure, metrics[figure]) for figure in FIGURES}
    word, sentence = GRADE_WORDS[grade], verdict["sentence"].partition(" Next: ")[0]
    called = [f"Member {pick['member']}, ", f"{pick['trades']} trades"]
    tiles = [word.capitalize(), f"{texts['total_return']} in all", f">{texts['trades']}<"]
    tiles += [texts[name] for name in ("cagr", "max_drawdown", "exposure", "win_rate", "mean_r")]
    surfaces = {
        "terminal": (command("runs", "show", "latest").out, [*called, sentence]),
        "list": (
            command("runs", "list").out,
            [word, texts["strength"], texts["total_return"], f"{pick['trades']:,}"],
        ),
        "report": ((run.path / "report.html").read_text(encoding="utf-8"), [*called, *tiles]),
        "notebook": (run._repr_html_(), tiles),
        "python": (repr(run), [sentence]),
    }
    for surface, (text, expected) in surfaces.items():
        for number in expected:
            assert number in text, surface
