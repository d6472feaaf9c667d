"""data show, check and import, as a person uses them on files."""

import io
import json

import pytest

from data import PROVIDERS, load_bars
from data.cache import PartBars, SeriesCache, SeriesKey
from data.providers import ccxt_exchange
from optimizer.cli import data_tables as data_module
from optimizer.cli.console import Lines
from tests.support.commands import SMALL, write_market
from tests.support.exchange import FakeExchange, serve_exchange
from tests.support.series import MINUTE_NS, NAMES, START_NS, csv_text, make_columns, write_csv

pytestmark = pytest.mark.slow

DECIMAL_COMMAS = "Datum;Hoch;Tief;Er\u00f6ffnung;Schluss;Umsatz\n" + "".join(
    f"2024-01-{day:02d};{day + 3},5;{day},25;{day + 1},0;{day + 2},0;1.{day:03d}\n"
    for day in range(1, 29)
)


@pytest.fixture
def folder(tmp_path):
    """Two good files of different layouts and one that is not."""
    path = tmp_path / "files"
    path.mkdir()
    write_market(path / "AAA.csv", 1500)
    (path / "BBB.csv").write_text(DECIMAL_COMMAS)
    bad = make_columns(9)
    bad["volume"][4] = -1.0
    bad["low"][5] = 1e6
    write_csv(path, csv_text(bad), "CCC.csv")
    return path


def test_list_tells_sources_and_what_was_fetched(command, tmp_path):
    """Every source with its form; series of the cache only where there are some."""
    bare = command("data", "list", "--cache", tmp_path / "cache")
    assert bare.code == 0
    assert all(f"{name} " in bare.out for name in PROVIDERS)
    assert "Fetched" not in bare.out
    columns = make_columns(96)
    values = {name: columns[name] for name in NAMES}
    cache = SeriesCache(tmp_path / "cache", SeriesKey("polygon", "X:ADAUSD", "15m", adjusted=True))
    end_ns = START_NS + 1440 * MINUTE_NS
    cache.write(START_NS, end_ns, PartBars(columns["timestamp"], values, "2024-06-01T00:00:00Z"))
    full = command("data", "list", "--cache", tmp_path / "cache")
    assert "polygon:X:ADAUSD 15m adjusted" in full.out
    result = command("data", "list", "--cache", tmp_path / "cache", "--json").json
    assert {entry["source"] for entry in result["sources"]} == set(PROVIDERS)
    assert [entry["bars"] for entry in result["fetched"]] == [96]


def test_show_draws_and_names_quirks(command, folder):
    """Facts, a chart between highest and lowest, quirks and notes."""
    out = command("data", "show", folder / "BBB.csv").out
    assert "first bar opens" in out
    assert out.count("\u2503") + out.count("|") > 20
    assert "note: numbers are read with a decimal comma" in out
    result = command("data", "show", folder / "AAA.csv", "--json").json
    assert {"quirks", "longest_gaps", "notes", "hash"} <= set(result)


def test_check_tells_of_every_source_and_refuses_at_the_end(command, folder):
    """Good ones are summed up, bad ones shown with all that is wrong; the exit code follows."""
    outcome = command("data", "check", folder)
    assert outcome.code == 2
    assert outcome.error == "1 of 3 sources cannot be used as is"
    assert "AAA.csv: 1,500 bars of 15m, " in outcome.out
    assert "BBB.csv: 28 bars of 1d, 2024-01-01 00:00 UTC to 2024-01-28 00:00 UTC" in outcome.out
    assert "CCC.csv: refused\n  1 row with a negative volume: 4" in outcome.out
    assert "1 row with a low above open or close: 5" in outcome.out


def test_check_in_json_has_an_entry_for_each_source(command, folder):
    """Problems are empty where there are none."""
    result = command("data", "check", folder, "--json").json
    assert [bool(entry["problems"]) for entry in result] == [False, False, True]
    assert [entry.get("bars") for entry in result] == [1500, 28, None]


def test_check_of_good_sources_is_done(command, folder):
    """Exit code 0, and repairs that were asked for count."""
    assert command("data", "check", folder / "AAA.csv", folder / "BBB.csv").code == 0
    assert command("data", "check", folder / "CCC.csv", "--drop-bad-bars").code == 0


def test_import_keeps_each_file_in_one_form(command, folder, tmp_path):
    """The bars are the same from there on, and can be used at once."""
    files = [folder / "AAA.csv", folder / "BBB.csv"]
    outcome = command("data", "import", *files, "--into", tmp_path / "bars", "--json")
    assert outcome.code == 0
    for row, file in zip(outcome.json, files, strict=True):
        assert load_bars(row["file"]).content_hash == load_bars(str(file)).content_hash
        assert row["written"]
    again = command("data", "import", *files, "--into", tmp_path / "bars")
    assert again.out.count("(as it was)") == 2
    assert f"use them with --data {tmp_path / 'bars'}" in again.out
    spec = f"parquet:{tmp_path / 'bars' / 'AAA.parquet'}"
    assert command("evolve", "--data", spec, *SMALL, "--quiet").code == 0


