"""What one command writes another reads: members of fronts, by number, from runs and files."""

import csv

import pytest

from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

MARKET = "csv:bars.csv"


@pytest.fixture
def result(command, recordings):
    """A finished run here, with a front of several members and the bars of it."""
    payload = recordings.copy("noise")
    assert len(payload["front"]) > 2
    return payload


@pytest.mark.parametrize(
    "what", ["run", "evolve --json", "export front.json", "export front.csv", "backtest --json"]
)
def test_a_member_is_backtested_from_whatever_holds_it(command, result, tmp_path, what):
    """By the number that it has everywhere, with the figures that its front has."""
    member = result["front"][2]
    path = tmp_path / ("front.csv" if what.endswith("csv") else "front.json")
    flags = ("--data", MARKET, "--genes", path, "--member", 2)
    if what == "run":
        flags = ("--run", "latest", "--member", 2)
    elif what.startswith("export"):
        assert command("runs", "export", "latest", path).code == 0
    elif what == "backtest --json":
        path.write_text(command("backtest", "--run", "latest", "--member", 2, "--json").out)
        flags = flags[:-2]
    else:
        path.write_text(command("evolve", "--resume", "latest", "--json", "--no-report").out)
    payload = command("backtest", *flags, "--json").json
    assert payload["genes"] == member["genes"]
    assert payload["metrics"] == member["metrics"]


def test_a_search_begins_with_a_member_as_a_backtest_takes_it(command, result, tmp_path):
    """The same two flags, or a file and a number, name the same individual."""
    last = len(result["front"]) - 1
    path = tmp_path / "front.json"
    command("runs", "export", result["run"], path)
    flags = ("evolve", "--data", MARKET, *SMALL, "--generations", 0, "--json", "--member", last)
    for source in (("--run", "latest"), ("--warm-start", path)):
        begun = command(*flags, *source).json["run"]
        command("runs", "export", begun, tmp_path / "all.csv", "--what", "individuals")
        rows = csv.DictReader((tmp_path / "all.csv").read_text().splitlines())
        (first,) = [row for row in rows if row["operator"] == "warm_start"]
        genes = {name: float(first[f"genes.{name}"]) for name in result["front"][last]["genes"]}
        assert genes == result["front"][last]["genes"]
        command("runs", "delete", begun, "--yes")


NAMED = """from strategy.words import *
A = strategy(
    "Rises through its average.",
    long=(close > ema(close, length({length!r}, 20, 5, 40)))
    & (rsi(close, 14) < gene({level!r}, 60, 40, 90)),
    stop=beyond_bar(gene({stop!r}, 2, 1, 4) * atr(14)),
    target=r_multiple(gene({reward!r}, 2, 1, 4)),
    max_hold=length({hold!r}, 30, 10, 50),
)
"""
PLAIN = {"length": "length", "level": "level", "stop": "stop", "reward": "reward", "hold": "hold"}
FREE = {"length": "Fast Length", "level": "rsi", "stop": "low", "reward": "close", "hold": "high"}


def test_genes_are_named_as_a_person_names_them(command, result, tmp_path):
    """Blanks, names of rows, beginnings: the trades are the same, one name is recorded."""
    for name, names in (("plain", PLAIN), ("free", FREE)):
        (tmp_path / f"{name}.py").write_text(NAMED.format(**names))
    given = {"length": "Fast Length=12", "level": "RS=55", "stop": "lo=2.5"}
    flags = [f"--set={text}" for text in given.values()]
    same = [f"--set={name}={text.partition('=')[2]}" for name, text in given.items()]
    free, plain = (
        command("backtest", "--strategy", f"{name}.py", "--data", MARKET, *words, "--json").json
        for name, words in (("free", flags), ("plain", same))
    )
    assert free["metrics"] == plain["metrics"]
    assert free["metrics"]["trades"] > 10
    assert list(free["genes"]) == ["fast_length", "rsi", "low", "close", "high"]
    (tmp_path / "bounds.toml").write_text('[bounds]\n"fast length" = [10, 12]\n')
    flags = ("--strategy", "free.py", "--data", MARKET, "--config", "bounds.toml", "--bound")
    front = command("evolve", *flags, "hi=20:20", *SMALL, "--no-judge", "--json").json["front"]
    assert front
    for member in front:
        assert 10 <= member["genes"]["fast_length"] <= 12
        assert member["genes"]["high"] == 20
