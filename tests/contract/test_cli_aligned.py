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

STATED = "aligned: 'mood', stated to be known at the close of each bar"


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
def test_it_is_searched_certified_judged_and_shown(command, place):
    """Held-out bars, folds and null markets have it; the record keeps what was stated."""
    result = search_column(command, *place, "--holdout", "20%")
    assert result["certificate"]["mismatches"] == 0
    assert STATED in result["data"]["notes"]
    with RunStore.open(find_run(Path("runs"), "latest")) as store:
        assert store.header["command"]["aligned_columns"] == ["mood"]
        assert STATED in store.header["notes"]
    assert "0 mismatches" in command("runs", "verify", "latest").out
    judged = command("judge", "latest", "--json", "--folds", "2", "--null", "2", "--open")
    assert judged.code == 0, judged.err
    judgement = judged.json["judgement"]
    assert judgement["causal"]["mismatches"] == 0
    assert judgement["causal"]["trades"] > 0
    assert judgement["null"]["shuffled"]["run"] == 2
    assert command("report", "latest").code == 0
    page = next(Path("runs").glob("*/report.html")).read_text()
    assert STATED in html.unescape(page)
    again = command("backtest", "--run", "latest", "--member", "0", "--json").json
    assert again["metrics"]["trades"] == result["front"][0]["metrics"]["trades"] > 0


@pytest.mark.slow
def test_it_goes_on_with_the_same_columns_alone(command, place, frame):
    """Others are named; another spelling of the same is the same; other values are other bars."""
    search_column(command, *place)
    resume = ("evolve", "--resume", "latest", "--generations")
    other = command(*resume, "3", "--aligned-column", "fear")
    assert other.code == 4
    assert "--aligned-column asks for them without mood, with fear" in other.error
    more = command(*resume, "3", "--aligned-column", "mood", "--aligned-column", "fear")
    assert "--aligned-column asks for them with fear" in more.error
    dated = command(*resume, "3", "--column-file", "fear=bars.csv")
    assert "--column-file asks for them with fear" in dated.error
    assert command(*resume, "3", "--aligned-column", "mood=MOOD").code == 0
    assert command(*resume, "4").code == 0
    frame.assign(mood=frame["mood"] + 1).to_csv("bars.csv", index=False)
    changed = command(*resume, "5")
    assert changed.code == 4
    assert "data_hash: recorded" in changed.err
    assert "column 'mood' has other values" in changed.err
    replayed = command("backtest", "--run", "latest", "--member", "0")
    assert replayed.code == 4
    assert "column 'mood' has other values" in replayed.err
    frame.assign(volume=frame["volume"] + 1).to_csv("bars.csv", index=False)
    assert "has other values" not in command(*resume, "5").err


@pytest.mark.parametrize(
    "flags", [(), ("--timeframe", "30m"), ("--max-gap", "4d"), ("--parts", "2")]
)
def test_reference_and_engine_agree_however_bars_are_cut(command, place, flags):
    """Merged, parted or as they are."""
    given = (*place, "--aligned-column", "mood", *flags)
    assert command("parity", *given).code == 0


def test_a_frame_in_memory_is_the_same_market(command, place, frame):
    """With the field of the same name; a text column that was not asked for is passed over."""
    from_file = command("backtest", *place, "--aligned-column", "mood", "--json").json
    from_frame = optimizer.backtest(bars=frame, strategy="mine.py", aligned_columns=["mood"])
    assert len(from_frame.trades(0)) == from_file["metrics"]["trades"] > 20
    assert data_hash(from_frame.task.markets.series) == from_file["data_hash"]
    renamed = frame.rename(columns={"mood": "Mood Index"})
    again = optimizer.backtest(
        bars=renamed, strategy="mine.py", aligned_columns=["mood=Mood Index"]
    )
    assert data_hash(again.task.markets.series) == from_file["data_hash"]
    with pytest.raises(ConfigError, match="add --aligned-column mood to read it"):
        optimizer.backtest(bars=frame, strategy="mine.py")


def test_a_strategy_says_which_flag_reads_its_column(command, place):
    """That of the bars' file where it has such numbers, else that of a file of its own."""
    missing = command("backtest", *place)
    assert missing.code == 2
    assert (
        "which bars has not: add --aligned-column mood to read it from the bars'" in missing.error
    )
    text = Path("mine.py").read_text()
    for name in ("who", "nobody"):
        Path("mine.py").write_text(text.replace('"mood"', f'"{name}"'))
        assert f"add --column-file {name}=FILE" in command("backtest", *place).error


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("who", "bars.csv: column 'who' holds text that is no number: row 0 'me'"),
        ("nobody", "--aligned-column nobody: there is no such column; columns are 'timestamp'"),
        ("atr=mood", "--aligned-column atr: a strategy means something else by 'atr'"),
        ("close", "--aligned-column 'close': all bars have 'close' already"),
        ("a-b", "must look like NAME, or NAME=COLUMN"),
    ],
)
def test_what_cannot_be_read_is_one_line(command, place, asked, message):
    """Before a search begins."""
    refused = command("backtest", *place, "--aligned-column", asked)
    assert refused.code == 2
    assert message in refused.error


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


def test_a_dated_column_takes_no_name_twice(command, place):
    """It is undecided which of the two a strategy reads."""
    Path("rates.csv").write_text("known_at,value\n1970-01-03T00:00Z,1\n")
    both = ("--aligned-column", "mood", "--column-file", "mood=rates.csv")
    assert "two columns are named 'mood'" in command("backtest", *place, *both).error


def test_files_are_imported_with_it(command, place, frame):
    """Shown by name, kept by name, and read back with the flag that is named."""
    shown = command("data", "show", "bars.csv", "--aligned-column", "mood", "--json").json
    assert shown["further columns"] == "mood"
    kept = command("data", "import", "bars.csv", "--aligned-column", "m=mood", "--into", "kept")
    assert "use them with --data kept --aligned-column m" in kept.out
    again = command("data", "show", "kept", "--aligned-column", "mood=m", "--json").json
    assert again["hash"] == shown["hash"]
    frame[:500].to_csv("one.csv", index=False)
    frame[500:].drop(columns="mood").to_csv("two.csv", index=False)
    joined = command(
        "data", "import", "one.csv", "two.csv", "--join", "X", "--aligned-column", "mood"
    )
    assert "two.csv: --aligned-column mood: there is no such column" in joined.error


@pytest.mark.slow
def test_an_exported_program_reads_it(command, place):
    """From the same file, by its name, to the same trades."""
    search_column(command, *place)
    command("runs", "export", "latest", "mine_vbt.py", "--member", "0", "--as", "vectorbt")
    text = Path("mine_vbt.py").read_text()
    assert "bars.extra('mood')" in text
    compile(text, "mine_vbt.py", "exec")