def test_import_joins_the_months_of_a_market(command, tmp_path):
    """A folder of parts becomes one series under the name that is given."""
    (tmp_path / "months").mkdir()
    spec = write_market(tmp_path / "whole.csv", 900)
    head, *lines = (tmp_path / "whole.csv").read_text().splitlines()
    for month in range(3):
        part = [head, *lines[300 * month : 300 * month + 300], ""]
        (tmp_path / "months" / f"X-{month}.csv").write_text("\n".join(part))
    arguments = ("data", "import", tmp_path / "months", "--join", "BTC/USDT")
    (row,) = command(*arguments, "--into", tmp_path / "bars", "--json").json
    assert (row["symbol"], row["bars"]) == ("BTC/USDT", 900)
    assert load_bars(row["file"]).content_hash == load_bars(spec).content_hash


def test_import_stops_at_what_cannot_be_read(command, folder, tmp_path):
    """What was kept before stays; the one that failed is named."""
    outcome = command("data", "import", folder, "--into", tmp_path / "bars")
    assert outcome.code == 2
    assert "CCC.csv: 1 row" in outcome.error
    assert sorted(path.name for path in (tmp_path / "bars").iterdir()) == [
        "AAA.parquet",
        "BBB.parquet",
    ]


def test_import_replaces_only_when_told(command, folder, tmp_path):
    """Other bars of the same market are never put in its place in silence."""
    arguments = ("data", "import", folder / "AAA.csv", "--into", tmp_path / "bars")
    assert command(*arguments).code == 0
    write_market(folder / "AAA.csv", 1600)
    assert "--replace" in command(*arguments).error
    assert command(*arguments, "--replace").code == 0


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    """The number done, of all; nothing without a terminal."""
    for is_terminal in (True, False):
        stream = io.StringIO()
        stream.isatty = lambda is_terminal=is_terminal: is_terminal
        console = Lines(stream)
        monkeypatch.setattr(data_module, "stderr", lambda console=console: console)
        assert list(data_module.track_sources(["a", "b", "c"], "importing")) == ["a", "b", "c"]
        assert ("importing" in stream.getvalue()) == is_terminal
        assert ("3/3" in stream.getvalue()) == is_terminal


def test_an_exchange_that_cannot_be_reached_ends_with_code_3(command, monkeypatch, tmp_path):
    """After retries, on one line, with nothing kept; what works is kept."""
    fake = FakeExchange(2000)
    monkeypatch.setattr(ccxt_exchange.time, "sleep", lambda _: None)
    monkeypatch.setattr("data.cache.user_cache_path", lambda _: tmp_path / "cache")
    spec = "ccxt:binance:BTC/USDT:1h:2024-01-01:2024-02-01"
    with serve_exchange(fake) as open_exchange:
        monkeypatch.setattr(ccxt_exchange, "open_exchange", open_exchange)
        fake.faults = [(503, b"down")] * 20
        outcome = command("data", "import", spec, "--into", tmp_path / "bars")
        assert outcome.code == 3
        assert "after 8 tries; pages that came are kept" in outcome.error
        assert not (tmp_path / "bars").exists()
        fake.faults = []
        (row,) = command("data", "import", spec, "--into", tmp_path / "bars", "--json").json
    assert (row["symbol"], row["bars"]) == ("BTC/USDT", 31 * 24)
    assert command("data", "show", tmp_path / "bars", "--json").json["symbol"] == "BTC/USDT"


def test_columns_and_forms_are_said_on_the_command_line(command, tmp_path):
    """What is not recognised is named with its flag, and with the flag it is read."""
    rows = "".join(f"0{day}/02/2024;{day};{day};{day};{day};5\n" for day in range(1, 9))
    spec = write_csv(tmp_path, "When;A;B;C;D;E\n" + rows)
    outcome = command("data", "show", spec)
    assert outcome.code == 2
    assert "--column timestamp=NAME" in outcome.error
    messages = [f"{meaning}={name}" for meaning, name in zip(
        ("timestamp", "open", "high", "low", "close", "volume"), ("When", *"ABCDE"), strict=True
    )]  # fmt: skip
    flags = [part for column in messages for part in ("--column", column)]
    assert "--time-format" in command("data", "show", spec, *flags).error
    shown = command("data", "show", spec, *flags, "--time-format", "%d/%m/%Y", "--json")
    assert shown.json["first bar opens"] == "2024-02-01 00:00 UTC"


