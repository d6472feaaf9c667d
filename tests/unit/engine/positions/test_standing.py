"""Where an individual stands after a close, by hand."""

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.positions.entry_plans import EntryLevel, EntryTarget
from engine.reference import Reference
from engine.reference_standing import find_standing
from engine.runtime.compiling.forms import CompiledForm
from strategy import STRATEGIES
from strategy import words as w
from strategy.words import (
    by_side,
    close,
    r_multiple,
    session_exit,
    share,
    strategy,
    trail,
)  # fmt: skip
from tests.support.series import hand_bars

FORM = CompiledForm()


def read_standing(reference, genome, end):
    """What is known after bar `end - 1`, and the trades until then."""
    window = Window(0, 0, end)
    ledger = reference.continue_trades(genome, window, end)
    return find_standing(reference, genome, window, ledger), ledger


def hand_standing(spec, closes, volumes, *, delay=0, high=0.0, low=np.inf):
    """Standing after hourly bars with these closes; each opens at the close before.

    The last one reaches `high` and `low` too.
    """
    bars = hand_bars(closes, volumes, high=high, low=low)
    costs = Costs(fee_bp=0.0, slippage_bp=0.0, entry_delay=delay)
    reference = Reference(spec, [bars], [Window.whole(bars)], costs, form=FORM)
    return read_standing(reference, spec.layout.defaults, len(closes))[0]


def is_marked(mark):
    """Bars that have a number as their volume."""
    return (w.volume > mark - 0.5) & (w.volume < mark + 0.5)


LONGS, SHORTS, BOTH, CANCEL = (is_marked(mark) for mark in (1, 2, 3, 4))


def resting(**arguments):
    """Longs by a stop 5 above the close for three bars, shorts by a limit 4 above it for ever."""
    given = {
        "long": LONGS | BOTH,
        "short": SHORTS | BOTH,
        "entry": by_side(w.stop_at(close + 5, expires=3), w.limit_at(close + 4)),
        "stop": share(0.1),
        "target": r_multiple(2),
        "cancel": CANCEL,
        **arguments,
    }
    return strategy("Rests.", **given)


def list_told(standing):
    """Signal bar, side, kind, price and bars left of each order."""
    return [(o.signal_bar, o.side, o.kind, o.price, o.bars_left) for o in standing.orders]


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        # A signal at bar t stands in bars t + 1 to t + 3.
        ([0, 0, 1], [(2, 1, "stop", 105.0, 3)]),
        ([1, 0, 0], [(0, 1, "stop", 105.0, 1)]),
        ([1, 0, 0, 0], []),
        # A new signal replaces its own side's order, never the other side's.
        ([1, 2, 1], [(2, 1, "stop", 105.0, 3), (1, -1, "limit", 104.0, None)]),
        # Both rest: both are placed.
        ([0, 3], [(1, 1, "stop", 105.0, 3), (1, -1, "limit", 104.0, None)]),
        # Cancelled at a close after its own, not at its own.
        ([2, 1, 4], []),
        ([2, 4, 1], [(2, 1, "stop", 105.0, 3)]),
    ],
)
def test_orders_that_rest_are_told_by_the_law(volumes, expected):
    """Which stand in the next bar, at which price, for how many bars: by hand."""
    standing = hand_standing(resting(), [100.0] * len(volumes), volumes)
    assert list_told(standing) == expected
    assert (standing.trade, standing.pending) == (None, None)
    for order in standing.orders:
        (target,), sign = order.targets, order.side
        stop, reached = order.price * (1 - sign * 0.1), order.price * (1 + sign * 0.2)
        assert order.stop == EntryLevel("share", 0.1, pytest.approx(stop, rel=1e-12))
        assert target == EntryTarget("times_risk", 2.0, pytest.approx(reached, rel=1e-12), 1.0)
        assert (order.bars_to_wait, order.is_day, order.needed) == (0, False, order.price)


def test_a_fill_cancels_all_orders_and_no_signal_places_one():
    """The long of bar 0 is filled at 105 in bar 1; what both sides ask later is not heard."""
    spec = resting(entry=by_side(w.stop_at(close + 5, expires=3), w.limit_at(close + 30)))
    standing = hand_standing(spec, [100, 106, 106, 106], [3, 0, 3, 3])
    assert (standing.trade.entry, standing.trade.entry_bar, standing.trade.side) == (105.0, 1, 1)
    assert standing.orders == ()


def test_reversing_places_the_other_sides_orders_alone():
    """The long of bar 0 is held; the short's limit of bar 2 rests at 110 and would reverse it."""
    spec = resting(reverse=True)
    standing = hand_standing(spec, [100, 106, 106, 106], [1, 0, 3, 1])
    assert standing.trade.side == 1
    assert list_told(standing) == [(2, -1, "limit", 110.0, None)]
    # The close of the entry bar counts, one before it does not.
    assert list_told(hand_standing(spec, [100, 106], [1, 2])) == [(1, -1, "limit", 110.0, None)]
    before = hand_standing(resting(short=SHORTS, reverse=True), [100, 99, 106], [1, 2, 0])
    assert (before.trade.side, before.orders) == (-1, ())


def test_orders_of_a_reversal_stand_on_after_another_exit():
    """The long of 105 is stopped at 94.5 in bar 3; the short's limit at 110 stands on."""
    prices, volumes = [100, 106, 106, 94], [1, 0, 2, 0]
    standing = hand_standing(resting(reverse=True), prices, volumes)
    assert standing.trade is None
    assert list_told(standing) == [(2, -1, "limit", 110.0, None)]
    # Without reversal nothing was placed while it was held.
    plain = hand_standing(resting(), prices, volumes)
    assert (plain.trade, plain.orders) == (None, ())


