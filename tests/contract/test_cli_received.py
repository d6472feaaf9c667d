"""A run from elsewhere is data: it names nothing that is run, asked or written to."""

import contextlib
import shutil
from pathlib import Path

import pytest

from data import LoadOptions, load_bars
from data.errors import FetchError
from data.table import FetchOptions
from optimizer import judge, load_run
from optimizer.errors import StoreError
from optimizer.run import trust
from optimizer.store import find_run
from strategy.errors import StrategyError
from tests.support.commands import SMALL
from tests.support.exchange import FakeExchange, serve_exchange
from tests.support.own_files import momentum_file
from tests.support.received import REPLAYS, become_stranger, forge

pytestmark = pytest.mark.slow
ccxt_exchange = pytest.importorskip("data.providers.ccxt_exchange")

CANARY = "open({!r}, 'w').close()\n"

OWN = momentum_file('moved(length("n", 20, 5, 60)) > 0.002', "Follows what has moved.")

WORDS = """from strategy.words import *

RISING = strategy(
    "Above its average.",
    long=close > sma(close, length("n", 20, 5, 60)),
    stop=share(gene("stop", 0.01, 0.002, 0.05)),
    max_hold=12,
)
"""

TEXTS = {"built-in": "", "words": WORDS, "own": OWN}


@pytest.fixture
def canary(tmp_path):
    """A file that exists once code of a record has run."""
    return tmp_path / "it_ran"


def record(command, market, text, *flags):
    """Record a small run of a strategy's text in this folder; its path."""
    if text:
        Path("idea.py").write_text(text)
        flags = (*flags, "--strategy", "idea.py")
    made = command("evolve", "--data", market, *flags, *SMALL, "--no-judge", "--json")
    assert made.code == 0, made.err
    return Path(made.json["path"])


def replay(command, path, *more):
    """Run every command that reads a run; what each gave."""
    return [command(*(word.format(path) for word in words), *more) for words in REPLAYS]


@pytest.mark.parametrize("name", TEXTS)
def test_no_value_of_a_record_names_a_file_that_is_run(
    command, market, tmp_path, monkeypatch, canary, name
):
    """Neither the configuration, the strategy's name nor its file, beside the run or elsewhere."""
    monkeypatch.chdir(tmp_path)
    path = record(command, market, TEXTS[name])
    deploy = tmp_path / "deploy.py"
    text = CANARY.format(str(canary)) + (TEXTS[name] or WORDS)
    deploy.write_text(text)
    changes = {
        "command": lambda file: {"command": {**file["command"], "strategy": str(deploy)}},
        "name": lambda file: {"strategy": "deploy.py"},
        "both": lambda file: {
            "command": {**file["command"], "strategy": "deploy.py:RISING"},
            "strategy": str(deploy),
            "strategy_file": None,
        },
        "place": lambda file: {
            "command": {**file["command"], "strategy": "deploy.py"},
            "strategy_file": {
                **(file["strategy_file"] or {"sha256": "0" * 64}),
                "path": "deploy.py",
                "folder": str(tmp_path),
                "text": text,
                "has_functions": True,
            },
        },
    }
    if name != "built-in":
        # Whatever its text was, a strategy that is named is found by the same steps.
        changes = {title: changes[title] for title in ("both", "place")}
    for title, change in changes.items():
        forged = forge(path, f"{title}-sent", lambda header, change=change: {
            **header, **change(header)
        })  # fmt: skip
        replay(command, forged)
        replay(command, forged, "--data", market)
        # The files that a trusted run names are bars and columns, and no file is code.
        if title != "place":
            command("report", str(forged), "--trust")
            replay(command, forged)
        run = load_run(str(forged), data=market)
        for ask in (lambda run=run: run.trades(0), lambda path=forged: judge(str(path))):
            with contextlib.suppress(Exception):
                ask()
        assert not canary.exists(), title