def test_a_cut_at_gaps_makes_windows_of_the_parts(command, tmp_path):
    """Nothing reaches over ten years without a bar, and each part has its own line."""
    spec = write_market(tmp_path / "gapped.csv", 4000)
    lines = (tmp_path / "gapped.csv").read_text().splitlines()
    moved = [line.replace("1970-", "1980-", 1) for line in lines[2001:]]
    (tmp_path / "gapped.csv").write_text("\n".join([*lines[:2001], *moved, ""]))
    whole = command("backtest", "--data", spec, "--json").json
    cut = command("backtest", "--data", spec, "--max-gap", "30d", "--holdout", "10%", "--json").json
    assert [window["symbol"] for window in whole["windows"]] == ["gapped"]
    assert [(w["label"], w["sample"], w["bars"]) for w in cut["windows"]] == [
        ("gapped 1970-01-02 to 1970-01-20", "in", 1800),
        ("gapped 1980-01-22 to 1980-02-10", "in", 1800),
        ("gapped 1970-01-20 to 1970-01-22", "held out", 200),
        ("gapped 1980-02-10 to 1980-02-12", "held out", 200),
    ]
    assert {window["symbol"] for window in cut["windows"]} == {"gapped"}
    gap, parts = cut["data"]["notes"]
    assert gap.startswith("1 gap, 350,592 bars missing; the longest from 1970-01-22T20:00 to 1980")
    assert parts == "cut into 2 parts at gaps longer than 30d"
    assert (
        "--max-gap 'long' is not a duration"
        in command("backtest", "--data", spec, "--max-gap", "long").error
    )


def test_a_trade_never_reaches_over_a_long_gap(command, tmp_path):
    """Cut there, it ends at the last close before the gap, for the reason that the bars end."""
    spec = write_market(tmp_path / "gapped.csv", 4000)
    lines = (tmp_path / "gapped.csv").read_text().splitlines()
    moved = [line.replace("1970-", "1980-", 1) for line in lines[2001:]]
    (tmp_path / "gapped.csv").write_text("\n".join([*lines[:2001], *moved, ""]))
    far = ("--set", "max_hold=100000", "--set", "reward_r=1e6", "--set", "atr_stop_mult=1e4")
    loose = ("--set", "vol_z_min=0.5", "--set", "tr_z_min=0.3", "--set", "z_window=96", *far)
    whole = command("backtest", "--data", spec, *loose, "--json").json
    cut = command("backtest", "--data", spec, *loose, "--max-gap", "30d", "--json").json
    ends = [window["accumulators"]["exits_end"] for window in cut["windows"]]
    assert [window["accumulators"]["exits_end"] for window in whole["windows"]] == [1]
    assert ends == [1, 1]


@pytest.mark.parametrize(
    "words",
    [
        ("backtest", "--data", "csv:AAA.csv", "--trades", "AAA.csv"),
        ("scan", "--no-keep", "--data", "csv:AAA.csv", "--csv", "./AAA.csv"),
        ("backtest", "--data", "csv:AAA.csv", "--genes", "genes.json", "--trades", "genes.json"),
    ],
)
def test_no_result_is_written_over_what_was_read(command, tmp_path, words):
    """The bars would be lost, and the genes."""
    write_market(tmp_path / "AAA.csv", 1500)
    (tmp_path / "genes.json").write_text(json.dumps({"reward_r": 3.0}))
    before = [(tmp_path / name).read_bytes() for name in ("AAA.csv", "genes.json")]
    outcome = command(*words)
    assert (outcome.code, outcome.error) == (
        2,
        f"{words[-1].removeprefix('./')} cannot be written: it was read here, name another file",
    )
    assert [(tmp_path / name).read_bytes() for name in ("AAA.csv", "genes.json")] == before


def test_results_of_one_command_are_not_written_over_each_other(command):
    """The first would be lost."""
    for words in (
        ("scan", "--no-keep", "--csv", "a.html", "--plot", "SIMULATED=a.html"),
        ("backtest", "--trades", "a.html", "--plot", "./a.html"),
    ):
        outcome = command(*words)
        assert outcome.code == 2
        assert outcome.error.endswith("a.html would be written twice: name a file for each")


def test_import_replaces_no_file_that_it_read(command, tmp_path):
    """Merged bars in the place of their source cannot be taken apart again."""
    write_market(tmp_path / "AAA.csv", 1500)
    assert command("data", "import", "AAA.csv").code == 0
    source = tmp_path / "bars" / "AAA.parquet"
    before = source.read_bytes()
    assert command("data", "import", "bars", "--replace").code == 0
    assert source.read_bytes() == before
    merged = ("data", "import", "bars/AAA.parquet", "--timeframe", "1h", "--replace")
    outcome = command(*merged)
    assert outcome.code == 2
    assert outcome.error.endswith("unless this import has read it or written it")
    assert source.read_bytes() == before
    assert command(*merged, "--into", "hours").code == 0


def test_two_files_of_one_name_are_not_written_over_each_other(command, tmp_path):
    """The first market would be lost; joined, both are kept."""
    for folder, count in (("one", 1500), ("two", 1400)):
        (tmp_path / folder).mkdir()
        write_market(tmp_path / folder / "AAA.csv", count)
    both = ("data", "import", "one/AAA.csv", "two/AAA.csv", "--replace")
    outcome = command(*both)
    assert outcome.code == 2
    assert outcome.error.endswith("unless this import has read it or written it")
    assert len(load_bars("parquet:bars/AAA.parquet")) == 1500
