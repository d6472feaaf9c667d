"""A source that grows: each reading is the whole backtest cut there, at any clock."""

from dataclasses import replace

import numpy as np
import pytest

from data.checks import format_time
from optimizer import load_run
from optimizer.errors import ConfigError, StoreError
from optimizer.signals.source import has_missed
from optimizer.signals.words import describe_genes, list_warnings
from tests.support.judged import judgement, record_judgement
from tests.support.signals import GrowingMarket


def test_a_signal_says_what_its_member_is_expected_to_earn(tmp_path):
    """As its run does, or how to find it out."""
    market = GrowingMarket(tmp_path)
    record_judgement(market.path, replace(judgement(), null=None, folds=None))
    signal = market.source().read(market.write(1300))
    assert any(line.startswith("Expected of it: not known") for line in describe_genes(signal))
    record_judgement(market.path, judgement())
    signal = market.source().read(market.write(1300))
    assert signal.expected == load_run(str(market.path)).expected
    assert f"Expected of it: {signal.expected.describe()}" in describe_genes(signal)


def test_a_clock_decides_which_bars_there_are(market):
    """Behind, it leaves out open and unknown bars; ahead, the newest bar has its age."""
    now = market.write(1300)
    whole = market.source().read(market.find_close(1297)).symbols[0]
    half = market.source().read(market.find_close(1298) - 1).symbols[0]
    assert (whole.left_out, half.left_out, whole.age_s, half.bar) == (3, 3, 0, whole.bar)
    late = market.source().read(now + 3 * market.step_ns).symbols[0]
    assert late.key == market.source().read(now).symbols[0].key
    assert late.age_s == 3 * market.step_ns / 1e9
    with pytest.raises(ConfigError, match="no bar has closed"):
        market.source().read(10**9)
    market.write(1297)
    assert market.source().read(market.find_close(1297)).symbols[0].key == whole.key


def test_bars_that_ended_long_ago_are_stale(market):
    """952 days behind the clock nothing is said of a trade or an order (found.md R7)."""
    signal = market.source().read(market.write(1300) + 952 * 86_400 * 10**9)
    (state,) = signal.symbols
    assert (state.state, state.trade, state.entry, state.orders) == ("stale", None, None, ())
    assert (signal.is_void, signal.is_due, signal.is_in_trade) == (True, False, False)
    (line,) = list_warnings(signal.symbols, signal.now)
    assert "952 days" in line


HOUR_NS, DAY = 3_600 * 10**9, 24
WEEKS = np.arange(5 * 7 * DAY)
OFFICE = (WEEKS // DAY % 7 < 5) & (WEEKS % DAY >= 9) & (WEEKS % DAY < 17)
"""Hours of five weeks from a Monday on, in which a market is open from 9 to 17 on five days."""


@pytest.mark.parametrize(
    ("is_open", "newest", "hours", "expected"),
    [
        (WEEKS >= 0, 700, 3, False),
        (WEEKS >= 0, 700, 4, True),
        # Friday 17:00, asked on Sunday, on Monday at 11:59 and at 12:00.
        (OFFICE, 4 * 168 - 56, 40, False),
        (OFFICE, 4 * 168 - 56, 16 + 48 + 2.99, False),
        (OFFICE, 4 * 168 - 56, 16 + 48 + 3, True),
        # A night, and the morning after it without a bar.
        (OFFICE, 3 * 168 + 16, 15, False),
        (OFFICE, 3 * 168 + 16, 20, True),
        # Fewer weeks than the clock is ahead.
        (OFFICE, 100, 400, True),
    ],
)
def test_a_market_that_is_closed_is_not_stale(is_open, newest, hours, expected):
    """More than three bars are missing by the clock, and came at those hours a week before."""
    closes = (np.flatnonzero(is_open) + 1) * HOUR_NS
    closes = closes[closes <= (newest + 1) * HOUR_NS]
    assert has_missed(closes, HOUR_NS, int(closes[-1] + hours * HOUR_NS)) is expected


@pytest.mark.parametrize(("name", "is_searched"), [("other", False), ("B-A_R-S", True)])
def test_a_symbol_that_was_never_searched_is_void(market, tmp_path, name, is_searched):
    """The same name as other sources write it is the same symbol."""
    now, file = market.write(1300), tmp_path / f"{name}.csv"
    file.write_text(market.file.read_text())
    signal = market.source(data=[f"csv:{file}"]).read(now)
    (state,) = signal.symbols
    assert (state.is_searched, signal.is_void) == (is_searched, not is_searched)
    assert signal.is_due == (is_searched and state.is_due)
    assert len([*list_warnings(signal.symbols, signal.now)]) == (not is_searched)


def test_held_out_bars_stay_closed(tmp_path, monkeypatch):
    """The newest bar is not looked at while it is held out; later ones may come."""
    market = GrowingMarket(tmp_path, holdout="20%")
    market.write(1200)
    with pytest.raises(ConfigError, match="--open"):
        market.source().read(market.find_close(1200))
    assert market.source().read(market.write(1201)).symbols[0].state
    monkeypatch.setattr("optimizer.run.tables.load_result", lambda store: None)
    with pytest.raises(StoreError, match="no result yet"):
        market.source().read(market.find_close(1201))


def test_a_bar_that_is_corrected_is_told(market):
    """Against the reading before, and against the bars that the run knew."""
    source = market.source()
    assert not source.read(market.write(1300)).notes
    volume = market.columns["volume"].copy()
    volume[1250] += 1
    (note,) = source.read(market.write(1301, volume=volume)).notes
    assert "1 closed bar" in note
    assert note.endswith(format_time(market.columns["timestamp"][1250]))
    assert not source.read(market.write(1302, volume=volume)).notes
    volume[100] += 1
    assert len(market.source().read(market.write(1300, volume=volume)).notes) == 1