def test_python_of_a_record_runs_once_it_is_trusted(command, market, tmp_path, monkeypatch, canary):
    """By its digest, for this user; until then everything else is shown, and how to trust."""
    monkeypatch.chdir(tmp_path)
    begun = CANARY.format(str(canary)) + OWN
    path = record(command, market, begun)
    canary.unlink()
    Path("idea.py").unlink()
    # What a person ran here needs no word, in any later command.
    monkeypatch.setattr(trust, "_SESSION", {})
    assert "0 mismatches" in command("runs", "verify", path).out
    assert canary.exists()
    canary.unlink()
    remembered = become_stranger(monkeypatch, tmp_path / "stranger")
    message = "runs only once you trust it"
    for outcome in replay(command, path, "--data", market):
        output = outcome.out + outcome.err
        assert outcome.code in (0, 2, 4), output
    for words in (("runs", "verify"), ("backtest", "--run"), ("parity", "--run")):
        output = command(*words, path, "--data", market)
        assert message in output.out + output.err
        assert "--trust" in output.out + output.err
    assert command("runs", "show", path).code == 0
    assert "stop" in command("runs", "show", path, "--member", "0").out
    page = tmp_path / "page.html"
    assert command("report", path, "--data", market, "--out", page).code == 0
    assert message in page.read_text()
    with pytest.raises(StoreError, match=message):
        load_run(str(path), data=market).trades(0)
    assert not canary.exists()
    assert not remembered.exists()
    trusted = command("runs", "verify", path, "--data", market, "--trust")
    assert "0 mismatches" in trusted.out
    monkeypatch.setattr(trust, "_SESSION", {})
    assert canary.exists()
    assert command("backtest", "--run", path, "--member", "0").code == 0
    # Another text is another digest.
    other = forge(path, "other-text", lambda header: {
        **header,
        "strategy_file": {**header["strategy_file"], "text": begun + "# another\n"},
    })  # fmt: skip
    canary.unlink()
    assert message in command("runs", "verify", other, "--data", market).out
    assert not canary.exists()
    with pytest.raises(StrategyError, match="another text"):
        load_run(str(other), data=market, trust=True).trades(0)
    assert canary.exists()


def test_files_that_only_a_record_names_are_not_read(command, market, tmp_path, monkeypatch):
    """Bars, columns and individuals to begin with: a person names them, or trusts the run."""
    monkeypatch.chdir(tmp_path)
    path = record(command, market, "")
    become_stranger(monkeypatch, tmp_path / "stranger")
    for outcome in (command("runs", "verify", path), command("backtest", path, "--member", "0")):
        output = outcome.out + outcome.err
        assert "was not begun here" in output
        assert "--data" in output
        assert "--trust" in output
    assert command("runs", "verify", path, "--data", market).out.count("0 mismatches") == 1
    page = tmp_path / "page.html"
    assert command("report", path, "--out", page).code == 0
    assert "was not begun here" in page.read_text()
    assert command("runs", "verify", path, "--trust").out.count("0 mismatches") == 1
    assert command("backtest", path, "--member", "0").code == 0


def test_a_run_writes_nowhere_but_beside_itself(command, market, tmp_path, monkeypatch):
    """Neither to the folder of runs nor to the cache that its sender had."""
    monkeypatch.chdir(tmp_path)
    path = record(command, market, "")
    elsewhere = tmp_path / "elsewhere"

    def change(header):
        places = {"runs": str(elsewhere / "runs"), "cache": str(elsewhere / "cache")}
        return {**header, "command": {**header["command"], **places}}

    forged = forge(path, "places-sent", change)
    for outcome in replay(command, forged, "--data", market):
        assert outcome.code in (0, 2), outcome.err
    command("report", forged, "--trust")
    replay(command, forged)
    assert not elsewhere.exists()