def test_a_market_entry_reverses_at_the_next_open():
    """A signal of the other side ends a position; its own, or both at once, do not."""
    spec = resting(entry=None, cancel=None, reverse=True)
    standing = hand_standing(spec, [100, 100, 100], [1, 0, 2])
    assert (standing.trade.side, standing.leaves) == (1, False)
    pending = standing.pending
    assert (pending.signal_bar, pending.bars_to_wait, pending.side) == (2, 0, -1)
    for mark in (1, 3, 0):
        held = hand_standing(spec, [100, 100, 100], [1, 0, mark])
        assert (held.trade.side, held.pending, held.orders) == (1, None, ())


def test_an_exit_by_condition_lets_the_other_sides_order_rest():
    """It leaves at the next open; the short of the same close rests from there on, no long."""
    standing = hand_standing(resting(exit_long=SHORTS | BOTH), [100, 106, 106], [1, 0, 3])
    assert (standing.trade.side, standing.leaves) == (1, True)
    assert list_told(standing) == [(2, -1, "limit", 110.0, None)]


def test_a_limit_beyond_its_price_and_a_late_order():
    """103.2 is 103 on the tick of 0.5, and two ticks further 102; a delay is waited for."""
    entry = w.limit_at(close - 1.8, expires=4, through=2)
    spec = resting(short=None, entry=entry, market=w.market(tick="0.5"))
    (order,) = hand_standing(spec, [105.0] * 2, [0, 1]).orders
    assert (order.kind, order.price, order.needed, order.bars_left) == ("limit", 103.0, 102.0, 4)
    (late,) = hand_standing(spec, [105.0] * 2, [0, 1], delay=1).orders
    assert (late.bars_to_wait, late.bars_left) == (1, 4)
    # The one before stands until the late one takes its place.
    both = hand_standing(spec, [105.0] * 4, [0, 1, 0, 1], delay=1).orders
    assert [(o.signal_bar, o.bars_to_wait, o.bars_left) for o in both] == [(1, 0, 1), (3, 1, 4)]


def test_the_stop_follows_what_came_after_the_fill():
    """Of a bar 100, 120, 95, 98 a limit at 96 knows 98 alone; a stop at 105 counts the high."""
    behind = {"trail": trail(share(0.1)), "target": None, "short": None}
    limit = resting(entry=w.limit_at(close - 4), **behind)
    bought = hand_standing(limit, [100, 98], [1, 0], high=120, low=95)
    assert (bought.trade.entry, bought.position.stop) == (96.0, pytest.approx(98 * 0.9, rel=1e-15))
    stop = resting(entry=w.stop_at(close + 5), **behind)
    bought = hand_standing(stop, [100, 118], [1, 0], high=120)
    assert (bought.trade.entry, bought.position.stop) == (
        105.0,
        pytest.approx(120 * 0.9, rel=1e-15),
    )


def test_targets_of_a_side_that_trades_less():
    """A short, which is never asked for, has two targets and the long that is held one."""
    legs = by_side([(r_multiple(2), 0.5)], [(r_multiple(1), 0.5), (r_multiple(2), 0.5)])
    spec = resting(target=None, targets=legs, short=None)
    assert hand_standing(spec, [100, 106, 106], [1, 0, 0]).position.stop == 94.5


def test_a_day_order_ends_with_its_session():
    """Of a signal at 21 h it stands at 22 h and 23 h; the next bar opens on another day."""
    spec = resting(short=None, entry=w.stop_at(close + 5), session=session_exit(1439))
    for count, expected in ((22, 1), (23, 1), (24, 0), (25, 0)):
        volumes = np.zeros(count)
        volumes[21] = 1
        orders = hand_standing(spec, [100.0] * count, volumes).orders
        assert len(orders) == expected
        assert all(order.is_day for order in orders)


def test_an_order_without_a_price_replaces_and_is_not_told():
    """By the law it is never touched."""
    spec = resting(
        long=w.volume > 0.5, short=None, entry=w.stop_at(close + 5 - 200 * (w.volume - 1))
    )
    orders = list_told(hand_standing(spec, [100.0] * 2, [0, 1]))
    assert orders == [(1, 1, "stop", 105.0, None)]
    assert list_told(hand_standing(spec, [100.0] * 3, [0, 1, 5])) == []


def test_check_values_of_the_law(real_folder):
    """BTC: an entry at the newest bar, and six bars later a trade."""
    from data import LoadOptions, load_bars

    bars = load_bars(f"parquet:{real_folder}/btcusdt_1h.parquet", LoadOptions(dedupe=True))
    spec = STRATEGIES["seller_exhaustion"]
    reference = Reference(spec, [bars], [Window.whole(bars)], form=FORM)
    standing, _ = read_standing(reference, spec.layout.defaults, 4602)
    assert standing.trade is None
    assert standing.pending.stop == EntryLevel("price", 9721.967385416667, 9721.967385416667)
    standing, _ = read_standing(reference, spec.layout.defaults, 4608)
    assert (standing.trade.entry, standing.trade.target) == (10114.0, 10898.065229166667)
    assert (standing.bars_left, standing.trade.r) == (90, 0.2659660857829903)
    assert standing.position.stop == 9721.967385416667
