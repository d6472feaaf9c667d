"""A strategy in a file of one's own goes the whole way, and its mistakes are named."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from optimizer import load_run
from optimizer.run import indicator_cache
from strategy import words
from strategy.indicator_registry import COLUMNS
from tests.support.commands import SMALL
from tests.support.own_files import momentum_file

pytestmark = pytest.mark.slow

RESUME = ("evolve", "--resume", "latest", *SMALL[-2:])

PULLBACK = """from strategy.words import *

strength = rsi(close, 4)
PULLBACK = strategy(
    "Buys a dip.",
    long=(close > sma(close, length("slow", 20, 5, 60))) & (strength < gene("dip", 40, 20, 60)),
    short=crosses_above(strength, 80),
    exit_long=strength > 65,
    stop=beyond_bar(gene("stop", 1.5, 0.3, 4) * rma(true_range, 5)),
    target=r_multiple(2),
    max_hold=30,
)
"""

MOODY = PULLBACK.replace("(strength <", '(column("mood") > 0) & (strength <')

OWN = momentum_file()


@pytest.fixture
def pullback(tmp_path):
    """A file with one strategy."""
    path = tmp_path / "pullback.py"
    path.write_text(PULLBACK)
    return path


def search_strategy(command, market, path, *more):
    """A small search with a strategy of a file, its result as JSON."""
    return command.succeed(
        "evolve", "--data", market, "--strategy", path, *SMALL, "--json", *more
    ).json


def verify(command):
    """What verifying the newest run comes to."""
    verified = command("runs", "verify", "latest")
    return verified.err if verified.code else verified.out


def test_it_is_searched_certified_judged_and_shown(command, market, pullback):
    """The file is not needed after the search; what it says otherwise later is refused."""
    result = search_strategy(command, market, pullback)
    assert result["strategy"] == "pullback"
    assert result["certificate"]["mismatches"] == 0
    assert list(result["front"][0]["genes"]) == ["slow", "dip", "stop"]
    text = pullback.read_text()
    pullback.unlink()
    assert "0 mismatches" in verify(command)
    assert command("runs", "source", "latest").out == text
    few = ("--folds", "0", "--blocks", "0", "--null", "1")
    judged = command.succeed("judge", "latest", "--json", *few)
    assert judged.json["judgement"]["null"]["shuffled"]["run"] == 1
    trades = load_run("latest").trades(0)
    assert set(trades["side"].unique()) == {1, -1}
    assert (trades["reason"] == "signal").any()
    assert command("report", "latest").code == 0
    # Other words for the same are the same strategy.
    pullback.write_text("# another comment\n" + PULLBACK.replace("strength", "power"))
    again = command(*RESUME, "--generations", "3", "--json")
    assert (again.code, again.json["generation"]) == (0, 3)
    pullback.write_text(PULLBACK.replace("> 65", ">= 65"))
    error = command.refuse(4, *RESUME, "--generations", "4")
    assert re.search(r"line \d+: recorded .*> 65.*, now .*>= 65", error)
    assert "strategy.exit_long" in error


def test_functions_of_ones_own_come_from_the_record(command, market, tmp_path):
    """They are run again as recorded, also without the file."""
    own = tmp_path / "momentum.py"
    own.write_text(OWN)
    search_strategy(command, market, own)
    assert "0 mismatches" in verify(command)
    own.write_text(OWN.replace("- 1]", "- 1.0]"))
    assert "0 mismatches" in verify(command)
    assert "line 8" in command.refuse(4, *RESUME, "--generations", "3")
    own.unlink()
    assert command("backtest", "--run", "latest", "--member", "0").code == 0
    assert command(*RESUME, "--generations", "3").code == 0
    assert command("runs", "source", "latest").out == OWN
    # Another strategy may have an indicator of the same name.
    own.write_text(f"{OWN}\n{OWN.replace('MOMENTUM', 'OTHER')}")
    search_strategy(command, market, f"{own}:MOMENTUM")
    assert "0 mismatches" in verify(command)


def test_a_replay_on_another_machine_says_where_bits_differ(command, market, tmp_path, monkeypatch):
    """Rows are computed anew there; a run that was changed is not told from that."""
    rounding = tmp_path / "momentum.py"
    rounding.write_text(
        OWN.replace("import numpy", "import os\n\nimport numpy")
        .replace("- 1]", '- 1 + float(os.environ.get("OTHER", 0))]')
    )  # fmt: skip
    search_strategy(command, market, rounding)
    assert "0 mismatches" in verify(command)
    monkeypatch.setenv("OTHER", "0.0005")
    monkeypatch.setattr(indicator_cache, "_machine", lambda: "another")
    found = command("runs", "verify", "latest")
    assert (found.code, "the record is whole" in found.out) == (4, False)
    assert "own indicators (moved) compute other bits here" in found.error
    assert command("backtest", "--run", "latest", "--member", "0").code == 0


def test_a_run_is_gone_on_with_from_any_folder(command, market, tmp_path, monkeypatch):
    """The file is that of the folder where the run began, not one of the same name here."""
    place, elsewhere = tmp_path / "idea.py", tmp_path / "elsewhere"
    place.write_text(OWN)
    search_strategy(command, market, "./idea.py")
    shutil.copytree("runs", elsewhere / "runs")
    (elsewhere / "idea.py").write_text("raise SystemExit('another file')")
    monkeypatch.chdir(elsewhere)
    assert "0 mismatches" in verify(command)
    assert command("backtest", "--run", "latest", "--member", "0").code == 0
    for count in ("3", "4"):
        outcome = command.succeed(*RESUME, "--generations", count, "--json")
    assert outcome.json["generation"] == 4
    place.write_text(OWN.replace("share(gene", "share( gene"))
    assert command(*RESUME, "--generations", "5").code == 4


AT_SIGNALS = """import numpy as np

