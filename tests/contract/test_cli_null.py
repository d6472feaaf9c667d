"""Null markets for the search of any program: written, searched elsewhere, judged."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import optimizer
from data import Window, load_bars
from optimizer.evidence.betting import compute_wealth
from optimizer.evidence.null_markets import NullMarkets
from tests.support.commands import write_market

pytestmark = pytest.mark.slow

LENGTH, START, END = 600, "1970-01-04", "1970-01-07"


@pytest.fixture
def exported(command):
    """Function that writes bars and exports them with some flags; the command's outcome."""

    def export(*flags):
        spec = write_market(Path("bars.csv"), LENGTH, gaps=0.02)
        return command("null", "export", *flags, spec, "nulls")

    return export


def read_order():
    """Label of each market, as the sealed file has it."""
    lines = Path("nulls/sealed.txt").read_text().splitlines()[1:]
    orders = [json.loads(base64.b64decode(line))["order"] for line in lines]
    return {name: label for order in orders for name, label in order.items()}


def write_results(values, name="results.csv"):
    """Write results by label as a file of the markets."""
    rows = [f"{market},{values[label]}" for market, label in read_order().items()]
    Path(name).write_text("\n".join(["market,result", *rows, ""]))
    return name


def rank_values(copies, **above):
    """Results of which so many copies of each kind are as good as the real one."""
    kinds = above.items()
    values = {f"{kind} {n}": float(n <= good) for kind, good in kinds for n in range(1, copies + 1)}
    return {"real": 1.0, **values}


def test_copies_are_null_markets_of_the_judge(command, exported):
    """The real bars and each copy, to the last bit; bars before the range stay, none follows."""
    wanted = ("--count", 3, "--mirrored", "--start", START, "--end", END, "--seed", 7)
    assert exported(*wanted).code == 0
    bars = load_bars("csv:bars.csv")
    window = Window.between(bars, START, END)
    made = NullMarkets([bars], [window], 7)
    assert 0 < window.start < window.end < len(bars)
    order = read_order()
    assert sorted(order) == [f"m{n:03d}" for n in range(1, 8)]
    for name, label in order.items():
        kind, _, number = label.partition(" ")
        (expected,) = {
            "real": lambda _: (bars.until(window.end),), "shuffled": made.shuffle_market,
            "mirrored": made.mirror_market,
        }[kind](int(number or 0))  # fmt: skip
        read = load_bars(f"nulls/{name}/bars.csv")
        assert read.content_hash == replace(expected, symbol="bars").content_hash, label


@pytest.mark.parametrize("form", ["csv", "parquet", "freqtrade", "tradingview"])
def test_each_form_reads_back_equal(exported, form):
    """Bars of the real market; with the columns and the name of file that the program has."""
    assert exported("--count", 1, "--as", form, "--symbol", "BTC/USDT").code == 0
    (real,) = (name for name, label in read_order().items() if label == "real")
    (path,) = Path("nulls", real).iterdir()
    bars = load_bars("csv:bars.csv")
    for name in ("timestamp", "open", "high", "low", "close", "volume"):
        assert np.array_equal(getattr(load_bars(path), name), getattr(bars, name)), name
    if form == "freqtrade":
        assert path.name == "BTC_USDT-15m.feather"
        frame = pd.read_feather(path)
        assert list(frame) == ["date", "open", "high", "low", "close", "volume"]
        assert str(frame["date"].dtype) == "datetime64[ms, UTC]"
    elif form == "parquet":
        assert load_bars(path).symbol == "BTC/USDT"
    else:
        head = path.read_text().splitlines()[0]
        expected = {
            "csv": "timestamp,open,high,low,close,volume",
            "tradingview": "time,open,high,low,close,Volume",
        }
        assert head == expected[form]


