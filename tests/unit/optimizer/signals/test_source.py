"""A source that grows: each reading is the whole backtest cut there, at any clock."""

import numpy as np
import pytest

from data import load_bars
from data.bars import Window
from data.checks import format_time
from engine.accounts.ledger import REASONS
from engine.batch import Engine
from optimizer import load_run
from optimizer.cli.signal_texts import list_warnings
from optimizer.errors import ConfigError, StoreError
from optimizer.signals.source import has_missed, list_corrected, list_new_notes
from tests.support.series import make_bars
from tests.support.signals import GrowingMarket


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A run, and a file that any test may cut anew."""
    return GrowingMarket(tmp_path_factory.mktemp("growing"))


def test_a_file_that_grows_by_a_bar_many_times(market):
    """State, entry, stop, R and time left are those of a whole backtest that ends there."""
    market.write(1200)
    run, source, counts = load_run(str(market.path)), market.source(), range(1200, 1330)
    spec, costs = run.task.spec, run.task.costs
    market.write(1330)
    bars = load_bars(f"csv:{market.file}")
    cuts = [Window(0, 0, count) for count in counts]
    engine = Engine(spec, [bars], cuts, costs, device="cpu")
    member, seen = source.read(market.write(1200)).member, set()
    for count, ledger in zip(counts, engine.trades(run.genomes[member]), strict=True):
        signal = source.read(market.write(count))
        (state,) = signal.symbols
        is_open = len(ledger) > 0 and REASONS[ledger.reason[-1]] == "end"
        assert (state.state == "in a trade") == is_open
        seen.add(state.state)
        if is_open:
            trade = ledger.trade(len(ledger) - 1)
            expected = (format_time(bars.timestamp[trade.entry_bar]), trade.entry, trade.stop)
            assert (state.trade.since, state.trade.entry, state.trade.stop) == expected
            assert (state.trade.target, state.trade.r) == (trade.target, trade.r)
            hold = int(signal.genes["max_hold"])
            assert state.trade.bars_left == trade.entry_bar + hold - count
        opened = format_time(bars.timestamp[count - 1])
        assert (state.bar, state.age_s, state.left_out) == (opened, 0, 0)
        assert state.begins_with_run
        assert not signal.notes
    assert seen == {"flat", "enter", "in a trade"}


def test_a_clock_that_is_behind_leaves_bars_out(market):
    """A bar that is still open, and bars that the clock knows nothing of."""
    market.write(1300)
    whole = market.source().read(market.find_close(1297)).symbols[0]
    half = market.source().read(market.find_close(1298) - 1).symbols[0]
    assert (whole.left_out, half.left_out) == (3, 3)
    assert (whole.age_s, half.bar) == (0, whole.bar)
    market.write(1297)
    assert market.source().read(market.find_close(1297)).symbols[0].key == whole.key
    with pytest.raises(ConfigError, match="no bar has closed by"):
        market.source().read(10**9)


def test_a_clock_that_is_ahead_says_how_old_the_newest_bar_is(market):
    """The state is that of the newest bar, with its age."""
    now = market.write(1300)
    late = market.source().read(now + 3 * market.step_ns).symbols[0]
    assert late.key == market.source().read(now).symbols[0].key
    assert late.age_s == 3 * market.step_ns / 1e9


def test_bars_that_ended_long_ago_are_stale(market):
    """952 days behind the clock nothing is said of a trade or an order (found.md R7)."""
    now = market.write(1300) + 952 * 86_400 * 10**9
    signal = market.source().read(now)
    (state,) = signal.symbols
    assert (state.state, state.trade, state.entry, state.orders) == ("stale", None, None, ())
    assert (signal.is_void, signal.is_due, signal.is_in_trade) == (True, False, False)
    (line,) = list_warnings(signal.symbols, signal.now)
    assert line.startswith(f"{state.symbol}: stale. By the clock, ")
    assert "its newest bar closed 952 days ago" in line
    assert not market.source().read(market.write(1300) + 3 * market.step_ns).is_void


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


def test_a_symbol_that_was_never_searched_is_said(market, tmp_path):
    """Under another name; the same name as other sources write it is the same symbol."""
    now = market.write(1300)
    for name, is_searched in (("other", False), ("B-A_R-S", True)):
        file = tmp_path / f"{name}.csv"
        file.write_text(market.file.read_text())
        signal = market.source(data=[f"csv:{file}"]).read(now)
        (state,) = signal.symbols
        assert (state.is_searched, signal.is_void) == (is_searched, not is_searched)
        assert signal.is_due == (is_searched and state.is_due)
        words = list(list_warnings(signal.symbols, signal.now))
        assert [line.startswith(f"{name}: never searched") for line in words] == [True] * (
            not is_searched
        )


def test_a_bar_that_is_corrected_is_told(market):
    """Against the reading before, and against the bars that the run knew."""
    source = market.source()
    assert not source.read(market.write(1300)).notes
    volume = market.columns["volume"].copy()
    volume[1250] += 1
    (note,) = source.read(market.write(1301, volume=volume)).notes
    opened = format_time(market.columns["timestamp"][1250])
    assert (
        note == f"TEST: 1 closed bar corrected since the last reading, the first of {opened}"
        or (note.endswith(f"1 closed bar corrected since the last reading, the first of {opened}"))
    )
    assert not source.read(market.write(1302, volume=volume)).notes
    volume[100] += 1
    known = market.source().read(market.write(1300, volume=volume)).notes
    assert known == ("bars that the run knew were corrected since, or it is another source",)


def test_a_correction_is_told_each_time_and_what_lasts_once():
    """A bar that a vendor corrects back reads as it did when it was corrected."""
    lasting, event = "it is another source", "A: 1 closed bar corrected since the last reading"
    assert list_new_notes((event, lasting), ()) == [event, lasting]
    assert list_new_notes((event, lasting), (event, lasting)) == [event]
    assert list_new_notes((lasting,), ()) == [lasting]


def test_corrected_bars_are_listed():
    """Others, gone, or come between; later ones are new and none of them."""
    bars = make_bars(10)
    times = bars.timestamp.tolist()
    longer = make_bars(12)
    assert list_corrected(bars, longer) == []
    gone = longer.cut(0, 12, **{
        name: np.delete(getattr(longer, name), 4)
        for name in ("timestamp", "open", "high", "low", "close", "volume")
    })  # fmt: skip
    assert list_corrected(bars, gone) == [times[4]]
    assert list_corrected(gone, longer) == [times[4]]


def test_another_member_and_other_bars(market, tmp_path):
    """A chain on bars that the run does not know begins with the first of them."""
    other = GrowingMarket.__new__(GrowingMarket)
    other.columns, other.file, other.step_ns = market.columns, tmp_path / "x.csv", market.step_ns
    shifted = {name: column[300:] for name, column in market.columns.items()}
    other.columns = shifted
    now = other.write(900)
    source = market.source(0, data=[f"csv:{other.file}"])
    signal = source.read(now)
    (state,) = signal.symbols
    assert (signal.member, state.begins_with_run) == (0, False)
    assert state.begins == format_time(shifted["timestamp"][0])
    with pytest.raises(ConfigError, match="has members 0 to"):
        market.source(10_000).read(now)


def test_another_timeframe_is_refused(market, tmp_path):
    """Genes count bars."""
    market.write(1300)
    with pytest.raises(ConfigError, match="searched bars of"):
        market.source(timeframe="4h").read(market.find_close(1300))


def test_held_out_bars_stay_closed(tmp_path):
    """The newest bar is not looked at while it is held out; later ones may come."""
    market = GrowingMarket(tmp_path, holdout="20%")
    market.write(1200)
    with pytest.raises(ConfigError, match="--open counts the look"):
        market.source().read(market.find_close(1200))
    assert market.source().read(market.write(1201)).symbols[0].state


def test_a_run_without_a_result_is_refused(tmp_path, monkeypatch):
    """There is no member yet."""
    market = GrowingMarket(tmp_path)
    monkeypatch.setattr("optimizer.run.tables.load_result", lambda store: None)
    with pytest.raises(StoreError, match="has no front yet"):
        market.source().read(market.find_close(1200))
