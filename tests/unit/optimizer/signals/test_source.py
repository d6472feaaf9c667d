"""A source that grows or is watched: each reading is the whole backtest cut there, sent once."""

import json
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest

from data.bars import Window
from data.checks import format_time
from data.errors import DataError
from engine.accounts.costs import Costs
from optimizer import load_run
from optimizer.cli.notes import wrap_text
from optimizer.errors import ConfigError, StoreError
from optimizer.signals.account import ChainAccount
from optimizer.signals.source import has_missed
from optimizer.signals.watching import ChangeWatcher, watch_source
from optimizer.signals.words import describe_genes, describe_state, list_warnings
from strategy import words as w
from tests.support.judged import judgement, record_judgement
from tests.support.references import compiled_reference
from tests.support.series import hand_bars
from tests.support.signals import GrowingMarket, read_state


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


FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
PARTS = {
    "stop": w.from_entry(0.1 * w.close),
    "targets": [(w.r_multiple(1), 0.5), (w.from_entry(0.3 * w.close), 0.3)],
    "trail": w.trail(w.share(0.1), after=2),
    "break_even": w.after_leg(1),
    "max_hold": 12,
}
"""Of a signal at a close of 100: a stop 10 away, half out at 1 R, 0.3 at 30, 0.2 without target."""


def tell(closes, **arguments):
    """The state after bars with these closes; the first one signals a long."""
    spec = w.strategy("By hand.", **{"long": w.volume > 0.5, **PARTS, **arguments})
    return read_state(spec, hand_bars(closes), FREE)


def require_facts(state, *facts):
    """Each fact stands in a terminal of 80 columns, in this order of lines."""
    lines = [line for text in describe_state(state) for line in wrap_text(text, 80).split("\n")]
    assert all(len(line) <= 80 for line in lines)
    rest = " ".join(line.strip() for line in lines)
    for fact in facts:
        assert fact in rest, (fact, rest)
        rest = rest.partition(fact)[2]


def test_a_trade_of_which_a_part_has_left():
    """Entry 100, half out at 110 in the bar of 2 h, whose close put the stop to 100 (found.md R3).

    At 111 it is worth 0.5 x 1 + 0.5 x 1.1 = 1.05 R; 0.02 x 1000 / 10 = 2 units were bought. A
    change is its bar and what has left, not what it is worth.
    """
    state = tell([100, 104, 112, 111], account=w.account(1000, w.risk(0.02)))
    require_facts(
        state, "1970-01-01T01:00", "at 100", "0.5", "2 units", "2.00%", "110", "T02:00", "stop",
        "100", "0.3", "130", "0.2", "120", "1.05 R", "0.50 R", "9 bars", "T13:00",
    )  # fmt: skip
    trade = state.trade
    assert (trade.target, trade.left, trade.rest, trade.locked_r) == (130.0, 0.5, 0.2, 0.5)
    assert [(leg.number, leg.price, leg.share) for leg in trade.targets] == [(2, 130.0, 0.3)]
    assert [(leg.number, leg.price, leg.bar) for leg in trade.out] == [
        (1, 110.0, "1970-01-01T02:00")
    ]
    assert (trade.r, trade.bars_left) == (pytest.approx(1.05), 9)
    same, changed = replace(trade, r=0.0, stop=1.0), replace(trade, out=())
    assert replace(state, trade=same).key == state.key != replace(state, trade=changed).key


def test_a_trade_that_leaves_at_the_next_open_is_a_change_and_due():
    """Its exit condition holds at the newest close."""
    state = tell([100, 104], exit_long=w.close > 103)
    stays = replace(state, trade=replace(state.trade, leaves=False))
    assert (state.trade.leaves, state.is_due, stays.is_due) == (True, True, False)
    assert state.key != stays.key


@pytest.mark.parametrize(
    ("closes", "stop", "kind"),
    [
        ([100, 104], 90.0, "stop"),
        ([100, 104, 112], 100.0, "break_even"),
        ([100, 104, 125], 112.5, "trail"),
    ],
)
def test_the_stop_in_force_has_a_kind(closes, stop, kind):
    """As placed 10 below, at the entry after the first target, 10 % behind a best price of 125."""
    trade = tell(closes).trade
    assert (trade.stop, trade.stop_kind) == (stop, kind)


def test_an_order_names_all_that_is_placed_with_it():
    """A buy stop at 105: stop 95, targets 115 and 135, 0.02 x 1000 / 10 = 2 units."""
    entry, account = w.stop_at(w.close + 5, expires=3), w.account(1000, w.risk(0.02))
    state = tell([100, 100], entry=entry, account=account)
    require_facts(
        state, "buy (long) stop 105", "2 bars", "T04:00", "2 units", "2.00%", "0.21", "95", "10",
        "0.5", "115", "1 R", "0.3", "135", "30", "0.2", "2 R", "125", "105", "12 bars",
    )  # fmt: skip
    (order,) = state.orders
    assert (order.kind, order.price, order.entry, order.stop.price) == ("stop", 105.0, 105.0, 95.0)
    assert [(t.price, t.share) for t in order.targets] == [(115.0, 0.5), (135.0, 0.3)]
    assert (order.size.units, order.size.is_guess, order.size.per_account) == (2.0, False, 0.002)


