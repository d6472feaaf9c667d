"""What a state says of trades and orders with several parts, by hand, in words and in JSON."""

from dataclasses import replace

import pytest

from engine.accounts.costs import Costs
from optimizer.cli.notes import wrap_text
from optimizer.signals.words import describe_state
from strategy import words as w
from tests.support.series import hand_bars
from tests.support.signals import read_state

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