@pytest.mark.parametrize(
    ("copies", "above", "expected"),
    [
        (19, {"shuffled": 0}, ("weak", 0.05)),
        (19, {"shuffled": 1}, ("luck", 0.1)),
        (18, {"shuffled": 0}, ("not_judged", 1 / 19)),
        (19, {"shuffled": 0, "mirrored": 0}, ("weak", 0.05)),
        (19, {"shuffled": 0, "mirrored": 1}, ("luck", 0.1)),
    ],
    ids=["more", "luck", "too_few", "both_kinds", "the_dearer_kind"],
)
def test_the_rank_of_the_real_market_decides(command, exported, copies, above, expected):
    """A tie is as good."""
    exported("--count", copies, *["--mirrored"] * (len(above) > 1))
    results = write_results(rank_values(copies, **above))
    verdict = command("null", "judge", "nulls", results, "--json").json
    assert (verdict["grade"], verdict["p"], verdict["form"]) == (*expected, "rank")
    said = [f"as good on {good} of {copies} {kind} markets" for kind, good in above.items()]
    assert all(one in verdict["sentence"].lower() for one in said)
    assert verdict["real"] == {label: name for name, label in read_order().items()}["real"]


def test_copies_are_added_and_the_bet_goes_on(command, exported):
    """The real market stays among the first, p is that of the bet; it is one search."""
    exported("--count", 19)
    results = write_results(rank_values(19, shuffled=0))
    first = command("null", "judge", "nulls", results)
    assert "more than luck on these bars at 0.05 (p = 0.05 by rank)" in first.out
    assert "null export --more 123 DATA nulls" in first.out
    added = exported("--more", 123)
    assert "142 markets" not in added.out
    assert "143 markets, m001 to m143" in added.out
    assert len([label for label in read_order().values() if label == "real"]) == 1
    results = write_results(rank_values(142, shuffled=0))
    verdict = command("null", "judge", "nulls", results, "--json").json
    assert (verdict["form"], verdict["looks"]) == ("any time", 1)
    assert verdict["p"] == pytest.approx(1 / compute_wealth(142, 0))
    bars = load_bars("csv:bars.csv")
    made = NullMarkets([bars], [Window.between(bars)], 1).shuffle_market(142)
    (name,) = (name for name, label in read_order().items() if label == "shuffled 142")
    assert load_bars(f"nulls/{name}/bars.csv").content_hash == made[0].content_hash


def test_another_search_counts_once_more(command, exported):
    """The same results again do not."""
    exported("--count", 39)
    results = write_results(rank_values(39, shuffled=0))
    for _ in range(2):
        verdict = command("null", "judge", "nulls", results, "--json").json
        assert (verdict["looks"], verdict["p"]) == (1, 0.025)
    other = rank_values(39, shuffled=0) | {"real": 2.0}
    verdict = command("null", "judge", "nulls", write_results(other), "--json").json
    assert (verdict["looks"], verdict["p"]) == (2, 0.05)
    assert "2 searches were judged with this folder: p counts 2 times." in verdict["notes"]
    assert len(json.loads(Path("nulls/looks.json").read_text())) == 2


def test_copies_after_any_look_make_p_that_of_the_bet(command, exported):
    """Also where the results of the first look were changed: its rank told how many to add."""
    exported("--count", 19)
    command("null", "judge", "nulls", write_results(rank_values(19, shuffled=1)))
    exported("--more", 20)
    other = rank_values(39, shuffled=0) | {"real": 2.0}
    verdict = command("null", "judge", "nulls", write_results(other), "--json").json
    assert (verdict["form"], verdict["looks"]) == ("any time", 2)
    assert verdict["p"] == pytest.approx(2 / compute_wealth(39, 0))


def test_searches_judged_at_once_are_all_counted(exported):
    """Each by a thread of its own."""
    exported("--count", 1)
    names = read_order()

    def judge(number):
        return optimizer.null_judge("nulls", dict.fromkeys(names, float(number))).looks

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(judge, range(24))) == 24
    assert len(json.loads(Path("nulls/looks.json").read_text())) == 24


def test_copies_added_at_once_are_all_there(exported):
    """And the folder can be judged."""
    exported("--count", 1)

    def add(_):
        return optimizer.null_markets("nulls", data="csv:bars.csv", more=1)

    with ThreadPoolExecutor(4) as pool:
        assert max(folder.copies for folder in pool.map(add, range(4))) == 5
    assert len(read_order()) == 6
    assert optimizer.null_judge("nulls", dict.fromkeys(read_order(), 1.0)).p == 1


