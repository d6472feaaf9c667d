"""Many symbols and held-out bars, from the command line to the record."""

import csv

import pytest

from engine.accounts.ledger import ACCUMULATOR_INDEX, Trade
from optimizer import load_run
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow

LOOSE = ("--set", "vol_z_min=0.5", "--set", "tr_z_min=0.3", "--set", "z_window=96")
EASY = ("--objectives", "sum_r,max_drawdown", *SMALL, "--min-trades", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three markets, the third a hundred times as dear."""
    path = tmp_path_factory.mktemp("symbols")
    for seed, (name, length) in enumerate({"AAA": 3000, "BBB": 2000, "CCC": 2600}.items()):
        write_market(path / f"{name}.csv", length, seed=seed, tick=0.01 if seed < 2 else 0.0001)
    return path


def open_held_out(command):
    """The result of the latest run once its held-out bars were looked at."""
    looked = command("judge", "latest", "--open", "--folds", 0, "--blocks", 0, "--quiet")
    assert looked.code == 0, looked.err
    return command("runs", "show", "latest", "--json").json["result"]


@pytest.fixture
def closed_run(command, folder):
    """A small search on all of them with a fifth held out and unopened."""
    return command("evolve", "--data", f"csv:{folder}", "--holdout", "20%", *EASY, "--json").json


@pytest.fixture
def opened_result(command, closed_run):
    """The same after they were opened."""
    return open_held_out(command)


def test_the_result_tells_every_window(opened_result):
    """Windows to search on first, then those held out, in the same order of symbols."""
    windows = opened_result["data"]["windows"]
    assert [window["symbol"] for window in windows] == ["AAA", "BBB", "CCC"] * 2
    assert [window["sample"] for window in windows] == ["in"] * 3 + ["held out"] * 3
    assert [window["bars"] for window in windows] == [2400, 1600, 2080, 600, 400, 520]
    assert opened_result["data"]["bars"] == 2400 + 1600 + 2080
    assert opened_result["data"]["held_out_bars"] == 600 + 400 + 520
    assert all(window["first"] < window["last"] for window in windows)


def test_objectives_pool_the_windows_that_were_searched(opened_result):
    """They are one account's: R adds up, a fall may be deeper than any window's; so held out."""
    run = load_run(opened_result["path"])
    searched = run.engine.on(run.task.markets.windows).evaluate_account(run.genomes)[1]
    unseen = run.engine.on(run.task.markets.held_out).evaluate_account(run.genomes)[1]
    assert opened_result["front"]
    for i, member in enumerate(opened_result["front"]):
        for name, value in member["objectives"].items():
            place = ACCUMULATOR_INDEX[name]
            assert value == member["metrics"][name] == searched[i, place]
            kept = member["held_out"]
            assert kept["objectives"][name] == kept["metrics"][name] == unseen[i, place]
            by_window, whole = member["by_window"][name][:3], value
            if name == "sum_r":
                assert whole == pytest.approx(sum(by_window))
            else:
                assert whole >= max(by_window)


def test_what_is_held_out_is_taken_together_as_in_the_search(command, folder):
    """The worst window counts on both sides when that was asked for."""
    arguments = ("--data", f"csv:{folder}", "--holdout", "20%", "--json")
    easy = ("--objectives", "sum_r@worst,max_drawdown", *SMALL, "--min-trades", "1")
    assert command("evolve", *arguments, *easy).code == 0
    for member in open_held_out(command)["front"]:
        sum_r = member["by_window"]["sum_r"]
        assert member["objectives"]["sum_r@worst"] == min(sum_r[:3])
        assert member["held_out"]["objectives"]["sum_r@worst"] == min(sum_r[3:])


def test_the_certificate_covers_the_searched_bars(closed_run):
    """Every member was replayed there; held-out bars stay closed."""
    assert closed_run["certificate"]["windows"] == 3
    assert closed_run["certificate"]["mismatches"] == 0
    trades = sum(sum(member["by_window"]["trades"]) for member in closed_run["front"])
    assert closed_run["certificate"]["trades"] == trades


def test_the_record_holds_the_same(command, opened_result):
    """What was held out stands in the run store as it was printed."""
    recorded = command("runs", "show", "latest", "--json").json["result"]
    assert recorded["data"] == opened_result["data"]
    assert [m["held_out"]["metrics"] for m in recorded["front"]] == [
        m["held_out"]["metrics"] for m in opened_result["front"]
    ]
    assert command("runs", "verify", "latest").code == 0
    assert command("parity", "--run", "latest", "--json").json["windows"] == 6


def test_backtest_finds_a_member_again_in_every_window(command, folder, opened_result):
    """Its genes give the figures of each window, on the reference."""
    member = opened_result["front"][0]
    genes = [
        part for name, value in member["genes"].items() for part in ("--set", f"{name}={value!r}")
    ]
    arguments = ("--data", f"csv:{folder}", "--holdout", "20%", "--engine", "reference", "--json")
    again = command("backtest", *arguments, *genes).json
    assert again["metrics"] == member["metrics"]
    assert again["held_out"]["metrics"] == member["held_out"]["metrics"]
    messages = [window["metrics"]["sum_r"] for window in again["windows"]]
    assert messages == member["by_window"]["sum_r"]


def test_both_tables_are_shown(command, folder):
    """Members beside what was held out, and the first one symbol by symbol."""
    arguments = ("--data", f"csv:{folder}", "--holdout", "20%", *EASY, "--quiet")
    assert "1,520 bars held out, which nobody has looked at" in command("evolve", *arguments).out
    open_held_out(command)
    out = command("runs", "show", "latest").out
    assert "on 3 symbols 15m, 6,080 bars and 1,520 bars held out\n" in out
    assert "Held out: bars that the search never saw" in out
    assert "Member 0, symbol by symbol" in out
    assert "all trades of 3 symbols are one account" in " ".join(out.split())
    for name in ("AAA", "BBB", "CCC"):
        assert any(line.startswith(f" {name} ") for line in out.splitlines()), out


def test_what_windows_make_is_said_of_the_objectives(command, folder):
    """Objectives of the worst symbol stand beside means, and the title names which is which."""
    arguments = ("--data", f"csv:{folder}", "--over-windows", "worst", *EASY, "--quiet")
    out = command("evolve", *arguments).out
    assert "; objectives are the worst of 3 symbols, other numbers means" in out


def test_tables_of_many_windows_fit_a_terminal(command, folder, monkeypatch):
    """At 80 columns no heading and no figure is cut."""
    monkeypatch.setattr("optimizer.cli.console.WIDTH_OF_A_FILE", 80)
    command("evolve", "--data", f"csv:{folder}", "--holdout", "20%", *EASY, "--quiet")
    open_held_out(command)
    out = command("runs", "show", "latest").out
    assert "\u2026" not in out
    rows = [line.split() for line in out.split("symbol by symbol")[1].splitlines()]
    assert [row[0] for row in rows if "searched" in row] == ["AAA", "BBB", "CCC"]
    assert len([row for row in rows if row[:2] == ["held", "out"]]) == 3


def test_a_hundred_symbols_are_one_search(command, tmp_path):
    """Of many lengths and prices: a front, a line for each, and a proof in all their windows."""
    (tmp_path / "many").mkdir()
    for seed in range(100):
        size = {"tick": (1e-6, 0.01, 0.5)[seed % 3], "gaps": (seed % 2) * 0.05}
        write_market(tmp_path / "many" / f"S{seed:03d}.csv", 300 + seed, seed=seed, **size)
    short = ("ema_fast=3:20", "ema_slow=21:60", "z_window=20:80", "atr_window=3:40")
    bounds = [part for bound in short for part in ("--bound", bound)]
    arguments = ("--data", "many", "--holdout", "20%", *EASY, *bounds, "--min-trades", "0")
    outcome = command("evolve", *arguments, "--quiet")
    assert outcome.code == 0
    table = outcome.out.split("Member 0, symbol by symbol")[1]
    assert [f" S{seed:03d} " in table for seed in range(100)] == [True] * 100
    result = command("runs", "show", "latest", "--json").json["result"]
    assert result["front"]
    assert result["certificate"]["windows"] == 100
    assert result["certificate"]["mismatches"] == 0
    assert {len(member["by_window"]["sum_r"]) for member in result["front"]} == {100}


def test_one_symbol_without_held_out_bars_has_neither_table(command, folder):
    """No empty row is shown."""
    out = command("evolve", "--data", f"{folder}/AAA.csv", *EASY, "--quiet").out
    assert "Front: " in out
    assert "eld out" not in out
    assert "symbol by symbol" not in out


def test_other_held_out_bars_leave_the_front_as_it_was(command, folder, opened_result, tmp_path):
    """Prices that the search must not see change nothing that it finds."""
    for name, rows in {"AAA": 600, "BBB": 400, "CCC": 520}.items():
        lines = (folder / f"{name}.csv").read_text().splitlines()
        flat = lines[-rows].split(",", 1)[1]
        redrawn = [f"{line.split(',', 1)[0]},{flat}" for line in lines[-rows:]]
        (tmp_path / f"{name}.csv").write_text("\n".join([*lines[:-rows], *redrawn, ""]))
    arguments = ("--data", f"csv:{tmp_path}", "--holdout", "20%", *EASY, "--json")
    assert command("evolve", *arguments).code == 0
    other = open_held_out(command)
    assert other["data_hash"] != opened_result["data_hash"]
    assert other["front_hash"] == opened_result["front_hash"]
    assert other["front"][0]["held_out"] != opened_result["front"][0]["held_out"]


def test_a_run_with_held_out_bars_goes_on_to_the_same_result(command, folder, closed_run):
    """In two parts or in one, front and certificate are equal."""
    finished = closed_run
    arguments = ("--data", f"csv:{folder}", "--holdout", "20%", *EASY)
    assert command("evolve", *arguments, "--generations", "1", "--quiet").code == 0
    again = command("evolve", "--resume", "latest", "--generations", "2", "--json", "--quiet").json
    for name in ("front", "front_hash", "data", "data_hash"):
        assert again[name] == finished[name], name
    assert again["certificate"]["ledger_hash"] == finished["certificate"]["ledger_hash"]
    refused = command("evolve", "--resume", "latest", "--holdout", "25%", "--generations", "3")
    assert refused.code == 4
    assert "windows.0.end" in refused.error


def test_a_ledger_of_many_windows_says_whose_trades_they_are(command, folder, tmp_path):
    """Symbol and sample come before the trade."""
    arguments = ("--data", f"csv:{folder}", "--holdout", "20%", *LOOSE, "--trades", "out.csv")
    result = command("backtest", *arguments, "--json").json
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == ("symbol", "sample", *Trade._fields, "entry_time", "exit_time")
    counts = [window["metrics"]["trades"] for window in result["windows"]]
    assert [
        len([r for r in rows if (r["symbol"], r["sample"]) == (w["symbol"], w["sample"])])
        for w in result["windows"]
    ] == counts
    assert sum(counts) == len(rows) > 0


def test_backtest_shows_both_samples_and_each_symbol(command, folder):
    """Means over the symbols side by side, then symbol by symbol."""
    out = command("backtest", "--data", f"csv:{folder}", "--holdout", "1970-01-19", *LOOSE).out
    assert "searched on" in out
    assert "held out" in out
    assert "Symbol by symbol" in out


def test_from_and_to_are_start_and_end(command, folder):
    """Both spellings cut the same window."""
    spec = ("--data", f"csv:{folder}", "--json")
    result = command("backtest", *spec, "--from", "1970-01-11", "--to", "1970-01-16").json
    two = command("backtest", *spec, "--start", "1970-01-11", "--end", "1970-01-16").json
    assert result["windows"] == two["windows"]
    assert [window["bars"] for window in result["windows"]] == [5 * 96] * 3


def test_data_show_tells_of_every_file_that_it_is_given(command, folder):
    """A list in JSON, one table after the other for people."""
    specs = [f"{folder}/{name}.csv" for name in ("AAA", "BBB")]
    assert [entry["symbol"] for entry in command("data", "show", *specs, "--json").json] == [
        "AAA",
        "BBB",
    ]
    assert command("data", "show", *specs).out.count("first bar opens") == 2


def test_configuration_takes_one_source_or_a_list(command, folder, tmp_path):
    """Both read back as they were written."""
    for text in ('data = "sample"', f'data = ["{folder}/AAA.csv", "{folder}/BBB.csv"]'):
        (tmp_path / "run.toml").write_text(text + "\n")
        assert text in command("config", "--config", "run.toml").out
    assert (
        command("config", "--data", "a.csv", "--data", "b.csv").out.count('["a.csv", "b.csv"]') == 1
    )


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--holdout", "0%"), "--holdout '0%' must be a share above 0% and below 100%"),
        (("--holdout", "1960-01-01"), "AAA has 3000 bars in the window, none left to search on"),
        (("--data", "sample", "--data", "sample"), "'sample' is named more than once"),
    ],
)  # fmt: skip
def test_what_cannot_be_cut_is_refused(command, folder, tmp_path, flags, words):
    """One line, and no run is recorded."""
    outcome = command("evolve", "--data", f"csv:{folder}", *flags, *SMALL)
    assert outcome.code == 2
    assert words in outcome.error
    assert not (tmp_path / "runs").exists()
