"""Cuts, poison, and what must be equal on both sides of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from data.payments import Payments
from engine.accounts.ledger import ACCUMULATORS, REASONS
from engine.batch import Engine
from optimizer.evidence.lookahead import (
    choose_cuts,
    compare_bits,
    count_signals_taken,
    estimate_causality_seconds,
    is_beginning,
    poison_bars,
    share_cuts,
)
from optimizer.evidence.splits import groups
from tests.support.evidence import counted_bars, make_ledger
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

END = REASONS.index("end")


def test_cuts_are_even_ones_and_those_of_middle_trades():
    """After signal, entry and exit of the middle trade; each cut once."""
    window = Window(0, 100, 420)
    even = {end for _, end in groups(101, 420, 32)}
    ledger = make_ledger([1.0] * 5, exit_bar=[150, 151, 299, 300, 301])
    object.__setattr__(ledger, "signal_bar", np.array([140, 141, 142, 143, 144]))
    object.__setattr__(ledger, "entry_bar", np.array([141, 142, 143, 144, 145]))
    cuts = choose_cuts(window, [ledger, ledger, make_ledger([])])
    assert cuts == tuple(sorted(even | {143, 144, 300}))
    assert cuts[-1] == 420


def test_a_window_of_few_bars_is_cut_after_each():
    """No cut leaves nothing to judge."""
    assert choose_cuts(Window(0, 5, 10), []) == (6, 7, 8, 9, 10)
    assert choose_cuts(Window(0, 5, 6), []) == (6,)


def test_many_windows_take_turns():
    """All of up to four, as many cuts as those however many there are, and 8 even ones each."""
    assert [share_cuts(count) for count in (1, 4)] == [(1, 32)] * 2
    assert [share_cuts(count) for count in (5, 20, 1000)] == [(2, 16), (5, 8), (250, 8)]
    window = Window(0, 0, 320)
    assert choose_cuts(window, [], 8) == tuple(range(40, 321, 40))


@given(st.integers(1, 200))
def test_of_many_members_64_are_chosen_evenly(members):
    """The first always, and steps that differ by at most one."""
    ledgers = [make_ledger([1.0], exit_bar=[1000 + 2 * i]) for i in range(members)]
    exits = [cut for cut in choose_cuts(Window(0, 0, 5000), ledgers) if cut > 1000 and cut % 2]
    places = [(cut - 1001) // 2 for cut in exits if cut < 1001 + 2 * members]
    used = min(members, 64)
    expected = {i * members // used for i in range(used)}
    assert expected <= set(places)


@given(st.integers(1, 40), st.data())
def test_poison_leaves_earlier_bars(length, data):
    """From the cut on every price is doubled or halved, in turn, and bars stay legal."""
    bars = counted_bars(length)
    cut = data.draw(st.integers(1, length))
    poisoned = poison_bars(bars, cut)
    for name in ("open", "high", "low", "close"):
        before, after = getattr(bars, name), getattr(poisoned, name)
        assert after[:cut].tolist() == before[:cut].tolist()
        assert (after[cut::2] == 2 * before[cut::2]).all()
        assert (after[cut + 1 :: 2] == before[cut + 1 :: 2] / 2).all()
    assert poisoned.volume[:cut].tolist() == bars.volume[:cut].tolist()
    assert (poisoned.volume[cut:] == bars.volume[cut:] * 1000 + 1).all()
    assert poisoned.timestamp.tolist() == bars.timestamp.tolist()


def test_poison_reaches_every_value_of_an_extra_column():
    """Also one that is not known, or that a sum would leave as it was."""
    mood = np.array([1.0, np.nan, np.nan, 0.0, -1 / 3, 1.7e308, 5e-324, 2.0])
    poisoned = poison_bars(replace(counted_bars(8), extra={"mood": mood}), 2).extra["mood"]
    assert np.array_equal(poisoned[:2], mood[:2], equal_nan=True)
    assert np.isfinite(poisoned[2:]).all()
    assert (poisoned[2:] != mood[2:]).all()


def test_poison_reaches_payments_of_later_bars():
    """A payment belongs to the first bar that opens no earlier."""
    bars = counted_bars(8)
    times = bars.timestamp[[1, 3, 4, 6]] - np.array([0, 60, 0, 60]) * 10**9
    rates = np.array([0.001, 0.002, 0.0, -0.004])
    paying = replace(bars, payments={"fund": Payments(times, rates)})
    poisoned = poison_bars(paying, 4).payments["fund"].rates
    assert poisoned[:2].tolist() == rates[:2].tolist()
    assert (poisoned[2:] != rates[2:]).all()


def test_one_bit_is_a_difference():
    """Of whom it is, and that a zero has no sign of its own."""
    left = np.arange(24.0).reshape(3, 2, 4)
    right = left.copy()
    right[1, 0, 2] = np.nextafter(right[1, 0, 2], np.inf)
    right[0, 0, 0] = -0.0
    assert compare_bits(left, right).tolist() == [False, False, True]


def test_a_ledger_begins_another_but_for_the_trade_that_the_cut_ended():
    """Only the last trade may be left out, and only where the cut ended it."""
    whole = make_ledger([1.0, -1.0, 2.0], exit_bar=[3, 6, 9])
    cut = make_ledger([1.0, 0.3], exit_bar=[3, 5], reason=[3, END])
    assert is_beginning(cut, whole)
    assert is_beginning(make_ledger([]), whole)
    assert is_beginning(whole, whole)
    assert not is_beginning(make_ledger([1.0, 0.3], exit_bar=[3, 5]), whole)
    assert not is_beginning(make_ledger([1.0, np.nextafter(-1, 0)], exit_bar=[3, 6]), whole)
    assert not is_beginning(make_ledger([1.0] * 4), make_ledger([1.0] * 3))


@pytest.mark.parametrize("name", SHORT_SPECS)
def test_no_shipped_strategy_sees_a_later_bar(name):
    """Before each cut: the same bits on the whole, the ended and the poisoned series."""
    spec, bars = SHORT_SPECS[name], make_bars(11, 900)
    genomes = random_genomes(spec, 6, 2)
    window = Window(0, 100, 900)
    whole = Engine(spec, [bars], [window], device="cpu")
    ledgers = [whole.trades(genome)[0] for genome in genomes]
    assert sum(map(len, ledgers)) > 6
    for cut in choose_cuts(window, ledgers)[::5]:
        before = [Window(0, 100, cut)]
        engines = [
            Engine(spec, [series], before, device="cpu")
            for series in (bars, bars.until(cut), poison_bars(bars, cut))
        ]
        first, second, third = (engine.evaluate(genomes) for engine in engines)
        assert compare_bits(first, second).all()
        assert compare_bits(first, third).all()
        for genome, ledger in zip(genomes, ledgers, strict=True):
            assert is_beginning(engines[0].trades(genome)[0], ledger)


def test_signals_taken_are_trades_and_rejections():
    """For each individual and window."""
    accumulators = np.zeros((2, 3, len(ACCUMULATORS)))
    accumulators[1, 2, ACCUMULATORS.index("trades")] = 5
    accumulators[1, 2, ACCUMULATORS.index("rejected")] = 2
    accumulators[0, 1, ACCUMULATORS.index("wins")] = 9
    accumulators[1, 0, ACCUMULATORS.index("orders")] = 3
    assert count_signals_taken(accumulators, rests=False).tolist() == [[0, 0, 0], [0, 0, 7]]
    assert count_signals_taken(accumulators, rests=True).tolist() == [[0, 0, 0], [3, 0, 0]]


def test_the_time_that_cuts_take_grows_with_windows_bars_and_members():
    """Four symbols take as long as each alone, a thousand share cuts; more takes longer."""
    seconds = estimate_causality_seconds([500], 8)
    assert estimate_causality_seconds([500] * 4, 8) == pytest.approx(4 * seconds)
    assert 150 * seconds < estimate_causality_seconds([500] * 1000, 8) < 300 * seconds
    assert seconds < estimate_causality_seconds([5000], 8)
    assert seconds < estimate_causality_seconds([500], 80)
    assert estimate_causality_seconds([], 8) == 0
    assert 0 < estimate_causality_seconds([500], 0) < seconds