def test_a_run_that_moved_is_still_ones_own(command, market, tmp_path, monkeypatch):
    """What is remembered is what the run was asked for, wherever its folder lies."""
    monkeypatch.chdir(tmp_path)
    path = record(command, market, OWN)
    shutil.copytree(path, tmp_path / "other" / "copied")
    Path("idea.py").unlink()
    monkeypatch.setattr(trust, "_SESSION", {})
    assert "0 mismatches" in command("runs", "verify", tmp_path / "other" / "copied").out
    find_run(Path("runs"), "latest")


def test_where_nothing_can_be_remembered_the_command_says_so(
    command, market, tmp_path, monkeypatch
):
    """The run is recorded all the same, and this process trusts what it began."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no_folder").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "no_folder"))
    made = command("evolve", "--data", market, *SMALL, "--no-judge")
    assert made.code == 0
    assert "could not be written down" in made.err
    assert command("runs", "verify", "latest").out.count("0 mismatches") == 1
    assert command("evolve", "--data", market, *SMALL, "--trust").code == 2


def test_only_the_newest_runs_are_remembered(tmp_path, monkeypatch):
    """And all code, so that the file stays small."""
    monkeypatch.setattr(trust, "MOST_RUNS", 2)
    lines = [f"begun {number}" for number in range(4)] + ["code a", "run b"]
    assert trust._newest_lines(lines) == ["begun 3", "code a", "run b"]


SERIES = ("--data", "polygon:X:ADAUSD", "--from", "2024-01-01", "--to", "2024-03-01")


def test_a_run_asks_no_vendor(command, vendor, tmp_path, monkeypatch):
    """What the cache lacks is named with the command that fetches it; no key is spent.

    That holds for a run of one's own as for any other: only a person who names bars asks for them.
    """
    monkeypatch.chdir(tmp_path)
    made = command("evolve", *SERIES, *SMALL, "--no-judge", "--json")
    assert made.code == 0, made.err
    path, calls = Path(made.json["path"]), len(vendor.calls)
    assert "0 mismatches" in command("runs", "verify", path).out
    elsewhere = tmp_path / "elsewhere"
    forged = forge(path, "cache-sent", lambda header: {
        **header, "command": {**header["command"], "cache": str(elsewhere)}
    })  # fmt: skip
    # Bars of this user's own cache are no file that the record names.
    assert "0 mismatches" in command("runs", "verify", forged).out
    other = forge(path, "symbol-sent", lambda header: {
        **header,
        "command": {**header["command"], "data": ["polygon:X:BTCUSD"], "cache": str(elsewhere)},
    })  # fmt: skip
    for run in (other, forged):
        replay(command, run)
    outcome = command("backtest", other, "--member", "0")
    assert outcome.code == 3
    assert "data fetch polygon:X:BTCUSD" in outcome.error
    command("report", other, "--trust")
    replay(command, other)
    assert len(vendor.calls) == calls
    assert not elsewhere.exists()
    assert command("backtest", other, "--member", "0", *SERIES[:2]).code == 0


def test_an_exchange_is_asked_by_those_who_name_it(monkeypatch, tmp_path):
    """What was fetched last is had again; where nothing was, the line has the command for it."""
    monkeypatch.setattr("data.cache.user_cache_path", lambda _: tmp_path)
    spec, offline = "ccxt:binance:BTC/USDT:1h:2024-01-01", FetchOptions(may_fetch=False)
    with pytest.raises(FetchError, match=f"data fetch {spec}"):
        load_bars(spec, LoadOptions(fetch=offline))
    with serve_exchange(FakeExchange(2000)) as open_exchange:
        monkeypatch.setattr(ccxt_exchange, "open_exchange", open_exchange)
        fetched = load_bars(spec)
    monkeypatch.setattr(ccxt_exchange, "open_exchange", None)
    assert load_bars(spec, LoadOptions(fetch=offline)).content_hash == fetched.content_hash
    part = load_bars(f"{spec}:2024-02-01", LoadOptions(fetch=offline))
    assert (len(fetched), len(part)) == (2000, 31 * 24)