def test_an_entry_at_the_market_names_distances():
    """Its price is the next open's: levels hang on it, and its size is that of a close of 100."""
    state = tell([100], break_even=w.break_even(1.5, w.r_multiple(0.1)))
    require_facts(
        state, "buy (long) at the market", "0.001 units", "1.00%", "0.1", "stop 10 from", "1 R",
        "30 from", "2 R", "1.5 R", "0.1 R", "12 bars", "0.0001",
    )  # fmt: skip
    assert (state.state, state.is_due, state.entry.size.is_guess) == ("enter", True, True)


SPEC = w.strategy(
    "All of the account in each, sold at a volume of 2.",
    long=(w.volume > 0.5) & (w.volume < 1.5),
    exit_long=w.volume > 1.5,
    stop=w.share(0.5),
    account=w.account(1000, w.equity_share(1)),
)


def list_units(first, second):
    """Units and cash of what each of two symbols holds, or is about to enter."""
    series, genome = [hand_bars(*first), hand_bars(*second)], SPEC.layout.defaults
    windows = tuple(Window.whole(bars, number) for number, bars in enumerate(series))
    reference = compiled_reference(SPEC, series, windows, FREE)
    account = ChainAccount(reference, windows, tuple((window,) for window in windows))
    traded = account.trade(genome)
    for number, standing in enumerate(account.find_standings(genome, traded)):
        size = None
        if standing.trade is not None:
            size = account.size_trade(traded, number)
        elif standing.pending is not None:
            size = account.size_entry(genome, traded, number, standing.pending)
        yield size and (size.units, size.account, size.is_guess)


SOLD = [100, 100, 110, 110], [1, 0, 2, 0]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Both are entered at one open: neither knows of the other.
        (([100, 100, 105],), ([100, 100, 105],), [(10.0, 1000.0, False), (10.0, 1000.0, False)]),
        # The first is sold at 110 at the open at which the second is bought: its 100 are there.
        (SOLD, ([110, 110, 110, 110], [0, 0, 1]), [None, (10.0, 1100.0, False)]),
        # What it gains later was not there when the second was bought at 100.
        (SOLD, ([100, 100, 110, 110],), [None, (10.0, 1000.0, False)]),
        # An entry at the next open is sized from all that is over, at the newest close.
        (SOLD, ([110, 110, 110, 55], [0, 0, 0, 1]), [None, (20.0, 1100.0, True)]),
    ],
)
def test_units_come_from_the_cash_at_the_fill(first, second, expected):
    """A trade counts once it is over; 1 times the cash, over the price."""
    assert list(list_units(first, second)) == expected


def growing_clock(market, counts):
    """A clock and a sleep between whose calls the file grows."""
    counts = iter(counts)
    now = [market.write(next(counts))]

    def sleep(seconds):
        now[0] = market.write(next(counts))

    return lambda: now[0], sleep


def test_each_change_is_told_once(market, tmp_path):
    """Messages are the changes: all of them, each once, and the first reading."""
    sent = tmp_path / "sent"
    changes, keys = ChangeWatcher(f"sh -c 'cat >> {sent}; echo >> {sent}'", print), []
    clock, sleep = growing_clock(market, range(1200, 1240))
    for signal in islice(watch_source(market.source(), 1, print, clock, sleep), 30):
        if changes.take_changed(signal):
            keys.append(signal.symbols[0].key)
        changes.send(signal)
    messages = [json.loads(line) for line in sent.read_text().splitlines()]
    assert len(messages) == len(keys) > 2
    assert all(key != after for key, after in pairwise(keys))
    assert [message["symbols"][0]["state"] for message in messages] == [key[0] for key in keys]
    assert messages[0]["changed"] == [messages[0]["symbols"][0]["symbol"]]


def test_a_message_that_fails_is_sent_again(market, tmp_path):
    """The next reading brings it, whether the state changed again or not."""
    noted, gate = [], tmp_path / "gate"
    changes = ChangeWatcher(f"test -e {gate}", noted.append)
    signal = market.source().read(market.write(1200))
    assert changes.take_changed(signal)
    for _ in range(2):
        changes.send(signal)
    gate.touch()
    for _ in range(2):
        changes.send(signal)
    assert [line.startswith("--on-change: ") for line in noted] == [True, True]
    assert not changes.take_changed(signal)


def test_a_source_that_cannot_be_read_is_read_again(market):
    """A file in the middle of being written is no end; the first reading has to succeed."""
    noted = []
    clock, sleep = growing_clock(market, range(1200, 1300))

    def sleep_and_break(seconds):
        sleep(seconds)
        if not noted:
            market.file.write_text("timestamp,open\n1,")

    readings = watch_source(market.source(), 1, noted.append, clock, sleep_and_break)
    assert next(readings).symbols[0].bar < next(readings).symbols[0].bar
    assert len(noted) == 1
    market.file.write_text("timestamp,open\n1,")
    with pytest.raises(DataError):
        next(watch_source(market.source(), 1, noted.append, clock, sleep))
