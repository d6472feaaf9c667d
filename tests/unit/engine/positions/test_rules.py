"""The rules of entries and exits, one hand-made market each, on the reference and each backend."""

import dataclasses

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.batch import Engine
from engine.reference import Reference
from tests.support.backends import ENGINE_PARAMETERS
from tests.support.markets import PAPER_SPEC, QUIET, SIGNAL, paper_market
from tests.support.references import FORMS

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
SIGNAL_BAR = 3
CALM = QUIET[:4]


@pytest.fixture(params=ENGINE_PARAMETERS)
def backtest(request):
    """A function that backtests one genome on one series and returns its ledger."""

    def run(bars, *, costs=FREE, window=None, **genes):
        windows = [window or Window.whole(bars)]
        genome = PAPER_SPEC.layout.encode(genes)
        if request.param in FORMS:
            form = FORMS[request.param]
            return Reference(PAPER_SPEC, [bars], windows, costs, form=form).trades(genome)[0]
        engine = Engine(PAPER_SPEC, [bars], windows, costs, device=request.param)
        return engine.trades(genome)[0]

    return run


EXITS = {
    "open_below_stop": ([CALM, (96, 98, 95, 97)], {}, 1, "stop_gap", 96.0),
    "open_exactly_at_stop": ([CALM, (97, 98, 96, 97)], {}, 1, "stop_gap", 97.0),
    "gap_through_stop_before_target": ([CALM, (96, 107, 95, 100)], {}, 1, "stop_gap", 96.0),
    "low_exactly_at_stop": ([CALM, (100, 101, 97, 99)], {}, 1, "stop", 97.0),
    "low_below_stop": ([CALM, (98, 101, 90, 91)], {}, 1, "stop", 97.0),
    "stop_in_the_entry_bar": ([(100, 101, 96.5, 99)], {}, 0, "stop", 97.0),
    "stop_before_target_in_one_bar": ([(100, 107, 96, 100)], {}, 0, "stop", 97.0),
    "high_exactly_at_target": ([CALM, (100, 106, 99, 105)], {}, 1, "target", 106.0),
    "high_just_below_target": ([(100, 105.99, 99, 105)], {"max_hold": 1}, 0, "time", 105.0),
    "open_beyond_target_fills_at_target": ([CALM, (108, 109, 107, 108)], {}, 1, "target", 106.0),
    "target_in_the_entry_bar": ([(100, 106.5, 99, 101)], {}, 0, "target", 106.0),
    "held_for_max_hold": ([CALM, (100, 101, 99, 100.5)], {"max_hold": 2}, 1, "time", 100.5),
    "held_for_one_bar": ([(100, 101, 99, 99.5)], {"max_hold": 1}, 0, "time", 99.5),
    "time_before_end": ([CALM, (100, 101, 99, 99.25)], {"max_hold": 2}, 1, "time", 99.25),
    "window_ends": ([CALM, (100, 101, 99, 99.75)], {}, 1, "end", 99.75),
    "stop_on_the_last_held_bar": ([CALM, (100, 101, 97, 98)], {"max_hold": 2}, 1, "stop", 97.0),
}


@pytest.mark.parametrize("name", EXITS)
def test_exit_follows_the_rule_table(backtest, name):
    """The first rule that applies decides bar, reason and price of the exit."""
    later, genes, bars_held, reason, price = EXITS[name]
    ledger = backtest(paper_market(*later), **genes)
    trade = ledger.trade(0)
    assert (trade.signal_bar, trade.entry_bar) == (SIGNAL_BAR, SIGNAL_BAR + 1)
    assert (trade.exit_bar, REASONS[trade.reason], trade.exit) == (
        SIGNAL_BAR + 1 + bars_held,
        reason,
        price,
    )


def test_a_late_entry_waits_and_its_exit_does_not(backtest):
    """What would have stopped it before is passed over; it is held from its own entry on."""
    later = [CALM, (100, 101, 90, 100), (100.5, 101, 99, 100), CALM, (100, 101, 99, 100.25), CALM]
    late = dataclasses.replace(FREE, entry_delay=2)
    trade = backtest(paper_market(*later), costs=late, max_hold=3).trade(0)
    assert (trade.signal_bar, trade.entry_bar) == (SIGNAL_BAR, SIGNAL_BAR + 3)
    assert (trade.entry, trade.stop, trade.target) == (100.5, 97.0, 107.5)
    assert (trade.exit_bar, REASONS[trade.reason], trade.exit) == (SIGNAL_BAR + 5, "time", 100.25)


@pytest.mark.parametrize(("delay", "trades"), [(0, 1), (1, 1), (2, 0), (9, 0)])
def test_a_late_entry_needs_its_bar_within_the_window(backtest, delay, trades):
    """A signal counts when the bar of its entry is there."""
    late = dataclasses.replace(FREE, entry_delay=delay)
    assert len(backtest(paper_market(CALM, CALM), costs=late)) == trades


def test_entry_stop_and_target_stand_where_the_law_says(backtest):
    """Entry at the next open, stop one mean range below the signal's low, target two R above."""
    trade = backtest(paper_market((100.0, 101, 99, 100))).trade(0)
    assert (trade.entry, trade.stop, trade.target) == (100.0, 97.0, 106.0)


def test_both_sides_pay_costs(backtest):
    """Ten basis points a side on 100 in and 106 out cost 0.206, and R is what is left over 3."""
    costs = Costs(fee_bp=6.0, slippage_bp=4.0)
    trade = backtest(paper_market((100, 106, 99, 105)), costs=costs).trade(0)
    assert trade.r == (6.0 - 0.001 * 206.0) / 3.0


