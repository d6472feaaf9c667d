"""Cuts, poison, and what must be equal on both sides of them."""

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from data.payments import Payments
from data.zones import to_local
from engine.accounts.ledger import REASONS
from optimizer.evidence.lookahead import (
    WAYS,
    choose_cuts,
    choose_trade_cuts,
    compare_bits,
    is_beginning,
    poison_bars,
)
from optimizer.evidence.splits import groups
from tests.support.evidence import counted_bars, make_ledger
from tests.support.worlds import make_bars

SIGNAL = REASONS.index("signal")


def test_cuts_are_even_ones_and_those_where_clocks_change():
    """A bar that opens early, one behind a gap, and the first of summer time; none at the end."""
    bars = make_bars(11, 400)
    hour, times = bars.timeframe_ns, bars.timestamp.copy()
    times[120:] -= hour // 2
    times[333:] += hour
    moved = replace(bars, timestamp=times, zone="Europe/London")
    window = Window(0, 100, 400)
    even = {end for _, end in groups(101, 400, 16)} - {400}
    changes = np.flatnonzero(np.diff(to_local(times, "Europe/London")) != np.diff(times)) + 1
    assert choose_cuts(moved, window) == tuple(sorted(even | {120, 333} | set(changes.tolist())))
    assert choose_cuts(bars.until(10), Window(0, 5, 10)) == (6, 7, 8, 9)


def test_a_member_is_cut_at_trades_of_its_own():
    """The first, the last and drawn ones: after the signal, and at the exit."""
    bars, window, count = make_bars(11, 900), Window(0, 100, 850), 40
    exits = 110 + 12 * np.arange(count)
    reasons = np.where(np.arange(count) % 2, 3, SIGNAL)
    ledger = make_ledger([1.0] * count, exit_bar=exits, reason=reasons)
    object.__setattr__(ledger, "signal_bar", exits - 5)
    cuts = choose_trade_cuts(bars, window, ledger, 1, 7)
    assert cuts == choose_trade_cuts(bars, window, ledger, 1, 7)
    assert cuts != choose_trade_cuts(bars, window, ledger, 1, 8)
    signals = {cut - 106 for cut in cuts if (cut - 106) % 12 == 0}
    assert {0, 12 * (count - 1)} <= signals
    assert 8 <= len(signals) <= 12
    left = {cut for cut in cuts if (cut - 106) % 12}
    chosen = sorted(place // 12 for place in signals)
    assert left == {int(exits[k]) + k % 2 for k in chosen}
    assert choose_trade_cuts(bars, window, make_ledger([]), 1, 7) == ()


@given(st.integers(2, 40), st.data())
def test_wrong_bars_lie_beyond_all_and_leave_earlier_ones(length, data):
    """Far up and far down, a day late below, and both ways from a true open; bars stay legal."""
    bars = counted_bars(length)
    cut = data.draw(st.integers(1, length - 1))
    up, down, both = (poison_bars(bars, cut, way) for way in WAYS)
    for name in ("timestamp", "open", "high", "low", "close", "volume"):
        for wrong in (up, down, both):
            assert len(wrong) == cut + 1
            assert getattr(wrong, name)[:cut].tolist() == getattr(bars, name)[:cut].tolist()
    assert up.low[cut] > 1.99 * bars.high[: cut + 1].max()
    assert down.high[cut] < bars.low[: cut + 1].min() / 1.99
    assert both.open[cut] == bars.open[cut]
    assert (both.high[cut], both.low[cut]) == (up.high[cut], bars.low[: cut + 1].min() / 2)
    assert up.volume[cut] > bars.volume[: cut + 1].max() > down.volume[cut]
    late = down.timestamp[cut] - bars.timestamp[cut]
    assert (late, up.timestamp[cut]) == (24 * 3600 * 10**9, bars.timestamp[cut])


def test_poison_reaches_every_value_of_an_extra_column():
    """Also one that is not known, or that a sum would leave as it was."""
    mood = np.array([1.0, np.nan, np.nan, 0.0, -1 / 3, 1.7e308, 5e-324, 2.0])
    for cut, way in product(range(1, 8), WAYS):
        wrong = poison_bars(replace(counted_bars(8), extra={"mood": mood}), cut, way).extra["mood"]
        assert np.array_equal(wrong[:cut], mood[:cut], equal_nan=True)
        assert np.isfinite(wrong[cut])
        assert wrong[cut] != mood[cut]


def test_poison_reaches_payments_of_later_bars():
    """A payment belongs to the first bar that opens no earlier."""
    bars = counted_bars(8)
    times = bars.timestamp[[1, 3, 4, 6]] - np.array([0, 60, 0, 60]) * 10**9
    rates = np.array([0.001, 0.002, 0.0, -0.004])
    paying = replace(bars, payments={"fund": Payments(times, rates)})
    for way in WAYS:
        wrong = poison_bars(paying, 4, way, 3).payments["fund"].rates
        assert wrong[:2].tolist() == rates[:2].tolist()
        assert (wrong[2:] != rates[2:]).all()


def test_one_bit_is_a_difference():
    """Of whom it is, and that a zero has no sign of its own."""
    left = np.arange(24.0).reshape(3, 2, 4)
    right = left.copy()
    right[1, 0, 2] = np.nextafter(right[1, 0, 2], np.inf)
    right[0, 0, 0] = -0.0
    assert compare_bits(left, right).tolist() == [False, False, True]


def test_a_ledger_begins_another_as_far_as_it_was_known():
    """In every bit where trades have ended, and by what is known at an entry of those that run."""
    whole = make_ledger([1.0, -1.0, 2.0], exit_bar=[3, 6, 9])
    cut = make_ledger([1.0, 0.3], exit_bar=[3, 8])
    assert is_beginning(cut, whole, 6, int(whole.entry_bar[1]) + 1)
    assert is_beginning(whole, whole, 20, 20)
    assert not is_beginning(cut, whole, 8, 20)
    assert not is_beginning(make_ledger([]), whole, 6, 20)
    assert not is_beginning(make_ledger([1.0, 0.3], exit_bar=[3, 5]), whole, 6, 7)
    ended = make_ledger([1.0, np.nextafter(-1, 0)], exit_bar=[3, 6])
    assert not is_beginning(ended, whole, 7, int(whole.entry_bar[1]) + 1)
    stopped = make_ledger([1.0, 0.3], exit_bar=[3, 8])
    object.__setattr__(stopped, "stop", np.nextafter(stopped.stop, 0))
    assert not is_beginning(stopped, whole, 6, int(whole.entry_bar[1]) + 1)
