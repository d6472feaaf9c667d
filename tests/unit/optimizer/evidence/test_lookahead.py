"""Cuts, poison, and equality on both sides; a strategy that reads a later bar is named."""

import threading
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from data.payments import Payments
from data.zones import to_local
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from optimizer.evidence import lookahead
from optimizer.evidence.lookahead import (
    WAYS,
    Searched,
    choose_cuts,
    choose_trade_cuts,
    compare_bits,
    cut_windows,
    is_beginning,
    poison_bars,
)
from optimizer.evidence.splits import groups
from strategy import find_strategy, words
from strategy.custom_indicator import OwnIndicator
from strategy.expressions import Call
from strategy.language import Term, as_setting
from tests.support.evidence import counted_bars, make_ledger, make_planted_market
from tests.support.judging import find_causal, make_task
from tests.support.worlds import make_bars, random_genomes

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


BARS = make_planted_market(7, 500, 8)
FEW = BARS.until(250)


def peeking(bars, ahead):
    """The close of so many bars later; at the end the last one."""
    later = np.minimum(np.arange(len(bars)) + ahead, len(bars) - 1)
    return bars.close[later]


def own_row(function, *settings):
    """A row of one's own."""
    names = tuple(f"setting_{place}" for place in range(len(settings)))
    own = OwnIndicator("own", names, "0" * 64, function=function, warm_up=lambda *_: 0)
    return Term(Call(own, None, tuple(map(as_setting, settings))))


def make_strategy(row, above=words.close):
    """A strategy whose entry reads a row of one's own."""
    return words.strategy(
        "Reads a row of one's own.",
        long=(words.zscore(words.true_range, 24) > words.gene("z", 1.2, 0.3, 3.0)) & (row > above),
        stop=words.beyond_bar(0.7 * words.atr(24)), target=words.r_multiple(2), max_hold=24,
    )  # fmt: skip


def make_record(spec, count=6, bars=BARS):
    """What is found of random individuals."""
    return find_causal(make_task(bars, spec=spec), random_genomes(spec, count, seed=5))


RESTING = words.strategy(
    "Waits at the channel's ends, and turns round.",
    name="resting",
    long=words.close > words.sma(words.close, words.length("n", 20, 5, 60)),
    short=words.close < words.sma(words.close, words.length("n", 20, 5, 60)),
    entry=words.by_side(
        words.stop_at(words.highest(words.high, 5), 8), words.limit_at(words.close * 1.002, 3)
    ),
    reverse=True,
    stop=words.from_entry(words.gene("k", 2.0, 0.5, 4.0) * words.atr(20)),
    target=words.r_multiple(2),
)


@pytest.mark.parametrize("ahead", [0, 1])
def test_orders_that_the_next_bar_fills_are_no_look_ahead(ahead):
    """Whether a bar behind the cut fills one hangs on that bar; whether there is one does not."""
    spec = RESTING
    if ahead:
        seen = {"long": own_row(peeking, ahead) > words.close}
        spec = replace(spec, long=words.strategy("x", **seen, stop=words.share(0.01)).long)
    record = make_record(spec, bars=FEW)
    every = make_task(FEW, spec=spec).engine().evaluate(random_genomes(spec, 6, seed=5))
    assert record.members == 6
    assert record.trades == int(every[:, :, 0].sum()) > 0
    assert bool(record.mismatches) == bool(ahead)


def test_own_code_runs_where_a_signal_can_end_it():
    """In the main thread, however many cores there are."""
    ran_in = set()

    def note_thread(bars):
        ran_in.add(threading.current_thread())
        return bars.close

    make_record(make_strategy(own_row(note_thread)), bars=FEW)
    assert ran_in == {threading.main_thread()}


def test_one_member_that_looks_ahead_is_found_among_others():
    """By its number, whether its own trades were listed or not."""
    later = own_row(peeking, words.whole("ahead", 0, 0, 3))
    spec = make_strategy(later, words.sma(words.close, 5))
    genomes = random_genomes(spec, 24, seed=5)
    genomes[:, spec.layout.index("ahead")] = 0
    genomes[17, spec.layout.index("ahead")] = 2
    record = find_causal(make_task(BARS, spec=spec), genomes)
    assert record.first.endswith("in row 'own(ahead)' of member 17")
    assert 0 < record.mismatches <= record.cuts


def test_many_windows_share_cuts(monkeypatch):
    """As many as four have; a record says so, and finds what cuts of its own in each would find."""
    shipped = find_strategy("mean_reversion").for_timeframe(3600.0)
    windows = [Window(0, start, start + 40) for start in range(50, 450, 40)]
    task, genomes = make_task(BARS, spec=shipped, windows=windows), random_genomes(shipped, 6, 5)
    shared = find_causal(task, genomes)
    few = find_causal(make_task(BARS, spec=shipped, windows=windows[:4]), genomes)
    assert (shared.is_shared, few.is_shared) == (True, False)
    monkeypatch.setattr(lookahead, "FULL_WINDOWS", len(windows))
    alone = find_causal(task, genomes)
    assert alone.cuts >= 10 * 16
    assert 10 * 4 <= shared.cuts < alone.cuts / 2
    assert replace(alone, cuts=shared.cuts, is_shared=True) == shared


def test_moments_cut_all_symbols_of_an_account_with_limits():
    """Bars that are over by then; a window that has none is left out. The record counts them."""
    other = replace(make_planted_market(8, 420, 8), symbol="OTHER")
    other = replace(other, timestamp=other.timestamp + other.timeframe_ns // 2)
    windows = [Window(0, 0, 200), Window(0, 200, 420), Window(1, 0, 420)]
    moment = int(BARS.over_ns[99])
    task = make_task(BARS, other, spec=RESTING, windows=windows)
    cut = cut_windows(Searched.of(task), moment)
    assert cut.places == (0, 2)
    assert cut.windows[0] == Window(0, 0, 100)
    assert cut.windows[1].end == 99
    assert cut_windows(Searched.of(task), int(BARS.timestamp[0])) is None
    shipped = find_strategy("mean_reversion").for_timeframe(3600.0)
    limited = make_task(BARS, other, spec=shipped, costs=Costs(max_positions=1, rank="close"))
    genomes = random_genomes(shipped, 6, seed=5)
    record, plain = (
        find_causal(each, genomes) for each in (limited, replace(limited, costs=Costs()))
    )
    assert record.mismatches == plain.mismatches == 0
    assert record.cuts > plain.cuts