def test_round_prices_do_not_show_which_market_is_real(command):
    """Every price has 17 digits, and all files of a form about one size."""
    spec = write_market(Path("bars.csv"), 500)
    frame = pd.read_csv("bars.csv", index_col=0).round(2)
    frame.to_csv("bars.csv")
    for form in ("csv", "tradingview"):
        assert command("null", "export", "--count", 3, "--as", form, spec, form).code == 0
        files = list(Path(form).glob("m*/*"))
        assert len({path.stat().st_size for path in files}) <= 2, form
        for path in files:
            last = path.read_text().splitlines()[-1].split(",")
            assert [len(cell.replace(".", "")) for cell in last[1:5]] == [17] * 4, path


def test_a_look_is_recorded_before_the_seal_is_opened(command, exported):
    """A seal that was changed is refused, and the look stays."""
    exported("--count", 1)
    seal = Path("nulls/sealed.txt")
    results = write_results(rank_values(1, shuffled=0))
    text = seal.read_text().splitlines()
    changed = json.loads(base64.b64decode(text[1]))
    names = list(changed["order"])
    changed["order"] = dict(zip(names, reversed(changed["order"].values()), strict=True))
    seal.write_text("\n".join([text[0], base64.b64encode(json.dumps(changed).encode()).decode()]))
    assert "sealed.txt: was changed after the export" in command.refuse(
        4, "null", "judge", "nulls", results
    )
    assert len(json.loads(Path("nulls/looks.json").read_text())) == 1


WRONG = {
    "missing": (lambda rows: rows[:-2], "2 of 3 markets have no result: m002, m003;"),
    "repeated": (lambda rows: [*rows, "m001,3"], "market m001 has two results"),
    "unknown": (lambda rows: [*rows, "m009,3"], "has no market m009"),
    "undefined": (lambda rows: [*rows[:-1], "m003,nan"], "the result of m003 is no finite number"),
    "infinite": (lambda rows: [*rows[:-1], "m003,-inf"], "the result of m003 is no finite number"),
    "text": (lambda rows: [*rows[:-1], "m003,much"], "row 4 must be a market and a number"),
    "cells": (lambda rows: [*rows[:-1], "m003,1,2"], "row 4 must be a market and a number"),
    "empty": (lambda rows: [], "3 of 3 markets have no result: m001, m002, m003;"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_results_are_refused_and_count_as_no_look(command, exported, case):
    """In one line."""
    exported("--count", 2)
    change, message = WRONG[case]
    rows = change(["market,result", *(f"m{n:03d},{n}" for n in range(1, 4))])
    Path("results.csv").write_text("\n".join(rows))
    assert message in command.refuse(2, "null", "judge", "nulls", "results.csv")
    assert not Path("nulls/looks.json").exists()


def test_other_bars_and_used_folders_are_refused(command, exported):
    """Nothing is written."""
    exported("--count", 1)
    before = Path("nulls/markets.json").read_bytes()
    again = command("null", "export", "csv:bars.csv", "nulls")
    assert "nulls: is no empty folder" in again.error
    write_market(Path("bars.csv"), LENGTH - 1)
    other = command("null", "export", "--more", 2, "csv:bars.csv", "nulls")
    assert "nulls: was made of other bars" in other.error
    none = command("null", "export", "--more", 2, "csv:bars.csv", "nothing")
    assert "nothing: has no markets.json" in none.error
    assert Path("nulls/markets.json").read_bytes() == before


def test_python_says_the_same(command, exported):
    """Of a frame, several symbols side by side, and with a page."""
    exported("--count", 1)
    frame = pd.read_csv("bars.csv", index_col="timestamp", parse_dates=True)
    bars = {"A": frame, "B": frame.iloc[100:]}
    folder = optimizer.null_markets("both", bars=bars, count=19)
    frames = {name: folder.frames(name) for name in folder.markets}
    assert all(list(by_symbol) == ["A", "B"] for by_symbol in frames.values())
    ends = {round(by_symbol["A"]["close"].iloc[-1], 6) for by_symbol in frames.values()}
    assert len(ends) == 1
    results = {name: by_symbol["B"]["high"].max() for name, by_symbol in frames.items()}
    verdict = optimizer.null_judge("both", results)
    rows = [f"{name},{float(value)!r}" for name, value in results.items()]
    Path("rows.csv").write_text("\n".join(rows))
    told = command("null", "judge", "both", "rows.csv", "--page", "page.html", "--json").json
    assert (told["sentence"], told["looks"]) == (verdict.sentence, 1)
    page = Path("page.html").read_text()
    assert verdict.sentence in page
    assert f"{verdict.real}, the real one" in page