def test_flat_round_trip_loses_exactly_two_sides(backtest):
    """In and out at one price loses the costs of both sides and nothing else."""
    trade = backtest(paper_market(CALM), costs=Costs(), max_hold=1).trade(0)
    assert trade.r == (0.0 - 0.001 * 200.0) / 3.0


def test_signal_on_the_last_bar_is_not_entered(backtest):
    """There is no next bar to enter on."""
    assert len(backtest(paper_market())) == 0


def test_signal_is_entered_on_the_last_bar(backtest):
    """The last bar may be an entry; it ends the trade at its close."""
    trade = backtest(paper_market((100, 101, 99, 100.5)), max_hold=9).trade(0)
    assert (trade.exit_bar, REASONS[trade.reason], trade.exit) == (4, "end", 100.5)


def test_signal_before_the_warm_up_is_ignored(backtest):
    """With a mean range over five bars, a signal on the fourth is not known yet."""
    assert len(backtest(paper_market(CALM, CALM), atr_window=5)) == 0
    assert len(backtest(paper_market(CALM, CALM), atr_window=4)) == 1


def test_signal_before_the_window_is_ignored(backtest):
    """A signal on the window's first bar counts, one bar earlier does not."""
    bars = paper_market(CALM, CALM)
    assert len(backtest(bars, window=Window(0, SIGNAL_BAR, len(bars)))) == 1
    assert len(backtest(bars, window=Window(0, SIGNAL_BAR + 1, len(bars)))) == 0


def test_indicators_see_history_before_the_window(backtest):
    """A window that starts late has its indicators warm already."""
    bars = paper_market(CALM, CALM, quiet=20)
    ledger = backtest(bars, window=Window(0, 20, len(bars)), atr_window=20)
    assert ledger.trade(0).stop == 97.0


def test_signals_inside_a_position_are_not_taken(backtest):
    """With a signal on every bar and two bars a trade, each trade starts where one ended.

    A position must not count as open before its exit is known: an exit bar's own signal counts.
    """
    later = [SIGNAL] * 8
    ledger = backtest(paper_market(*later), max_hold=2)
    assert ledger.signal_bar.tolist() == [3, 5, 7, 9]
    assert ledger.exit_bar.tolist() == [5, 7, 9, 11]


def test_signal_on_the_exit_bar_counts(backtest):
    """It is known at that bar's close, and the next entry follows on the next open."""
    ledger = backtest(paper_market(SIGNAL, CALM, CALM), max_hold=1)
    assert ledger.signal_bar.tolist() == [3, 4]


def test_open_at_the_stop_is_rejected(backtest):
    """An entry that does not stand above its stop is rejected and counted."""
    ledger = backtest(paper_market((97.0, 99, 96, 98), CALM))
    assert (len(ledger), ledger.rejected) == (0, 1)


def test_open_below_the_stop_is_rejected(backtest):
    """Negative risk is rejected, never traded."""
    ledger = backtest(paper_market((90.0, 99, 89, 98), CALM))
    assert (len(ledger), ledger.rejected) == (0, 1)


def test_risk_at_the_minimum_is_rejected(backtest):
    """Risk must be more than the minimum, not equal to it."""
    bars = paper_market((100.0, 101, 99, 100), CALM)
    assert backtest(bars, costs=Costs(0, 0, min_risk=0.03)).rejected == 1
    assert backtest(bars, costs=Costs(0, 0, min_risk=0.0299)).rejected == 0


def test_next_signal_may_follow_a_rejection(backtest):
    """A rejected trade leaves the account flat: the very next bar may signal."""
    ledger = backtest(paper_market((96.0, 99, 95, 98, 100.0), CALM, CALM))
    assert ledger.rejected == 1
    assert ledger.signal_bar.tolist() == [4]


def test_threshold_is_strict(backtest):
    """A value equal to its threshold does not signal."""
    bars = paper_market(CALM, CALM)
    assert len(backtest(bars, volume_min=100.0)) == 0
    assert len(backtest(bars, volume_min=np.nextafter(100.0, 0.0))) == 1


def test_accumulators_fold_by_hand():
    """A gain of 2 R, then a loss of 1 R, fold as on paper."""
    target, stop = (100, 106, 99, 100), (100, 101, 97, 100)
    bars = paper_market((*target, 100.0), (*CALM, 1.0), SIGNAL, stop, CALM)
    engine = Engine(PAPER_SPEC, [bars], [Window.whole(bars)], FREE)
    genome = PAPER_SPEC.layout.encode({"max_hold": 1, "atr_window": 2})
    (sums,) = engine.evaluate(genome[None])[0]
    value = {name: sums[i] for name, i in ACCUMULATOR_INDEX.items()}
    (ledger,) = Reference(PAPER_SPEC, [bars], [Window.whole(bars)], FREE).trades(genome)
    assert len(ledger) == value["trades"] == 3
    assert ledger.r[0] == 2.0
    assert ledger.r[1] == 0.0
    assert value["sum_r"] == ledger.r[0] + ledger.r[1] + ledger.r[2]
    assert value["gain_r"] == 2.0
    assert value["wins"] == 1.0
    assert value["loss_r2"] == ledger.r[2] * ledger.r[2] > 0.0
    assert value["peak_r"] == 2.0
    assert value["max_drawdown_r"] == -ledger.r[2]
    assert value["equity"] == 1.02 * (1.0 + 0.01 * ledger.r[2])
    assert value["peak_equity"] == 1.02
    assert value["bars_in_market"] == 3.0
    assert value["exits_target"] == 1.0
    assert value["exits_stop"] == 1.0
    assert value["exits_time"] == 1.0
