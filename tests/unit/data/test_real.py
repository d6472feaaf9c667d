"""The shared real series, where they are at hand."""

import pytest

from data import LoadOptions, load_bars
from data.errors import BarsError

SERIES = {
    "spy_1m": (102_236, 642, "1m"),
    "bifiusdt_5m": (71_769, 0, "5m"),
    "uniusdt_15m": (87_539, 4_262, "15m"),
    "btcusdt_1h": (58_419, 28, "1h"),
    "gbpjpy_1h": (57_600, 501, "1h"),
    "aapl_1h": (40_831, 5_849, "1h"),
}
"""Bars after exact duplicates, gaps, and duration."""


@pytest.mark.parametrize("name", SERIES)
def test_series_has_the_bars_and_gaps_that_its_description_states(real_folder, name):
    """Counts agree with the description of the set."""
    bars = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    assert SERIES[name] == (len(bars), bars.gaps().count, bars.timeframe)
    assert bars.symbol == name
    assert not bars.is_simulated


def test_series_with_duplicates_asks_for_dedupe(real_folder):
    """57 exact copies are refused unless they may be dropped."""
    spec = f"parquet:{real_folder}/uniusdt_15m.parquet"
    with pytest.raises(BarsError, match=r"57 rows equal to the row before: .*--dedupe"):
        load_bars(spec)
    assert "dropped 57 repeated rows" in load_bars(spec, LoadOptions(dedupe=True)).notes
