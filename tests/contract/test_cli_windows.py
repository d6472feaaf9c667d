"""Several windows of one series, from the search to every table and page."""

import contextlib
import csv
import io
import json

import numpy as np
import pytest

from data import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.metrics import compute_metrics
from engine.batch import Engine
from optimizer import load_run
from optimizer.__main__ import main
from optimizer.errors import ConfigError
from optimizer.report import page_html
from optimizer.run import task as task_module
from optimizer.run.markets import Markets, load_markets
from tests.support.commands import SMALL, write_market
from tests.support.pages import read_data

pytestmark = pytest.mark.slow

EASY = ("--objectives", "sum_r,max_drawdown", *SMALL, "--min-trades", "1")
WINDOWS = (Window(0, 200, 1500), Window(0, 1600, 2400), Window(0, 2400, 3000, "held_out"))
LABELS = (
    "bars 1970-01-04 to 1970-01-17",
    "bars 1970-01-18 to 1970-01-27",
    "bars 1970-01-27 to 1970-02-02",
)


def load_cut(config, least, **ways):
    """Whatever is loaded is searched on in two parts of one series, and a third is held out."""
    return Markets(load_markets(config, least, **ways).series, WINDOWS)


@pytest.fixture(scope="module")
def opened(tmp_path_factory, recordings):
    """Folder of a small search on them whose held-out part was opened; what evolve printed."""
    recordings.record("noise")
    folder, printed = tmp_path_factory.mktemp("cut"), io.StringIO()
    spec = write_market(folder / "bars.csv")
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
    ):
        patch.setattr(task_module, "load_markets", load_cut)
        assert main(["evolve", "--data", spec, *EASY, "--json", "--quiet"]) == 0
        judged = ["judge", "latest", "--open", "--folds", "0", "--blocks", "0", "--quiet"]
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(judged) == 0
    return folder, json.loads(printed.getvalue())


@pytest.fixture
def found(command, opened, monkeypatch):
    """The run as it is shown, in its folder, which no test may change."""
    monkeypatch.setattr(task_module, "load_markets", load_cut)
    monkeypatch.chdir(opened[0])
    return command("runs", "show", "latest", "--json").json["result"]


def test_windows_are_described_with_their_roles_and_labels(found):
    """A symbol that has several windows shows their days."""
    windows = found["data"]["windows"]
    assert [window["label"] for window in windows] == list(LABELS)
    assert {window["symbol"] for window in windows} == {"bars"}
    assert [window["sample"] for window in windows] == ["in", "in", "held out"]
    assert [window["bars"] for window in windows] == [1300, 800, 600]
    assert (found["data"]["bars"], found["data"]["held_out_bars"]) == (2100, 600)


def test_the_front_is_what_the_engine_computes(found):
    """Objectives are of both parts as one account, held out stands the third, in every bit."""
    run = load_run("latest")
    task = run.task
    engine = Engine(task.spec, task.markets.series, WINDOWS, task.costs, device="cpu")
    assert len(found["front"]) == len(run.genomes) > 0
    table = compute_metrics(engine.evaluate(run.genomes), task.markets.spans(WINDOWS))
    _, account = engine.on(WINDOWS[:2]).evaluate_account(run.genomes)
    for i, member in enumerate(found["front"]):
        for name in ("sum_r", "max_drawdown"):
            first, second, third = table.column(name)[i].tolist()
            assert member["by_window"][name] == [first, second, third]
            assert member["objectives"][name] == account[i, ACCUMULATOR_INDEX[name]]
            assert member["held_out"]["objectives"][name] == third
    assert found["certificate"]["windows"] == 2
    assert found["certificate"]["mismatches"] == 0


def test_terminal_and_page_show_three_windows(command, found):
    """A row each, and what numbers mean."""
    out = command("runs", "show", "latest").out
    assert "all trades of 2 windows are one account" in " ".join(out.split())
    rows = out.split("Member 0, window by window")[1].splitlines()
    for label, part in zip(LABELS, ("searched on", "searched on", "held out"), strict=True):
        assert [part in row for row in rows if label in row] == [True]
    run = load_run("latest")
    page = read_data(page_html(run))
    shown = [(window["label"], window["sample"], window["series"]) for window in page["windows"]]
    assert shown == [
        (label, part, 0) for label, part in zip(LABELS, ("in", "in", "held out"), strict=True)
    ]
    detail = page["details"][str(run.knee())]
    assert {name for trace in detail["charts"]["symbol"]["data"] for name in trace["x"]} == {
        *LABELS
    }
    assert detail["trades"]["window"].tolist() == run.trades(run.knee())["window"].tolist()


def test_trades_and_equity_are_those_of_all_windows(command, found, tmp_path):
    """One account goes from part to part; an exported ledger names the window of each trade."""
    run = load_run("latest")
    trades = run.trades(0)
    counts = np.bincount(trades["window"], minlength=3).tolist()
    assert counts == list(run.members[0].by_window["trades"])
    assert trades["sample"].tolist() == ["held out" if w == 2 else "in" for w in trades["window"]]
    assert set(trades["symbol"]) == {"bars"}
    growth = np.multiply.accumulate(1 + run.task.costs.risk_fraction * trades["r"].to_numpy())
    assert run.equity(0).tolist() == [1.0, *growth]
    assert run.apart(0, window=1).trades()["same"].all()
    loose = ("--set", "vol_z_min=0.5", "--set", "tr_z_min=0.3", "--set", "z_window=96")
    file, spec = tmp_path / "out.csv", found["data"]["spec"][0]
    outcome = command("backtest", "--data", spec, *loose, "--trades", file, "--json")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    counts = [window["metrics"]["trades"] for window in outcome.json["windows"]]
    assert [sum(row["label"] == label for row in rows) for label in LABELS] == counts


@pytest.mark.parametrize(
    ("windows", "words"),
    [
        ((Window(0, 0, 100, "held_out"),), "no window"),
        ((Window(0, 0, 50), Window(0, 60, 90), Window(0, 50, 60, "held_out")), "bar 90"),
    ],
    ids=["nothing", "between"],
)
def test_windows_that_a_search_could_see_are_refused(tmp_path, windows, words):
    """Indicators read all history: what is held out comes last."""
    (bars,) = load_markets(task_module.RunConfig(data=write_market(tmp_path / "bars.csv"))).series
    with pytest.raises(ConfigError, match=words):
        Markets((bars,), windows)
