"""A column of the bars' own file, from the flag to the verdict, and what is refused of it."""

import html
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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
    resume = ("evolve", "--resume", "latest", *SMALL[-2:], "--generations")
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


def test_a_look_ahead_through_it_is_refused(command, place):
    """An indicator of one's own is cut with its columns."""
    own = (
        "import numpy as np\n@indicator(warm_up=lambda: 1)\ndef felt(bars):\n"
        '    return np.append(bars.extra["mood"][1:], 0.0)\n\n\nMOODY'
    )
    text = MINE.replace("MOODY", own, 1).replace('column("mood") >', "felt() >")
    Path("mine.py").write_text(text)
    checked = command("strategies", "check", "mine.py", *place[:2], "--aligned-column", "mood")
    assert checked.code == 2
    assert "felt() looks ahead" in checked.err