from strategy.words import *


@indicator(warm_up=0)
def jump(bars):
    found, places = bars.close * 1e-9, np.arange(150, 1500, 300)
    found[places[places < len(bars) - 1]] = 1.0
    return found


JUMPS = strategy(
    "Knows a few bars too early.",
    long=jump() > 0.5,
    stop=share(gene("stop", 0.01, 0.002, 0.05)),
    max_hold=999,
)
"""
AT_EXITS = AT_SIGNALS.replace("long=jump()", "long=close > 0, exit_long=jump()").replace(
    "0.01, 0.002, 0.05", "0.8, 0.7, 0.9"
)
EVERYWHERE = OWN.replace("np.full(n, np.nan), bars.close[n:]", "bars.close[n:]").replace(
    "/ bars.close[:-n] - 1])", "/ bars.close[:-n] - 1, np.full(n, np.nan)])"
)


@pytest.mark.parametrize(
    "text", [AT_SIGNALS, AT_EXITS, EVERYWHERE], ids=["entries", "exits", "everywhere"]
)
def test_a_look_ahead_is_refused_before_a_result_is_shown(command, market, tmp_path, text):
    """Also at bars that lie between those at which every indicator is cut."""
    path = tmp_path / "ahead.py"
    path.write_text(text)
    asked = [("evolve", "--strategy", path, *SMALL), ("strategies", "check", path)]
    # What is cut everywhere is found before a search alone.
    asked += [] if text == EVERYWHERE else [("backtest", "--strategy", path)]
    for words_given in asked:
        outcome = command(*words_given, "--data", market)
        assert outcome.code == 2
        assert re.search(r"error: (jump\(\)|moved\(\d+\)) looks ahead", outcome.err)
        assert f"({path}:6)" in outcome.err
        assert "trades" not in outcome.out


def test_a_new_file_names_the_next_commands(command, market):
    """It is commented, can be checked as it stands, names its words, and never overwrites."""
    made = command.succeed("strategies", "new", "first_idea")
    assert "strategies check first_idea.py" in made.out
    checked = command.succeed("strategies", "check", "first_idea.py", "--data", market)
    for word in ("rsi(close, 14)", "warm-up", "signals", "0 mismatches"):
        assert word in checked.out
    assert "there already" in command("strategies", "new", "first_idea").error
    assert "python -m optimizer strategies words" in Path("first_idea.py").read_text()
    printed = command("strategies", "words").out
    others = set(words.__all__) - set(COLUMNS)
    assert others == {*re.findall(r"^  (\w+)\(", printed, re.MULTILINE)}
    assert set(COLUMNS) <= set(re.findall(r"\w+", printed))


def test_numbers_of_a_file_are_known_when_they_could_be_read(command, market, pullback, tmp_path):
    """A strategy reads them; the run holds them by their hash; no look-ahead is found."""
    times = pd.date_range("1970-01-01", periods=40, freq="18h", tz="UTC")
    values = [f"{time.isoformat()},{k % 3}" for k, time in enumerate(times)]
    (tmp_path / "mood.csv").write_text("\n".join(["known_at,value", *values]))
    pullback.write_text(MOODY)
    given = ("--column-file", "mood=mood.csv@2000")
    result = search_strategy(command, market, pullback, *given)
    assert result["certificate"]["mismatches"] == 0
    assert "0 mismatches" in verify(command)
    few = ("--folds", "0", "--blocks", "0", "--null", "1")
    judged = command("judge", "latest", "--json", *few)
    assert judged.json["judgement"]["causal"]["mismatches"] == 0
    (tmp_path / "mood.csv").write_text("\n".join(["known_at,value", *values[:5]]))
    # A process that gives several commands gets the note from each.
    for _ in range(2):
        resumed = command.succeed(*RESUME, "--generations", "3")
        assert resumed.err.count("mood.csv is not what it was") == 1
    (copy,) = tmp_path.glob("runs/*/columns/mood.csv")
    content = copy.read_bytes()
    copy.unlink()
    # It is completed where nothing else is left to do, from the file as it was.
    assert command(*RESUME).code == 4
    (tmp_path / "mood.csv").write_text("\n".join(["known_at,value", *values]))
    assert command(*RESUME).code == 0
    assert copy.read_bytes() == content
    copy.write_text("\n".join(["known_at,value", *values[:5]]))
    assert command(*RESUME, "--generations", "4").code == 4
