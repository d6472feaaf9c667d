"""What a message about bars names is done, and leads to a search or a backtest that ends well."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from data import load
from tests.support.commands import SMALL, market_columns
from tests.support.series import MINUTE_NS, csv_text, write_csv

pytestmark = pytest.mark.slow


def find_flags(error, *names):
    """Flags that a message names, with the values that it names."""
    matches = [re.search(rf"{name} ([\w/]+)", error) for name in names]
    return [part for name, match in zip(names, matches, strict=True) for part in (name, match[1])]


def test_minutes_of_a_thin_market_are_kept_and_searched(command, tmp_path):
    """Stated once, with the flags of the message; the kept file needs nothing more."""
    columns = market_columns(3, 24_000)
    traded = np.flatnonzero(np.random.Generator(np.random.PCG64(1)).random(24_000) < 0.3)
    thin = {name: column[traded] for name, column in columns.items()}
    thin["timestamp"] = (28_000_000 + traded) * MINUTE_NS
    spec = write_csv(tmp_path, csv_text(thin))
    flags = find_flags(command("data", "show", spec).error, "--source-timeframe")
    assert command("data", "show", spec, "--timeframe", "15m").code == 2
    for arguments in (("data", "show", spec), ("data", "import", spec, "--into", "kept")):
        assert command(*arguments, *flags).code == 0
    assert command("data", "show", "kept", "--json").json["timeframe"] == "1m"
    search = ("--timeframe", "15m", *SMALL, "--quiet", "--json")
    kept = command("evolve", "--data", "kept", *search)
    stated = command("evolve", "--data", spec, *flags, *search)
    assert (kept.code, stated.code) == (0, 0)
    assert kept.json["front_hash"] == stated.json["front_hash"]


def test_the_open_bar_is_traded_without(command, tmp_path, monkeypatch):
    """The time that the note names leaves it out."""
    columns = market_columns(3, 3000)
    now_ns = int(columns["timestamp"][-1]) + 60 * 10**9
    clock = SimpleNamespace(time_ns=lambda: now_ns)
    monkeypatch.setattr(load, "time", clock)
    spec = write_csv(tmp_path, csv_text(columns))
    run = command("backtest", "--data", spec, "--json")
    assert run.json["windows"][0]["bars"] == 3000
    (end,) = re.findall(r"is still open until .*, --to (\S+) trades without it", run.err)
    outcome = command("backtest", "--data", spec, "--to", end, "--json")
    assert outcome.json["windows"][0]["bars"] == 2999


@pytest.mark.parametrize("stamped", ["open", "close"])
def test_bars_stamped_at_their_close_in_a_configuration(command, tmp_path, stamped):
    """The option is a knob as any other: flag, file, import."""
    spec = write_csv(tmp_path, csv_text(market_columns(3, 3000)))
    (tmp_path / "run.toml").write_text(f'data = "{spec}"\nstamped = "{stamped}"\n')
    by_file = command("backtest", "--config", str(tmp_path / "run.toml"), "--json").json
    by_flag = command("backtest", "--data", spec, "--stamped", stamped, "--json").json
    assert by_file["data_hash"] == by_flag["data_hash"]
    assert command("data", "import", spec, "--stamped", stamped, "--into", "kept").code == 0
    kept = command("backtest", "--data", "kept", "--json").json
    assert kept["windows"][0]["first"] == by_flag["windows"][0]["first"]
    refused = command("backtest", "--data", "kept", "--stamped", "close")
    assert refused.error.endswith("stamped at their open; leave --stamped out")


@pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
def test_local_days_are_merged_with_the_zone_that_the_message_names(command, tmp_path):
    """And a calendar that is unknown offers one that reads the file."""
    days = np.arange("2019-01-01", "2024-01-01", dtype="datetime64[D]")
    days = days[np.is_busday(days)]
    columns = {name: column[: len(days)] for name, column in market_columns(3, 3000).items()}
    spec = write_csv(tmp_path, csv_text(columns, times=[str(day) for day in days]))
    weeks = ("--tz", "America/New_York", "--timeframe", "1w")
    shown = command("data", "show", spec, *weeks, "--json").json
    assert shown["bars"] == 261
    refused = command("data", "show", spec, "--calendar", "XNYX")
    (name,) = re.findall(r"did you mean '(\w+)'", refused.error)
    named = command("data", "show", spec, "--calendar", name, "--json").json
    assert named["pauses in closed hours"] > 250
    assert any("by the calendar of XNYS; " in note for note in named["notes"])
