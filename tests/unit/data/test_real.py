"""The shared real series, where they are at hand."""

import numpy as np
import pytest

from data import LoadOptions, jumps_of, load_bars, quality_of
from data.errors import BarsError
from data.timeframe import check_spacing, count_steps

SERIES = {"spy_1m": (102_236, 642, "1m"), "bifiusdt_5m": (71_769, 0, "5m"),
          "uniusdt_15m": (87_539, 4_262, "15m"), "btcusdt_1h": (58_419, 28, "1h"),
          "gbpjpy_1h": (57_600, 501, "1h"), "aapl_1h": (40_831, 5_849, "1h")}  # fmt: skip
"""Bars after exact duplicates, gaps, and duration, as the description of the set states them."""

ALARMS = {"aapl_1h": (
    "the low of 2009-09-21T13:00", "the low of 2010-08-31T18:00", "the low of 2011-01-03T18:00",
    "2:1", "", "2:1", "7:1", "4:1",
)}  # fmt: skip
"""Three lows of a stock that are none, its splits, its warning; no crash of six markets is one."""


@pytest.mark.parametrize("name", SERIES)
def test_a_series_is_read_as_it_is_described(real_folder, name):
    """Its bars and gaps, no false alarm, and one spacing in each piece, wherever that begins."""
    bars = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    assert SERIES[name] == (len(bars), bars.gaps().count, bars.timeframe)
    assert (bars.symbol, bars.is_simulated) == (name, False)
    alarms = ALARMS.get(name, ())
    lines = [
        line[:27] if words.startswith("the") else line.partition(", as a ")[2][:3]
        for line, words in zip(jumps_of(bars), alarms, strict=True)
    ]
    assert tuple(lines) == alarms
    rng = np.random.Generator(np.random.PCG64(3))
    for count in (40, 400, 4000):
        for start in rng.integers(0, len(bars) - count, 20):
            piece = bars.timestamp[start : start + count]
            if 2 * (np.diff(piece) == bars.timeframe_ns).sum() >= count:
                check_spacing(count_steps(piece), bars.timeframe_ns)


def test_a_series_with_duplicates_asks_for_dedupe(real_folder):
    """57 exact copies; nearly all of its gaps lie in its last fifth."""
    spec = f"parquet:{real_folder}/uniusdt_15m.parquet"
    with pytest.raises(BarsError, match=r"57 rows .*--dedupe"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(dedupe=True))
    assert "dropped 57 repeated rows" in bars.notes
    cut = len(bars) - len(bars) // 5
    assert [quality_of(bars, *part).gaps.count for part in ((0, cut), (cut,))] == [9, 4253]
