"""agree: trades of another program beside a strategy's, in a screen, in JSON, by its exit code."""

import csv
from pathlib import Path

IDEA = """from strategy.words import *

FAST, SLOW = sma(close, 5), sma(close, 20)
OVER, UNDER = crosses_above(FAST, SLOW), crosses_below(FAST, SLOW)
TURNS = strategy(
    "Turns.", long=OVER, short=UNDER, exit_long=UNDER, exit_short=OVER, stop=share(0.5)
)
"""


def test_our_own_trades_agree_and_others_are_explained(command, market, tmp_path):
    """Exit code 0 where all are equal; else 1, the first that differ, causes, on one screen."""
    Path("idea.py").write_text(IDEA)
    asked = ("--strategy", "idea.py:TURNS", "--data", market)
    command("backtest", *asked, "--trades", "own.csv")
    own = command("agree", "own.csv", *asked)
    assert (own.code, own.err) == (0, "")
    assert own.out.splitlines()[1].startswith("All ")
    with open("own.csv", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    place = names.index("entry")
    for row in rows[::2]:
        row[place] = str(float(row[place]) + 0.01)
    with open("other.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    other = command("agree", "other.csv", *asked)
    assert other.code == 1
    assert len(other.out.splitlines()) < 40
    assert "First without an equal one:" in other.out
    told = command("agree", "other.csv", *asked, "--json")
    assert told.code == 1
    assert told.json["only_there"] == told.json["only_here"] == (len(rows) + 1) // 2
    assert told.json["first"]["there"]["entry_bar"] == told.json["first"]["here"]["entry_bar"]
    assert told.json["sentence"] in other.out
