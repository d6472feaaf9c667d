"""signal and watch: exit codes for scripts, JSON, and messages without a secret."""

import json
import signal
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.commands import SMALL, market_columns, start, write_market
from tests.support.series import csv_text
from tests.support.signals import OFTEN, grow

LATE = ("--now", "2030-01-01")


@pytest.fixture
def ask(command, recordings):
    """A function that lets the bars of a run be so many, and asks for its state at their end."""
    recordings.copy("own file")
    columns = market_columns(3, 3000, jump=0.05)
    step_ns = int(columns["timestamp"][1] - columns["timestamp"][0])

    def tell(count, *flags, run="latest"):
        cut = {name: column[:count] for name, column in columns.items()}
        Path("bars.csv").write_text(csv_text(cut))
        closed_s = (int(cut["timestamp"][-1]) + step_ns) / 1e9
        now = datetime.fromtimestamp(closed_s, UTC).isoformat()
        return command("signal", run, "--now", now, *flags)

    return tell


@pytest.mark.parametrize(
    ("count", "state", "code"), [(3000, "flat", 0), (2987, "enter", 11), (2995, "in a trade", 10)]
)
def test_states_have_exit_codes(ask, count, state, code):
    """The same in words, which place no order, and in JSON."""
    told, outcome = ask(count, "--json"), ask(count)
    (symbol,) = told.json["symbols"]
    assert (symbol["state"], told.code, outcome.code) == (state, code, code)
    assert f": {state}" in outcome.out
    assert ("stop" in outcome.out) == (state != "flat")
    assert outcome.out.splitlines()[-1] == told.json["about"]
    assert (symbol["begins_with_run"], told.json["verdict"]["grade"]) == (True, "lost")


def test_a_member_is_named_behind_a_colon(command, ask):
    """Its run's verdict is of the pick; one that there is not is refused."""
    assert ask(3000, "--json", run="latest:0").json["member"] == 0
    judged = command("judge", "latest", "--null", "0", "--folds", "0", "--pick", "0", "--json")
    assert judged.json["judgement"]["pick"]["member"] == 0
    assert "of member 0" in ask(3000, run="latest:1").out
    refused = ask(3000, run="latest:99")
    assert (refused.code, "99" in refused.error) == (2, True)


def test_a_change_is_sent_and_no_secret_is_recorded(ask, tmp_path, monkeypatch):
    """The body is what --json prints, and what changed; the environment's secret stays there."""
    monkeypatch.setenv("WHERE", "c4nary")
    outcome = ask(3000, "--json", "--on-change", "tee out-$WHERE")
    sent = json.loads((tmp_path / "out-c4nary").read_text())
    assert {**outcome.json, "changed": [outcome.json["symbols"][0]["symbol"]]} == sent
    (file,) = Path("runs").glob("*/run.sqlite")
    assert b"c4nary" not in file.read_bytes()
    assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchone()
    failed = ask(3000, "--on-change", "false $WHERE")
    assert (failed.code, "c4nary" in failed.err) == (3, False)


def test_stale_bars_of_another_symbol_have_an_exit_code_of_their_own(ask, command):
    """Two lines of warning, and no state."""
    other = write_market(Path("other.csv"), 2000, seed=9)
    outcome = command("signal", "latest", "--data", other, *LATE)
    assert outcome.code == 6
    stale, unknown, *lines = outcome.out.splitlines()
    assert stale.startswith("other: stale")
    assert unknown.startswith("other: never searched")
    assert not any(": in a trade" in line or ": flat" in line for line in lines)


@pytest.mark.slow
def test_a_watch_goes_on_until_it_is_stopped(ask, tmp_path):
    """A line of JSON at once, and Ctrl-C ends it without an error."""
    flags = ("signal", "latest", "--watch", "0.2", "--json")
    with start(*flags, cwd=tmp_path) as process:
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert first["symbols"][0]["state"] == "stale"
    assert first["symbols"][0]["age_s"] > 0
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.slow
def test_trades_since_are_watched(command):
    """The line is printed, recorded and listed; JSON has its numbers; a report is then old."""
    grow(2600)
    search = ("evolve", "--data", "csv:bars.csv", *OFTEN, *SMALL)
    assert command(*search, "--quiet").code == 0
    assert command("judge", "latest", "--folds", "4", "--blocks", "0", "--quiet").code == 0
    assert command("report", "latest").code == 0
    grow(4000)
    outcome = command("watch", "latest", *LATE)
    line = outcome.out.splitlines()[0]
    assert outcome.err.startswith("note: the report ")
    told = command("watch", "latest", *LATE, "--json")
    assert told.code == outcome.code == (12 if told.json["drift"]["alarm_at"] else 0)
    assert told.json["sentence"] == line
    judgement = command("runs", "show", "latest", "--json").json["result"]["judgement"]
    assert told.json["expected"] == judgement["expected"]
    assert outcome.out.splitlines()[-1].startswith("Expected of the pick: ")
    assert line in command("runs", "list").out
    grow(2600)
    assert command("runs", "verify", "latest").code == 0
    line = command("watch", "latest").out.splitlines()[0]
    (report,) = Path("runs").glob("*/report.html")
    assert line in report.read_text()
    report.unlink()
    grow(4000)
    assert command("watch", "latest", *LATE).err == ""
