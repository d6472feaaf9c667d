"""signal: a state a symbol, exit codes for scripts, and messages without a secret."""

import json
import signal
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.commands import SMALL, market_columns, start, write_market
from tests.support.series import csv_text
from tests.support.signals import OFTEN

NOW = "2030-01-01"


@pytest.fixture
def grow(command, recordings):
    """A function that lets the bars of a run be so many, and asks for its state at their end."""
    recordings.copy(*SMALL, *OFTEN)
    columns = market_columns(3, 3000, jump=0.05)
    step_ns = int(columns["timestamp"][1] - columns["timestamp"][0])

    def ask(count, *flags):
        cut = {name: column[:count] for name, column in columns.items()}
        Path("bars.csv").write_text(csv_text(cut))
        closed_s = (int(cut["timestamp"][-1]) + step_ns) / 1e9
        now = datetime.fromtimestamp(closed_s, UTC).isoformat()
        return command("signal", "latest", "--now", now, *flags)

    return ask


def test_states_have_exit_codes(grow):
    """0 flat, 10 in a trade, 11 where something is due; the same in words and in JSON."""
    codes = {}
    for count in range(2900, 3000):
        outcome = grow(count, "--json")
        (state,) = outcome.json["symbols"]
        codes.setdefault((state["state"], outcome.code), count)
    assert set(codes) == {("flat", 0), ("enter", 11), ("in a trade", 10)}
    for (state, code), count in codes.items():
        outcome = grow(count)
        assert outcome.code == code
        assert f": {state}" in outcome.out
        assert outcome.out.splitlines()[-1] == "This places no order."
        assert not outcome.out.startswith("member")
        assert "stop" in outcome.out or state == "flat"


def test_json_holds_everything(grow):
    """The member, its genes, the verdict, and that no order is placed."""
    result = grow(3000, "--json").json
    assert result["about"] == "This places no order."
    assert result["verdict"]["grade"]
    assert result["symbols"][0]["begins_with_run"] is True
    assert grow(3000, "--json").json == result


def test_a_member_is_named_behind_a_colon(command, grow):
    """Its run's verdict is of the pick; one that there is not is refused."""
    grow(3000)
    assert command("signal", "latest:0", "--now", NOW, "--json").json["member"] == 0
    judged = command("judge", "latest", "--null", "0", "--folds", "0", "--pick", "0", "--json")
    assert judged.json["judgement"]["pick"]["member"] == 0
    assert "Not judged itself; of member 0" in command("signal", "latest:1", "--now", NOW).out
    error = command("signal", "latest:99", "--now", NOW).error
    assert "has members 0 to" in error
    assert "not 99" in error


def test_a_change_is_sent_and_no_secret_is_recorded(command, grow, tmp_path, monkeypatch):
    """The body is what --json prints, and what changed; the environment's secret stays there."""
    monkeypatch.setenv("WHERE", "c4nary")
    outcome = grow(3000, "--json", "--on-change", "tee out-$WHERE")
    sent = json.loads((tmp_path / "out-c4nary").read_text())
    assert {**outcome.json, "changed": [outcome.json["symbols"][0]["symbol"]]} == sent
    (run,) = (path for path in Path("runs").iterdir() if (path / "run.sqlite").is_file())
    assert b"c4nary" not in (run / "run.sqlite").read_bytes()
    assert sqlite3.connect(run / "run.sqlite").execute("PRAGMA integrity_check").fetchone()
    failed = command("signal", "latest", "--now", NOW, "--on-change", "false $WHERE")
    assert failed.code == 3
    assert failed.error == "the command ended with 1"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--now", "1971-01-01", "--watch", "5"), "--watch follows the clock: leave --now out"),
        (("--now", "soon"), "--now 'soon' is no time"),
        (("--now", "1960-01-01"), "no bar has closed by 1960-01-01T00:00"),
        (("--now", "0001-01-01"), "no bar has closed by 1677-09-23"),
        (("--watch", "inf"), "less than or equal to 86400"),
        (("--watch", "1e308"), "less than or equal to 86400"),
        (("--on-change", "$NO_SUCH_NAME"), "--on-change names $NO_SUCH_NAME"),
        (("--timeframe", "1d"), "searched bars of"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(command, recordings, flags, words):
    """Before anything is shown."""
    recordings.copy(*SMALL, *OFTEN)
    outcome = command("signal", "latest", *flags)
    assert outcome.code == 2
    assert words in outcome.error
    assert not outcome.out


def test_other_bars_are_named_with_data(command, recordings):
    """Chains begin with their first bar, with a note."""
    recordings.copy(*SMALL, *OFTEN)
    other = write_market(Path("other.csv"), 2000, seed=9)
    outcome = command("signal", "latest", "--data", other, "--now", NOW)
    assert outcome.code == 6
    stale, unknown, *lines = outcome.out.splitlines()
    assert stale.startswith("other: stale. By the clock, 2030-01-01T00:00, its newest bar closed ")
    assert unknown.startswith("other: never searched by this run, whose verdict says nothing of")
    assert not any(": in a trade" in line or ": flat" in line for line in lines)
    assert all(len(line) < 400 for line in lines)


@pytest.mark.slow
def test_a_watch_goes_on_until_it_is_stopped(recordings, command, tmp_path):
    """A line of JSON at once, and Ctrl-C ends it without an error."""
    recordings.copy(*SMALL, *OFTEN)
    flags = ("signal", "latest", "--watch", "0.2", "--json")
    with start(*flags, cwd=tmp_path) as process:
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert first["symbols"][0]["state"] == "stale"
    assert first["symbols"][0]["age_s"] > 0
    assert process.returncode == 130
    assert not out
    assert err.splitlines()[-1] == "stopped"
