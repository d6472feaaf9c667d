"""A column of the bars' own file, from the flag to the verdict, and what is refused of it."""

import html
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import optimizer
from engine.certificate import data_hash
from optimizer.errors import ConfigError
from optimizer.store import RunStore, find_run
from tests.support.commands import SMALL, market_columns

MINE = """from strategy.words import *

MOODY = strategy(
    "Goes with the mood.",
    long=column("mood") > gene("least", 0.3, -0.5, 1.5),
    short=column("mood") < -1.2,
    stop=share(gene("stop", 0.02, 0.005, 0.05)),
    target=r_multiple(2),
    max_hold=12,
)
"""


@pytest.fixture(scope="module")
def frame():
    """Bars with a column that is not known now and then, and one that is text."""
    columns = market_columns(3, 1200, jump=0.05)
    rng = np.random.default_rng(1)
    mood = np.where(rng.random(1200) < 0.1, np.nan, rng.normal(size=1200))
    times = pd.to_datetime(columns.pop("timestamp"), utc=True)
    return pd.DataFrame({"timestamp": times, **columns, "mood": mood, "fear": -mood, "who": "me"})


@pytest.fixture
def place(frame, tmp_path):
    """A folder with these bars and a strategy that reads the column; flags that name both."""
    frame.to_csv(tmp_path / "bars.csv", index=False)
    (tmp_path / "mine.py").write_text(MINE)
    return ("--data", "bars.csv", "--strategy", "mine.py")


def search_column(command, *flags):
    """A small search with the column, as JSON."""
    outcome = command("evolve", *flags, *SMALL, "--aligned-column", "mood", "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json


@pytest.mark.slow
def test_it_is_searched_certified_judged_shown_and_gone_on_with(command, place, frame):
    """Held-out bars, folds and null markets have it; a resumed run has the same columns alone."""
    result = search_column(command, *place, "--holdout", "20%")
    assert result["certificate"]["mismatches"] == 0
    (stated,) = (note for note in result["data"]["notes"] if "'mood'" in note)
    with RunStore.open(find_run(Path("runs"), "latest")) as store:
        assert store.header["command"]["aligned_columns"] == ["mood"]
        assert stated in store.header["notes"]
    judged = command("judge", "latest", "--json", "--folds", "2", "--null", "2", "--open")
    judgement = judged.json["judgement"]
    assert judgement["causal"]["mismatches"] == 0
    assert judgement["causal"]["trades"] > 0
    assert judgement["null"]["shuffled"]["run"] == 2
    assert command("report", "latest", "--out", "page.html").code == 0
    assert stated in html.unescape(Path("page.html").read_text())
    again = command("backtest", "--run", "latest", "--member", "0", "--json").json
    assert again["metrics"]["trades"] == result["front"][0]["metrics"]["trades"] > 0
    command("runs", "export", "latest", "mine_vbt.py", "--member", "0", "--as", "vectorbt")
    assert "bars.extra('mood')" in Path("mine_vbt.py").read_text()
    resume = ("evolve", "--resume", "latest", "--generations")
    for other in (("--aligned-column", "fear"), ("--column-file", "fear=bars.csv")):
        refused = command(*resume, "3", *other)
        assert refused.code == 4
        assert "with fear" in refused.error
    assert command(*resume, "3", "--aligned-column", "mood=MOOD").code == 0
    frame.assign(mood=frame["mood"] + 1).to_csv("bars.csv", index=False)
    for changed in ((*resume, "5"), ("backtest", "--run", "latest", "--member", "0")):
        outcome = command(*changed)
        assert outcome.code == 4
        assert "column 'mood' has other values" in outcome.err
    frame.assign(volume=frame["volume"] + 1).to_csv("bars.csv", index=False)
    assert "has other values" not in command(*resume, "5").err


@pytest.mark.parametrize("flags", [("--timeframe", "30m"), ("--parts", "2")])
def test_reference_and_engine_agree_however_bars_are_cut(command, place, flags):
    """Merged and parted."""
    assert command("parity", *place, "--aligned-column", "mood", *flags).code == 0


def test_a_frame_in_memory_is_the_same_market(command, place, frame):
    """With the field of the same name; a text column that was not asked for is passed over."""
    from_file = command("backtest", *place, "--aligned-column", "mood", "--json").json
    renamed = frame.rename(columns={"mood": "Mood Index"})
    for bars, asked in ((frame, "mood"), (renamed, "mood=Mood Index")):
        given = optimizer.backtest(bars=bars, strategy="mine.py", aligned_columns=[asked])
        assert len(given.trades(0)) == from_file["metrics"]["trades"] > 20
        assert data_hash(given.task.markets.series) == from_file["data_hash"]
    with pytest.raises(ConfigError, match="--aligned-column mood"):
        optimizer.backtest(bars=frame, strategy="mine.py")


def test_a_strategy_says_which_flag_reads_its_column(command, place):
    """That of the bars' file where it has such numbers, else that of a file of its own."""
    text = Path("mine.py").read_text()
    for name, flag in (("mood", "--aligned-column mood"), ("who", "--column-file who="),
                       ("nobody", "--column-file nobody=")):  # fmt: skip
        Path("mine.py").write_text(text.replace('"mood"', f'"{name}"'))
        missing = command("backtest", *place)
        assert missing.code == 2
        assert flag in missing.error


@pytest.mark.parametrize(
    ("asked", "word"),
    [("who", "'me'"), ("nobody", "'timestamp'"), ("atr=mood", "'atr'"), ("close", "'close'"),
     ("a-b", "NAME=COLUMN"), ("mood --column-file mood=rates.csv", "'mood'")],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(command, place, asked, word):
    """Before a search begins; no name is taken twice."""
    Path("rates.csv").write_text("known_at,value\n1970-01-03T00:00Z,1\n")
    refused = command("backtest", *place, "--aligned-column", *asked.split())
    assert refused.code == 2
    assert word in refused.error


@pytest.mark.parametrize(
    ("shift", "code"), [("np.append(mood[1:], 0.0)", 2), ("np.append(0.0, mood[:-1])", 0)]
)
def test_a_look_ahead_through_it_is_refused(command, place, shift, code):
    """An indicator of one's own is cut with its columns."""
    own = (
        "import numpy as np\n@indicator(warm_up=lambda: 1)\ndef felt(bars):\n"
        f'    mood = bars.extra["mood"]\n    return {shift}\n\n\nMOODY'
    )
    text = MINE.replace("MOODY", own, 1).replace('column("mood") >', "felt() >")
    Path("mine.py").write_text(text)
    checked = command("strategies", "check", "mine.py", *place[:2], "--aligned-column", "mood")
    assert checked.code == code, checked.err
    assert ("felt() looks ahead" in checked.err) == bool(code)


def test_files_are_imported_with_it(command, place, frame):
    """Shown by name, kept by name, and read back with the flag that is named."""
    shown = command("data", "show", "bars.csv", "--aligned-column", "mood", "--json").json
    assert shown["further columns"] == "mood"
    kept = command("data", "import", "bars.csv", "--aligned-column", "m=mood", "--into", "kept")
    assert "--data kept --aligned-column m" in kept.out
    again = command("data", "show", "kept", "--aligned-column", "mood=m", "--json").json
    assert again["hash"] == shown["hash"]
    frame[:500].to_csv("one.csv", index=False)
    frame[500:].drop(columns="mood").to_csv("two.csv", index=False)
    joined = ("data", "import", "one.csv", "two.csv", "--join", "X", "--aligned-column", "mood")
    assert "two.csv: --aligned-column mood" in command(*joined).error
