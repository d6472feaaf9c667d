"""What a message about bars names is a knob of every command, and is kept with bars."""

import re

import numpy as np
import pytest

from tests.support.commands import market_columns
from tests.support.series import csv_text, write_csv

pytestmark = pytest.mark.slow


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
